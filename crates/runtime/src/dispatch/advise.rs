//! The way forward, chosen by code and occurrence together.
//!
//! A code knows what happened; only here is it known whether the call reads or writes, under which key it
//! ran, whether it may be repeated, and which operations its caller can turn to. What the author of a
//! failure wrote is kept. Every sentence written here can be followed as it is: a read is never sent to
//! check a write, and an unkeyed call never to use its key again.

use panpan_contract::failure::{Recovery, Repeat};
use panpan_contract::{Effect, Failure, Kind, Redacted, Remedy};

use super::claim::{honours_key, is_harmless};
use super::request::{Call, Origin};
use super::stamp::{self, KEY_DETAIL};
use super::{Dispatcher, resolve};
use crate::identity::lacking;
use crate::registry::{Operation, Registry};

/// The operation an operator frees a key with.
const REOPEN: &str = "calls/reopen";

/// How many members an action names that have to be corrected.
const CORRECTIONS_LIMIT: usize = 5;
/// The longest rule for a member that an action repeats, in bytes.
const EXPECTED_BYTES_LIMIT: usize = 120;

/// What is known about a call beyond its failure.
#[derive(Clone, Copy, Debug)]
struct Situation<'a> {
    key: Key<'a>,
    /// Whether repeating the call is harmless whatever it left behind.
    is_harmless: bool,
    /// Whether the service recognises the key of the call.
    honours_key: bool,
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

impl Dispatcher {
    /// A failure with the way forward for its caller.
    pub(super) fn advised(
        &self,
        failure: Redacted,
        operation: Option<&Operation>,
        call: &Call,
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
        let before = failure.take_recovery();
        let situation = self.look(|registry| situation(&failure, operation, call, registry));
        let recovery = recovery(&failure, before, situation);
        failure.with_recovery(recovery)
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
    let name = |it: &'a Option<_>| {
        it.as_ref()
            .map(panpan_contract::operation::OperationName::as_str)
    };
    Situation {
        key: match (call.stated_key(), named) {
            (Some(key), _) => Key::Stated(key.as_str()),
            (None, Some(key)) => Key::Made(key),
            (None, None) => Key::None,
        },
        is_harmless: is_harmless(operation, &call.input),
        honours_key: honours_key(operation),
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
    let (usual, authored) = match said.is_empty() || kind.has_default_actions(&said) {
        true => (said, None),
        false => (Vec::new(), Some(said)),
    };
    let mut actions = Vec::new();
    if failure.may_repeat() {
        let delay_ms = recovery.retry_after_ms.or(kind.default_retry_after_ms());
        recovery.retry_after_ms = delay_ms;
        if authored.is_none() {
            actions.push(repeat(failure, situation, delay_ms));
        }
    } else if failure.effect() == Effect::Unknown && !situation.is_harmless {
        actions.extend(check(failure, situation));
    } else if failure.repeat() == Some(Repeat::Frozen) {
        actions.push(frozen(situation));
    } else if authored.is_none() {
        actions.push(change(failure, situation, usual));
    }
    actions.extend(authored.into_iter().flatten());
    recovery.required_actions = actions;
    recovery
}

/// What a code suggests in general names no operation that could be called.
fn leave_out_general(recovery: &mut Recovery, kind: &Kind) {
    if kind.has_default_alternatives(&recovery.alternatives) {
        recovery.alternatives.clear();
    }
}

/// Whether a sentence is one of those below.
fn is_advice(action: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "Repeat the identical call",
        "Repeat the call with the same idempotency_key",
        "Find out whether this call took effect",
        "If it did not, ",
        "Call again with a new idempotency_key",
    ];
    let repeats = action.starts_with("Wait ") && action.contains(" ms, then repeat the ");
    let looks = action.starts_with("Call ") && action.contains("whether this call took effect");
    repeats || looks || BEGINNINGS.iter().any(|it| action.starts_with(it))
}

/// How to repeat a call that may be repeated.
fn repeat(failure: &Failure, situation: Situation<'_>, delay_ms: Option<u64>) -> String {
    let wait = match delay_ms {
        Some(delay_ms) if delay_ms > 0 => format!("Wait {delay_ms} ms, then repeat"),
        _ => "Repeat".to_owned(),
    };
    match situation.key {
        Key::Stated(_) if !situation.is_harmless && failure.effect() != Effect::None => {
            format!("{wait} the call with the same idempotency_key, so that nothing is done twice")
        }
        Key::Stated(_) if !situation.is_harmless => {
            format!("{wait} the call with the same idempotency_key")
        }
        _ => format!("{wait} the identical call"),
    }
}

