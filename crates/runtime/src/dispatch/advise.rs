//! The way forward, chosen by code and occurrence together.
//!
//! A code knows what happened; only here is it known whether the call reads or writes, under which key it
//! ran, whether it may be repeated, and which operations its caller can turn to. What the author of a
//! failure wrote is kept. Every sentence written here can be followed as it is: a read is never sent to
//! check a write, and an unkeyed call never to use its key again.

use panpan_contract::failure::{Recovery, Repeat, invites_repeat};
use panpan_contract::operation::{OperationName, OperationType};
use panpan_contract::{Effect, Failure, Kind, Redacted, Remedy, codes};

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

/// Refusals that say nothing about the operation: whoever waits, waits for itself.
const NOT_ITS_FAILURE: [&str; 2] = [
    codes::ERR_IDEMPOTENCY_IN_FLIGHT.code,
    codes::ERR_RATE_LIMITED.code,
];

impl Dispatcher {
    /// How often the identical call of this caller has failed in a row, this time included.
    fn failed_in_a_row(&self, failure: &Failure, operation: &Operation, call: &Call) -> u32 {
        // A handler that asks nobody else says itself how long to wait.
        let is_of_service = operation.behind().is_some() || failure.upstream().is_some();
        if !is_of_service || NOT_ITS_FAILURE.contains(&failure.code().as_str()) {
            return 0;
        }
        if failure.may_repeat() {
            let now = self.world().clock.now();
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
    } else if failure.must_be_checked() {
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
    const BEGINNINGS: [&str; 10] = [
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
    match situation.key {
        Key::Stated(_) if situation.honours_key && !is_kept => {
            "If it did not, repeat the call with the same idempotency_key".to_owned()
        }
        Key::Stated(key) => format!(
            "If it did not, call again with a new idempotency_key: {key} keeps this failure until an \
             operator frees it with {REOPEN}"
        ),
        Key::Made(_) => "If it did not, make the call again without an idempotency_key".to_owned(),
        Key::None => "If it did not, make the call again".to_owned(),
    }
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

/// What a caller has to know that puts right what stands in the way and then makes the same call again.
/// Other input needs no other key: nothing happened under this one.
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
    (situation.is_kept && is_put_right_outside).then(|| {
        format!(
            "Once that is put right, call again with a new idempotency_key: {key} keeps this failure"
        )
    })
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
        return "Call again without an idempotency_key, and ask for less if it was too large"
            .to_owned();
    }
    if let Some(sentence) = missing(failure, situation) {
        return sentence;
    }
    if let Some(correction) = correction(failure).filter(|_| input_is_wrong) {
        return correction;
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
mod tests {
    use panpan_contract::catalogue;
    use panpan_contract::failure::NextMove;

    use super::*;

    const LIST: &str = "s/list";
    const SHOW: &str = "s/show";

    /// Every situation a call can be in.
    fn situations() -> Vec<Situation<'static>> {
        let mut all = Vec::new();
        for key in [Key::None, Key::Made("gateway-1"), Key::Stated("order-7")] {
            for (is_read, is_harmless) in [(true, true), (false, true), (false, false)] {
                for honours_key in [true, false] {
                    for related in [Some(()), None] {
                        for failed_in_a_row in [0, 1, 4] {
                            all.push(Situation {
                                key,
                                is_kept: matches!(key, Key::Stated(_)),
                                is_read,
                                is_harmless,
                                honours_key,
                                failed_in_a_row,
                                has_stated_delay: false,
                                shows_effect: related.map(|()| SHOW),
                                lists: related.map(|()| LIST),
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// What `stamp` and `keep` say about repeating in a situation.
    fn repeats(situation: Situation<'_>) -> Vec<Repeat> {
        let is_stated = matches!(situation.key, Key::Stated(_));
        let allowed = situation.is_harmless || (situation.honours_key && is_stated);
        let usual = match allowed {
            true => Repeat::Allowed,
            false => Repeat::OnlyWithoutEffect,
        };
        let mut repeats = vec![usual, Repeat::Refused];
        if is_stated {
            repeats.push(Repeat::Frozen);
        }
        repeats
    }

    fn kinds() -> Vec<Kind> {
        let families = [
            "HTTP_404",
            "HTTP_409",
            "HTTP_418",
            "HTTP_500",
            "ERR_HTTP_599",
        ];
        let members = families.into_iter().map(|code| Kind::of(code).unwrap());
        catalogue::entries()
            .map(Kind::from)
            .chain(members)
            .collect()
    }

    fn check(failure: &Failure, situation: Situation<'_>) {
        let recovery = recovery(failure, failure.recovery().clone(), situation);
        let context = format!(
            "{} {:?} {situation:?}: {recovery:?}",
            failure.code(),
            failure.repeat()
        );
        let text = recovery.required_actions.join("; ");
        let says = |part: &str| text.contains(part);
        assert!(!recovery.required_actions.is_empty(), "{context}");
        assert_eq!(
            recovery.retry_after_ms.is_some(),
            failure.may_repeat(),
            "{context}"
        );
        let invites = says("repeat the identical call") || says("Repeat the identical call");
        assert!(!invites || failure.may_repeat(), "{context}");
        if situation.is_read {
            assert!(!says("took effect"), "{context}");
        }
        if failure.effect() == Effect::Applied && !failure.may_repeat() {
            assert!(says("do not repeat it"), "{context}");
            assert!(!says("again") && !says("new idempotency_key"), "{context}");
            let next = failure.next_moves();
            assert!(!next.contains(&NextMove::ChangeInput), "{context}");
        }
        let is_about_keys = failure.code().as_str().contains("IDEMPOTENCY");
        let may_have_happened = failure.effect() == Effect::Unknown;
        if may_have_happened && !failure.may_repeat() && !is_about_keys {
            let looks = match situation.shows_effect {
                Some(_) => says("Call s/show") && says("If it did not"),
                None => says("Find out") && says("If it did not"),
            };
            let asks_the_service = says("Repeat the call with idempotency_key gateway-1");
            assert!(looks || asks_the_service, "{context}");
            assert!(!asks_the_service || situation.honours_key, "{context}");
            let next = failure.next_moves();
            assert_eq!(next[0], NextMove::CheckOutcome, "{context}");
            if !may_pass(failure) || failure.repeat() == Some(Repeat::Refused) {
                assert!(!says("If it did not, make the call again"), "{context}");
            }
        }
        if !situation.is_read {
            assert!(!says("ask for one of those"), "{context}");
        }
        let names_key = says("order-7") || says("same idempotency_key");
        assert!(
            matches!(situation.key, Key::Stated(_)) || !names_key || is_about_keys,
            "{context}"
        );
        if failure.repeat() == Some(Repeat::Frozen) && failure.effect() != Effect::Applied {
            assert!(says("new idempotency_key"), "{context}");
            assert!(!says("same idempotency_key") || is_about_keys, "{context}");
        }
        let names = |operation: &str| {
            text.split(' ')
                .any(|word| word.trim_end_matches(',') == operation)
        };
        assert!(!names(LIST) || situation.lists.is_some(), "{context}");
        assert!(
            !names(SHOW) || situation.shows_effect.is_some(),
            "{context}"
        );
    }

    #[test]
    fn every_sentence_can_be_followed_in_every_situation() {
        for kind in kinds() {
            for situation in situations() {
                let effects = match situation.is_read {
                    true => vec![Effect::None],
                    false => vec![Effect::None, Effect::Unknown, Effect::Applied],
                };
                for effect in effects {
                    for repeat in repeats(situation) {
                        let failure = Failure::new(kind.clone())
                            .with_effect(effect)
                            .with_repeat(repeat)
                            .redacted();
                        if repeat != Repeat::Frozen || failure.retryable() {
                            check(&failure, situation);
                        }
                    }
                }
            }
        }
    }

    /// A panpan behind this one advised its caller, which is this panpan.
    #[test]
    fn advice_is_recognised_and_given_anew() {
        for kind in kinds() {
            for situation in situations() {
                for repeat in repeats(situation) {
                    let failure = Failure::new(kind.clone())
                        .with_effect(Effect::Unknown)
                        .with_repeat(repeat);
                    let before = failure.recovery().clone();
                    let once = recovery(&failure, before, situation);
                    let twice = recovery(&failure, once.clone(), situation);
                    assert_eq!(twice.required_actions, once.required_actions);
                }
            }
        }
    }

    fn of_a_write(key: Key<'static>) -> Situation<'static> {
        Situation {
            key,
            is_kept: false,
            is_read: false,
            is_harmless: false,
            honours_key: false,
            failed_in_a_row: 0,
            has_stated_delay: false,
            shows_effect: Some(SHOW),
            lists: Some(LIST),
        }
    }

    fn actions(failure: Failure, situation: Situation<'_>) -> Vec<String> {
        let failure = failure.redacted();
        let before = failure.recovery().clone();
        recovery(&failure, before, situation).required_actions
    }

    #[test]
    fn what_its_author_wrote_stays_and_what_is_missing_is_added() {
        let said = "Ask the warehouse";
        let failure = Failure::new(Kind::of("HTTP_500").unwrap())
            .with_actions([said])
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::OnlyWithoutEffect);
        let found = actions(failure, of_a_write(Key::None));
        let expected = [
            "Call s/show to see whether this call took effect before doing anything else",
            "If it did not, make the call again",
            said,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn something_that_is_not_there_is_looked_for_in_the_list_and_never_replaced_by_a_write() {
        let failure = || {
            Failure::new(Kind::of("HTTP_404").unwrap())
                .with_upstream(panpan_contract::failure::Upstream::status(404))
        };
        let write = of_a_write(Key::None);
        let read = Situation {
            is_read: true,
            is_harmless: true,
            ..write
        };
        assert_eq!(
            actions(failure(), read),
            ["List what exists with s/list, then ask for one of those"]
        );
        assert_eq!(
            actions(failure(), write),
            [
                "Call s/list to see whether what the input names is spelled right; do not change \
                 another one in its place"
            ]
        );
        // A delete whose first attempt was cut finds nothing the second time.
        let after_a_cut = failure()
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::Allowed);
        let delete = Situation {
            is_harmless: true,
            ..write
        };
        assert_eq!(
            actions(after_a_cut, delete)[0],
            "Call s/show to see whether this call took effect before doing anything else"
        );
    }

    #[test]
    fn another_key_is_asked_for_where_the_key_keeps_what_was_put_right() {
        let situation = Situation {
            is_kept: true,
            ..of_a_write(Key::Stated("order-7"))
        };
        for (code, needs_another) in [("HTTP_401", true), ("HTTP_422", false)] {
            let found = actions(Failure::new(Kind::of(code).unwrap()), situation);
            let last = found.last().unwrap();
            assert_eq!(
                last.contains("new idempotency_key"),
                needs_another,
                "{last}"
            );
        }
    }

    #[test]
    fn a_change_of_something_missing_is_never_sent_elsewhere_whatever_says_that_it_is_missing() {
        for code in ["ARTIFACT_NOT_FOUND", "ERR_HTTP_404_NOT_FOUND", "HTTP_410"] {
            for lists in [Some(LIST), None] {
                let situation = Situation {
                    lists,
                    ..of_a_write(Key::None)
                };
                let found = actions(Failure::new(Kind::of(code).unwrap()), situation);
                assert!(found[0].contains("do not change another one"), "{found:?}");
            }
        }
    }

    #[test]
    fn an_invitation_to_repeat_what_must_not_be_repeated_is_left_out() {
        let failure = Failure::new(Kind::of("HTTP_500").unwrap())
            .with_actions(["Retry the request", "Tell the warehouse"])
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::OnlyWithoutEffect);
        let found = actions(failure, of_a_write(Key::None));
        assert_eq!(found.last().unwrap(), "Tell the warehouse");
        assert!(!found.iter().any(|it| it.contains("Retry")), "{found:?}");
    }

    #[test]
    fn the_wait_grows_with_every_call_that_fails_in_a_row() {
        let failure = Failure::new(Kind::of("HTTP_503").unwrap())
            .with_effect(Effect::None)
            .with_repeat(Repeat::Allowed)
            .redacted();
        let waits = [0, 1, 2, 3, 20].map(|failed_in_a_row| {
            let situation = Situation {
                failed_in_a_row,
                ..of_a_write(Key::None)
            };
            recovery(&failure, Recovery::default(), situation).retry_after_ms
        });
        let usual = failure.kind().default_retry_after_ms().unwrap();
        assert!(waits[0] == Some(usual) && waits.is_sorted(), "{waits:?}");
        assert_eq!(waits[4], Some(WAIT_MS_MAX.max(usual)));
    }
}
