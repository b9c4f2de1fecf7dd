//! What a server says about when to come back, read from headers or a body.
//! Only reads and measures; whether to wait that long is decided elsewhere.

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

/// The longest delay a hint can hold, 30 days; what a server asks beyond is cut to it.
pub const MAX_HINT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The longest value that is read as a hint; a longer one is ignored.
const MAX_VALUE_BYTES: usize = 256;

/// A server's wish, as it was written and as it was understood.
///
/// Both are kept, so that a recording shows what a decision was based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The header, in lower case, or the path of the body field it came from.
    pub name: String,
    /// The value as the server wrote it.
    pub raw: String,
    /// The wait it asks for, counted from the moment it was read.
    pub delay_ms: u64,
}

impl Hint {
    /// Tells whether this is only the end of a quota's window, not a wish to be left alone.
    ///
    /// Many services send such headers with every answer. They explain a rate
    /// limit; on any other failure (a 502 while 4,999 calls remain for the hour)
    /// they say nothing about when to come back and should be dropped.
    #[must_use]
    pub fn is_quota_reset(&self) -> bool {
        let name = self
            .name
            .strip_prefix(body::HEADERS_IN_BODY)
            .unwrap_or(&self.name);
        headers::is_quota_reset(name) || body::is_quota_reset(name)
    }
}
