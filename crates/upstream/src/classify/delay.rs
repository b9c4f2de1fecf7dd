//! The delay that an error response states in headers and members made for that.
//!
//! Delays in sentences are in `statements`.

use jiff::Timestamp;
use panpan_failure::{Category, Effect, Failure, hint};
use serde_json::Value;

use super::ErrorResponse;

/// The parts of a response that can state a delay.
pub(super) struct StatedDelays<'a> {
    pub(super) response: &'a ErrorResponse<'a>,
    /// The body, if it is JSON.
    pub(super) document: Option<&'a Value>,
    pub(super) now: Timestamp,
}

/// A delay before the next attempt.
pub(super) struct StatedDelay {
    delay_ms: u64,
    is_header: bool,
}

impl StatedDelays<'_> {
    /// A request to wait that is valid for any failure.
    pub(super) fn request(&self) -> Option<StatedDelay> {
        self.find(|hint| !hint.is_quota_reset() && !hint.is_estimate())
    }

    /// The delay for a failure: the end of a quota's window counts only for a rate limit, an estimate only for what
    /// passes.
    fn of(&self, failure: &Failure) -> Option<StatedDelay> {
        let is_rate_limit = failure.category() == Category::RateLimit;
        self.find(|hint| {
            (is_rate_limit || !hint.is_quota_reset())
                && (failure.retryable() || !hint.is_estimate())
        })
    }

    /// The stated delay that counts; headers win over the body.
    fn find(&self, counts: impl Fn(&hint::Hint) -> bool + Copy) -> Option<StatedDelay> {
        let stated = |is_header| {
            move |hint: hint::Hint| StatedDelay {
                delay_ms: hint.delay_ms,
                is_header,
            }
        };
        let in_headers = hint::from_headers(self.response.headers.iter().copied(), self.now);
        let in_headers = in_headers.filter(counts).map(stated(true));
        let in_body = || {
            let hint = hint::from_body(self.document?, self.now);
            hint.filter(counts).map(stated(false))
        };
        in_headers.or_else(in_body)
    }

    /// Adds the stated delay to a retryable failure. `something_happened` says that the response reports an effect.
    pub(super) fn apply_to(&self, failure: Failure, something_happened: bool) -> Failure {
        let stated = self.of(&failure);
        let Some(stated) = stated.filter(|_| failure.retryable()) else {
            return failure;
        };
        let failure = failure.with_retry_after_ms(stated.delay_ms);
        // By the rules of HTTP, a server that answers so did not begin the work. A delay in a body does not prove
        // that: accepted work is polled after a delay too.
        match self.response.status {
            429 | 503 if stated.is_header && !something_happened => {
                failure.with_effect(Effect::None)
            }
            _ => failure,
        }
    }
}
