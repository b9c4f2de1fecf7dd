//! The failure model: derived facts, guarantees and the canonical JSON.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../failure/tests/common/mod.rs"]
mod common;

use panpan_contract::retry::Attempt;
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::read::ReadError;
use panpan_failure::{
    CAUSES_LIMIT, Category, Cause, Code, EXCERPT_CHARACTERS_LIMIT, Effect, Facts, Failure, Fault,
    Kind, Remedies, Remedy, Repeat, Upstream, Violation, catalogue, codes,
};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn whether_a_call_may_be_repeated_depends_on_code_effect_and_operation() {
    let (read, write) = (Some(Repeat::Allowed), Some(Repeat::OnlyWithoutEffect));
    for (entry, effect, repeat, expected) in [
        (codes::ERR_HTTP_429_RATE_LIMITED, Effect::None, None, true),
        (codes::ERR_HTTP_429_RATE_LIMITED, Effect::None, write, true),
        (
            codes::ERR_HTTP_429_RATE_LIMITED,
            Effect::Unknown,
            None,
            false,
        ),
        (codes::ERR_HTTP_503_UNAVAILABLE, Effect::None, write, true),
        (
            codes::ERR_HTTP_503_UNAVAILABLE,
            Effect::Unknown,
            write,
            false,
        ),
        (codes::ERR_HTTP_503_UNAVAILABLE, Effect::Unknown, read, true),
        // For an unknown operation only the code decides.
        (codes::ERR_HTTP_503_UNAVAILABLE, Effect::Unknown, None, true),
        (codes::ERR_TIMEOUT, Effect::Applied, write, false),
        (codes::ERR_TIMEOUT, Effect::Applied, None, false),
        (codes::ERR_HTTP_404_NOT_FOUND, Effect::None, read, false),
        (codes::ERR_OUTCOME_UNKNOWN, Effect::Unknown, read, false),
        (codes::ERR_SSL_ERROR, Effect::None, read, false),
        (
            codes::ERR_HTTP_429_RATE_LIMITED,
            Effect::None,
            Some(Repeat::Refused),
            false,
        ),
        (
            codes::ERR_HTTP_429_RATE_LIMITED,
            Effect::None,
            Some(Repeat::Frozen),
            false,
        ),
    ] {
        let failure = Failure::new(entry).with_effect(effect);
        let failure = repeat.into_iter().fold(failure, Failure::with_repeat);
        assert_eq!(
            failure.may_repeat(),
            expected,
            "{} {effect} {repeat:?}",
            entry.code
        );
    }
}

/// Every boolean that a program acts on is the answer for this occurrence, and a delay invites a
/// retry too.
#[test]
fn no_dialect_invites_a_forbidden_repeat() {
    fn check(path: &str, value: &Value, dialect: Dialect) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let says_no = !name.contains("retr") || *value == false || *value == "false";
                    let is_part = value.is_object();
                    assert!(says_no || is_part, "{dialect} {path}/{name}: {value}");
                    assert_ne!(name, "suggested_delay", "{dialect} {path}");
                    check(&format!("{path}/{name}"), value, dialect);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(path, item, dialect)),
            Value::String(text) => {
                if let Ok(inner @ Value::Object(_)) = serde_json::from_str(text) {
                    check(path, &inner, dialect);
                }
            }
            _ => {}
        }
    }
    for row in catalogue::entries().filter(|row| row.category != Category::Validation) {
        for repeat in [Repeat::OnlyWithoutEffect, Repeat::Refused, Repeat::Frozen] {
            let failure = Failure::new(row)
                .with_effect(Effect::Unknown)
                .with_retry_after_ms(500)
                .with_max_retries(3)
                .with_repeat(repeat)
                .redacted();
            for dialect in Dialect::ALL {
                check(
                    "",
                    &dialect.render_failure(&failure, Envelope::default()),
                    dialect,
                );
            }
        }
    }
}

