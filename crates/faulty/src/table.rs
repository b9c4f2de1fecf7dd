//! The table of faults: what the service does, and what a caller should see.

use std::sync::LazyLock;

use panpan_catalogue::{Category, Effect, lookup};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::fault::{Endpoint, Fault, Part, Then};
use crate::template;

/// How much shorter than expected a delay may be that was stated as a time, because some of it has passed.
pub const MOMENT_SLACK_MS: u64 = 30_000;
/// The largest delay that repeated failures can grow to.
const GROWN_DELAY_MS_MAX: u64 = 30_000;

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../faults.json")).expect("the table is checked by its tests")
});

/// Every fault, in the order of the table.
pub fn faults() -> &'static [Row] {
    &TABLE
}

/// One fault, and the result that a caller of panpan should see.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The name, unique in the table.
    pub name: String,
    /// What the service does.
    pub fault: Fault,
    /// Whether the operation reads or writes.
    pub operation: Access,
    /// Whether the call has an idempotency key.
    pub keyed: bool,
    /// Whether the service promises one effect per key.
    #[serde(default)]
    pub honours_key: bool,
    /// The expected result.
    pub expect: Expect,
}

/// Whether an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads only.
    Read,
    /// Has an effect.
    Write,
}

/// The expected result of a fault.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Expect {
    /// A failure.
    Failure(Expected),
    /// A success: the response arrived completely, even if it is unusual.
    Delivered {
        /// A text that the output must contain.
        delivered: String,
    },
}

/// The failure that a caller should see.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its code, for an imported operation.
    pub code: String,
    /// The category of the code.
    #[serde(deserialize_with = "category")]
    pub category: Category,
    /// Whether the identical call may succeed later.
    pub retryable: bool,
    /// The known effect.
    #[serde(deserialize_with = "effect")]
    pub effect: Effect,
    /// The delay that the service stated; `None` if only the default of the code is expected.
    pub retry_after_ms: Option<u64>,
    /// The status of the service's response; `None` if there was no usable response.
    pub status: Option<u16>,
}

impl Row {
    /// The row with this slug.
    pub fn of_slug(slug: &str) -> Option<&'static Row> {
        faults().iter().find(|row| row.slug() == slug)
    }

    /// The name as used in paths and operation ids.
    pub fn slug(&self) -> String {
        let words = self.name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_ascii_lowercase()
    }

    /// The path of the fault.
    pub fn path(&self) -> String {
        format!("/fault/{}", self.slug())
    }

    /// The method of the request.
    pub fn method(&self) -> &'static str {
        match self.operation {
            Access::Read => "GET",
            Access::Write => "POST",
        }
    }

    /// The endpoint of the fault.
    pub fn endpoint(&self) -> Endpoint {
        match self.fault {
            Fault::LivesAt { endpoint } => endpoint,
            _ => Endpoint::Plain,
        }
    }

    /// The expected failure, if there is one.
    pub fn failure(&self) -> Option<&Expected> {
        match &self.expect {
            Expect::Failure(expected) => Some(expected),
            Expect::Delivered { .. } => None,
        }
    }

    /// Whether the fault ends only when the caller times out.
    pub fn takes_patience(&self) -> bool {
        match &self.fault {
            Fault::Answers { then, .. } | Fault::Sends { then, .. } => *then == Then::Hang,
            Fault::LivesAt { endpoint } => *endpoint == Endpoint::HttpsOnSilence,
            Fault::Drips { .. } => true,
            Fault::Floods { part, .. } => *part == Part::Interim,
            Fault::Redirects { .. } => false,
        }
    }

    /// Whether a failure may have this delay.
    pub fn accepts_delay(&self, found_ms: Option<u64>) -> bool {
        let Some(expected) = self.failure() else {
            return false;
        };
        match (expected.retry_after_ms, found_ms) {
            (None, None) => true,
            // No delay was stated, or 0: the default of the code, which grows while the same call keeps
            // failing.
            (None | Some(0), found) => {
                let usual_ms = default_delay_ms(&expected.code);
                found >= usual_ms && found <= usual_ms.max(Some(GROWN_DELAY_MS_MAX))
            }
            (Some(_), None) => false,
            (Some(expected_ms), Some(found_ms)) if self.contains_time() => {
                found_ms <= expected_ms && found_ms.saturating_add(MOMENT_SLACK_MS) > expected_ms
            }
            (Some(expected_ms), Some(found_ms)) => expected_ms == found_ms,
        }
    }

    fn contains_time(&self) -> bool {
        let Fault::Answers { headers, .. } = &self.fault else {
            return false;
        };
        headers
            .iter()
            .any(|(_, value)| template::contains_time(value))
    }
}

fn default_delay_ms(code: &str) -> Option<u64> {
    lookup(code)?.recovery().retry_after_ms
}

fn category<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Category, D::Error> {
    let word = String::deserialize(deserializer)?;
    Category::from_word(&word).ok_or_else(|| D::Error::custom("no such category"))
}

fn effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Effect, D::Error> {
    let word = String::deserialize(deserializer)?;
    Effect::from_word(&word).ok_or_else(|| D::Error::custom("no such effect"))
}

#[cfg(test)]
mod tests;
