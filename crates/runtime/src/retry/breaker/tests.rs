//! When a circuit opens, how long it stays open, and what closes it.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn usual() -> Breaker {
    Breaker::new(CircuitSettings::default())
}

fn refused_for(retry_after_ms: u64) -> Permit {
    Permit::Refused { retry_after_ms }
}

/// Opened at ten seconds by five failed calls.
fn opened() -> Breaker {
    let mut breaker = usual();
    for seconds in [0, 1, 2, 3, 10] {
        breaker.failed(false, at(seconds));
    }
    breaker
}

/// Fails all trials at this time.
fn fail_trials(breaker: &mut Breaker, seconds: i64) {
    for _ in 0..3 {
        assert_eq!(breaker.permit(at(seconds)), Permit::Trial);
        breaker.failed(true, at(seconds));
    }
}

#[test]
fn five_consecutive_failures_over_ten_seconds_open_it() {
    for (times, opens) in [
        (&[0, 1, 2, 3, 10][..], true),
        (&[0, 1, 2, 3, 9], false),
        (&[0, 1, 2, 10], false),
        (&[0, 0, 0, 0, 0, 0, 0, 0], false),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 10], true),
        (&[0, 3600, 7200, 10_800, 14_400], true),
    ] {
        let mut breaker = usual();
        times.iter().for_each(|it| breaker.failed(false, at(*it)));
        let now = at(*times.last().unwrap());
        let open = refused_for(2000);
        let expected = if opens { open } else { Permit::Granted };
        assert_eq!(breaker.permit(now), expected, "{times:?}");
    }
}

#[test]
fn a_response_ends_the_streak() {
    let mut breaker = usual();
    for round in 0..10 {
        for seconds in [0, 3, 6, 9] {
            breaker.failed(false, at(round * 60 + seconds));
        }
        breaker.answered(false, at(round * 60 + 10));
        assert_eq!(breaker.permit(at(round * 60 + 10)), Permit::Granted);
    }
}

#[test]
fn a_failed_share_of_eighty_percent_of_twenty_calls_opens_it() {
    for (failed, answered, opens) in [
        (20, 0, true),
        (19, 0, false),
        (16, 4, true),
        (15, 5, false),
        (150, 50, false),
    ] {
        let mut breaker = usual();
        (0..answered).for_each(|_| breaker.answered(false, at(0)));
        (0..failed).for_each(|_| breaker.failed(false, at(1)));
        let is_open = breaker.permit(at(1)) != Permit::Granted;
        assert_eq!(is_open, opens, "{failed} of {}", failed + answered);
    }
}

#[test]
fn either_rule_can_be_switched_off() {
    let without_streak = CircuitSettings {
        row: 0,
        ..CircuitSettings::default()
    };
    let mut breaker = Breaker::new(without_streak);
    (0..100).for_each(|it| breaker.failed(false, at(it * 60)));
    assert_eq!(breaker.permit(at(6000)), Permit::Granted);
    let without_share = CircuitSettings {
        failed_percent: 0,
        ..CircuitSettings::default()
    };
    let mut breaker = Breaker::new(without_share);
    (0..100).for_each(|_| breaker.failed(false, at(0)));
    assert_eq!(breaker.permit(at(0)), Permit::Granted);
}

#[test]
fn it_stays_open_for_two_seconds_and_reports_the_rest() {
    let mut breaker = opened();
    assert_eq!(breaker.failed_calls(), 5);
    assert_eq!(breaker.permit(at(10)), refused_for(2000));
    assert_eq!(breaker.permit(at(11)), refused_for(1000));
    let open = CircuitState::Open {
        retry_after_ms: 1000,
    };
    assert_eq!(breaker.state(at(11)), open);
    let shortly_before = at(12) - jiff::SignedDuration::from_micros(1);
    assert_eq!(breaker.permit(shortly_before), refused_for(1));
    assert_eq!(breaker.state(at(12)), CircuitState::HalfOpen);
    assert_eq!(breaker.permit(at(12)), Permit::Trial);
}

