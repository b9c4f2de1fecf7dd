//! How long a caller waits, how often it is sent again, and when a person is asked.

use super::*;

fn failure(effect: Effect, repeat: Repeat) -> Redacted {
    Failure::new(Kind::of("HTTP_503").unwrap())
        .with_effect(effect)
        .with_repeat(repeat)
        .redacted()
}

fn advised_in(failure: Redacted, situation: Situation<'_>) -> Redacted {
    let before = failure.recovery().clone();
    advised(failure, before, situation)
}

fn with_streak(streak: u32) -> Situation<'static> {
    Situation {
        streak,
        ..write_with(Key::None)
    }
}

/// The gateway's own retries have waited about two seconds, so a shorter delay finds the same outage.
#[test]
fn the_delay_grows_with_every_failure_in_a_row() {
    for (streak, expected_ms, asks_person) in [
        (0, 100, false),
        (1, 2_000, false),
        (2, 4_000, false),
        (3, 8_000, false),
        (4, 16_000, true),
        (5, 30_000, true),
        (20, 30_000, true),
    ] {
        let found = advised_in(failure(Effect::None, Repeat::Allowed), with_streak(streak));
        assert_eq!(
            found.recovery().retry_after_ms,
            Some(expected_ms),
            "{streak}"
        );
        let action = &found.recovery().required_actions[0];
        assert_eq!(action.contains("ask a person"), asks_person, "{action}");
    }
}

#[test]
fn a_host_that_is_down_for_long_is_not_called_again_at_once() {
    for (unreachable_ms, expected_ms) in [(0, 2_000), (9_000, 9_000), (600_000, 30_000)] {
        let situation = Situation {
            unreachable_ms,
            ..with_streak(1)
        };
        let found = advised_in(failure(Effect::None, Repeat::Allowed), situation);
        assert_eq!(found.recovery().retry_after_ms, Some(expected_ms));
    }
}

#[test]
fn a_stated_delay_is_neither_shortened_nor_lengthened() {
    for stated_ms in [500, 180_000] {
        let stated = failure(Effect::None, Repeat::Allowed).into_failure();
        let situation = Situation {
            stated_delay_ms: Some(stated_ms),
            ..with_streak(3)
        };
        let found = advised_in(stated.with_retry_after_ms(stated_ms).redacted(), situation);
        assert_eq!(found.recovery().retry_after_ms, Some(stated_ms));
    }
}

#[test]
fn a_rate_limit_without_a_delay_keeps_at_least_that_of_its_code() {
    let limited = Failure::new(Kind::of("HTTP_429").unwrap())
        .with_repeat(Repeat::Allowed)
        .redacted();
    let found = advised_in(limited, with_streak(1));
    assert!(found.recovery().retry_after_ms >= Some(2_000));
}

#[test]
fn a_write_that_is_checked_and_made_again_has_a_streak_too() {
    for (streak, expected) in [
        (0, "If it did not, make the call again"),
        (1, "If it did not, wait 2000 ms, then make the call again"),
        (
            4,
            "If it did not, wait 16000 ms, then make the call again; it has failed 4 times in a row, so ask a \
             person if it keeps failing",
        ),
    ] {
        let found = advised_in(
            failure(Effect::Unknown, Repeat::OnlyWithoutEffect),
            with_streak(streak),
        );
        assert_eq!(found.recovery().required_actions[1], expected);
    }
}

/// The identical call has no key, so the service would take it for another one.
#[test]
fn a_call_with_a_generated_key_is_repeated_with_that_key() {
    let situation = Situation {
        honours_key: true,
        streak: 1,
        ..write_with(Key::Generated("gateway-1"))
    };
    let found = advised_in(failure(Effect::Unknown, Repeat::WithKey), situation);
    assert!(!found.may_repeat() && !found.must_check_outcome());
    assert_eq!(found.next_moves(), [NextMove::ChangeInput]);
    assert_eq!(
        found.recovery().required_actions,
        [
            "Wait 2000 ms, then repeat the call with idempotency_key gateway-1: the service recognises it, so nothing is \
          done twice"
        ]
    );
    let again = advised_in(found.clone(), situation);
    assert_eq!(
        again, found,
        "advised again, as by a replay, it says the same"
    );
    // A gateway behind this one got the key as well, and says that it does not help.
    let relayed = failure(Effect::Unknown, Repeat::OnlyWithoutEffect);
    let found = advised_in(relayed, situation);
    assert_eq!(found.next_moves(), [NextMove::CheckOutcome]);
}

#[test]
fn a_wait_of_hours_also_asks_a_person() {
    let stated = failure(Effect::None, Repeat::Allowed).into_failure();
    let situation = Situation {
        stated_delay_ms: Some(32_500_000),
        ..with_streak(1)
    };
    let found = advised_in(stated.with_retry_after_ms(32_500_000).redacted(), situation);
    assert_eq!(
        found.recovery().required_actions,
        ["Wait about 9 hours, then repeat the identical call; ask a person if that is too late"]
    );
    assert_eq!(found.next_moves(), [NextMove::Wait, NextMove::AskHuman]);
    assert_eq!(found.recovery().retry_after_ms, Some(32_500_000));
}
