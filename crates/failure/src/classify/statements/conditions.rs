//! The forms of conditions: what a text reports where no code and no status states it.

mod access;
mod limits;
mod network;
mod passing;

use super::form::Form;

/// A condition that a text reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// A person declined the call.
    Declined,
    /// A quota, credits or storage are used up.
    Exhausted,
    /// The caller has to sign in, or its credential has expired.
    SignIn,
    /// The caller has no permission.
    Forbidden,
    /// A rate limit was exceeded.
    RateLimit,
    /// A timeout was exceeded.
    Timeout,
    /// A connection could not be established.
    NoConnection,
    /// A connection was lost.
    ConnectionLost,
    /// A service is temporarily down, overloaded or locked.
    Unavailable,
    /// Another operation on the same resource is in progress.
    Contention,
    /// Earlier work, perhaps for this very call, is not finished.
    Unfinished,
}

impl Condition {
    /// Whether it can pass without a change of the input.
    pub const fn passes(self) -> bool {
        !matches!(
            self,
            Self::Declined | Self::Exhausted | Self::SignIn | Self::Forbidden
        )
    }

    /// Whether the service refused the call before it began its work.
    pub const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Declined | Self::SignIn | Self::Forbidden | Self::RateLimit | Self::Contention
        )
    }
}

/// Every form of a condition. The first match wins: by sentence, then by the order of these tables.
pub(super) fn conditions() -> impl Iterator<Item = &'static Form> {
    access::DECISIONS
        .iter()
        .chain(&limits::EXHAUSTED)
        .chain(&access::SIGN_IN)
        .chain(&access::FORBIDDEN)
        .chain(&limits::RATES)
        .chain(&network::TIMEOUTS)
        .chain(&network::CONNECTIONS)
        .chain(&passing::PASSING)
}