#[test]
fn a_failure_is_recoverable_by_repeating_or_by_correcting_the_input() {
    for (entry, recoverable) in [
        (codes::ERR_HTTP_429_RATE_LIMITED, true),
        (codes::INVALID_INPUT, true),
        (codes::ERR_BUDGET_EXCEEDED, false),
        (codes::ERR_HTTP_401_UNAUTHORIZED, false),
        (codes::INTERNAL, false),
        (codes::ERR_LLM_CONTENT_FILTER, false),
    ] {
        assert_eq!(
            Failure::new(entry).is_recoverable(),
            recoverable,
            "{}",
            entry.code
        );
    }
}

#[test]
fn the_fault_follows_from_the_category() {
    for (entry, fault) in [
        (codes::INVALID_INPUT, Fault::Caller),
        (codes::ERR_RATE_LIMITED, Fault::Caller),
        (codes::ERR_DNS_FAILURE, Fault::Transport),
        (codes::ERR_HTTP_500_SERVER_ERROR, Fault::Callee),
        (codes::INTERNAL, Fault::Callee),
    ] {
        assert_eq!(Failure::new(entry).fault(), fault, "{}", entry.code);
    }
}

#[test]
fn the_canonical_json_omits_unset_members() {
    let failure = Failure::new(codes::INVALID_INPUT)
        .with_message("input does not match the schema at /priority: expected 0 to 3, found 5")
        .with_violation(
            Violation::value("/priority", "out of range")
                .expected("0 to 3")
                .actual(5),
        )
        .with_operation("tasks/create")
        .stamped(
            uuid::Uuid::from_u128(1),
            "2026-01-31T12:00:00.5Z".parse().unwrap(),
        );
    let expected = json!({
        "code": "INVALID_INPUT",
        "category": "VALIDATION",
        "retryable": false,
        "remedy": ["change_input"],
        "effect": "none",
        "message": "input does not match the schema at /priority: expected 0 to 3, found 5",
        "violations": [{"pointer": "/priority", "expected": "0 to 3", "actual": 5, "reason": "out of range"}],
        "recovery": {"required_actions": ["Correct every field listed in the violations, then call again"]},
        "operation": "tasks/create",
        "id": "00000000-0000-0000-0000-000000000001",
        "at": "2026-01-31T12:00:00.5Z",
    });
    assert_eq!(
        serde_json::to_value(failure.clone().redacted()).unwrap(),
        expected
    );
    assert_eq!(
        serde_json::from_value::<Failure>(expected).unwrap(),
        failure
    );
}

#[test]
fn the_number_of_attempts_is_written_only_if_it_is_known() {
    for (said, attempts, repeated) in [
        (0, None, false),
        (1, Some(1), false),
        (2, Some(2), true),
        (u32::MAX, Some(u32::MAX), true),
    ] {
        let failure = Failure::new(codes::ERR_TIMEOUT).with_attempts(said);
        assert_eq!(failure.attempts(), attempts, "{said}");
        assert_eq!(failure.was_repeated(), repeated, "{said}");
        assert_eq!(
            Attempt::of(&failure).retried_inside,
            attempts.is_some(),
            "{said}"
        );
        let written = serde_json::to_value(failure.redacted()).unwrap();
        assert_eq!(written.get("attempts"), attempts.map(Value::from).as_ref());
    }
}

#[test]
fn an_impossible_number_of_attempts_is_rejected() {
    for attempts in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!(4_294_967_296_u64),
        json!("4"),
    ] {
        let document = json!({"code": "ERR_TIMEOUT", "attempts": attempts});
        let error = Failure::from_canonical(document).unwrap_err();
        assert_eq!(error.pointer(), "/attempts", "{attempts}");
    }
    let unsaid = json!({"code": "ERR_TIMEOUT", "attempts": null});
    assert_eq!(Failure::from_canonical(unsaid).unwrap().attempts(), None);
}

