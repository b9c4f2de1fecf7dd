//! The member `retry` of a task: read into a retry policy, and written back.
//!
//! Delays are in seconds. `max_attempts` includes the first attempt.

use panpan_contract::retry::{MAX_DELAY_MS, RetryPolicy, RetrySettings};
use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use panpan_runtime::shown;
use serde_json::{Map, Value, json};

use super::members::{whole_number, wrong_type};

/// The largest `max_attempts`.
pub const RETRY_ATTEMPTS_LIMIT: u32 = 100;

/// The longest delay in seconds: one day.
pub const DELAY_SECONDS_LIMIT: u64 = MAX_DELAY_MS / 1000;

const MEMBERS: [&str; 4] = ["max_attempts", "backoff", "initial_delay", "max_delay"];

/// The backoffs that a policy can express, with their multipliers.
const BACKOFFS: [(&str, f64); 2] = [("exponential", 2.0), ("constant", 1.0)];

// What the example of the protocol has.
const DEFAULT_ATTEMPTS: u32 = 3;
const DEFAULT_INITIAL_MS: u64 = 1_000;
const DEFAULT_MAX_MS: u64 = 60_000;

/// Reads the member, or returns everything that is wrong with it. `at` is the pointer to it.
pub(super) fn read_retry(value: &Value, at: &str) -> Result<RetryPolicy, Vec<Violation>> {
    let Some(members) = value.as_object() else {
        return Err(vec![wrong_type(at.to_owned(), "an object", value)]);
    };
    let mut reader = Reader {
        members,
        at,
        violations: Vec::new(),
    };
    let attempts = reader.attempts();
    let multiplier = reader.multiplier();
    let initial = reader.delay_ms("initial_delay");
    let max = reader.delay_ms("max_delay");
    reader.unknown_members();
    // A default yields to the delay that is stated.
    let max_delay_ms = max.unwrap_or_else(|| DEFAULT_MAX_MS.max(initial.unwrap_or(0)));
    let initial_delay_ms = initial.unwrap_or_else(|| DEFAULT_INITIAL_MS.min(max_delay_ms));
    let settings = RetrySettings {
        max_retries: attempts - 1,
        initial_delay_ms,
        max_delay_ms,
        backoff_multiplier: multiplier,
        ..RetrySettings::default()
    };
    match RetryPolicy::try_from(settings) {
        Ok(policy) if reader.violations.is_empty() => Ok(policy),
        Err(_) if reader.violations.is_empty() => {
            let reason = "initial_delay is above max_delay";
            let violation = Violation::value(joined(at, "initial_delay"), reason)
                .expected(format!("at most {}", seconds(max_delay_ms)))
                .actual(seconds(initial_delay_ms));
            Err(vec![violation])
        }
        _ => Err(reader.violations),
    }
}

/// The member as the protocol writes it.
pub(super) fn written_retry(policy: &RetryPolicy) -> Value {
    let is_of = |multiplier: f64| policy.backoff_multiplier().total_cmp(&multiplier).is_eq();
    let backoff = BACKOFFS.into_iter().find(|(_, it)| is_of(*it));
    json!({
        "max_attempts": policy.max_retries().saturating_add(1),
        // A policy from elsewhere can have another multiplier, which also grows exponentially.
        "backoff": backoff.map_or("exponential", |(word, _)| word),
        "initial_delay": seconds(policy.initial_delay_ms()),
        "max_delay": seconds(policy.max_delay_ms()),
    })
}

/// Delays are at most a day, which a double represents exactly.
#[allow(clippy::cast_precision_loss)]
fn seconds(delay_ms: u64) -> f64 {
    delay_ms as f64 / 1000.0
}

struct Reader<'a> {
    members: &'a Map<String, Value>,
    at: &'a str,
    violations: Vec<Violation>,
}

