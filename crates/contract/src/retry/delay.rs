//! What one attempt waits under one policy and one seed: a pure formula.
//! The server's hint is not mixed in here; neither is any clock or randomness.

use std::io::Write as _;

use sha2::{Digest as _, Sha256};

use super::policy::RetryPolicy;
use super::power::whole_power;

/// Computes the delay before retry number `attempt`, counted from 0.
///
/// The delay grows by the policy's multiplier and is capped; jitter comes after
/// the cap, so a result can exceed `max_delay_ms` by the jitter range. The jitter
/// is a hash of seed and attempt: the same three inputs give the same delay on
/// every machine, and any attempt can be asked for on its own.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // A policy's delays are at most a day, far inside what a double holds exactly.
pub fn delay_ms(policy: &RetryPolicy, attempt: u32, seed: i64) -> u64 {
    let growth = whole_power(policy.backoff_multiplier(), attempt);
    let grown = policy.initial_delay_ms() as f64 * growth;
    let capped = grown.min(policy.max_delay_ms() as f64);
    if policy.jitter_range() == 0.0 {
        return capped as u64;
    }
    let spread = capped * policy.jitter_range();
    (capped + spread * (2.0 * unit_fraction(seed, attempt) - 1.0)) as u64
}

/// Turns seed and attempt into a fraction from 0 up to but not including 1.
fn unit_fraction(seed: i64, attempt: u32) -> f64 {
    /// The longest text: a sign and 19 digits, a colon, 10 digits.
    const LONGEST: usize = 31;
    let mut text = [0; LONGEST];
    let mut rest = text.as_mut_slice();
    write!(rest, "{seed}:{attempt}").expect("the buffer holds the longest text");
    let unused = rest.len();
    let digest = Sha256::digest(&text[..LONGEST - unused]);
    let head = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    f64::from(head) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::super::policy::{MAX_DELAY_MS, RetrySettings};
    use super::*;
    use panpan_failure::Category;
    use proptest::prelude::*;

    /// One line per policy and seed, made by running the reference formula in Python.
    const GOLDEN: &str = include_str!("golden_delays.txt");

    fn check(policy: RetryPolicy, seed: i64, expected: &[u64]) {
        for (attempt, expected) in (0..).zip(expected) {
            let delay = delay_ms(&policy, attempt, seed);
            assert_eq!(
                delay, *expected,
                "attempt {attempt}, seed {seed}, {policy:?}"
            );
        }
    }

    fn without_jitter(policy: RetryPolicy) -> RetryPolicy {
        let settings = RetrySettings {
            jitter_enabled: false,
            ..policy.into()
        };
        settings.try_into().unwrap()
    }

    fn exact(delay_ms: u64) -> f64 {
        f64::from(u32::try_from(delay_ms).unwrap())
    }

    #[test]
    fn the_default_policy_gives_the_published_delays() {
        let check = |seed, expected: [u64; 8]| check(RetryPolicy::DEFAULT, seed, &expected);
        check(0, [103, 217, 405, 794, 1531, 3390, 5154, 4671]);
        check(1, [103, 213, 392, 803, 1531, 3136, 4883, 4739]);
        check(42, [96, 180, 424, 815, 1582, 3191, 4842, 4958]);
        check(1337, [96, 216, 386, 811, 1613, 3421, 5218, 4537]);
        check(-1, [100, 209, 392, 767, 1688, 3095, 4693, 5361]);
    }

    #[test]
    fn each_category_gives_the_published_delays() {
        let check = |category, expected: [u64; 8]| {
            check(RetryPolicy::for_category(category), 42, &expected);
        };
        check(
            Category::Transient,
            [96, 180, 424, 815, 1582, 3191, 4842, 4958],
        );
        check(
            Category::Network,
            [96, 180, 424, 815, 1582, 3191, 4842, 4958],
        );
        check(
            Category::RateLimit,
            [965, 1806, 4243, 8157, 15825, 29923, 29056, 29750],
        );
        check(
            Category::ServerError,
            [482, 903, 2121, 4078, 7912, 9974, 9685, 9916],
        );
        check(
            Category::Timeout,
            [193, 270, 477, 688, 1001, 1514, 2206, 3388],
        );
    }

    #[test]
    fn without_jitter_the_seed_changes_nothing() {
        let check = |category, expected: [u64; 6]| {
            let policy = without_jitter(RetryPolicy::for_category(category));
            check(policy, 42, &expected);
            check(policy, i64::MIN, &expected);
        };
        check(Category::RateLimit, [1000, 2000, 4000, 8000, 16000, 30000]);
        check(Category::ServerError, [500, 1000, 2000, 4000, 8000, 10000]);
        check(Category::Timeout, [200, 300, 450, 675, 1012, 1518]);
    }

    #[test]
    fn every_golden_line_is_reproduced() {
        let lines = GOLDEN.lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for line in lines {
            let (inputs, delays) = line.split_once('|').unwrap();
            let inputs: Vec<&str> = inputs.split_whitespace().collect();
            let policy = RetryPolicy::try_from(RetrySettings {
                initial_delay_ms: inputs[0].parse().unwrap(),
                max_delay_ms: inputs[1].parse().unwrap(),
                backoff_multiplier: inputs[2].parse().unwrap(),
                jitter_range: inputs[3].parse().unwrap(),
                ..RetrySettings::default()
            });
            let delays: Vec<u64> = delays
                .split_whitespace()
                .map(|d| d.parse().unwrap())
                .collect();
            check(policy.unwrap(), inputs[4].parse().unwrap(), &delays);
            count += delays.len();
        }
        assert!(count > 1_000, "{count} golden delays");
    }

    #[test]
    fn the_farthest_attempt_is_the_cap_and_never_nothing() {
        let check = |initial_delay_ms, backoff_multiplier, expected| {
            let settings = RetrySettings {
                initial_delay_ms,
                max_delay_ms: MAX_DELAY_MS,
                backoff_multiplier,
                jitter_enabled: false,
                ..RetrySettings::default()
            };
            let delay = delay_ms(&settings.try_into().unwrap(), u32::MAX, i64::MIN);
            assert_eq!(delay, expected, "{initial_delay_ms} x {backoff_multiplier}");
        };
        check(1, 2.0, MAX_DELAY_MS);
        check(1, f64::MAX, MAX_DELAY_MS);
        check(1, 1.000_000_1, MAX_DELAY_MS);
        check(250, 1.0, 250);
        check(0, f64::MAX, 0);
    }

    proptest! {
        #[test]
        fn a_delay_stays_within_cap_and_jitter(
            delays in (0..=MAX_DELAY_MS, 0..=MAX_DELAY_MS),
            backoff_multiplier in prop_oneof![1.0..4.0f64, 1.0..f64::MAX],
            jitter_range in 0.0..=1.0f64,
            attempt in prop_oneof![0..64u32, any::<u32>()],
            seed: i64,
        ) {
            let policy = RetryPolicy::try_from(RetrySettings {
                initial_delay_ms: delays.0.min(delays.1),
                max_delay_ms: delays.0.max(delays.1),
                backoff_multiplier,
                jitter_range,
                ..RetrySettings::default()
            }).unwrap();
            let delay = exact(delay_ms(&policy, attempt, seed));
            prop_assert!(delay <= exact(policy.max_delay_ms()) * (1.0 + jitter_range));
            prop_assert!(delay + 1.0 >= exact(policy.initial_delay_ms()) * (1.0 - jitter_range));
        }
    }
}
