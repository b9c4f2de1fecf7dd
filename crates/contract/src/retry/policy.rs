//! Retry policies: how often a failure is retried and how the delays grow. `delay` computes the
//! delay of one attempt; whether to retry at all depends on the code and is decided by the runtime.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use panpan_failure::Category;

/// The longest delay of a policy: one day.
///
/// A longer delay is scheduled work, not a retry.
pub const MAX_DELAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A valid retry policy.
///
/// It is built from [`RetrySettings`], which is also its JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RetrySettings", into = "RetrySettings")]
pub struct RetryPolicy {
    max_retries: u32,
    initial_delay_ms: u64,
    max_delay_ms: u64,
    backoff_multiplier: f64,
    jitter_range: f64,
}

impl RetryPolicy {
    /// The default configuration: three retries from 100 ms, doubling up to 5 s, ±10 %.
    pub const DEFAULT: Self = Self::row(3, 100, 5_000, 2.0);

    /// The policy that never retries.
    pub const NEVER: Self = Self::row(0, 100, 5_000, 2.0);

    /// Returns the policy of a category; a category without a row is never retried.
    #[must_use]
    pub const fn for_category(category: Category) -> Self {
        match category {
            Category::Transient | Category::Network => Self::row(3, 100, 5_000, 2.0),
            Category::RateLimit => Self::row(3, 1_000, 30_000, 2.0),
            Category::ServerError => Self::row(2, 500, 10_000, 2.0),
            Category::Timeout => Self::row(2, 200, 5_000, 1.5),
            Category::ClientError
            | Category::AuthFail
            | Category::Validation
            | Category::Resource
            | Category::Permanent => Self::NEVER,
        }
    }

    const fn row(max_retries: u32, initial_ms: u64, max_ms: u64, multiplier: f64) -> Self {
        Self {
            max_retries,
            initial_delay_ms: initial_ms,
            max_delay_ms: max_ms,
            backoff_multiplier: multiplier,
            jitter_range: 0.1,
        }
    }

    /// Returns how many times a failed call may be tried again.
    #[must_use]
    pub const fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// Returns the delay before the first retry, without jitter.
    #[must_use]
    pub const fn initial_delay_ms(&self) -> u64 {
        self.initial_delay_ms
    }

    /// Returns the cap of the growing delay; jitter may exceed it.
    #[must_use]
    pub const fn max_delay_ms(&self) -> u64 {
        self.max_delay_ms
    }

    /// Returns the factor between one delay and the next: finite, at least 1.
    #[must_use]
    pub const fn backoff_multiplier(&self) -> f64 {
        self.backoff_multiplier
    }

    /// Returns the fraction of a delay that jitter may add or subtract, 0 if it is off.
    #[must_use]
    pub const fn jitter_range(&self) -> f64 {
        self.jitter_range
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A retry policy as written in a file: every field is optional, nothing is checked yet.
///
/// A missing field has its default value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// How many times a failed call may be tried again.
    pub max_retries: u32,
    /// The delay before the first retry.
    pub initial_delay_ms: u64,
    /// The cap of the growing delay, before jitter.
    pub max_delay_ms: u64,
    /// The factor between one delay and the next.
    pub backoff_multiplier: f64,
    /// Whether delays are jittered.
    pub jitter_enabled: bool,
    /// The fraction of a delay that jitter may add or subtract.
    pub jitter_range: f64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetryPolicy::DEFAULT.into()
    }
}

impl From<RetryPolicy> for RetrySettings {
    fn from(policy: RetryPolicy) -> Self {
        Self {
            max_retries: policy.max_retries,
            initial_delay_ms: policy.initial_delay_ms,
            max_delay_ms: policy.max_delay_ms,
            backoff_multiplier: policy.backoff_multiplier,
            jitter_enabled: policy.jitter_range > 0.0,
            jitter_range: policy.jitter_range,
        }
    }
}

impl TryFrom<RetrySettings> for RetryPolicy {
    type Error = InvalidPolicy;

    fn try_from(settings: RetrySettings) -> Result<Self, InvalidPolicy> {
        check_delays(settings.initial_delay_ms, settings.max_delay_ms)?;
        let multiplier = settings.backoff_multiplier;
        if !multiplier.is_finite() || multiplier < 1.0 {
            return Err(InvalidPolicy::Multiplier(multiplier));
        }
        if !(0.0..=1.0).contains(&settings.jitter_range) {
            return Err(InvalidPolicy::JitterRange(settings.jitter_range));
        }
        Ok(Self {
            max_retries: settings.max_retries,
            initial_delay_ms: settings.initial_delay_ms,
            max_delay_ms: settings.max_delay_ms,
            backoff_multiplier: multiplier,
            // A negative zero is in the range; its sign must not reach the output.
            jitter_range: if settings.jitter_enabled {
                settings.jitter_range.abs()
            } else {
                0.0
            },
        })
    }
}

fn check_delays(initial_ms: u64, max_ms: u64) -> Result<(), InvalidPolicy> {
    for (field, value_ms) in [("initial_delay_ms", initial_ms), ("max_delay_ms", max_ms)] {
        if value_ms > MAX_DELAY_MS {
            return Err(InvalidPolicy::DelayTooLong { field, value_ms });
        }
    }
    if initial_ms > max_ms {
        return Err(InvalidPolicy::InitialAboveMax { initial_ms, max_ms });
    }
    Ok(())
}

/// Why settings are not a valid retry policy.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidPolicy {
    /// A delay is longer than [`MAX_DELAY_MS`].
    #[error("{field} is {value_ms}: write at most {MAX_DELAY_MS} (24 hours in milliseconds)")]
    DelayTooLong {
        /// The name of the field.
        field: &'static str,
        /// Its value.
        value_ms: u64,
    },
    /// The first delay exceeds the cap.
    #[error(
        "initial_delay_ms is {initial_ms}, above max_delay_ms {max_ms}: \
         write a max_delay_ms of at least {initial_ms}, or a smaller initial_delay_ms"
    )]
    InitialAboveMax {
        /// The first delay.
        initial_ms: u64,
        /// The cap it exceeds.
        max_ms: u64,
    },
    /// The multiplier would shrink delays, or is not a number.
    #[error("backoff_multiplier is {0}: write a finite number of at least 1, such as 2.0")]
    Multiplier(f64),
    /// The jitter range is not a fraction.
    #[error("jitter_range is {0}: write a number from 0 (no jitter) to 1, such as 0.1")]
    JitterRange(f64),
}

#[cfg(test)]
mod tests;
