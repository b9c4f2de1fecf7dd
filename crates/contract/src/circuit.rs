//! When a circuit opens and for how long, as data that is checked once.
//!
//! What a circuit does with these numbers is the runtime's.

use std::fmt;

use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::retry::OFF;

/// The longest time a circuit setting may name: one hour.
pub const CIRCUIT_MS_LIMIT: u64 = 60 * 60 * 1000;

/// Whether a circuit may open at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitRule {
    /// It never opens.
    Off,
    /// It opens by these numbers.
    On(CircuitSettings),
}

impl Default for CircuitRule {
    fn default() -> Self {
        Self::On(CircuitSettings::default())
    }
}

/// When a circuit opens, and for how long. It opens by whichever of its two rules holds first: one for
/// operations that are called often, one for those that are called rarely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CircuitSettings {
    /// The share of failed calls that opens it, in percent; 0 switches this rule off.
    pub failed_percent: u32,
    /// How many calls the share has to be of.
    pub calls_min: u32,
    /// Over how long the share is taken.
    pub window_ms: u64,
    /// How many failed calls in a row open it; 0 switches this rule off.
    pub row: u32,
    /// How long the calls of such a row have to be spread over.
    pub row_ms: u64,
    /// How long it stays open the first time.
    pub open_ms: u64,
    /// How long it stays open at most: the time doubles while trials fail.
    pub open_ms_max: u64,
    /// How many calls try whether it can be closed; one that succeeds closes it.
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

/// Why numbers do not make a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidCircuit {
    /// A share is no share.
    #[error("failed_percent is {0}: write a number from 1 to 100, or 0 to switch this rule off")]
    Percent(u32),
    /// A number has to be at least one.
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
    /// The first time is beyond the longest.
    #[error("open_ms is {open_ms}, above open_ms_max {open_ms_max}: raise one or lower the other")]
    OpenAboveMax {
        /// The first time.
        open_ms: u64,
        /// The longest.
        open_ms_max: u64,
    },
}

impl CircuitSettings {
    /// The settings, if they make sense.
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
        struct OffOrNumbers;

        impl<'de> Visitor<'de> for OffOrNumbers {
            type Value = CircuitRule;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"off\", or settings such as row or open_ms")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<CircuitRule, E> {
                match word {
                    OFF => Ok(CircuitRule::Off),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CircuitRule, A::Error> {
                let settings = CircuitSettings::deserialize(MapAccessDeserializer::new(map))?;
                let checked = settings.checked().map_err(serde::de::Error::custom)?;
                Ok(CircuitRule::On(checked))
            }
        }

        deserializer.deserialize_any(OffOrNumbers)
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
    fn a_rule_is_off_or_numbers_and_is_read_back_as_written() {
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
    fn every_limit_has_two_sides() {
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
            let said = check(field, refused).unwrap_err();
            assert!(said.contains(field), "{said}");
        }
        assert!(check("rows", 1).unwrap_err().contains("unknown field"));
        assert!(serde_json::from_value::<CircuitRule>(json!("on")).is_err());
    }
}
