//! The catalogue: one const table with every fact that a failure code fixes.
//!
//! This crate has no dependencies. It has only the facts that are the same for all occurrences of a
//! code; a single occurrence is a `Failure` of another crate.
//!
//! ```
//! let known = panpan_catalogue::lookup("ERR_HTTP_429_RATE_LIMITED").unwrap();
//! assert_eq!(known.category(), panpan_catalogue::Category::RateLimit);
//! assert!(known.retryable());
//! assert_eq!(panpan_catalogue::lookup("HTTP_418").unwrap().http(), 418);
//! ```

mod code;
mod declared;
mod entry;
mod facts;
mod known;
mod nearest;
mod reverse;
mod table;

pub use code::{CODE_LENGTH_LIMIT, CodeError, check_code, code_from_name};
pub use declared::{DECLARED_JSONRPC_CODE, Facts, FixedFact, Objection};
pub use entry::{DefaultRecovery, Entry, Mapping};
pub use facts::{Category, Domain, Effect, FlatCategory, Grpc, Remedies, Remedy};
pub use known::{Family, Known, lookup};
pub use nearest::{NEAREST_LIMIT, nearest};
pub use reverse::{for_flat_name, for_grpc, for_jsonrpc, for_status, jsonrpc_name, row_for_status};

/// Every code of the table as a constant, so that a misspelt code does not compile.
pub mod codes {
    pub use crate::table::agents::*;
    pub use crate::table::http::*;
    pub use crate::table::json::*;
    pub use crate::table::llm::*;
    pub use crate::table::network::*;
    pub use crate::table::protocol::*;
    pub use crate::table::runtime::*;
    pub use crate::table::tasks::*;
}

/// Every row of the table, group by group. The two families are not rows: see [`Family`].
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    table::GROUPS.iter().copied().flatten().copied()
}

/// The row that supplies the facts that a declared code of a category does not state.
pub const fn representative(category: Category) -> &'static Entry {
    match category {
        Category::Transient => codes::ERR_HTTP_503_UNAVAILABLE,
        Category::RateLimit => codes::ERR_HTTP_429_RATE_LIMITED,
        Category::ClientError => codes::ERR_HTTP_400_BAD_REQUEST,
        Category::ServerError => codes::ERR_HTTP_500_SERVER_ERROR,
        Category::AuthFail => codes::ERR_HTTP_403_FORBIDDEN,
        Category::Network => codes::NETWORK_ERROR,
        Category::Validation => codes::ERR_HTTP_422_UNPROCESSABLE,
        Category::Resource => codes::ERR_RESOURCE_EXHAUSTED,
        Category::Timeout => codes::ERR_HTTP_504_GATEWAY_TIMEOUT,
        Category::Permanent => codes::TOOL_FAILED,
    }
}

/// Whether this code is reserved for the protocol. A handler that returns one has a bug.
pub fn is_protocol_code(code: &str) -> bool {
    table::protocol::ROWS.iter().any(|row| row.code == code)
}