impl<'a> Reader<'a> {
    fn given(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name)
    }

    fn note(&mut self, name: &str, reason: &str, expected: String, actual: &Value) {
        let violation = Violation {
            actual: shown(actual),
            ..Violation::value(joined(self.at, name), reason).expected(expected)
        };
        self.violations.push(violation);
    }

    fn attempts(&mut self) -> u32 {
        const NAME: &str = "max_attempts";
        let Some(value) = self.given(NAME) else {
            return DEFAULT_ATTEMPTS;
        };
        let number = whole_number(value).and_then(|it| u32::try_from(it).ok());
        match number.filter(|it| (1..=RETRY_ATTEMPTS_LIMIT).contains(it)) {
            Some(attempts) => attempts,
            None => {
                let expected = format!("a whole number from 1 to {RETRY_ATTEMPTS_LIMIT}");
                self.note(NAME, "value out of range", expected, value);
                DEFAULT_ATTEMPTS
            }
        }
    }

    fn multiplier(&mut self) -> f64 {
        const NAME: &str = "backoff";
        let (_, exponential) = BACKOFFS[0];
        let Some(value) = self.given(NAME) else {
            return exponential;
        };
        match BACKOFFS.into_iter().find(|(word, _)| value == word) {
            Some((_, multiplier)) => multiplier,
            None => {
                let words = BACKOFFS.map(|(word, _)| word).join(" or ");
                self.note(NAME, "unsupported backoff", words, value);
                exponential
            }
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The range is checked.
    fn delay_ms(&mut self, name: &str) -> Option<u64> {
        let value = self.given(name)?;
        let allowed = 0.0..=seconds(MAX_DELAY_MS);
        match value.as_f64().filter(|it| allowed.contains(it)) {
            Some(delay) => Some((delay * 1000.0).round() as u64),
            None => {
                let expected = format!("seconds from 0 to {DELAY_SECONDS_LIMIT}");
                self.note(name, "value out of range", expected, value);
                None
            }
        }
    }

    /// A misspelt setting must not silently become its default.
    fn unknown_members(&mut self) {
        let unknown = self.members.keys();
        for name in unknown.filter(|it| !MEMBERS.contains(&it.as_str())) {
            let violation = Violation::value(joined(self.at, name), "unknown member");
            self.violations.push(violation.expected(MEMBERS.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<RetryPolicy, Vec<Violation>> {
        read_retry(&value, "/retry")
    }

    #[test]
    fn the_example_of_the_protocol_is_read_and_written_back() {
        let example = json!({
            "max_attempts": 3, "backoff": "exponential", "initial_delay": 1.0, "max_delay": 60.0,
        });
        let policy = read(example.clone()).unwrap();
        assert_eq!(policy.max_retries(), 2);
        assert_eq!(policy.initial_delay_ms(), 1_000);
        assert_eq!(policy.max_delay_ms(), 60_000);
        assert_eq!(written_retry(&policy), example);
        assert_eq!(read(json!({})).unwrap(), policy);
    }

    #[test]
    fn a_default_delay_yields_to_the_stated_one() {
        let short = read(json!({"max_delay": 0.5})).unwrap();
        assert_eq!(short.initial_delay_ms(), 500);
        let long = read(json!({"initial_delay": 90})).unwrap();
        assert_eq!(long.max_delay_ms(), 90_000);
    }

    #[test]
    fn each_setting_has_a_range() {
        for (member, inside, outside) in [
            ("max_attempts", json!(1), json!(0)),
            ("max_attempts", json!(100), json!(101)),
            ("max_attempts", json!(2), json!(2.5)),
            ("max_delay", json!(86_400), json!(86_400.001)),
            ("max_delay", json!(0), json!(-0.001)),
            ("initial_delay", json!(0), json!("1")),
            ("backoff", json!("constant"), json!("linear")),
        ] {
            assert!(read(json!({ member: inside })).is_ok(), "{member}");
            let violations = read(json!({ member: outside })).unwrap_err();
            assert_eq!(violations.len(), 1, "{member}");
            assert_eq!(violations[0].pointer, format!("/retry/{member}"));
            assert!(violations[0].expected.is_some(), "{member}");
        }
    }

    #[test]
    fn all_violations_are_reported_at_once() {
        let violations = read(json!({"max_attempts": 0, "backoff": "linear", "max_delays": 1}));
        let violations = violations.unwrap_err();
        let pointers = violations.iter().map(|it| it.pointer.as_str());
        let expected = ["/retry/max_attempts", "/retry/backoff", "/retry/max_delays"];
        assert_eq!(pointers.collect::<Vec<_>>(), expected);
        let above = read(json!({"initial_delay": 5, "max_delay": 4})).unwrap_err();
        assert_eq!(above[0].expected.as_deref(), Some("at most 4"));
        assert_eq!(read(json!([])).unwrap_err()[0].pointer, "/retry");
    }
}
