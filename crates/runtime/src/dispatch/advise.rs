//! The way forward, chosen by code and occurrence together.
//!
//! A code knows what happened; only here is it known whether the call reads or writes, under which key it
//! ran, whether it may be repeated, and which operations its caller can turn to. What the author of a
//! failure wrote is kept. Every sentence written here can be followed as it is: a read is never sent to
//! check a write, and an unkeyed call never to use its key again.

use panpan_contract::operation::{OperationName, OperationType};
use panpan_failure::{
    Effect, Failure, Kind, Recovery, Redacted, Remedy, Repeat, codes, invites_repeat,
};

use super::claim::{honours_key, is_harmless};
use super::correction::correction;
use super::request::{Call, Origin};
use super::stamp::{self, KEY_DETAIL};
use super::{Dispatcher, resolve};
use crate::identity::lacking;
use crate::registry::{Operation, Registry};

/// The operation an operator frees a key with.
const REOPEN: &str = "calls/reopen";

/// How long to wait at least after the third failure in a row, and at most however many there are.
const WAIT_MS_MIN: u64 = 500;
const WAIT_MS_MAX: u64 = 30_000;
/// From how many failed calls in a row on repeating is not the only advice.
const ROW_OF_FAILURES: u32 = 3;

/// What is known about a call beyond its failure.
#[derive(Clone, Copy, Debug)]
struct Situation<'a> {
    key: Key<'a>,
    /// Whether the key keeps the failure, so that repeating the call returns it again.
    is_kept: bool,
    /// Whether the call only reads.
    is_read: bool,
    /// Whether repeating the call is harmless whatever it left behind.
    is_harmless: bool,
    /// Whether the service recognises the key of the call.
    honours_key: bool,
    /// How often the identical call has failed in a row, this time included.
    failed_in_a_row: u32,
    /// Whether the failure itself says how long to wait.
    has_stated_delay: bool,
    /// The argument that held the input, such as `input`, where the caller sent other arguments too.
    input_stands_in: Option<&'static str>,
    /// The operation that shows whether a change took effect.
    shows_effect: Option<&'a str>,
    /// The operation that lists what can be asked for.
    lists: Option<&'a str>,
}

/// Under which key a call ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key<'a> {
    None,
    /// One the gateway made; the caller learns it from the failure.
    Made(&'a str),
    /// One the caller gave.
    Stated(&'a str),
}

/// Whether the key of a call keeps its failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    Kept,
    NotKept,
}

impl Dispatcher {
    /// A failure with the way forward for its caller.
    pub(super) fn advised(
        &self,
        failure: Redacted,
        operation: Option<&Operation>,
        call: &Call,
        keeping: Keeping,
    ) -> Redacted {
        let Some(operation) = operation else {
            let mut failure = failure;
            let mut recovery = failure.take_recovery();
            leave_out_general(&mut recovery, failure.kind());
            return failure.with_recovery(recovery);
        };
        // An earlier attempt may have had an effect that the last one did not have.
        let mut failure = match failure.repeat() {
            None if failure.effect() != Effect::None => {
                let repeat = stamp::repeat(&failure, false, operation, call);
                failure.with_repeat(repeat)
            }
            _ => failure,
        };
        let has_stated_delay = failure.stated_retry_after_ms().is_some_and(|it| it > 0);
        let before = failure.take_recovery();
        let situation = Situation {
            is_kept: keeping == Keeping::Kept,
            has_stated_delay,
            failed_in_a_row: self.failed_in_a_row(&failure, operation, call),
            ..self.look(|registry| situation(&failure, operation, call, registry))
        };
        let recovery = recovery(&failure, before, situation);
        failure.with_recovery(recovery)
    }
}

/// Refusals that say nothing about the operation: the caller waits for its own earlier calls.
const NOT_ITS_FAILURE: [&str; 2] = [
    codes::ERR_IDEMPOTENCY_IN_FLIGHT.code,
    codes::ERR_RATE_LIMITED.code,
];

impl Dispatcher {
    /// How often the identical call of this caller has failed in a row, this time included.
    fn failed_in_a_row(&self, failure: &Failure, operation: &Operation, call: &Call) -> u32 {
        // A native handler states its own delay.
        let is_of_service = operation.behind().is_some() || failure.upstream().is_some();
        if !is_of_service || NOT_ITS_FAILURE.contains(&failure.code().as_str()) {
            return 0;
        }
        if failure.may_repeat() {
            let now = self.ports().clock.now();
            return self.rows().failed(operation.name().as_str(), call, now);
        }
        self.rows().ended(operation.name().as_str(), call);
        0
    }
}

