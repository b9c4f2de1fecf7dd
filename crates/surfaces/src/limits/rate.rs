//! How many calls a second one caller may make, and how many requests that may become none.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use panpan_failure::{Failure, codes};

use super::Limits;
use crate::caller::Principal;

/// Callers that have their whole share again are forgotten each time so many takes have gone by.
const TAKES_BETWEEN_SWEEPS: u64 = 4096;

/// How many requests a caller may send for each call it may make. Those beyond its calls are answered under
/// their own ids and in full; those beyond this are refused before they are read.
const REQUESTS_PER_CALL: u32 = 2;

/// The shares of all callers.
#[derive(Debug)]
pub(crate) struct Rates(Option<Shares>);

#[derive(Debug)]
struct Shares {
    limiter: DefaultKeyedRateLimiter<Principal>,
    /// What is counted, for people.
    what: &'static str,
    per_second: u32,
    takes: std::sync::atomic::AtomicU64,
}

impl Rates {
    pub(crate) fn of_calls(limits: &Limits) -> Self {
        Self::of("calls", limits, NonZeroU32::MIN)
    }

    /// What is refused counts here as much as what is served.
    pub(crate) fn of_requests(limits: &Limits) -> Self {
        let times = NonZeroU32::new(REQUESTS_PER_CALL).unwrap_or(NonZeroU32::MIN);
        Self::of("requests", limits, times)
    }

    fn of(what: &'static str, limits: &Limits, times: NonZeroU32) -> Self {
        Self(limits.calls_per_second.map(|per_second| {
            let burst = limits.burst.unwrap_or(per_second).saturating_mul(times);
            let per_second = per_second.saturating_mul(times);
            let quota = Quota::per_second(per_second).allow_burst(burst);
            Shares {
                limiter: RateLimiter::keyed(quota),
                what,
                per_second: per_second.get(),
                takes: Default::default(),
            }
        }))
    }

    /// Takes one of them from a caller's share, or says how long to wait for the next.
    pub(crate) fn take(&self, principal: &Principal) -> Result<(), Failure> {
        let Some(shares) = &self.0 else {
            return Ok(());
        };
        shares.sweep_now_and_then();
        let taken = shares.limiter.check_key(principal);
        taken.map_err(|later| {
            let wait = later.wait_time_from(DefaultClock::default().now());
            limited(wait, shares)
        })
    }
}

impl Shares {
    fn sweep_now_and_then(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        if self.takes.fetch_add(1, Relaxed) % TAKES_BETWEEN_SWEEPS == TAKES_BETWEEN_SWEEPS - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }
}

fn limited(wait: Duration, shares: &Shares) -> Failure {
    let Shares {
        what, per_second, ..
    } = shares;
    // Rounded up: a caller that comes a moment too early is refused again.
    let wait_ms = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
    Failure::new(codes::ERR_RATE_LIMITED)
        .with_message(format!(
            "the caller has gone over its rate ({what} a second: {per_second}) and may go on in {wait_ms} ms"
        ))
        .with_detail(format!("{what}_per_second"), *per_second)
        .with_detail("retry_after_ms", wait_ms)
        .with_retry_after_ms(wait_ms)
}
