//! Stage attempt: runs the handler once, within its timeout. Only this file calls handlers.
//!
//! A panic becomes INTERNAL, and its message goes to the private log. A timeout becomes TIMEOUT, or
//! ERR_OUTCOME_UNKNOWN if repeating the call could apply it twice. An abort becomes ERR_CANCELLED. Dropping
//! the call drops the future of the handler.

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

use super::Dispatcher;
use super::claim::Claimed;
use super::raised::Raised;
use super::validate::attempt_timeout_ms;
use crate::context::Context;
use crate::handler::BoxFuture;
use crate::ports::{Clock, Scope};
use crate::registry::Operation;
use crate::retry::Verdict;
use crate::time::{later, milliseconds_between, stated_ms};

/// How the handler ended.
pub(super) enum Ended<T> {
    Returned(Result<T, Failure>),
    Panicked(String),
    TimedOut,
    /// The caller's timeout expired while a question to the client was open.
    Unanswered,
    Aborted,
}

/// Permission to call the handler once, and its timeout.
pub(super) struct AttemptTime {
    now: Timestamp,
    timeout_ms: u64,
}

/// The result of an attempt, and its verdict about the upstream.
pub(super) struct Attempted {
    pub(super) result: Result<Arc<Value>, Raised>,
    pub(super) verdict: Verdict,
}

/// Checks that the call is not aborted and has time left. A refused attempt adds no effect to that of the
/// attempts before it.
pub(super) fn time_for_attempt(
    claimed: &Claimed,
    effect_before: Effect,
    now: Timestamp,
    until: Option<Timestamp>,
) -> Result<AttemptTime, Raised> {
    let (operation, call) = (&claimed.operation, &claimed.call);
    let refused = |failure: Failure| {
        let failure = failure.with_effect(effect_before);
        Raised::by_gateway(failure, operation)
    };
    if call.is_aborted() {
        return Err(refused(cancelled(operation, effect_before)));
    }
    let allowed_ms = attempt_timeout_ms(operation);
    let deadline = until.map_or(claimed.deadline, |until| until.min(claimed.deadline));
    let timeout_ms = allowed_ms.min(milliseconds_between(now, deadline));
    if timeout_ms == 0 {
        return Err(refused(deadline_passed(operation)));
    }
    Ok(AttemptTime { now, timeout_ms })
}

pub(super) async fn attempt(
    dispatcher: &Dispatcher,
    claimed: &Claimed,
    time: AttemptTime,
    number: u32,
    scope: Option<Scope>,
) -> Attempted {
    let (operation, call) = (&claimed.operation, &claimed.call);
    let AttemptTime { now, timeout_ms } = time;
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
        // A caller's shorter timeout says nothing about the service.
        Ended::TimedOut if is_cut_short => Verdict::NOTHING,
        Ended::Returned(Err(_)) if operation.upstream().is_some() && context.has_responded() => {
            Verdict::ANSWERED
        }
        _ => verdict(operation, &ended),
    };
    let ended = match ended {
        // The operations that it called may have taken effect, even if it reports no effect of its own.
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
        Ended::Returned(Err(failure)) if operation.registration.returns_protocol_codes => {
            Err(Raised::by_gateway(failure, operation))
        }
        Ended::Returned(Err(failure)) => Err(Raised::by_handler(failure, operation)),
        Ended::Panicked(message) => Err(panicked(operation, &message)),
        Ended::TimedOut => {
            let failure = attempt_timed_out(claimed, timeout_ms, is_cut_short);
            Err(Raised::by_gateway(failure, operation))
        }
        Ended::Unanswered => {
            let caller_ms = call.timeout_ms.unwrap_or(timeout_ms);
            let failure = unanswered(operation, claimed.is_repeatable(), caller_ms);
            Err(Raised::by_gateway(failure, operation))
        }
        Ended::Aborted => {
            let failure = cancelled(operation, effect_when_interrupted(operation));
            Err(Raised::by_gateway(failure, operation))
        }
    };
    Attempted { result, verdict }
}

