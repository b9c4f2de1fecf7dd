//! What becomes of a key whose holder stopped without a word.
//!
//! Its effect may have happened. An operation that does no harm when repeated runs again; one that can
//! be asked is asked; of any other nobody can tell, and that is its outcome.

use panpan_contract::retry::Waiting;
use panpan_failure::{Effect, Failure, codes};

use super::attempt::{self, Ended, effect_when_cut};
use super::claim::Claimed;
use super::perform::{Performed, terms};
use super::raised::Raised;
use super::validate::attempt_timeout_ms;
use super::{Dispatcher, later, milliseconds_between};
use crate::context::Context;
use crate::handler::{Reconcile, Reconciled};
use crate::ports::Before;
use crate::settings::RECOVERIES_LIMIT;

/// What to do with a key.
pub(super) enum Recovered {
    /// The operation runs.
    Run(Claimed),
    /// There is an outcome without running it.
    Known(Performed),
    /// Nobody can tell today; the key stays as it is and can be asked for again later.
    Unclear(Performed),
}

pub(super) async fn recover(dispatcher: &Dispatcher, claimed: Claimed) -> Recovered {
    let Some(Before::Abandoned { recoveries, .. }) = claimed.held.map(|held| held.before) else {
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
    let Some(reconcile) = operation.reconcile() else {
        let failure = unknown(&claimed);
        return Recovered::Known(failed(dispatcher, claimed, failure));
    };
    match ask(dispatcher, &claimed, reconcile).await {
        Ok(Reconciled::Happened(output)) => {
            let terms = terms(&claimed, Waiting::Inline);
            Recovered::Known(Performed::without_attempt(
                claimed,
                terms,
                Ok(output.into()),
            ))
        }
        Ok(Reconciled::DidNotHappen) => Recovered::Run(claimed.without_effect_before()),
        Ok(Reconciled::Unknown) => {
            let failure = unknown(&claimed);
            Recovered::Known(failed(dispatcher, claimed, failure))
        }
        Err(cause) => {
            let failure = unknown(&claimed);
            let raised = Raised::by_gateway(failure, Some(operation)).privately(cause);
            Recovered::Unclear(performed(dispatcher, claimed, raised))
        }
    }
}

async fn ask(
    dispatcher: &Dispatcher,
    claimed: &Claimed,
    reconcile: &dyn Reconcile,
) -> Result<Reconciled, String> {
    let Claimed {
        operation, call, ..
    } = claimed;
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
            "it could not be reconciled: {}: {}",
            failure.code(),
            failure.message()
        )),
        Ended::Panicked(said) => Err(format!("panic while reconciling: {said}")),
        Ended::TimedOut | Ended::Unanswered => {
            Err(format!("reconciling took longer than {timeout_ms} ms"))
        }
        Ended::Aborted => Err("reconciling was aborted".to_owned()),
    }
}

fn failed(dispatcher: &Dispatcher, claimed: Claimed, failure: Failure) -> Performed {
    let raised = Raised::by_gateway(failure, Some(claimed.operation.clone()));
    performed(dispatcher, claimed, raised)
}

fn performed(dispatcher: &Dispatcher, claimed: Claimed, raised: Raised) -> Performed {
    let failure = dispatcher.finish(raised, &claimed.call);
    let terms = terms(&claimed, Waiting::Inline);
    Performed::without_attempt(claimed, terms, Err(failure))
}

fn unknown(claimed: &Claimed) -> Failure {
    Failure::new(codes::ERR_OUTCOME_UNKNOWN)
        .with_message(format!(
            "an earlier call of {} with this key stopped without a word; it may have taken effect",
            claimed.operation.name()
        ))
        .with_effect(Effect::Unknown)
}

fn given_up(claimed: &Claimed, recoveries: u32) -> Failure {
    Failure::new(codes::ERR_RECOVERY_EXHAUSTED)
        .with_message(format!(
            "calls of {} with this key have ended without a word {recoveries} times",
            claimed.operation.name()
        ))
        .with_detail("recoveries", recoveries)
        .with_effect(effect_when_cut(&claimed.operation))
}
