//! The three lists every retry decision starts from: never, may succeed, depends.
//!
//! The catalogue's `retryable` decides for a single call; these lists say it in the words of the
//! error contract, and a test keeps the two in agreement.

use panpan_catalogue::{Entry, codes};

/// Repeating these never succeeds.
pub const TERMINAL: [Entry; 8] = [
    codes::ERR_HTTP_400_BAD_REQUEST,
    codes::ERR_HTTP_401_UNAUTHORIZED,
    codes::ERR_HTTP_403_FORBIDDEN,
    codes::ERR_HTTP_404_NOT_FOUND,
    codes::ERR_VALIDATION_FAILED,
    codes::ERR_JSON_INVALID,
    codes::ERR_LLM_CONTENT_FILTER,
    codes::ERR_BUDGET_EXCEEDED,
];

/// Repeating these may succeed.
pub const RETRYABLE: [Entry; 6] = [
    codes::ERR_HTTP_429_RATE_LIMITED,
    codes::ERR_HTTP_503_UNAVAILABLE,
    codes::ERR_TIMEOUT,
    codes::ERR_CONNECTION_REFUSED,
    codes::ERR_LLM_RATE_LIMITED,
    codes::ERR_DNS_FAILURE,
];

/// For these it depends: on the effect for the retryable ones, on a changed budget for the other.
pub const CONDITIONAL: [Entry; 3] = [
    codes::ERR_RESOURCE_EXHAUSTED,
    codes::ERR_HTTP_500_SERVER_ERROR,
    codes::ERR_LLM_API_ERROR,
];

#[cfg(test)]
mod tests {
    use super::*;
    use panpan_catalogue::{Effect, Remedy};

    #[test]
    fn the_lists_agree_with_the_catalogue() {
        assert!(TERMINAL.iter().all(|row| !row.retryable));
        assert!(RETRYABLE.iter().all(|row| row.retryable));
        for row in CONDITIONAL {
            let on_effect = row.retryable && row.effect == Effect::Unknown;
            let on_state = !row.retryable && row.remedies.contains(Remedy::ChangeState);
            assert!(on_effect || on_state, "{}", row.code);
        }
    }
}
