//! The delay before a call is repeated, and the sentences that state it.

use panpan_failure::{Effect, Failure, Kind, LONG_DELAY_MS};

use super::{Key, Situation};

/// The delays after the first failure in a row, the second one and so on, for services that state none. The first is as
/// long as the gateway's own retries, because a shorter one finds the service as they left it.
const DELAYS_MS: [u64; 5] = [2_000, 4_000, 8_000, 16_000, DELAY_MS_MAX];
/// The longest delay that a service did not state.
const DELAY_MS_MAX: u64 = 30_000;
/// The length of a streak from which on the advice is also to ask a person.
const LONG_STREAK: u32 = 4;
/// Delays of this length and more are stated as a person would.
const ROUNDED_MS: u64 = 5 * MINUTE_MS;
const MINUTE_MS: u64 = 60_000;

/// The delay before a call is repeated: as the failure states, or longer with each failure in a row.
pub(super) fn delay_ms(
    current_ms: Option<u64>,
    kind: &Kind,
    situation: Situation<'_>,
) -> Option<u64> {
    if situation.stated_delay_ms.is_some() {
        return current_ms;
    }
    let default_ms = kind.default_retry_after_ms().or(current_ms);
    default_ms.max(grown_delay_ms(situation))
}

/// The delay that grows with the streak; `None` if the failure is not one of a service.
fn grown_delay_ms(situation: Situation<'_>) -> Option<u64> {
    let last = DELAYS_MS.len() - 1;
    let failures_before = situation.streak.checked_sub(1)?;
    let index = usize::try_from(failures_before).map_or(last, |it| it.min(last));
    Some(DELAYS_MS[index].max(situation.unreachable_ms.min(DELAY_MS_MAX)))
}

/// The delay before a call that did not take effect is made again.
pub(super) fn delay_before_another_ms(situation: Situation<'_>) -> Option<u64> {
    situation
        .stated_delay_ms
        .or_else(|| grown_delay_ms(situation))
}

/// How to repeat a call that may be repeated.
pub(super) fn repeat(failure: &Failure, situation: Situation<'_>, delay_ms: Option<u64>) -> String {
    let wait = waiting(delay_ms);
    let call = match situation.key {
        Key::Caller(_) if !situation.is_harmless && failure.effect() != Effect::None => {
            "the call with the same idempotency_key, so that nothing is done twice"
        }
        Key::Caller(_) if !situation.is_harmless => "the call with the same idempotency_key",
        _ => "the identical call",
    };
    let person = match delay_ms > Some(LONG_DELAY_MS) {
        true => "; ask a person if that is too late".to_owned(),
        false => asking_a_person(situation),
    };
    format!("{wait} {call}{person}")
}

/// `Wait 2000 ms, then repeat`, or `Repeat` if there is no delay.
pub(super) fn waiting(delay_ms: Option<u64>) -> String {
    match delay_ms {
        Some(delay_ms) if delay_ms > 0 => format!("Wait {}, then repeat", duration(delay_ms)),
        _ => "Repeat".to_owned(),
    }
}

/// The end of the advice about a call that keeps failing.
pub(super) fn asking_a_person(situation: Situation<'_>) -> String {
    match situation.streak {
        0..LONG_STREAK => String::new(),
        streak => {
            format!("; it has failed {streak} times in a row, so ask a person if it keeps failing")
        }
    }
}

/// A duration in milliseconds, or roughly if it is long.
pub(super) fn duration(milliseconds: u64) -> String {
    const HOUR_MINUTES: u64 = 60;
    const DAY_MINUTES: u64 = 24 * HOUR_MINUTES;
    if milliseconds < ROUNDED_MS {
        return format!("{milliseconds} ms");
    }
    let minutes = (milliseconds + MINUTE_MS / 2) / MINUTE_MS;
    let (amount, unit) = match minutes {
        _ if minutes < 2 * HOUR_MINUTES => (minutes, "minutes"),
        _ if minutes < 2 * DAY_MINUTES => (rounded(minutes, HOUR_MINUTES), "hours"),
        _ => (rounded(minutes, DAY_MINUTES), "days"),
    };
    format!("about {amount} {unit}")
}

fn rounded(minutes: u64, unit_minutes: u64) -> u64 {
    (minutes + unit_minutes / 2) / unit_minutes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_durations_are_stated_as_a_person_would() {
        for (milliseconds, expected) in [
            (2_000, "2000 ms"),
            (180_000, "180000 ms"),
            (300_000, "about 5 minutes"),
            (3_600_000, "about 60 minutes"),
            (32_500_000, "about 9 hours"),
            (1_727_999_574, "about 20 days"),
        ] {
            assert_eq!(duration(milliseconds), expected);
        }
    }
}
