//! Recovers a key or a task whose earlier call ended without a recorded outcome, as after a crash.
//!
//! That call may have taken effect. A harmless operation runs again; a reconcilable one is reconciled; for
//! any other the outcome is ERR_OUTCOME_UNKNOWN.

use panpan_contract::retry::Waiting;
use panpan_failure::{Effect, Failure, codes};

use super::Dispatcher;
use super::attempt::{self, Ended, effect_when_interrupted};
use super::attempt_loop::{Finished, terms};
use super::claim::Claimed;
use super::raised::Raised;
use super::validate::attempt_timeout_ms;
use crate::context::Context;
use crate::handler::{Reconcile, Reconciled};
use crate::ports::Before;
use crate::settings::RECOVERIES_LIMIT;
use crate::time::{later, milliseconds_between};

/// What to do with a recovered key.
pub(super) enum Recovered {
    /// Run the operation.
    Run(Claimed),
    /// The outcome is known without running it.
    Known(Finished),
    /// Reconciliation failed; the key stays abandoned and can be recovered later.
    Unclear(Finished),
}

pub(super) async fn recover(dispatcher: &Dispatcher, claimed: Claimed) -> Recovered {
    let Before::Abandoned { recoveries, .. } = claimed.before else {
        return Recovered::Run(claimed);
    };
    if recoveries > RECOVERIES_LIMIT {
        let failure = given_up(&claimed, recoveries);
        return Recovered::Known(failed(dispatcher, claimed, failure));
    }
    if claimed.is_repeatable() {
        return Recovered::Run(claimed);
    }
    let operation = claimed.operation.clone();
    let Some(reconcile) = operation.registration.reconcile.as_deref() else {
        let failure = unknown(&claimed);
        return Recovered::Known(failed(dispatcher, claimed, failure));
    };
    match run_reconcile(dispatcher, &claimed, reconcile).await {
        Ok(Reconciled::Happened(output)) => {
            let terms = terms(&claimed, Waiting::Inline);
            Recovered::Known(Finished::without_attempt(claimed, terms, Ok(output.into())))
        }
        Ok(Reconciled::DidNotHappen) => Recovered::Run(claimed.without_effect_before()),
        Ok(Reconciled::Unknown) => {
            let failure = unknown(&claimed);
            Recovered::Known(failed(dispatcher, claimed, failure))
        }
        Err(cause) => {
            let failure = unknown(&claimed);
            let raised = Raised::by_gateway(failure, &operation).with_private_cause(cause);
            Recovered::Unclear(finished(dispatcher, claimed, raised))
        }
    }
}

async fn run_reconcile(
    dispatcher: &Dispatcher,
    claimed: &Claimed,
    reconcile: &dyn Reconcile,
) -> Result<Reconciled, String> {
    let (operation, call) = (&claimed.operation, &claimed.call);
    let clock = &*dispatcher.ports().clock;
    let now = clock.now();
    let allowed_ms = attempt_timeout_ms(operation);
    let timeout_ms = allowed_ms.min(milliseconds_between(now, claimed.deadline));
    let context = Context::new(
        dispatcher,
        operation,
        call,
        claimed.scope(),
        claimed.attempts_before(),
        (now, later(now, timeout_ms)),
    );
    let start = |context| reconcile.reconcile(context, call.input.clone());
    let ended = attempt::run(start, context, timeout_ms, clock, call.abort.as_ref()).await;
    match ended {
        Ended::Returned(Ok(reconciled)) => Ok(reconciled),
        Ended::Returned(Err(failure)) => Err(format!(
            "reconciliation failed: {}: {}",
            failure.code(),
            failure.message()
        )),
        Ended::Panicked(message) => Err(format!("panic while reconciling: {message}")),
        Ended::TimedOut | Ended::Unanswered => {
            Err(format!("reconciliation took longer than {timeout_ms} ms"))
        }
        Ended::Aborted => Err("reconciliation was aborted".to_owned()),
    }
}

fn failed(dispatcher: &Dispatcher, claimed: Claimed, failure: Failure) -> Finished {
    let raised = Raised::by_gateway(failure, &claimed.operation);
    finished(dispatcher, claimed, raised)
}

fn finished(dispatcher: &Dispatcher, claimed: Claimed, raised: Raised) -> Finished {
    let failure =
        dispatcher.stamp_redact_settle(raised, &claimed.call, dispatcher.ports().clock.now());
    let terms = terms(&claimed, Waiting::Inline);
    Finished::without_attempt(claimed, terms, Err(failure))
}

fn unknown(claimed: &Claimed) -> Failure {
    Failure::new(codes::ERR_OUTCOME_UNKNOWN)
        .with_message(format!(
            "an earlier call of {} {} ended without a recorded outcome; it may have taken effect",
            claimed.operation.name(),
            with_what(claimed)
        ))
        .with_effect(Effect::Unknown)
}

fn given_up(claimed: &Claimed, recoveries: u32) -> Failure {
    Failure::new(codes::ERR_RECOVERY_EXHAUSTED)
        .with_message(format!(
            "calls of {} {} ended {recoveries} times without a recorded outcome",
            claimed.operation.name(),
            with_what(claimed)
        ))
        .with_detail("recoveries", recoveries)
        .with_effect(effect_when_interrupted(&claimed.operation))
}

/// What the calls have in common: the key, or else the task.
fn with_what(claimed: &Claimed) -> &'static str {
    match claimed.held {
        Some(_) => "with this key",
        None => "for this task",
    }
}