/// The failure of an attempt that took too long; `is_cut_short` if the caller allowed less time than the operation.
fn attempt_timed_out(claimed: &Claimed, timeout_ms: u64, is_cut_short: bool) -> Failure {
    let (operation, call) = (&claimed.operation, &claimed.call);
    // A moment of the caller's time has passed before the attempt.
    let told_ms = stated_ms(timeout_ms, [call.timeout_ms]);
    let failure = timed_out(operation, claimed.is_repeatable(), told_ms);
    let failure = match operation.registration.relays {
        // The other gateway may still be working. Its attempt counts, and is not repeated here.
        true => failure.with_attempts(1),
        false => failure,
    };
    match call.timeout_ms.filter(|_| is_cut_short) {
        Some(caller_ms) if failure.retryable() => failure.with_actions([format!(
            "Call again with a timeout_ms above {caller_ms}, or without one"
        )]),
        _ => failure,
    }
}

/// The verdict about the upstream. An abort, a panic or an unanswered question says nothing about it.
fn verdict<T>(operation: &Operation, ended: &Ended<T>) -> Verdict {
    let Some(upstream) = operation.upstream() else {
        return Verdict::NOTHING;
    };
    match ended {
        Ended::Returned(Ok(_)) => Verdict::ANSWERED,
        Ended::Returned(Err(failure)) => upstream.verdict(failure),
        Ended::TimedOut => Verdict::TIMED_OUT,
        Ended::Unanswered | Ended::Panicked(_) | Ended::Aborted => Verdict::NOTHING,
    }
}

/// The combined effect of two attempts or calls.
pub(crate) fn worse(one: Effect, other: Effect) -> Effect {
    match (one, other) {
        (Effect::Applied, _) | (_, Effect::Applied) => Effect::Applied,
        (Effect::Unknown, _) | (_, Effect::Unknown) => Effect::Unknown,
        (Effect::None, Effect::None) => Effect::None,
    }
}

/// Runs a handler within its timeout.
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
        Err(panic) => Ended::Panicked(panic_message(&*panic)),
    }
}

/// Polls the handler before the timer, so that a result that is ready at the deadline still counts. The
/// timer starts only when the handler is pending, and pauses while a question to the client is open.
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
            Err(panic) => return Poll::Ready(Ended::Panicked(panic_message(&*panic))),
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
    // Dropped here, so that a panic in a destructor does not lose the result.
    let _ = catch_unwind(AssertUnwindSafe(move || drop(work)));
    ended
}

pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
        .to_owned()
}

pub(super) fn panicked(operation: &Arc<Operation>, message: &str) -> Raised {
    let failure = Failure::new(codes::INTERNAL)
        .with_message(internal_error(operation))
        .with_effect(effect_when_interrupted(operation));
    Raised::by_gateway(failure, operation).with_private_cause(format!("panic: {message}"))
}

/// The message for a failure that the operation did not declare.
pub(super) fn internal_error(operation: &Operation) -> String {
    format!(
        "operation {} failed with an internal error",
        operation.name()
    )
}

/// The deadline passed before the handler was called.
fn deadline_passed(operation: &Operation) -> Failure {
    Failure::new(codes::TIMEOUT).with_message(format!(
        "the deadline passed before operation {} started",
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
        .with_effect(effect_when_interrupted(operation))
}

fn unanswered(operation: &Operation, harmless: bool, caller_ms: u64) -> Failure {
    let failure = timed_out(operation, harmless, caller_ms);
    let message = format!(
        "{}: it was waiting for a reply from the client",
        failure.message()
    );
    failure.with_message(message)
}

/// The failure of a call that was cancelled.
pub(super) fn cancelled(operation: &Operation, effect: Effect) -> Failure {
    Failure::new(codes::ERR_CANCELLED)
        .with_message(format!("the call of {} was cancelled", operation.name()))
        .with_effect(effect)
}

/// The effect of an attempt that was interrupted.
pub(super) fn effect_when_interrupted(operation: &Operation) -> Effect {
    match operation.spec().op_type {
        OperationType::Query => Effect::None,
        OperationType::Mutation | OperationType::Subscription => Effect::Unknown,
    }
}
