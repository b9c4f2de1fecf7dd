//! The handler runs, once, for as long as it may.
//!
//! The only place where a handler is called. A panic becomes INTERNAL, whatever it said goes to the
//! private log. Running out of time becomes TIMEOUT, or ERR_OUTCOME_UNKNOWN when repeating the call
//! might do it twice; an abort becomes ERR_CANCELLED. A dropped call drops the handler's future with it.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure, codes};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::claim::Claimed;
use super::raised::Raised;
use super::validate::attempt_timeout_ms;
use super::{Dispatcher, later, milliseconds_between};
use crate::context::Context;
use crate::handler::BoxFuture;
use crate::ports::{Clock, Scope};
use crate::registry::Operation;
use crate::retry::Verdict;

/// How a handler's run ended.
pub(super) enum Ended<T> {
    Returned(Result<T, Failure>),
    Panicked(String),
    TimedOut,
    /// The time its caller stated was over while a person was asked.
    Unanswered,
    Aborted,
}

/// Leave to call the handler once.
pub(super) struct Leave {
    now: Timestamp,
    timeout_ms: u64,
}

/// An attempt that is over, and what it tells about the service behind the operation.
pub(super) struct Attempted {
    pub(super) result: Result<Arc<Value>, Raised>,
    pub(super) verdict: Verdict,
}

/// Asks whether the handler may be called. What is refused here has not begun, and has no effect
/// beyond that of the attempts before it.
pub(super) fn leave(
    claimed: &Claimed,
    effect_before: Effect,
    now: Timestamp,
    until: Option<Timestamp>,
) -> Result<Leave, Raised> {
    let Claimed {
        operation, call, ..
    } = claimed;
    let refused = |failure: Failure| {
        let failure = failure.with_effect(effect_before);
        Raised::by_gateway(failure, Some(operation.clone()))
    };
    if call.is_aborted() {
        return Err(refused(cancelled(operation, effect_before)));
    }
    let allowed_ms = attempt_timeout_ms(operation);
    let deadline = until.map_or(claimed.deadline, |until| until.min(claimed.deadline));
    let timeout_ms = allowed_ms.min(milliseconds_between(now, deadline));
    if timeout_ms == 0 {
        return Err(refused(out_of_time(operation)));
    }
    Ok(Leave { now, timeout_ms })
}

pub(super) async fn attempt(
    dispatcher: &Dispatcher,
    claimed: &Claimed,
    leave: Leave,
    number: u32,
    scope: Option<Scope>,
) -> Attempted {
    let Claimed {
        operation, call, ..
    } = claimed;
    let Leave { now, timeout_ms } = leave;
    let clock = &*dispatcher.ports().clock;
    let deadline = later(now, timeout_ms);
    let context = Context::new(dispatcher, operation, call, scope, number, (now, deadline));
    let ended = run(
        |context| operation.handler().call(context, call.input.clone()),
        context.clone(),
        timeout_ms,
        clock,
        call.abort.as_ref(),
    )
    .await;
    let is_cut_short = timeout_ms < attempt_timeout_ms(operation);
    let verdict = match ended {
        // A caller that gives an operation less time than it has learns nothing about it.
        Ended::TimedOut if is_cut_short => Verdict::NOTHING,
        _ => verdict(operation, &ended),
    };
    let ended = match ended {
        // What it called may have taken effect, whatever it says of itself.
        Ended::Returned(Err(failure)) => {
            let own = match operation.spec().op_type {
                OperationType::Query => Effect::None,
                OperationType::Mutation | OperationType::Subscription => failure.effect(),
            };
            let effect = worse(own, context.effect_of_calls());
            Ended::Returned(Err(failure.with_effect(effect)))
        }
        ended => ended,
    };
    let result = match ended {
        Ended::Returned(Ok(output)) => Ok(output),
        Ended::Returned(Err(failure)) if operation.speaks_for_gateway() => {
            Err(Raised::by_gateway(failure, Some(operation.clone())))
        }
        Ended::Returned(Err(failure)) => Err(Raised::by_handler(failure, operation.clone())),
        Ended::Panicked(said) => Err(panicked(operation, &said)),
        Ended::TimedOut => {
            let failure = timed_out(operation, claimed.is_repeatable(), timeout_ms);
            let failure = match operation.relays() {
                // The other side may still be at work. An attempt that it has counts as one of its own, which is not
                // repeated from here.
                true => failure.with_attempts(1),
                false => failure,
            };
            let stated_ms = call.timeout_ms.filter(|_| is_cut_short);
            let failure = match stated_ms {
                Some(stated_ms) if failure.retryable() => failure.with_actions([format!(
                    "Call again with a timeout_ms above {stated_ms}, or without one"
                )]),
                _ => failure,
            };
            Err(Raised::by_gateway(failure, Some(operation.clone())))
        }
        Ended::Unanswered => {
            let stated_ms = call.timeout_ms.unwrap_or(timeout_ms);
            let failure = unanswered(operation, claimed.is_repeatable(), stated_ms);
            Err(Raised::by_gateway(failure, Some(operation.clone())))
        }
        Ended::Aborted => {
            let failure = cancelled(operation, effect_when_cut(operation));
            Err(Raised::by_gateway(failure, Some(operation.clone())))
        }
    };
    Attempted { result, verdict }
}

