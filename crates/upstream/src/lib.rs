//! Calls to the services and MCP servers behind operations, and what their responses mean.
//!
//! The only crate that opens outbound connections. Requests go through [`Client`], which checks every URL and
//! address; [`remote`] and [`mcp`] connect to addresses that the operator or the user configured.

mod bounded;
mod charset;
mod classify;
mod client;
mod events;
mod exchange;
mod guard;
mod known_code;
pub mod mcp;
pub mod remote;
mod retry_members;
mod service;
mod transport;
mod transport_failure;

pub use classify::{ErrorResponse, classify};
pub use client::{Client, ClientSettings, Incoming, IncomingStream, Outgoing};
pub use events::{EVENT_BYTES_LIMIT, Event};
pub use exchange::RepeatSafety;
pub use guard::{Allowed, AllowedError, BlockReason, BlockedHost, Trust, check_address, check_url};
pub use http::{Method, header};
pub use service::{BindingError, Service};
pub use transport::{Lookup, LookupFuture, SetupError, SystemLookup};
pub use url::{ParseError, Url};
