//! Recordings round-trip through JSON Lines, and damaged lines are reported.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../failure/tests/common/mod.rs"]
mod common;

use jiff::Timestamp;
use panpan_contract::recording::{
    Decided, Divergence, RecordedOutcome, Recording, Step, compare, read_lines, write_lines,
};
use panpan_contract::retry::{
    Attempt, Categories, Decision, MAX_DELAY_MS, RetryPolicy, RetrySettings, StopReason, Terms,
    Waiting,
};
use panpan_failure::Category;
use panpan_redact::Redactor;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use uuid::Uuid;

fn time() -> impl Strategy<Value = Timestamp> {
    let nanos = Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond();
    let extremes = select(vec![Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX]);
    prop_oneof![
        4 => nanos.prop_map(|nanos| Timestamp::from_nanosecond(nanos).unwrap()),
        1 => extremes,
    ]
}

fn policy() -> impl Strategy<Value = RetryPolicy> {
    (
        any::<u32>(),
        0..=MAX_DELAY_MS,
        1.0..100.0_f64,
        any::<bool>(),
        0.0..=1.0_f64,
    )
        .prop_map(
            |(max_retries, delay_ms, multiplier, jitter_enabled, jitter_range)| {
                let settings = RetrySettings {
                    max_retries,
                    initial_delay_ms: delay_ms / 2,
                    max_delay_ms: delay_ms,
                    backoff_multiplier: multiplier,
                    jitter_enabled,
                    jitter_range,
                };
                RetryPolicy::try_from(settings).unwrap()
            },
        )
}

fn terms() -> impl Strategy<Value = Terms> {
    let waiting = select(vec![Waiting::Inline, Waiting::Durable]);
    (
        option::of(policy()),
        option::of(vec(select(Category::ALL), 0..4)),
        any::<bool>(),
        option::of(time()),
        option::of(time()),
        waiting,
    )
        .prop_map(
            |(policy, categories, repeatable, deadline, patient_until, waiting)| Terms {
                policy,
                categories: categories.map(Categories::from_iter),
                repeatable,
                deadline,
                patient_until,
                waiting,
            },
        )
}

fn decision() -> impl Strategy<Value = Decision> {
    let reason = select(vec![
        StopReason::NotRetryable,
        StopReason::MayHaveHappened,
        StopReason::RetriedInside,
        StopReason::RefusedRetry,
        StopReason::AttemptsSpent,
        StopReason::BudgetSpent,
        StopReason::HintTooLong,
        StopReason::DeadlineTooNear,
        StopReason::PatienceSpent,
        StopReason::CategoryOff,
    ]);
    prop_oneof![
        reason.prop_map(Decision::Answer),
        any::<u64>().prop_map(|delay_ms| Decision::Again { delay_ms }),
        time().prop_map(Decision::Later),
    ]
}

fn decided() -> impl Strategy<Value = Decided> {
    (time(), option::of(any::<bool>()), decision()).prop_map(|(at, budget, decision)| Decided {
        at,
        budget,
        decision,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let failed = common::failure().prop_map(|failure| Attempt::of(&failure));
    (time(), time(), option::of(failed), option::of(decided())).prop_map(
        |(started_at, ended_at, failed, decided)| Step {
            started_at,
            ended_at,
            failed,
            decided,
        },
    )
}

fn outcome() -> impl Strategy<Value = RecordedOutcome> {
    prop_oneof![
        "[0-9a-f]{64}".prop_map(|output_digest| RecordedOutcome::Succeeded { output_digest }),
        common::redacted().prop_map(RecordedOutcome::Failed),
    ]
}

fn input() -> impl Strategy<Value = Value> {
    common::value().prop_map(|mut input| {
        Redactor::new().value(&mut input);
        input
    })
}

fn caller() -> impl Strategy<Value = String> {
    common::text().prop_map(|caller| Redactor::new().text(&caller).into_owned())
}

/// Boxed, because two of them by value overflow the stack of a test.
fn recording() -> BoxedStrategy<Recording> {
    let call = (
        any::<u128>().prop_map(Uuid::from_u128),
        time(),
        common::text(),
        option::of(caller()),
        option::of(input()),
    );
    let earlier = vec(
        common::failure().prop_map(|failure| Attempt::of(&failure)),
        0..2,
    );
    let course = (earlier, vec(step(), 0..3), option::of(any::<u64>()));
    (call, any::<i64>(), terms(), course, outcome())
        .prop_map(|(call, retry_seed, terms, course, outcome)| {
            let (earlier, steps, items) = course;
            let (id, at, operation, caller, input) = call;
            Recording {
                id,
                at,
                operation,
                caller,
                input,
                retry_seed,
                terms,
                earlier,
                steps,
                items,
                repeats: 0,
                outcome,
            }
        })
        .boxed()
}

fn written(recordings: &[Recording]) -> Vec<u8> {
    let mut text = Vec::new();
    write_lines(recordings, &mut text).unwrap();
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recordings_round_trip_through_lines(recordings in vec(recording(), 0..3)) {
        let text = written(&recordings);
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(lines, recordings.len());
        let read: Result<Vec<_>, _> = read_lines(text.as_slice()).collect();
        prop_assert_eq!(read.unwrap(), recordings);
    }

    #[test]
    fn a_recording_does_not_diverge_from_itself(recording in recording()) {
        let text = written(std::slice::from_ref(&recording));
        let read = read_lines(text.as_slice()).next().unwrap().unwrap();
        prop_assert_eq!(compare(&recording, &read), None);
    }

    #[test]
    fn comparison_is_symmetric(
        one in recording(),
        other in recording(),
    ) {
        let there = compare(&one, &other);
        let back = compare(&other, &one);
        let place = |divergence: &Option<Divergence>| {
            divergence.as_ref().map(|divergence| divergence.place.clone())
        };
        prop_assert_eq!(place(&there), place(&back));
    }

    #[test]
    fn a_damaged_line_affects_no_other(
        recording in recording(),
        place in any::<prop::sample::Index>(),
        damage in any::<u8>(),
    ) {
        let mut text = written(std::slice::from_ref(&recording));
        let place = place.index(text.len() - 1);
        text[place] = damage;
        let damaged = text.iter().filter(|byte| **byte == b'\n').count();
        text.extend(written(std::slice::from_ref(&recording)));
        let read: Vec<_> = read_lines(text.as_slice()).collect();
        prop_assert!(read.len() <= damaged + 1);
        prop_assert_eq!(read.last().unwrap().as_ref().unwrap(), &recording);
    }

    #[test]
    fn arbitrary_bytes_give_errors_with_increasing_line_numbers(
        bytes in vec(any::<u8>(), 0..300),
    ) {
        let numbers: Vec<u64> = read_lines(bytes.as_slice())
            .filter_map(|line| line.err().map(|error| error.line))
            .collect();
        prop_assert!(numbers.is_sorted_by(|one, other| one < other));
    }
}
