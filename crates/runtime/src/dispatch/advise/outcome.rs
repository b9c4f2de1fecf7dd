//! The advice about calls that took effect or may have, and about failures that their key keeps.

use panpan_failure::{Effect, Failure, Remedy, Repeat, codes};

use super::change::{change, existing_item};
use super::delay::{asking_a_person, delay_before_another_ms, duration, waiting};
use super::{Key, Situation};

/// The operation with which an operator reopens a key.
const REOPEN: &str = "calls/reopen";

/// What to do about a change that took effect although the call failed.
pub(super) fn took_effect(situation: Situation<'_>) -> String {
    match situation.shows_effect {
        Some(operation) => format!(
            "This call took effect: do not repeat it. Call {operation} to see the result, and ask a \
             person how to proceed"
        ),
        None => "This call took effect: do not repeat it. Ask a person how to proceed".to_owned(),
    }
}

/// What to do about a change that may have taken effect.
pub(super) fn check(
    failure: &Failure,
    situation: Situation<'_>,
    defaults: Vec<String>,
) -> Vec<String> {
    if failure.code().as_str() == codes::ERR_IDEMPOTENCY_KEY_REUSED.code {
        return reused_key(situation);
    }
    if let Some(look) = existing_item(failure, situation) {
        return vec![look];
    }
    let is_refused = failure.repeat() == Some(Repeat::Refused);
    if let Key::Generated(key) = situation.key
        && repeats_with_key(failure, situation)
    {
        let wait = waiting(delay_before_another_ms(situation));
        return vec![format!(
            "{wait} the call with idempotency_key {key}: the service recognises it, so nothing is done twice{}",
            asking_a_person(situation)
        )];
    }
    let look = match situation.shows_effect {
        Some(operation) => {
            format!(
                "Call {operation} to see whether this call took effect before doing anything else"
            )
        }
        None => {
            "Find out whether this call took effect before doing anything else; ask a person if \
                 no operation shows it"
                .to_owned()
        }
    };
    let then = if is_refused && failure.code().as_str() == codes::ERR_DNS_FAILURE.code {
        "If it did not, ask the person responsible for this tool before the call is made again"
            .to_owned()
    } else if is_refused {
        "If it did not, ask the person responsible for the service: the service says not to repeat \
         this call"
            .to_owned()
    } else if may_pass(failure) {
        make_again(failure, situation)
    } else {
        let first = change(failure, situation, defaults);
        match situation.key {
            Key::Caller(key) => format!(
                "If it did not: {first}; a call after that needs a new idempotency_key, since {key} \
                 keeps this failure"
            ),
            Key::Generated(_) | Key::None => format!("If it did not: {first}"),
        }
    };
    vec![look, then]
}

/// Whether the key that the failure names has to be sent with the next call: the service recognises it, but the caller
/// did not know it.
pub(super) fn repeats_with_key(failure: &Failure, situation: Situation<'_>) -> bool {
    failure.repeat() == Some(Repeat::WithKey)
        && matches!(situation.key, Key::Generated(_))
        && failure.effect() == Effect::Unknown
        && failure.code().as_str() != codes::ERR_IDEMPOTENCY_KEY_REUSED.code
        && may_pass(failure)
        && existing_item(failure, situation).is_none()
}

/// Whether the identical call could succeed if it did not take effect: its condition may pass, or only the
/// response was lost.
pub(super) fn may_pass(failure: &Failure) -> bool {
    failure.retryable() || failure.code().as_str() == codes::ERR_OUTCOME_UNKNOWN.code
}

/// How to make a call again that did not take effect.
fn make_again(failure: &Failure, situation: Situation<'_>) -> String {
    let is_kept = failure.repeat() == Some(Repeat::Frozen) || !failure.retryable();
    let unless = unless_it_took_effect(failure, situation);
    let again = match situation.key {
        Key::Caller(_) if situation.honours_key && !is_kept => {
            format!("{unless} repeat the call with the same idempotency_key")
        }
        Key::Caller(key) => format!(
            "{unless} call again with a new idempotency_key: {key} keeps this failure until an \
             operator reopens it with {REOPEN}"
        ),
        Key::Generated(_) => format!("{unless} make the call again without an idempotency_key"),
        Key::None => format!("{unless} make the call again"),
    };
    again + &asking_a_person(situation)
}

/// The beginning of the advice to make a call again.
fn unless_it_took_effect(failure: &Failure, situation: Situation<'_>) -> String {
    match delay_before_another_ms(situation) {
        // The service may still be working on the request.
        _ if is_unanswered(failure) => {
            "If it did not, and still has not a minute later,".to_owned()
        }
        Some(delay_ms) => format!("If it did not, wait {}, then", duration(delay_ms)),
        None => "If it did not,".to_owned(),
    }
}

/// Whether there was no response, so that the service may still be working on the request.
fn is_unanswered(failure: &Failure) -> bool {
    const TIMEOUT_STATUSES: [u16; 3] = [408, 504, 524];
    let status = failure.upstream().and_then(|it| it.status);
    const UNANSWERED: [&str; 2] = [codes::ERR_OUTCOME_UNKNOWN.code, codes::ERR_TIMEOUT.code];
    let is_unanswered = UNANSWERED.contains(&failure.code().as_str());
    status.map_or(is_unanswered, |status| TIMEOUT_STATUSES.contains(&status))
}

/// What to do when a key was used before with different input, and that call may have taken effect.
fn reused_key(situation: Situation<'_>) -> Vec<String> {
    let key = match situation.key {
        Key::Caller(key) | Key::Generated(key) => key,
        Key::None => "its key",
    };
    vec![
        format!(
            "Call again with the input first sent under {key} to get the outcome of that call: it may \
             already have done this work"
        ),
        "If this is different work, or that call had no effect, send this input with a new \
         idempotency_key"
            .to_owned(),
    ]
}

/// What to do about a failure without effect that the key keeps.
pub(super) fn frozen(situation: Situation<'_>) -> String {
    match situation.key {
        Key::Caller(key) => format!(
            "Call again with a new idempotency_key: {key} keeps this failure until an operator reopens it \
             with {REOPEN}"
        ),
        Key::Generated(_) | Key::None => "Make the call again".to_owned(),
    }
}

/// The advice to use another key for the same input later: the key still keeps this failure. Corrected input
/// can use the same key, because the call had no effect.
pub(super) fn another_key(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    const OUTSIDE_INPUT: [Remedy; 3] = [
        Remedy::ChangeState,
        Remedy::Reauthenticate,
        Remedy::AskHuman,
    ];
    let Key::Caller(key) = situation.key else {
        return None;
    };
    let remedies = failure.remedies();
    let is_fixed_outside_input = OUTSIDE_INPUT
        .iter()
        .any(|remedy| remedies.contains(*remedy));
    let when = match is_fixed_outside_input {
        true => "Once that is fixed, call again with",
        false => "If the same input becomes valid later, send it with",
    };
    situation
        .is_kept
        .then(|| format!("{when} a new idempotency_key: {key} keeps this failure"))
}