#[test]
fn three_trials_pass_and_one_success_closes_it() {
    let mut breaker = opened();
    for _ in 0..3 {
        assert_eq!(breaker.permit(at(12)), Permit::Trial);
    }
    assert_eq!(breaker.permit(at(12)), refused_for(2000));
    breaker.failed(true, at(12));
    breaker.failed(true, at(12));
    breaker.answered(true, at(12));
    assert_eq!(breaker.permit(at(12)), Permit::Granted);
    assert_eq!(breaker.failed_calls(), 0);
    // Earlier counts are dropped.
    breaker.failed(false, at(22));
    assert_eq!(breaker.permit(at(22)), Permit::Granted);
}

#[test]
fn failed_trials_double_the_open_time_up_to_the_limit() {
    let mut breaker = opened();
    let mut now = 12;
    for seconds in [4, 8, 16, 30, 30] {
        fail_trials(&mut breaker, now);
        let open_ms = u64::try_from(seconds).unwrap() * 1000;
        assert_eq!(breaker.permit(at(now)), refused_for(open_ms));
        now += seconds;
    }
    assert_eq!(breaker.failed_calls(), 5 + 15);
}

#[test]
fn calls_that_started_before_it_opened_do_not_count() {
    let mut breaker = opened();
    breaker.answered(false, at(11));
    assert_eq!(breaker.permit(at(11)), refused_for(1000));
    assert_eq!(breaker.permit(at(12)), Permit::Trial);
    for _ in 0..3 {
        breaker.failed(false, at(12));
    }
    breaker.answered(false, at(12));
    assert_eq!(breaker.state(at(12)), CircuitState::HalfOpen);
    assert_eq!(breaker.permit(at(12)), Permit::Trial);
}

#[test]
fn a_returned_trial_can_be_used_again() {
    let mut breaker = opened();
    (0..3).for_each(|_| assert_eq!(breaker.permit(at(12)), Permit::Trial));
    breaker.give_back();
    assert_eq!(breaker.permit(at(12)), Permit::Trial);
    assert_eq!(breaker.permit(at(12)), refused_for(2000));
}

#[test]
fn a_trial_that_never_ends_does_not_block_for_ever() {
    let mut breaker = opened();
    (0..3).for_each(|_| assert_eq!(breaker.permit(at(12)), Permit::Trial));
    assert_eq!(breaker.permit(at(13)), refused_for(1000));
    assert_eq!(breaker.permit(at(14)), Permit::Trial);
}

#[test]
fn setting_the_clock_back_does_not_keep_it_open_longer() {
    const DAY: i64 = 86_400;
    let mut breaker = opened();
    assert_eq!(breaker.permit(at(-DAY)), refused_for(2000));
    assert_eq!(breaker.permit(at(2 - DAY)), Permit::Trial);
    (0..2).for_each(|_| assert_eq!(breaker.permit(at(2 - DAY)), Permit::Trial));
    assert_eq!(breaker.permit(at(-2 * DAY)), refused_for(2000));
    assert_eq!(breaker.permit(at(2 - 2 * DAY)), Permit::Trial);
    // A streak that began in the future is as old as its newest call.
    let mut breaker = usual();
    (0..4).for_each(|_| breaker.failed(false, at(DAY)));
    breaker.failed(false, at(0));
    assert_eq!(breaker.permit(at(0)), Permit::Granted);
    breaker.failed(false, at(10));
    assert_eq!(breaker.permit(at(10)), refused_for(2000));
}

#[test]
fn an_operation_counts_as_failing_until_a_success_or_the_end_of_the_window() {
    let mut breaker = usual();
    assert!(!breaker.is_failing(at(0)));
    breaker.failed(false, at(0));
    assert!(breaker.is_failing(at(29)));
    assert!(!breaker.is_failing(at(30)));
    breaker.answered(false, at(1));
    assert!(!breaker.is_failing(at(1)));
    assert!(opened().is_failing(at(1000)));
}