#[test]
fn a_delay_is_stated_even_if_it_equals_the_default() {
    let limited = || Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    let default_ms = limited().recovery().retry_after_ms.unwrap();
    let read = |failure: Failure| {
        let written = serde_json::to_value(failure.redacted()).unwrap();
        Failure::from_canonical(written).unwrap()
    };
    let final_one = Failure::new(codes::ERR_HTTP_404_NOT_FOUND);
    for (failure, stated_ms) in [
        (limited(), None),
        (limited().with_actions(["Slow down"]), None),
        (limited().with_retry_after_ms(default_ms), Some(default_ms)),
        (limited().with_retry_after_ms(7000), Some(7000)),
        (
            limited()
                .with_retry_after_ms(default_ms)
                .redacted()
                .into_failure(),
            Some(default_ms),
        ),
        (final_one.with_retry_after_ms(7000), None),
        (read(limited()), None),
        (read(limited().with_retry_after_ms(7000)), Some(7000)),
    ] {
        assert_eq!(failure.stated_retry_after_ms(), stated_ms, "{failure:?}");
        assert_eq!(Attempt::of(&failure).hint_ms, stated_ms);
    }
    assert_eq!(limited(), limited().with_retry_after_ms(default_ms));
}

#[test]
fn a_stated_delay_survives_another_code_and_a_default_delay_does_not() {
    let of = |entry: &'static catalogue::Entry| Failure::new(entry);
    let (from, to) = (codes::ERR_HTTP_429_RATE_LIMITED, codes::NETWORK_ERROR);
    let default_ms = |entry| of(entry).recovery().retry_after_ms.unwrap();
    assert_ne!(default_ms(from), default_ms(to));
    for (failure, delay_ms, stated_ms) in [
        (of(from), default_ms(to), None),
        (of(from).with_actions(["Slow down"]), default_ms(to), None),
        (
            of(from).with_retry_after_ms(default_ms(from)),
            default_ms(from),
            Some(default_ms(from)),
        ),
        (of(from).with_retry_after_ms(7), 7, Some(7)),
    ] {
        let restated = failure.restated(to.into());
        assert_eq!(restated.recovery().retry_after_ms, Some(delay_ms));
        assert_eq!(restated.stated_retry_after_ms(), stated_ms);
    }
    let ended = of(from)
        .with_retry_after_ms(7)
        .restated(codes::INTERNAL.into());
    assert_eq!(ended.recovery().retry_after_ms, None);
    assert_eq!(ended.stated_retry_after_ms(), None);
}