/// What to do about a change that may have taken effect.
fn check(failure: &Failure, situation: Situation<'_>) -> Vec<String> {
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
    let is_kept = failure.repeat() == Some(Repeat::Frozen) || !failure.retryable();
    let then = match situation.key {
        Key::Made(key) if situation.honours_key => format!(
            "If it did not, repeat the call with idempotency_key {key}: the service recognises it"
        ),
        Key::Stated(_) if situation.honours_key && !is_kept => {
            "If it did not, repeat the call with the same idempotency_key".to_owned()
        }
        Key::Stated(key) => format!(
            "If it did not, call again with a new idempotency_key: {key} keeps this failure until an \
             operator frees it with {REOPEN}"
        ),
        Key::Made(_) | Key::None => "If it did not, make the call again".to_owned(),
    };
    vec![look, then]
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
    if let Some(lists) = situation.lists.filter(|_| is_missing(failure)) {
        return format!("List what exists with {lists}, then ask for one of those");
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

/// Which members to correct, and what they must be, where a few are named.
fn correction(failure: &Failure) -> Option<String> {
    let mut wrong: Vec<(&str, Option<&str>)> = Vec::new();
    for violation in failure.violations() {
        let pointer = violation.pointer.trim_start_matches('/');
        let is_new = wrong.iter().all(|(known, _)| *known != pointer);
        if !pointer.is_empty() && is_new {
            wrong.push((pointer, violation.expected.as_deref()));
        }
    }
    if wrong.is_empty() || wrong.len() > CORRECTIONS_LIMIT {
        return None;
    }
    let rules = wrong.iter().filter_map(|(pointer, expected)| {
        let expected = expected.filter(|it| it.len() <= EXPECTED_BYTES_LIMIT)?;
        Some(format!("{pointer} must be {}. ", with_article(expected)))
    });
    let names: Vec<&str> = wrong.iter().map(|(pointer, _)| *pointer).collect();
    let rules: String = rules.collect();
    Some(format!(
        "{rules}Correct {}, then call again",
        names.join(", ")
    ))
}

/// The name of a type as a sentence needs it.
fn with_article(expected: &str) -> &str {
    match expected {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

/// Whether what was asked for does not exist.
fn is_missing(failure: &Failure) -> bool {
    const STATUSES: [u16; 2] = [404, 410];
    let answered = failure.upstream().and_then(|it| it.status);
    answered.is_some_and(|status| STATUSES.contains(&status))
}

#[cfg(test)]
mod tests {
    use panpan_contract::catalogue;

    use super::*;

    const LIST: &str = "s/list";
    const SHOW: &str = "s/show";

    /// Every situation a call can be in.
    fn situations() -> Vec<Situation<'static>> {
        let mut all = Vec::new();
        for key in [Key::None, Key::Made("gateway-1"), Key::Stated("order-7")] {
            for is_harmless in [true, false] {
                for honours_key in [true, false] {
                    for related in [Some(()), None] {
                        all.push(Situation {
                            key,
                            is_harmless,
                            honours_key,
                            shows_effect: related.map(|()| SHOW),
                            lists: related.map(|()| LIST),
                        });
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
        if situation.is_harmless {
            assert!(!says("took effect"), "{context}");
        }
        let may_have_happened = failure.effect() == Effect::Unknown && !situation.is_harmless;
        if may_have_happened && !failure.may_repeat() {
            let looks = match situation.shows_effect {
                Some(_) => says("Call s/show"),
                None => says("Find out"),
            };
            assert!(looks && says("If it did not"), "{context}");
        }
        let names_key = says("order-7") || says("same idempotency_key");
        let is_about_keys = failure.code().as_str().contains("IDEMPOTENCY");
        assert!(
            matches!(situation.key, Key::Stated(_)) || !names_key || is_about_keys,
            "{context}"
        );
        if failure.repeat() == Some(Repeat::Frozen) {
            assert!(says("new idempotency_key") && says(REOPEN), "{context}");
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
                let effects = match situation.is_harmless {
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
                    let uncertain = !situation.is_harmless && !failure.may_repeat();
                    if !uncertain && !failure.may_repeat() {
                        continue;
                    }
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
            is_harmless: false,
            honours_key: false,
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
    fn something_that_is_not_there_is_looked_for_in_the_list() {
        let failure = Failure::new(Kind::of("HTTP_404").unwrap())
            .with_upstream(panpan_contract::failure::Upstream::status(404));
        let found = actions(failure, of_a_write(Key::None));
        assert_eq!(
            found,
            ["List what exists with s/list, then ask for one of those"]
        );
    }

    #[test]
    fn the_members_that_are_wrong_are_named() {
        let wrong = |pointer: &str| panpan_contract::failure::Violation::value(pointer, "no");
        let failure = Failure::new(Kind::of("HTTP_422").unwrap()).with_violations([
            wrong("/limit"),
            wrong("/limit"),
            wrong("/items/0/name"),
        ]);
        let found = actions(failure, of_a_write(Key::None));
        assert_eq!(found, ["Correct limit, items/0/name, then call again"]);
    }
}
