//! Rate limits per caller: calls per second, and requests per second.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use panpan_failure::{Failure, codes};

use super::Limits;
use crate::caller::Principal;

/// After this many checks, callers that have their full quota again are forgotten.
const CHECKS_BETWEEN_SWEEPS: u64 = 4096;

/// Requests that a caller may send for each call it may make. A request over the call rate is read, and refused
/// under its own id; a request over the request rate is refused unread.
const REQUESTS_PER_CALL: u32 = 2;

/// A rate limit with one token bucket per caller; without a configured rate, unlimited.
#[derive(Debug)]
pub(crate) struct RateLimit(Option<Buckets>);

#[derive(Debug)]
struct Buckets {
    limiter: DefaultKeyedRateLimiter<Principal>,
    /// What is limited, in messages: "calls".
    what: &'static str,
    per_second: u32,
    checks: std::sync::atomic::AtomicU64,
}

impl RateLimit {
    pub(crate) fn of_calls(limits: &Limits) -> Self {
        Self::new("calls", limits, NonZeroU32::MIN)
    }

    /// Also counts requests that are refused.
    pub(crate) fn of_requests(limits: &Limits) -> Self {
        let factor = NonZeroU32::new(REQUESTS_PER_CALL).unwrap_or(NonZeroU32::MIN);
        Self::new("requests", limits, factor)
    }

    fn new(what: &'static str, limits: &Limits, factor: NonZeroU32) -> Self {
        Self(limits.calls_per_second.map(|per_second| {
            let burst = limits.burst.unwrap_or(per_second).saturating_mul(factor);
            let per_second = per_second.saturating_mul(factor);
            let quota = Quota::per_second(per_second).allow_burst(burst);
            Buckets {
                limiter: RateLimiter::keyed(quota),
                what,
                per_second: per_second.get(),
                checks: Default::default(),
            }
        }))
    }

    /// Counts one call or request, or fails with the time to wait.
    pub(crate) fn take(&self, principal: &Principal) -> Result<(), Failure> {
        let Some(buckets) = &self.0 else {
            return Ok(());
        };
        buckets.sweep_sometimes();
        let taken = buckets.limiter.check_key(principal);
        taken.map_err(|later| {
            let wait = later.wait_time_from(DefaultClock::default().now());
            exceeded(wait, buckets)
        })
    }
}

impl Buckets {
    fn sweep_sometimes(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        if self.checks.fetch_add(1, Relaxed) % CHECKS_BETWEEN_SWEEPS == CHECKS_BETWEEN_SWEEPS - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }
}

fn exceeded(wait: Duration, buckets: &Buckets) -> Failure {
    let Buckets {
        what, per_second, ..
    } = buckets;
    // Rounded up: a caller that retries a moment too early is refused again.
    let wait_ms = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
    Failure::new(codes::ERR_RATE_LIMITED)
        .with_message(format!(
            "rate limit of {per_second} {what} per second exceeded; retry in {wait_ms} ms"
        ))
        .with_detail(format!("{what}_per_second"), *per_second)
        .with_detail("retry_after_ms", wait_ms)
        .with_retry_after_ms(wait_ms)
}
