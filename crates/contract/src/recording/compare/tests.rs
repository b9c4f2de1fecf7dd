//! For every member of a recording: whether a different value is a divergence.

use jiff::SignedDuration;
use uuid::Uuid;

use super::*;
use crate::retry::{RetryPolicy, StopReason, Terms, Waiting};
use panpan_failure::{Effect, codes};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn step(failure: &Failure, decision: Decision) -> Step {
    Step {
        started_at: at(0),
        ended_at: at(1),
        failed: Some(Attempt::of(failure)),
        decided: Some(Decided {
            at: at(1),
            budget: None,
            decision,
        }),
    }
}

fn failure() -> Failure {
    Failure::new(codes::ERR_TIMEOUT)
        .with_detail("timeout_ms", 30_000)
        .with_detail("peer", json!({"host": "a.example", "ports": [80, 443]}))
}

fn recording() -> Recording {
    let limited = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    Recording {
        id: Uuid::from_u128(1),
        at: at(0),
        operation: "weather/now".to_owned(),
        caller: Some("agent-1".to_owned()),
        input: Some(json!({"city": "Bern", "days": [1, 2], "a.b": {"c": 1}})),
        retry_seed: 42,
        terms: Terms {
            policy: None,
            categories: None,
            repeatable: true,
            deadline: None,
            patient_until: None,
            waiting: Waiting::Inline,
        },
        earlier: Vec::new(),
        steps: vec![
            step(&limited, Decision::Again { delay_ms: 965 }),
            step(&failure(), Decision::Answer(StopReason::AttemptsSpent)),
        ],
        items: None,
        repeats: 0,
        outcome: RecordedOutcome::Failed(failure().redacted()),
    }
}