#[test]
fn a_document_without_a_code_is_not_a_failure() {
    let error = Failure::from_canonical(json!({"message": "m"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at /code: expected a string, found nothing"
    );
}

#[test]
fn the_catalogue_overrides_a_document() {
    let lie = json!({"code": "ERR_SSL_ERROR", "category": "TRANSIENT", "retryable": true, "remedy": ["wait"]});
    let failure = Failure::from_canonical(lie).unwrap();
    assert_eq!(
        (failure.category(), failure.retryable()),
        (Category::Network, false)
    );
    assert_eq!(
        failure.remedies(),
        Remedies::of(&[Remedy::ChangeState, Remedy::AskHuman])
    );
}

#[test]
fn retryable_is_ignored_in_a_category_that_is_never_retryable() {
    let claim = json!({"code": "MY_CODE", "category": "VALIDATION", "retryable": true});
    let failure = Failure::from_canonical(claim).unwrap();
    assert!(!failure.retryable());
    assert!(
        failure
            .inferred()
            .iter()
            .any(|fact| fact.word() == "retryable")
    );
}

#[test]
fn a_declared_code_may_be_stricter_than_its_category() {
    let facts = Facts {
        category: Some(Category::Network),
        retryable: Some(false),
        ..Facts::default()
    };
    let kind = Kind::declared(Code::new("PINNED_KEY_CHANGED").unwrap(), facts).unwrap();
    assert!(!kind.retryable());
    assert_eq!(kind.remedies(), Remedies::of(&[Remedy::AskHuman]));
    assert_eq!(kind.default_recovery().retry_after_ms, None);
}

#[test]
fn excerpts_and_causes_are_bounded() {
    for (length, kept) in [
        (EXCERPT_CHARACTERS_LIMIT, EXCERPT_CHARACTERS_LIMIT),
        (EXCERPT_CHARACTERS_LIMIT + 1, EXCERPT_CHARACTERS_LIMIT),
    ] {
        let upstream = Upstream::status(500).excerpt(&"é".repeat(length));
        let failure = Failure::new(codes::INTERNAL)
            .with_upstream(upstream)
            .redacted();
        let excerpt = failure.upstream().unwrap().excerpt.as_deref().unwrap();
        assert_eq!(excerpt.chars().count(), kept);
    }
    for (count, kept) in [
        (CAUSES_LIMIT, CAUSES_LIMIT),
        (CAUSES_LIMIT + 1, CAUSES_LIMIT),
    ] {
        let cause = || Cause {
            code: None,
            message: "m".to_owned(),
        };
        let failure = (0..count).fold(Failure::new(codes::INTERNAL), |failure, _| {
            failure.with_cause(cause())
        });
        assert_eq!(failure.causes().len(), kept);
    }
}

#[test]
fn an_endless_chain_of_sources_is_truncated() {
    #[derive(Debug)]
    struct Endless;
    impl std::fmt::Display for Endless {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("again")
        }
    }
    impl std::error::Error for Endless {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    assert_eq!(
        Failure::new(codes::INTERNAL)
            .caused_by(&Endless)
            .causes()
            .len(),
        CAUSES_LIMIT
    );
}

#[test]
fn a_read_error_becomes_a_failure() {
    for (error, code) in [
        (
            ReadError::TooLarge { bytes: 9, limit: 8 },
            "ERR_JSON_SIZE_EXCEEDED",
        ),
        (
            ReadError::TooDeep { line: 1, column: 2 },
            "ERR_JSON_DEPTH_EXCEEDED",
        ),
        (
            ReadError::Syntax {
                problem: "p".to_owned(),
                line: 1,
                column: 2,
            },
            "ERR_JSON_INVALID",
        ),
        (
            ReadError::WideNumber { line: 1, column: 2 },
            "ERR_JSON_SCHEMA_MISMATCH",
        ),
        (
            ReadError::Unrecognised {
                hint: "h".to_owned(),
            },
            "ERR_JSON_SCHEMA_MISMATCH",
        ),
    ] {
        assert_eq!(Failure::from(error).code().as_str(), code);
    }
}

#[test]
fn a_failure_is_one_pointer_in_size() {
    assert_eq!(size_of::<Failure>(), size_of::<usize>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_failure_has_a_next_step(failure in common::failure()) {
        let recovery = failure.recovery();
        let has_action = !recovery.required_actions.is_empty();
        if failure.retryable() {
            prop_assert!(recovery.retry_after_ms.is_some() || has_action);
        } else {
            prop_assert!(has_action || !recovery.alternatives.is_empty());
        }
    }

    #[test]
    fn the_same_code_always_has_the_same_facts(failure in common::failure(), other in common::failure()) {
        if failure.code() == other.code() && failure.kind().is_catalogued() {
            prop_assert_eq!(failure.category(), other.category());
            prop_assert_eq!(failure.retryable(), other.retryable());
            prop_assert_eq!(failure.remedies(), other.remedies());
        }
        if let Some(known) = catalogue::lookup(failure.code().as_str()) {
            prop_assert_eq!(known.retryable(), failure.retryable());
        }
    }

    #[test]
    fn failures_round_trip_through_the_canonical_json(failure in common::redacted()) {
        let document = serde_json::to_value(&failure).unwrap();
        prop_assert_eq!(Failure::from_canonical(document).unwrap(), failure.into_failure());
    }
}
