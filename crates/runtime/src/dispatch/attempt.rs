//! The handler runs, once, for as long as it may.
//!
//! The only place where a handler is called. A panic becomes INTERNAL, whatever it said goes to the
//! private log. Running out of time becomes TIMEOUT, or ERR_OUTCOME_UNKNOWN when repeating the call
//! might do it twice. A dropped call drops the handler's future with it.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use panpan_contract::operation::OperationType;
use panpan_contract::{Effect, Failure, codes};
use serde_json::Value;

use super::raised::Raised;
use super::validate::Validated;
use crate::handler::{BoxFuture, Context};
use crate::ports::Clock;
use crate::registry::Operation;

/// How long an attempt may take when its operation does not say.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// How the handler's run ended.
enum Ended {
    Returned(Result<Value, Failure>),
    Panicked(String),
    TimedOut,
}

pub(super) async fn attempt(validated: Validated, clock: &dyn Clock) -> Result<Value, Raised> {
    let Validated {
        operation, input, ..
    } = validated;
    let timeout_ms = operation.spec().timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let ended = run(&operation, input.clone(), timeout_ms, clock).await;
    match ended {
        Ended::Returned(Ok(output)) => Ok(output),
        Ended::Returned(Err(failure)) => Err(Raised::by_handler(failure, operation)),
        Ended::Panicked(said) => Err(panicked(operation, &said)),
        Ended::TimedOut => {
            let failure = timed_out(&operation, &input, timeout_ms);
            Err(Raised::by_gateway(failure, Some(operation)))
        }
    }
}

async fn run(
    operation: &Operation,
    input: Arc<Value>,
    timeout_ms: u64,
    clock: &dyn Clock,
) -> Ended {
    let context = Context {
        operation: operation.name().clone(),
        started_at: clock.now(),
        timeout_ms,
    };
    let call = AssertUnwindSafe(|| operation.handler().call(context, input));
    match catch_unwind(call) {
        Ok(work) => race(work, clock.sleep(timeout_ms)).await,
        Err(panic) => Ended::Panicked(said(&*panic)),
    }
}

/// The handler is asked first: an answer that is ready when time runs out still counts.
async fn race(
    mut work: BoxFuture<'_, Result<Value, Failure>>,
    mut sleep: BoxFuture<'_, ()>,
) -> Ended {
    let ended = poll_fn(|task| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(Poll::Ready(result)) => return Poll::Ready(Ended::Returned(result)),
            Err(panic) => return Poll::Ready(Ended::Panicked(said(&*panic))),
            Ok(Poll::Pending) => {}
        }
        sleep.as_mut().poll(task).map(|()| Ended::TimedOut)
    })
    .await;
    // What a handler leaves behind is dropped here, where a panic in it cannot take the answer along.
    let _ = catch_unwind(AssertUnwindSafe(move || drop(work)));
    ended
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
        .to_owned()
}

fn panicked(operation: Arc<Operation>, said: &str) -> Raised {
    let failure = Failure::new(codes::INTERNAL)
        .with_message(stopped_by_a_defect(&operation))
        .with_effect(effect_when_cut(&operation));
    Raised::by_gateway(failure, Some(operation)).privately(format!("panic: {said}"))
}

/// What a caller is told when an operation failed in a way nobody declared.
pub(super) fn stopped_by_a_defect(operation: &Operation) -> String {
    format!(
        "operation {} stopped by a defect of its own",
        operation.name()
    )
}

fn timed_out(operation: &Operation, input: &Value, timeout_ms: u64) -> Failure {
    let spec = operation.spec();
    let harmless =
        spec.op_type != OperationType::Mutation || spec.idempotency.is_idempotent_for(input);
    let (code, effect) = if harmless {
        (codes::TIMEOUT, effect_when_cut(operation))
    } else {
        (codes::ERR_OUTCOME_UNKNOWN, Effect::Unknown)
    };
    Failure::new(code)
        .with_message(format!(
            "operation {} did not answer within {timeout_ms} ms",
            operation.name()
        ))
        .with_detail("timeout_ms", timeout_ms)
        .with_effect(effect)
}

/// What can be said about side effects of a run that was cut off.
fn effect_when_cut(operation: &Operation) -> Effect {
    match operation.spec().op_type {
        OperationType::Query => Effect::None,
        OperationType::Mutation | OperationType::Subscription => Effect::Unknown,
    }
}
