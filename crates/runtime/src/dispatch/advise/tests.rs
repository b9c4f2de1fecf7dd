//! The actions for every code in every situation of a call.

mod items;
mod waits;

use panpan_failure::{NextMove, catalogue};

use super::outcome::may_pass;
use super::*;

const LIST: &str = "s/list";
const SHOW: &str = "s/show";

/// All situations of a call.
fn situations() -> Vec<Situation<'static>> {
    let mut all = Vec::new();
    for key in [
        Key::None,
        Key::Generated("gateway-1"),
        Key::Caller("order-7"),
    ] {
        for (is_read, is_harmless) in [(true, true), (false, true), (false, false)] {
            for honours_key in [true, false] {
                for related in [Some(()), None] {
                    for streak in [0, 1, 4] {
                        all.push(Situation {
                            key,
                            is_kept: matches!(key, Key::Caller(_)),
                            is_read,
                            is_harmless,
                            honours_key,
                            streak,
                            unreachable_ms: 0,
                            stated_delay_ms: None,
                            input_argument: None,
                            shows_effect: related.map(|()| SHOW),
                            lists: related.map(|()| LIST),
                            shows_item: related.map(|()| SHOW),
                            version_argument: related.map(|()| "If-Match"),
                            has_version: false,
                        });
                    }
                }
            }
        }
    }
    all
}

/// The repeat values that `stamp` and `record_keyed` set in a situation.
fn repeats(situation: Situation<'_>) -> Vec<Repeat> {
    let has_caller_key = matches!(situation.key, Key::Caller(_));
    let allowed = situation.is_harmless || (situation.honours_key && has_caller_key);
    let is_generated = matches!(situation.key, Key::Generated(_)) && situation.honours_key;
    let stamped = match allowed {
        true => Repeat::Allowed,
        false if is_generated => Repeat::WithKey,
        false => Repeat::OnlyWithoutEffect,
    };
    let mut repeats = vec![stamped, Repeat::Refused];
    if has_caller_key {
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

/// Checks that the first move and the first action are the same.
fn check_moves(failure: &Failure, context: &str) {
    let actions = &failure.recovery().required_actions;
    let text = actions.join("; ");
    let next = failure.next_moves();
    let begins = |words: &[&str]| words.iter().any(|it| actions[0].starts_with(it));
    let says = |words: &[&str]| words.iter().any(|it| text.contains(it));
    let repeats = begins(&["Wait ", "Repeat the "]);
    let with_key = repeats && text.contains("with idempotency_key gateway-");
    let looks = says(&[
        "to see whether this call took effect",
        "Find out whether this call",
    ]) || says(&[
        "to get the outcome of that call",
        "to see it",
        "look at it",
        "to see the result",
    ]);
    let is_wait = next[0] == NextMove::Wait;
    assert_eq!(repeats && !with_key, is_wait, "{next:?} {context}");
    assert!(
        !with_key || next[0] == NextMove::ChangeInput,
        "{next:?} {context}"
    );
    let is_check = next[0] == NextMove::CheckOutcome;
    let is_applied = failure.effect() == Effect::Applied;
    assert!(!is_check || looks || is_applied, "{next:?} {context}");
    let changes = begins(&[
        "Correct ",
        "Rename ",
        "Change the input",
        "Compare the input",
    ]);
    let can_change = next.contains(&NextMove::ChangeInput);
    assert!(!changes || can_change, "{next:?} {context}");
}

fn check(failure: Redacted, situation: Situation<'_>) {
    let before = failure.recovery().clone();
    let failure = &advised(failure, before, situation);
    let recovery = failure.recovery();
    let context = format!(
        "{} {:?} {situation:?}: {recovery:?}",
        failure.code(),
        failure.repeat()
    );
    check_moves(failure, &context);
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
        let repeats_with_key = says("epeat the call with idempotency_key gateway-1");
        assert!(looks || repeats_with_key, "{context}");
        assert!(!repeats_with_key || situation.honours_key, "{context}");
        if !may_pass(failure) || failure.repeat() == Some(Repeat::Refused) {
            assert!(!says("If it did not, make the call again"), "{context}");
        }
    }
    if !situation.is_read {
        assert!(!says("ask for one of those"), "{context}");
    }
    let names_key = says("order-7") || says("same idempotency_key");
    assert!(
        matches!(situation.key, Key::Caller(_)) || !names_key || is_about_keys,
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
fn every_action_can_be_followed_in_every_situation() {
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
                        check(failure, situation);
                    }
                }
            }
        }
    }
}

