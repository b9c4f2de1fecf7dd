//! Every code in every situation a call can be in, and the sentences that are given there.

use panpan_failure::{NextMove, catalogue};

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
                            input_stands_in: None,
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
        input_stands_in: None,
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
            .with_upstream(panpan_failure::Upstream::status(404))
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
    for (code, when) in [
        ("HTTP_401", "Once that is put right"),
        ("HTTP_422", "Should the same input be right later"),
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
fn work_that_nobody_waits_for_any_more_may_still_be_done() {
    for (code, status, again) in [
        (
            "ERR_OUTCOME_UNKNOWN",
            None,
            "If it did not, nor a minute later, make the call again",
        ),
        (
            "HTTP_504",
            Some(504),
            "If it did not, nor a minute later, make the call again",
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
        assert_eq!(actions(failure, of_a_write(Key::None))[1], again, "{code}");
    }
}

#[test]
fn what_exists_already_is_looked_at_before_another_one_is_made() {
    let failure =
        || Failure::new(Kind::of("HTTP_400").unwrap()).with_message("Order already exists: o-1");
    let write = of_a_write(Key::None);
    assert!(actions(failure(), write)[0].contains("call s/show to see it before anything else"));
    let read = Situation {
        is_read: true,
        is_harmless: true,
        ..write
    };
    assert!(!actions(failure(), read)[0].contains("exist already"));
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
