//! Retry hints of servers, read from headers or a body.
//! Only reads them; whether to wait that long is decided elsewhere.

mod body;
mod forbidden;
mod headers;
mod http_date;
mod quota;
mod text;

use serde::{Deserialize, Serialize};

pub use body::from_body;
pub use forbidden::forbids_retry;
pub use headers::from_headers;
pub use text::parse_retry_after;

/// Longest delay of a hint, 30 days; longer delays are cut.
pub const MAX_HINT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Longest value that is read as a hint; a longer value is ignored.
const MAX_VALUE_BYTES: usize = 256;

/// A retry hint of a server: the raw value and the delay read from it.
///
/// Both are kept, so that a recording shows the basis of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The header in lower case, or the path of the body field.
    pub name: String,
    /// The raw value.
    pub raw: String,
    /// The delay, from the moment the hint was read.
    pub delay_ms: u64,
}

impl Hint {
    /// Whether this is only the end of a quota window and not a request to wait.
    ///
    /// Many services send such headers with every response. They explain a rate limit; for any other
    /// failure (a 502 while 4,999 calls remain for the hour) they are meaningless and should be dropped.
    #[must_use]
    pub fn is_quota_reset(&self) -> bool {
        let name = self
            .name
            .strip_prefix(body::HEADERS_IN_BODY)
            .unwrap_or(&self.name);
        headers::is_quota_reset(name) || body::is_quota_reset(name)
    }

    /// Whether this is an estimate of how long some work takes. It counts for a failure that passes; a refused
    /// input can have an estimate too.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.name.ends_with(body::ESTIMATE)
    }
}