/// The actions of an upstream panpan were for this gateway, and are replaced.
#[test]
fn actions_of_another_panpan_are_replaced() {
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

fn write_with(key: Key<'static>) -> Situation<'static> {
    Situation {
        key,
        is_kept: false,
        is_read: false,
        is_harmless: false,
        honours_key: false,
        streak: 0,
        unreachable_ms: 0,
        stated_delay_ms: None,
        input_argument: None,
        shows_effect: Some(SHOW),
        lists: Some(LIST),
        shows_item: None,
        version_argument: None,
        has_version: false,
    }
}

fn actions(failure: Failure, situation: Situation<'_>) -> Vec<String> {
    let failure = failure.redacted();
    let before = failure.recovery().clone();
    recovery(&failure, before, situation).required_actions
}

#[test]
fn authored_actions_are_kept_and_missing_ones_are_added() {
    let authored = "Ask the warehouse";
    let failure = Failure::new(Kind::of("HTTP_500").unwrap())
        .with_actions([authored])
        .with_effect(Effect::Unknown)
        .with_repeat(Repeat::OnlyWithoutEffect);
    let found = actions(failure, write_with(Key::None));
    let expected = [
        "Call s/show to see whether this call took effect before doing anything else",
        "If it did not, make the call again",
        authored,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_kept_failure_needs_another_key_after_its_cause_is_fixed() {
    let situation = Situation {
        is_kept: true,
        ..write_with(Key::Caller("order-7"))
    };
    for (code, when) in [
        ("HTTP_401", "Once that is fixed"),
        ("HTTP_422", "If the same input becomes valid later"),
    ] {
        let found = actions(Failure::new(Kind::of(code).unwrap()), situation);
        let last = found.last().unwrap();
        assert!(
            last.starts_with(when) && last.contains("new idempotency_key: order-7"),
            "{last}"
        );
    }
}

#[test]
fn a_service_that_did_not_respond_may_still_be_working() {
    for (code, status, again) in [
        (
            "ERR_OUTCOME_UNKNOWN",
            None,
            "If it did not, and still has not a minute later, make the call again",
        ),
        (
            "HTTP_504",
            Some(504),
            "If it did not, and still has not a minute later, make the call again",
        ),
        ("HTTP_500", Some(500), "If it did not, make the call again"),
        ("HTTP_500", None, "If it did not, make the call again"),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap())
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::OnlyWithoutEffect);
        let failure = match status {
            Some(status) => failure.with_upstream(panpan_failure::Upstream::status(status)),
            None => failure,
        };
        assert_eq!(actions(failure, write_with(Key::None))[1], again, "{code}");
    }
}

#[test]
fn a_change_that_is_done_already_is_looked_at_before_anything_else() {
    for effect in [Effect::None, Effect::Unknown] {
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_message("Invoice INV-9 is already paid")
            .with_effect(effect)
            .with_repeat(Repeat::OnlyWithoutEffect);
        let found = actions(failure, write_with(Key::None));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("may already be done or in progress: call s/show"));
    }
}

#[test]
fn a_stated_delay_is_kept_where_a_write_has_to_be_checked_first() {
    let failure = Failure::new(Kind::of("HTTP_503").unwrap())
        .with_effect(Effect::Unknown)
        .with_repeat(Repeat::OnlyWithoutEffect);
    let situation = Situation {
        stated_delay_ms: Some(180_000),
        ..write_with(Key::None)
    };
    let expected = "If it did not, wait 180000 ms, then make the call again";
    assert_eq!(actions(failure, situation)[1], expected);
}

#[test]
fn an_action_that_invites_a_forbidden_repeat_is_removed() {
    let failure = Failure::new(Kind::of("HTTP_500").unwrap())
        .with_actions(["Retry the request", "Tell the warehouse"])
        .with_effect(Effect::Unknown)
        .with_repeat(Repeat::OnlyWithoutEffect);
    let found = actions(failure, write_with(Key::None));
    assert_eq!(found.last().unwrap(), "Tell the warehouse");
    assert!(!found.iter().any(|it| it.contains("Retry")), "{found:?}");
}
