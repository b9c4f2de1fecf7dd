//! Repeated decisions match the recording, and tampering is detected.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use jiff::{SignedDuration, Timestamp};
use panpan_contract::recording::{
    Decided, RecordedOutcome, Recording, Step, read_lines, write_lines,
};
use panpan_contract::retry::{Attempt, Decision, RetryPolicy, StopReason, Terms, Waiting};
use panpan_failure::catalogue::Entry;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::replay::redecide;
use panpan_runtime::retry::decide;

const SEED: i64 = 42;

fn terms() -> Terms {
    Terms {
        policy: None,
        categories: None,
        repeatable: true,
        deadline: None,
        patient_until: None,
        waiting: Waiting::Inline,
    }
}

fn failed(entry: &'static Entry) -> Attempt {
    Attempt::of(&Failure::new(entry))
}

/// A recording of a call whose attempts fail as listed, a second apart.
fn record(attempts: &[Attempt], terms: Terms, budget_answers: bool) -> Recording {
    let mut steps = Vec::new();
    for (index, attempt) in attempts.iter().enumerate() {
        let at = Timestamp::from_second(1_000 + i64::try_from(index).unwrap()).unwrap();
        let mut budget = None;
        let decision = decide(&attempts[..=index], at, SEED, terms, || {
            budget = Some(budget_answers);
            budget_answers
        });
        steps.push(Step {
            started_at: at,
            ended_at: at,
            failed: Some(attempt.clone()),
            decided: Some(Decided {
                at,
                budget,
                decision,
            }),
        });
    }
    Recording {
        id: uuid::Uuid::from_u128(1),
        at: Timestamp::UNIX_EPOCH,
        operation: "weather/now".to_owned(),
        caller: None,
        input: None,
        retry_seed: SEED,
        terms,
        earlier: Vec::new(),
        steps,
        items: None,
        repeats: 0,
        outcome: RecordedOutcome::Failed(Failure::new(codes::ERR_TIMEOUT).redacted()),
    }
}

/// Three rate limits, a timeout and a 404: four retries and an answer.
fn recording() -> Recording {
    let limited = failed(codes::ERR_HTTP_429_RATE_LIMITED);
    let attempts = [
        limited.clone(),
        limited.clone(),
        limited,
        failed(codes::ERR_TIMEOUT),
        failed(codes::ERR_HTTP_404_NOT_FOUND),
    ];
    record(&attempts, terms(), true)
}

fn decided(recording: &mut Recording, step: usize) -> &mut Decided {
    recording.steps[step].decided.as_mut().unwrap()
}

fn attempt(recording: &mut Recording, step: usize) -> &mut Attempt {
    recording.steps[step].failed.as_mut().unwrap()
}

#[test]
fn repeated_decisions_match_the_recording() {
    let hinted = Attempt {
        hint_ms: Some(7000),
        ..failed(codes::ERR_HTTP_429_RATE_LIMITED)
    };
    let attempts = [hinted, failed(codes::ERR_TIMEOUT), failed(codes::INTERNAL)];
    let durable = Terms {
        waiting: Waiting::Durable,
        policy: Some(RetryPolicy::DEFAULT),
        deadline: Timestamp::from_second(2_000).ok(),
        ..terms()
    };
    let mut aborted = recording();
    aborted.steps[4].decided = None;
    let mut succeeded = recording();
    succeeded.steps[4].failed = None;
    succeeded.steps[4].decided = None;
    let mut refused = recording();
    refused.steps.clear();
    for recording in [
        recording(),
        record(&attempts, terms(), true),
        record(&attempts, durable, true),
        record(&attempts, durable, false),
        record(&attempts[1..2], terms(), false),
        aborted,
        succeeded,
        refused,
    ] {
        assert_eq!(redecide(&recording), Ok(()));
    }
}

