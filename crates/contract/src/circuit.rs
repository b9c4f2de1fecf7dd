//! The settings of a circuit as data: when it opens and for how long.
//!
//! The circuit itself is in the runtime.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::retry::{OFF, off_or};

/// The longest time in a circuit setting: one hour.
pub const CIRCUIT_MS_LIMIT: u64 = 60 * 60 * 1000;

/// Whether a circuit can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitRule {
    /// It never opens.
    Off,
    /// It opens by these settings.
    On(CircuitSettings),
}

impl Default for CircuitRule {
    fn default() -> Self {
        Self::On(CircuitSettings::default())
    }
}

/// When a circuit opens, and for how long. It has two rules and opens when either applies: a share
/// of failed calls for busy operations, and consecutive failures for rarely called ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CircuitSettings {
    /// The percentage of failed calls that opens the circuit; 0 disables this rule.
    pub failed_percent: u32,
    /// The minimum number of calls for the percentage to count.
    pub calls_min: u32,
    /// The time window of the percentage.
    pub window_ms: u64,
    /// The number of consecutive failures that opens the circuit; 0 disables this rule.
    pub row: u32,
    /// The minimum time between the first and the last of these failures.
    pub row_ms: u64,
    /// How long the circuit stays open the first time.
    pub open_ms: u64,
    /// The longest time that the circuit stays open: the time doubles while trials fail.
    pub open_ms_max: u64,
    /// The number of trial calls when the time is over; one success closes the circuit.
    pub trials: u32,
}

impl Default for CircuitSettings {
    fn default() -> Self {
        Self {
            failed_percent: 80,
            calls_min: 20,
            window_ms: 30_000,
            row: 5,
            row_ms: 10_000,
            open_ms: 2_000,
            open_ms_max: 30_000,
            trials: 3,
        }
    }
}

/// Why settings are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidCircuit {
    /// A percentage above 100.
    #[error("failed_percent is {0}: write a number from 1 to 100, or 0 to disable this rule")]
    Percent(u32),
    /// A zero where at least 1 is required.
    #[error("{0} is 0: write at least 1")]
    Zero(&'static str),
    /// A time is longer than [`CIRCUIT_MS_LIMIT`].
    #[error("{field} is {value_ms}: write at most {CIRCUIT_MS_LIMIT} (one hour in milliseconds)")]
    TooLong {
        /// The field.
        field: &'static str,
        /// The time found there.
        value_ms: u64,
    },
    /// The first time exceeds the longest.
    #[error(
        "open_ms is {open_ms}, above open_ms_max {open_ms_max}: lower open_ms or raise open_ms_max"
    )]
    OpenAboveMax {
        /// The first time.
        open_ms: u64,
        /// The longest.
        open_ms_max: u64,
    },
}

impl CircuitSettings {
    /// The settings, if they are valid.
    pub fn checked(self) -> Result<Self, InvalidCircuit> {
        if self.failed_percent > 100 {
            return Err(InvalidCircuit::Percent(self.failed_percent));
        }
        for (field, is_zero) in [
            ("calls_min", self.calls_min == 0),
            ("window_ms", self.window_ms == 0),
            ("open_ms", self.open_ms == 0),
            ("trials", self.trials == 0),
        ] {
            if is_zero {
                return Err(InvalidCircuit::Zero(field));
            }
        }
        for (field, value_ms) in [
            ("window_ms", self.window_ms),
            ("row_ms", self.row_ms),
            ("open_ms_max", self.open_ms_max),
        ] {
            if value_ms > CIRCUIT_MS_LIMIT {
                return Err(InvalidCircuit::TooLong { field, value_ms });
            }
        }
        let (open_ms, open_ms_max) = (self.open_ms, self.open_ms_max);
        if open_ms > open_ms_max {
            return Err(InvalidCircuit::OpenAboveMax {
                open_ms,
                open_ms_max,
            });
        }
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for CircuitRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "\"off\" or settings such as row or open_ms";
        match off_or::<CircuitSettings, D>(expected, deserializer)? {
            Some(settings) => settings.checked().map(Self::On).map_err(D::Error::custom),
            None => Ok(Self::Off),
        }
    }
}

impl Serialize for CircuitRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str(OFF),
            Self::On(settings) => settings.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_rule_is_off_or_settings_and_round_trips() {
        let eager = CircuitSettings {
            row: 2,
            ..CircuitSettings::default()
        };
        for (written, rule) in [
            (json!("off"), CircuitRule::Off),
            (json!({}), CircuitRule::default()),
            (json!({"row": 2}), CircuitRule::On(eager)),
        ] {
            let read: CircuitRule = serde_json::from_value(written).unwrap();
            assert_eq!(read, rule);
            assert_eq!(
                serde_json::from_value::<CircuitRule>(json!(rule)).unwrap(),
                rule
            );
        }
    }

    #[test]
    fn values_at_the_limits_are_accepted_and_beyond_are_rejected() {
        let check = |field: &str, value: u64| {
            let written = Value::from_iter([(field.to_owned(), json!(value))]);
            serde_json::from_value::<CircuitRule>(written).map_err(|error| error.to_string())
        };
        for (field, taken, refused) in [
            ("failed_percent", 100, 101),
            ("failed_percent", 0, 101),
            ("calls_min", 1, 0),
            ("window_ms", 1, 0),
            ("window_ms", CIRCUIT_MS_LIMIT, CIRCUIT_MS_LIMIT + 1),
            ("row_ms", CIRCUIT_MS_LIMIT, CIRCUIT_MS_LIMIT + 1),
            ("open_ms", 1, 0),
            ("open_ms", 30_000, 30_001),
            ("open_ms_max", 2_000, 1_999),
            ("open_ms_max", CIRCUIT_MS_LIMIT, CIRCUIT_MS_LIMIT + 1),
            ("trials", 1, 0),
        ] {
            assert!(check(field, taken).is_ok(), "{field} {taken}");
            let message = check(field, refused).unwrap_err();
            assert!(message.contains(field), "{message}");
        }
        assert!(check("rows", 1).unwrap_err().contains("unknown field"));
        assert!(serde_json::from_value::<CircuitRule>(json!("on")).is_err());
    }
}