fn situation<'a>(
    failure: &'a Failure,
    operation: &'a Operation,
    call: &'a Call,
    registry: &Registry,
) -> Situation<'a> {
    let named = failure
        .details()
        .and_then(|it| it.get(KEY_DETAIL)?.as_str());
    let callable = |name: &&str| is_callable(name, call, registry);
    let related = operation.related();
    let name = |it: &'a Option<_>| it.as_ref().map(OperationName::as_str);
    Situation {
        key: match (call.stated_key(), named) {
            (Some(key), _) => Key::Stated(key.as_str()),
            (None, Some(key)) => Key::Made(key),
            (None, None) => Key::None,
        },
        is_kept: false,
        is_read: operation.spec().op_type == OperationType::Query,
        is_harmless: is_harmless(operation, &call.input),
        honours_key: honours_key(operation),
        failed_in_a_row: 0,
        has_stated_delay: false,
        input_stands_in: call.input_stands_in,
        shows_effect: name(&related.shows_effect).filter(callable),
        lists: name(&related.lists).filter(callable),
    }
}

/// Whether the caller of this call may call that operation too.
fn is_callable(name: &str, call: &Call, registry: &Registry) -> bool {
    registry.get(name).is_some_and(|operation| {
        let control = &operation.spec().access_control;
        resolve::is_visible(operation, &Origin::Wire)
            && lacking(control, call.caller.as_deref()).is_none()
    })
}

/// The way forward in a situation, from what was said about it before.
fn recovery(failure: &Failure, mut recovery: Recovery, situation: Situation<'_>) -> Recovery {
    let kind = failure.kind();
    leave_out_general(&mut recovery, kind);
    let mut said = std::mem::take(&mut recovery.required_actions);
    // What another panpan advised was for its own caller, whose key is not that of ours.
    said.retain(|action| !is_advice(action));
    let is_usual = said.is_empty() || kind.has_default_actions(&said);
    let (usual, mut authored) = match is_usual {
        true => (said, Vec::new()),
        false => (Vec::new(), said),
    };
    if !failure.may_repeat() {
        authored.retain(|action| !misleads(action));
        recovery
            .alternatives
            .retain(|other| !misleads(&other.description));
    }
    // What was found out about the occurrence, and what has to be known after doing as its author says.
    let (mut first, mut last) = (Vec::new(), None);
    if failure.may_repeat() {
        let delay_ms = delay_ms(recovery.retry_after_ms, kind, situation);
        recovery.retry_after_ms = delay_ms;
        if authored.is_empty() {
            first.push(repeat(failure, situation, delay_ms));
        }
    } else if failure.effect() == Effect::Applied {
        first.push(done(situation));
    } else if failure.must_check_outcome() {
        first.extend(check(failure, situation, usual));
    } else if failure.repeat() == Some(Repeat::Frozen) {
        first.push(frozen(situation));
    } else {
        if authored.is_empty() {
            first.push(change(failure, situation, usual));
        }
        last = another_key(failure, situation);
    }
    first.append(&mut authored);
    first.extend(last);
    recovery.required_actions = first;
    recovery
}

/// What a code suggests in general names no operation that could be called.
fn leave_out_general(recovery: &mut Recovery, kind: &Kind) {
    if kind.has_default_alternatives(&recovery.alternatives) {
        recovery.alternatives.clear();
    }
}

/// Whether a sentence would have a call repeated, or says nothing about the occurrence.
fn misleads(action: &str) -> bool {
    invites_repeat(action) || Kind::is_general_action(action)
}

/// Whether a sentence is one of those below.
fn is_advice(action: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "Repeat the identical call",
        "Repeat the call with the same idempotency_key",
        "Repeat the call with idempotency_key gateway-",
        "Find out whether this call took effect",
        "This call took effect",
        "If it did not",
        "Call again with a new idempotency_key",
        "Call again with the input first sent under ",
        "Once that is put right, call again with a new idempotency_key",
        "Only for other work",
        "Should the same input be right later",
        "What this call was to make may exist already",
    ];
    let repeats = action.starts_with("Wait ") && action.contains(" ms, then repeat the ");
    let looks = action.starts_with("Call ") && action.contains("whether this call took effect");
    repeats || looks || BEGINNINGS.iter().any(|it| action.starts_with(it))
}

/// How long to wait before a call is repeated: as the failure says, or longer each time the operation
/// fails in a row.
fn delay_ms(said_ms: Option<u64>, kind: &Kind, situation: Situation<'_>) -> Option<u64> {
    if situation.has_stated_delay {
        return said_ms;
    }
    let usual_ms = kind.default_retry_after_ms().or(said_ms)?;
    // The first two failures of a row say what their code says.
    let Some(doublings @ 1..) = situation.failed_in_a_row.checked_sub(2) else {
        return Some(usual_ms);
    };
    let grown_ms = usual_ms.max(WAIT_MS_MIN / 2) << doublings.min(16);
    Some(grown_ms.min(WAIT_MS_MAX).max(usual_ms))
}