/// A change, and the message of the divergence that it causes.
type Row = (fn(&mut Recording), Option<&'static str>);

fn check(changes: &[Row]) {
    for (row, (change, sentence)) in changes.iter().enumerate() {
        let mut found = recording();
        change(&mut found);
        assert_ne!(found, recording(), "row {row} changes nothing");
        let divergence = compare(&recording(), &found).map(|divergence| divergence.to_string());
        assert_eq!(divergence.as_deref(), *sentence, "row {row}");
    }
    assert_eq!(compare(&recording(), &recording()), None);
}

fn fail(found: &mut Recording, failure: Failure) {
    found.outcome = RecordedOutcome::Failed(failure.redacted());
}

fn failed(found: &mut Recording) -> &mut Attempt {
    found.steps[1].failed.as_mut().unwrap()
}

fn decide(found: &mut Recording, decision: Decision) {
    found.steps[0].decided.as_mut().unwrap().decision = decision;
}

#[test]
fn the_call_must_be_equal_and_its_circumstances_may_differ() {
    check(&[
        (|it| it.id = Uuid::from_u128(2), None),
        (|it| it.at = at(99), None),
        (|it| it.caller = None, None),
        (|it| it.input = None, None),
        (|it| it.terms.deadline = Some(at(9)), None),
        (|it| it.terms.policy = Some(RetryPolicy::DEFAULT), None),
        (
            |it| it.operation = "weather/then".to_owned(),
            Some("operation was weather/now when recorded and is weather/then now"),
        ),
        (
            |it| it.retry_seed = 43,
            Some("retry_seed was 42 when recorded and is 43 now"),
        ),
    ]);
}

#[test]
fn the_input_must_be_equal_if_both_have_it() {
    check(&[
        (
            |it| it.input = Some(json!({"city": "Bern", "days": [1.0, 2], "a.b": {"c": 1}})),
            None,
        ),
        (
            |it| it.input = Some(json!({"city": "Basel", "days": [1, 2], "a.b": {"c": 1}})),
            Some("input.city was Bern when recorded and is Basel now"),
        ),
        (
            |it| it.input = Some(json!({"city": "Bern", "days": [1, 3], "a.b": {"c": 1}})),
            Some("input.days[1] was 2 when recorded and is 3 now"),
        ),
        (
            |it| it.input = Some(json!({"city": "Bern", "days": [1], "a.b": {"c": 1}})),
            Some("input.days.length was 2 when recorded and is 1 now"),
        ),
        (
            |it| it.input = Some(json!({"city": "Bern", "days": [1, 2], "a.b": {}})),
            Some(r#"input["a.b"].c was present when recorded and is absent now"#),
        ),
        (
            |it| it.input = Some(Value::Null),
            Some(
                r#"input was {"a.b":{"c":1},"city":"Bern","days":[1,2]} when recorded and is null now"#,
            ),
        ),
    ]);
}

#[test]
fn attempts_must_fail_alike_in_the_same_order() {
    check(&[
        (|it| it.steps[0].started_at = at(-1), None),
        (|it| it.steps[0].ended_at = at(2), None),
        (|it| failed(it).hint_ms = Some(7000), None),
        (
            |it| failed(it).code = codes::ERR_DNS_FAILURE.into(),
            Some("steps[1].failed.code was ERR_TIMEOUT when recorded and is ERR_DNS_FAILURE now"),
        ),
        (
            |it| failed(it).category = panpan_failure::Category::Network,
            Some("steps[1].failed.category was TIMEOUT when recorded and is NETWORK now"),
        ),
        (
            |it| failed(it).retryable = false,
            Some("steps[1].failed.retryable was true when recorded and is false now"),
        ),
        (
            |it| failed(it).effect = Effect::Applied,
            Some("steps[1].failed.effect was unknown when recorded and is applied now"),
        ),
        (
            |it| it.steps[1].failed = None,
            Some("steps[1].failed.code was ERR_TIMEOUT when recorded and is absent now"),
        ),
        (
            |it| it.steps.swap(0, 1),
            Some(
                "steps[0].failed.code was ERR_HTTP_429_RATE_LIMITED when recorded and is ERR_TIMEOUT now",
            ),
        ),
        (
            |it| drop(it.steps.pop()),
            Some("steps.length was 2 when recorded and is 1 now"),
        ),
        (
            |it| it.steps.push(it.steps[1].clone()),
            Some("steps.length was 2 when recorded and is 3 now"),
        ),
    ]);
}

#[test]
fn decisions_must_be_equal_to_the_millisecond() {
    check(&[
        (|it| it.steps[0].decided.as_mut().unwrap().at = at(5), None),
        (
            |it| decide(it, Decision::Again { delay_ms: 966 }),
            Some("steps[0].decided.decision.delay_ms was 965 when recorded and is 966 now"),
        ),
        (
            |it| decide(it, Decision::Answer(StopReason::BudgetSpent)),
            Some(
                "steps[0].decided.decision was again when recorded and is answer: budget_spent now",
            ),
        ),
        (
            |it| decide(it, Decision::Later(at(2))),
            Some("steps[0].decided.decision was again when recorded and is later now"),
        ),
        (
            |it| it.steps[0].decided = None,
            Some("steps[0].decided.decision was again when recorded and is absent now"),
        ),
        (
            |it| {
                it.steps[1].decided =
                    step(&failure(), Decision::Answer(StopReason::DeadlineTooNear)).decided;
            },
            Some(
                "steps[1].decided.decision was answer: attempts_spent when recorded and is answer: deadline_too_near now",
            ),
        ),
    ]);
}

#[test]
fn a_different_hint_allows_a_different_delay_but_not_a_different_decision() {
    fn hint(found: &mut Recording) {
        found.steps[0].failed.as_mut().unwrap().hint_ms = Some(7000);
    }
    check(&[
        (
            |it| {
                hint(it);
                decide(it, Decision::Again { delay_ms: 7000 });
            },
            None,
        ),
        (
            |it| {
                hint(it);
                decide(it, Decision::Answer(StopReason::HintTooLong));
            },
            Some(
                "steps[0].decided.decision was again when recorded and is answer: hint_too_long now",
            ),
        ),
    ]);
}

#[test]
fn a_durable_wait_is_compared_by_its_length() {
    let decided = |now: Timestamp, until: Timestamp| Decided {
        at: now,
        budget: Some(true),
        decision: Decision::Later(until),
    };
    let recorded = decided(at(10), at(12));
    for (found, sentence) in [
        (decided(at(70), at(72)), None),
        (
            decided(at(70), at(73)),
            Some("steps[0].decided.decision.delay_ms was 2000 when recorded and is 3000 now"),
        ),
        (
            decided(at(10), at(12) + SignedDuration::from_nanos(1)),
            Some("steps[0].decided.decision.delay_ms was 2000 when recorded and is 2s 1ns now"),
        ),
        (
            decided(at(10), Timestamp::MAX),
            Some("steps[0].decided.decision.delay_ms was 2000 when recorded and is for ever now"),
        ),
    ] {
        let divergence = compare_decisions(0, Some(&recorded), Some(&found));
        let divergence = divergence.map(|divergence| divergence.to_string());
        assert_eq!(divergence.as_deref(), sentence);
    }
    let endless = |now| decided(now, Timestamp::MAX);
    assert_eq!(
        compare_decisions(0, Some(&endless(at(1))), Some(&endless(at(2)))),
        None
    );
}

#[test]
fn a_final_failure_is_compared_by_its_facts_and_the_names_in_its_details() {
    check(&[
        (|it| fail(it, failure().with_message("other words")), None),
        (|it| fail(it, failure().with_retry_after_ms(1)), None),
        (|it| fail(it, failure().with_max_retries(9)), None),
        (|it| fail(it, failure().with_attempts(2)), None),
        (
            |it| fail(it, failure().stamped(Uuid::from_u128(9), at(9))),
            None,
        ),
        (|it| fail(it, failure().with_detail("timeout_ms", 1)), None),
        (
            |it| fail(it, failure().with_detail("timeout_ms", json!({"soft": 1}))),
            None,
        ),
        (
            |it| {
                fail(
                    it,
                    failure().with_detail("peer", json!({"host": "b", "ports": []})),
                );
            },
            None,
        ),
        (
            |it| fail(it, failure().with_detail("peer", json!({"ports": [80]}))),
            Some("outcome.failed.details.peer.host was present when recorded and is absent now"),
        ),
        (
            |it| fail(it, failure().with_detail("region", "eu")),
            Some("outcome.failed.details.region was absent when recorded and is present now"),
        ),
        (
            |it| fail(it, Failure::new(codes::ERR_TIMEOUT)),
            Some("outcome.failed.details.peer was present when recorded and is absent now"),
        ),
        (
            |it| fail(it, failure().restated(codes::ERR_DNS_FAILURE.into())),
            Some("outcome.failed.code was ERR_TIMEOUT when recorded and is ERR_DNS_FAILURE now"),
        ),
    ]);
}

#[test]
fn the_facts_of_a_declared_code_must_be_equal() {
    use panpan_failure::{Category, Code, Facts, Kind};
    let declared = |category, retryable| {
        let facts = Facts {
            category: Some(category),
            retryable: Some(retryable),
            ..Facts::default()
        };
        let kind = Kind::declared(Code::new("QUEUE_FULL").unwrap(), facts).unwrap();
        let mut recording = recording();
        fail(&mut recording, Failure::new(kind));
        recording
    };
    let recorded = declared(Category::Transient, true);
    for (found, sentence) in [
        (
            declared(Category::Network, true),
            "outcome.failed.category was TRANSIENT when recorded and is NETWORK now",
        ),
        (
            declared(Category::Transient, false),
            "outcome.failed.retryable was true when recorded and is false now",
        ),
    ] {
        assert_eq!(compare(&recorded, &found).unwrap().to_string(), sentence);
    }
}

#[test]
fn a_success_is_compared_by_its_digest() {
    let succeeded = |digest: &str| Recording {
        outcome: RecordedOutcome::Succeeded {
            output_digest: digest.to_owned(),
        },
        ..recording()
    };
    for (recorded, found, sentence) in [
        (succeeded("00"), succeeded("00"), None),
        (
            succeeded("00"),
            succeeded("ff"),
            Some("outcome.succeeded.output_digest was 00 when recorded and is ff now"),
        ),
        (
            succeeded("00"),
            recording(),
            Some("outcome was success when recorded and is failure with ERR_TIMEOUT now"),
        ),
        (
            recording(),
            succeeded("00"),
            Some("outcome was failure with ERR_TIMEOUT when recorded and is success now"),
        ),
    ] {
        let divergence = compare(&recorded, &found).map(|divergence| divergence.to_string());
        assert_eq!(divergence.as_deref(), sentence);
    }
}

#[test]
fn values_beyond_the_nesting_limit_are_compared_whole() {
    let nested = |levels: usize, end: i64| (0..levels).fold(json!(end), |inner, _| json!([inner]));
    for levels in [DOCUMENT_DEPTH_LIMIT, DOCUMENT_DEPTH_LIMIT + 1] {
        let divergence = values("x", &nested(levels, 1), &nested(levels, 2), 0).unwrap();
        let steps = divergence.place.matches("[0]").count();
        assert_eq!(steps, levels.min(DOCUMENT_DEPTH_LIMIT));
        assert_eq!(
            divergence.recorded.is_array(),
            levels > DOCUMENT_DEPTH_LIMIT
        );
    }
}

#[test]
fn names_beyond_the_nesting_limit_are_not_compared() {
    let nested = |levels: usize, name: &str| {
        let inner = Map::from_iter([(name.to_owned(), json!(1))]);
        (1..levels).fold(inner, |inner, _| {
            Map::from_iter([("x".to_owned(), inner.into())])
        })
    };
    for (levels, found) in [
        (DOCUMENT_DEPTH_LIMIT, true),
        (DOCUMENT_DEPTH_LIMIT + 1, false),
    ] {
        let divergence = names("x", &nested(levels, "a"), &nested(levels, "b"), 0);
        assert_eq!(divergence.is_some(), found, "{levels}");
    }
}