#[test]
fn a_recording_read_from_a_file_gives_the_same_decisions() {
    let policy = RetryPolicy::DEFAULT;
    let terms = Terms {
        policy: Some(policy),
        waiting: Waiting::Durable,
        ..terms()
    };
    let recording = record(&[failed(codes::ERR_TIMEOUT)], terms, true);
    let mut text = Vec::new();
    write_lines([&recording], &mut text).unwrap();
    let read = read_lines(text.as_slice()).next().unwrap().unwrap();
    assert_eq!(redecide(&read), Ok(()));
}

/// A change to a recording, and the divergence that it causes.
type Row = (fn(&mut Recording), &'static str);

#[test]
fn tampering_is_detected_at_its_location() {
    let rows: &[Row] = &[
        (
            |it| decided(it, 1).decision = Decision::Again { delay_ms: 1807 },
            "steps[1].decided.decision.delay_ms was 1807 when recorded and is 1806 now",
        ),
        (
            |it| decided(it, 0).decision = Decision::Answer(StopReason::AttemptsSpent),
            "steps[0].decided.decision was answer: attempts_spent when recorded and is again now",
        ),
        (
            |it| it.retry_seed = 43,
            "steps[0].decided.decision.delay_ms was 965 when recorded and is 998 now",
        ),
        (
            |it| it.steps.swap(0, 1),
            "steps[0].decided.decision.delay_ms was 1806 when recorded and is 965 now",
        ),
        (
            |it| drop(it.steps.remove(0)),
            "steps[0].decided.decision.delay_ms was 1806 when recorded and is 965 now",
        ),
        (
            |it| attempt(it, 2).hint_ms = Some(9000),
            "steps[2].decided.decision.delay_ms was 4243 when recorded and is 9000 now",
        ),
        (
            |it| attempt(it, 0).retryable = false,
            "steps[0].decided.decision was again when recorded and is answer: not_retryable now",
        ),
        (
            |it| attempt(it, 1).retried_inside = true,
            "steps[1].decided.decision was again when recorded and is answer: retried_inside now",
        ),
        (
            |it| {
                attempt(it, 0).effect = Effect::Unknown;
                it.terms.repeatable = false;
            },
            "steps[0].decided.decision was again when recorded and is answer: may_have_happened now",
        ),
        (
            |it| it.terms.deadline = Some(decided(it, 2).at),
            "steps[1].decided.decision was again when recorded and is answer: deadline_too_near now",
        ),
        (
            |it| it.terms.waiting = Waiting::Durable,
            "steps[0].decided.decision was again when recorded and is later now",
        ),
        (
            |it| decided(it, 1).budget = Some(false),
            "steps[1].decided.decision was again when recorded and is answer: budget_spent now",
        ),
        (
            |it| decided(it, 1).budget = None,
            "steps[1].decided.budget was absent when recorded and is asked now",
        ),
        (
            |it| decided(it, 4).budget = Some(true),
            "steps[4].decided.budget was true when recorded and is absent now",
        ),
        (
            |it| it.steps[3].failed = None,
            "steps[3].decided.decision was again when recorded and is absent now",
        ),
    ];
    for (change, sentence) in rows {
        let mut tampered = recording();
        change(&mut tampered);
        let divergence = redecide(&tampered).unwrap_err();
        assert_eq!(divergence.to_string(), *sentence);
    }
}

#[test]
fn a_durable_delay_is_compared_to_the_nanosecond() {
    let durable = Terms {
        waiting: Waiting::Durable,
        ..terms()
    };
    let mut recording = record(&[failed(codes::ERR_TIMEOUT)], durable, true);
    assert_eq!(redecide(&recording), Ok(()));
    let Decision::Later(at) = decided(&mut recording, 0).decision else {
        panic!("a durable wait ends with a later retry");
    };
    decided(&mut recording, 0).decision = Decision::Later(at + SignedDuration::from_nanos(1));
    assert!(redecide(&recording).is_err());
}