/// How to repeat a call that may be repeated.
fn repeat(failure: &Failure, situation: Situation<'_>, delay_ms: Option<u64>) -> String {
    let wait = match delay_ms {
        Some(delay_ms) if delay_ms > 0 => format!("Wait {delay_ms} ms, then repeat"),
        _ => "Repeat".to_owned(),
    };
    let call = match situation.key {
        Key::Stated(_) if !situation.is_harmless && failure.effect() != Effect::None => {
            "the call with the same idempotency_key, so that nothing is done twice"
        }
        Key::Stated(_) if !situation.is_harmless => "the call with the same idempotency_key",
        _ => "the identical call",
    };
    match situation.failed_in_a_row {
        0..ROW_OF_FAILURES => format!("{wait} {call}"),
        row => format!(
            "{wait} {call}; it has failed {row} times in a row, so ask a person if it goes on"
        ),
    }
}

/// What to do about a change that took effect although the call failed.
fn done(situation: Situation<'_>) -> String {
    match situation.shows_effect {
        Some(operation) => format!(
            "This call took effect: do not repeat it. Call {operation} to see what it left, and ask a \
             person how to finish it"
        ),
        None => "This call took effect: do not repeat it. Ask a person how to finish it".to_owned(),
    }
}

/// What to do about a change that may have taken effect.
fn check(failure: &Failure, situation: Situation<'_>, usual: Vec<String>) -> Vec<String> {
    if failure.code().as_str() == codes::ERR_IDEMPOTENCY_KEY_REUSED.code {
        return reused(situation);
    }
    let is_refused = failure.repeat() == Some(Repeat::Refused);
    if let Key::Made(key) = situation.key
        && situation.honours_key
        && may_pass(failure)
        && !is_refused
    {
        return vec![format!(
            "Repeat the call with idempotency_key {key}: the service recognises it, so that nothing is \
             done twice"
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
    let then = if is_refused {
        "If it did not, ask the person responsible for the service: it says not to repeat this call"
            .to_owned()
    } else if may_pass(failure) {
        make_again(failure, situation)
    } else {
        let first = change(failure, situation, usual);
        match situation.key {
            Key::Stated(key) => format!(
                "If it did not: {first}; a call after that needs a new idempotency_key, since {key} \
                 keeps this failure"
            ),
            Key::Made(_) | Key::None => format!("If it did not: {first}"),
        }
    };
    vec![look, then]
}

/// Whether the identical call could succeed if it did not take effect: its condition may pass, or only its
/// answer was lost.
fn may_pass(failure: &Failure) -> bool {
    failure.retryable() || failure.code().as_str() == codes::ERR_OUTCOME_UNKNOWN.code
}

/// How to make a call again that turned out not to have taken effect.
fn make_again(failure: &Failure, situation: Situation<'_>) -> String {
    let is_kept = failure.repeat() == Some(Repeat::Frozen) || !failure.retryable();
    // The service may still be working on the request.
    let unless = match is_unanswered(failure) {
        true => "If it did not, nor a minute later",
        false => "If it did not",
    };
    match situation.key {
        Key::Stated(_) if situation.honours_key && !is_kept => {
            format!("{unless}, repeat the call with the same idempotency_key")
        }
        Key::Stated(key) => format!(
            "{unless}, call again with a new idempotency_key: {key} keeps this failure until an \
             operator frees it with {REOPEN}"
        ),
        Key::Made(_) => format!("{unless}, make the call again without an idempotency_key"),
        Key::None => format!("{unless}, make the call again"),
    }
}

/// Whether no answer came, so that the service may still be at work.
fn is_unanswered(failure: &Failure) -> bool {
    const GAVE_UP: [u16; 3] = [408, 504, 524];
    let answered = failure.upstream().and_then(|it| it.status);
    const UNANSWERED: [&str; 2] = [codes::ERR_OUTCOME_UNKNOWN.code, codes::ERR_TIMEOUT.code];
    let is_unanswered = UNANSWERED.contains(&failure.code().as_str());
    answered.map_or(is_unanswered, |status| GAVE_UP.contains(&status))
}

/// What to do when other input came with a key under which something may have happened.
fn reused(situation: Situation<'_>) -> Vec<String> {
    let key = match situation.key {
        Key::Stated(key) | Key::Made(key) => key,
        Key::None => "its key",
    };
    vec![
        format!(
            "Call again with the input first sent under {key} to learn what became of that call: it may \
             have done already what this one asks for"
        ),
        "Only for other work, or if that call had no effect: send this input with a new \
         idempotency_key"
            .to_owned(),
    ]
}

/// What to do about a failure that is kept although nothing happened.
fn frozen(situation: Situation<'_>) -> String {
    match situation.key {
        Key::Stated(key) => format!(
            "Call again with a new idempotency_key: {key} keeps this failure until an operator frees it \
             with {REOPEN}"
        ),
        Key::Made(_) | Key::None => "Make the call again".to_owned(),
    }
}

/// The advice for a caller that removes the cause outside its input and then makes the same call again: the
/// key still keeps the failure. Corrected input can keep the key, because nothing happened under it.
fn another_key(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    const OUTSIDE: [Remedy; 3] = [
        Remedy::ChangeState,
        Remedy::Reauthenticate,
        Remedy::AskHuman,
    ];
    let Key::Stated(key) = situation.key else {
        return None;
    };
    let remedies = failure.remedies();
    let is_put_right_outside = OUTSIDE.iter().any(|remedy| remedies.contains(*remedy));
    let when = match is_put_right_outside {
        true => "Once that is put right, call again with",
        false => "Should the same input be right later, it needs",
    };
    situation
        .is_kept
        .then(|| format!("{when} a new idempotency_key: {key} keeps this failure"))
}

/// What to change before another call.
fn change(failure: &Failure, situation: Situation<'_>, mut usual: Vec<String>) -> String {
    let input_is_wrong = failure.remedies().contains(Remedy::ChangeInput);
    if failure.repeat() == Some(Repeat::Refused) && failure.retryable() {
        return "Do not repeat this call: the service says so; ask the person responsible for it"
            .to_owned();
    }
    // An outcome that was lost or not kept is no loss where the call can simply be made again.
    if situation.is_harmless && failure.code().as_str().starts_with("ERR_OUTCOME_") {
        let too_large = codes::ERR_OUTCOME_TOO_LARGE.code;
        return match failure.code().as_str() == too_large {
            true => "Ask for less, and without an idempotency_key",
            false => "Call again without an idempotency_key",
        }
        .to_owned();
    }
    if let Some(sentence) = missing(failure, situation) {
        return sentence;
    }
    if let Some(sentence) = existing(failure, situation) {
        return sentence;
    }
    let corrected = correction(failure, situation.input_stands_in);
    if let Some(corrected) = corrected.filter(|_| input_is_wrong) {
        return corrected;
    }
    if usual.is_empty() {
        usual = failure.kind().default_recovery().required_actions;
    }
    match usual.len() {
        1 => usual.remove(0),
        _ => usual.join("; "),
    }
}

/// What to do about something that does not exist. A change is never sent to something else instead.
fn missing(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    if !is_missing(failure) {
        return None;
    }
    match (situation.is_read, situation.lists) {
        (true, lists) => {
            lists.map(|it| format!("List what exists with {it}, then ask for one of those"))
        }
        (false, Some(lists)) => Some(format!(
            "Call {lists} to see whether what the input names is spelled right; do not change another \
             one in its place"
        )),
        (false, None) => Some(
            "Check whether what the input names exists and is spelled right; do not change another \
             one in its place"
                .to_owned(),
        ),
    }
}

/// What to do where a change was to make something that is there already: with other input it would be made twice.
fn existing(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    const EXISTS: [&str; 3] = ["exist", "been created", "been placed"];
    let (_, said) = failure.message().split_once(" already ")?;
    let exists = EXISTS.iter().any(|it| said.starts_with(it));
    if situation.is_read || !exists {
        return None;
    }
    let look = match situation.shows_effect.or(situation.lists) {
        Some(operation) => format!("call {operation} to see it"),
        None => "look at it".to_owned(),
    };
    Some(format!(
        "What this call was to make may exist already: {look} before anything else, and change the input only to \
         make another one"
    ))
}

/// Whether what was asked for does not exist; an operation that does not is another matter.
fn is_missing(failure: &Failure) -> bool {
    const STATUSES: [u16; 2] = [404, 410];
    if failure.code().as_str() == codes::NOT_FOUND.code {
        return false;
    }
    let answered = failure.upstream().and_then(|it| it.status);
    let has_answered = answered.is_some_and(|status| STATUSES.contains(&status));
    let is_of_input = failure.remedies().contains(Remedy::ChangeInput);
    has_answered || (is_of_input && STATUSES.contains(&failure.kind().http_status()))
}

#[cfg(test)]
mod tests;
