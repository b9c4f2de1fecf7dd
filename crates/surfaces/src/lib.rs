//! The protocols that panpan serves, and the gateway in front of the dispatcher. The only crate that listens.
//!
//! Each protocol decodes a request, passes it to the [`Gateway`], and encodes the response. The gateway
//! identifies callers, enforces limits, counts and logs; every call of every protocol goes through it.
//! The runtime decides how a call is executed, and the failure crate how a failure is written.

mod batch;
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
mod metrics;
mod options;
mod search;
#[cfg(test)]
mod testing;
mod ws;

pub use panpan_runtime::CancellationToken;

pub use caller::{Caller, Principal};
pub use gateway::{Anonymous, Gateway, Surface, TaskCall};
pub use items::Items;
pub use library::{Library, RequestSource};
