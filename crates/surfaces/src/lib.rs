//! The protocols callers speak, and the service in front of them. The only crate that listens.
//!
//! Each protocol decodes a request, hands it to the [`Gateway`], and encodes the answer. The gateway knows who
//! calls, whether there is room for one more call, and what to count; every protocol goes past it.
//! Nothing here decides anything about a call: that is the runtime's, and how a failure is written is
//! the contract's.

mod caller;
mod gateway;
pub mod http;
pub mod identity;
mod items;
mod json;
mod jsonrpc;
mod library;
pub mod limits;
pub mod listen;
pub mod mcp;
mod meta;
mod metrics;
mod search;
mod ws;

pub use panpan_runtime::CancellationToken;

pub use caller::{Caller, Principal};
pub use gateway::{Anonymous, Gateway, Surface};
pub use items::Items;
pub use library::{About, Freshness, Lent, Library, Offer, Person, Revision};