/// What a run tells about the service behind the operation. One that was stopped on purpose, by a defect
/// of the handler, or by a person who took their time, tells nothing.
fn verdict<T>(operation: &Operation, ended: &Ended<T>) -> Verdict {
    let Some(behind) = operation.behind() else {
        return Verdict::NOTHING;
    };
    match ended {
        Ended::Returned(Ok(_)) => Verdict::ANSWERED,
        Ended::Returned(Err(failure)) => behind.verdict(failure),
        Ended::TimedOut => Verdict::SILENT,
        Ended::Unanswered | Ended::Panicked(_) | Ended::Aborted => Verdict::NOTHING,
    }
}

/// The effect of two things together.
pub(crate) fn worse(one: Effect, other: Effect) -> Effect {
    match (one, other) {
        (Effect::Applied, _) | (_, Effect::Applied) => Effect::Applied,
        (Effect::Unknown, _) | (_, Effect::Unknown) => Effect::Unknown,
        (Effect::None, Effect::None) => Effect::None,
    }
}

/// Runs the work of a handler within its time.
pub(super) async fn run<'a, T>(
    start: impl FnOnce(Context) -> BoxFuture<'a, Result<T, Failure>>,
    context: Context,
    timeout_ms: u64,
    clock: &dyn Clock,
    abort: Option<&CancellationToken>,
) -> Ended<T> {
    let _cancelled_afterwards = context.cancel_on_drop();
    let timed = context.clone();
    match catch_unwind(AssertUnwindSafe(|| start(context))) {
        Ok(work) => race(work, &timed, timeout_ms, clock, abort).await,
        Err(panic) => Ended::Panicked(said(&*panic)),
    }
}

/// The handler is asked first: an answer that is ready when time runs out still counts. The timer is
/// started only for a handler that has to wait, and stands still while a person is asked.
async fn race<T>(
    mut work: BoxFuture<'_, Result<T, Failure>>,
    context: &Context,
    timeout_ms: u64,
    clock: &dyn Clock,
    abort: Option<&CancellationToken>,
) -> Ended<T> {
    let mut timer = None;
    let mut aborted = abort.map(|token| Box::pin(token.cancelled()));
    let ended = poll_fn(|task| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
            Ok(Poll::Ready(result)) => return Poll::Ready(Ended::Returned(result)),
            Err(panic) => return Poll::Ready(Ended::Panicked(said(&*panic))),
            Ok(Poll::Pending) => {}
        }
        if let Some(aborted) = &mut aborted
            && aborted.as_mut().poll(task).is_ready()
        {
            return Poll::Ready(Ended::Aborted);
        }
        let timer = timer.get_or_insert_with(|| clock.sleep(timeout_ms));
        while timer.as_mut().poll(task).is_ready() {
            match context.more_time_ms() {
                Some(more_ms) => *timer = clock.sleep(more_ms),
                None if context.is_asking() => return Poll::Ready(Ended::Unanswered),
                None => return Poll::Ready(Ended::TimedOut),
            }
        }
        Poll::Pending
    })
    .await;
    // What a handler leaves behind is dropped here, where a panic in it cannot take the answer along.
    let _ = catch_unwind(AssertUnwindSafe(move || drop(work)));
    ended
}

pub(super) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
        .to_owned()
}

pub(super) fn panicked(operation: &Arc<Operation>, said: &str) -> Raised {
    let failure = Failure::new(codes::INTERNAL)
        .with_message(stopped_by_a_defect(operation))
        .with_effect(effect_when_cut(operation));
    Raised::by_gateway(failure, Some(operation.clone())).privately(format!("panic: {said}"))
}

/// What a caller is told when an operation failed in a way nobody declared.
pub(super) fn stopped_by_a_defect(operation: &Operation) -> String {
    format!(
        "operation {} stopped by a defect of its own",
        operation.name()
    )
}

/// The caller stopped waiting before the handler was called.
fn out_of_time(operation: &Operation) -> Failure {
    Failure::new(codes::TIMEOUT).with_message(format!(
        "the time for operation {} was over before it was started",
        operation.name()
    ))
}

fn timed_out(operation: &Operation, harmless: bool, timeout_ms: u64) -> Failure {
    let code = if harmless {
        codes::TIMEOUT
    } else {
        codes::ERR_OUTCOME_UNKNOWN
    };
    Failure::new(code)
        .with_message(format!(
            "operation {} did not answer within {timeout_ms} ms",
            operation.name()
        ))
        .with_detail("timeout_ms", timeout_ms)
        .with_effect(effect_when_cut(operation))
}

fn unanswered(operation: &Operation, harmless: bool, stated_ms: u64) -> Failure {
    let failure = timed_out(operation, harmless, stated_ms);
    let told = format!("{}: a person was still being asked", failure.message());
    failure.with_message(told)
}

/// The failure of a call that was stopped on purpose.
pub(super) fn cancelled(operation: &Operation, effect: Effect) -> Failure {
    Failure::new(codes::ERR_CANCELLED)
        .with_message(format!("the call of {} was cancelled", operation.name()))
        .with_effect(effect)
}

/// What can be said about side effects of a run that was cut off.
pub(super) fn effect_when_cut(operation: &Operation) -> Effect {
    match operation.spec().op_type {
        OperationType::Query => Effect::None,
        OperationType::Mutation | OperationType::Subscription => Effect::Unknown,
    }
}
