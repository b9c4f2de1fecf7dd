//! The table of faults: what is wrong with a service, who met it, and what they should see.

use std::sync::LazyLock;

use panpan_catalogue::{Category, Effect, lookup};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Part, Place, Then};
use crate::template;

/// How much shorter than in the table a delay may be that was told as a moment: some of it has passed
/// when it is read.
pub const MOMENT_SLACK_MS: u64 = 30_000;
/// How far the delay of a code grows at most with calls that fail in a row.
const GROWN_DELAY_MS_MAX: u64 = 30_000;

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../faults.json")).expect("the table is checked by its tests")
});

/// Every fault, in the order of the table.
pub fn faults() -> &'static [Row] {
    &TABLE
}

/// One fault, and what a caller of panpan should see of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What people call it; no other row has the name.
    pub name: String,
    /// What the service does.
    pub fault: Fault,
    /// Whether a read or a write meets it.
    pub operation: Access,
    /// Whether it is sent with an idempotency key.
    pub keyed: bool,
    /// Whether the service promises to do work under one key only once.
    #[serde(default)]
    pub honours_key: bool,
    /// What should come of it.
    pub expect: Expect,
}

/// What a request does to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It only reads.
    Read,
    /// It changes something.
    Write,
}

/// What should come of a fault.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Expect {
    /// A failure.
    Failure(Expected),
    /// A success: it arrived whole, however odd it is.
    Delivered {
        /// What has to stand somewhere in the output.
        delivered: String,
    },
}

/// The failure a caller should see.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its code, as for an imported operation.
    pub code: String,
    /// The category of the code.
    #[serde(deserialize_with = "category")]
    pub category: Category,
    /// Whether the identical call may succeed later.
    pub retryable: bool,
    /// What is known about side effects.
    #[serde(deserialize_with = "effect")]
    pub effect: Effect,
    /// The delay the service asked for; none where nothing beyond the code's default is expected.
    pub retry_after_ms: Option<u64>,
    /// The status the service answered; none where it gave no answer that counts.
    pub status: Option<u16>,
}

impl Row {
    /// The row with this slug.
    pub fn of_slug(slug: &str) -> Option<&'static Row> {
        faults().iter().find(|row| row.slug() == slug)
    }

    /// The name as it stands in an address, and as the id of the operation.
    pub fn slug(&self) -> String {
        let words = self.name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_ascii_lowercase()
    }

    /// The path that shows the fault.
    pub fn path(&self) -> String {
        format!("/fault/{}", self.slug())
    }

    /// The method of the request that meets it.
    pub fn method(&self) -> &'static str {
        match self.operation {
            Access::Read => "GET",
            Access::Write => "POST",
        }
    }

    /// Where the service has to be looked for.
    pub fn place(&self) -> Place {
        match self.fault {
            Fault::LivesAt { place } => place,
            _ => Place::Plain,
        }
    }

    /// The failure that is expected, if one is.
    pub fn failure(&self) -> Option<&Expected> {
        match &self.expect {
            Expect::Failure(expected) => Some(expected),
            Expect::Delivered { .. } => None,
        }
    }

    /// Whether it is over only when its caller runs out of patience.
    pub fn takes_patience(&self) -> bool {
        match &self.fault {
            Fault::Answers { then, .. } | Fault::Sends { then, .. } => *then == Then::Hang,
            Fault::LivesAt { place } => *place == Place::HttpsOnSilence,
            Fault::Drips { .. } => true,
            Fault::Floods { part, .. } => *part == Part::Interim,
            Fault::Redirects { .. } => false,
        }
    }

    /// Whether a failure may give this delay.
    pub fn accepts_delay(&self, found_ms: Option<u64>) -> bool {
        let Some(expected) = self.failure() else {
            return false;
        };
        match (expected.retry_after_ms, found_ms) {
            (None, None) => true,
            // No delay was stated, or one of 0: the delay of the code, which grows while the identical
            // call keeps failing.
            (None | Some(0), found) => {
                let usual_ms = default_delay_ms(&expected.code);
                found >= usual_ms && found <= usual_ms.max(Some(GROWN_DELAY_MS_MAX))
            }
            (Some(_), None) => false,
            (Some(told_ms), Some(found_ms)) if self.names_a_moment() => {
                found_ms <= told_ms && found_ms.saturating_add(MOMENT_SLACK_MS) > told_ms
            }
            (Some(told_ms), Some(found_ms)) => told_ms == found_ms,
        }
    }

    fn names_a_moment(&self) -> bool {
        let Fault::Answers { headers, .. } = &self.fault else {
            return false;
        };
        headers
            .iter()
            .any(|(_, value)| template::names_a_moment(value))
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
