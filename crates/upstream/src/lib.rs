//! The services behind the tools: what their answers mean, and how they are asked.
//!
//! The only crate that opens sockets outwards. Everything goes through [`Client`], which asks the guard
//! first; only [`remote`] and [`mcp`] go where their own users told them to.

mod answerable;
mod asked;
mod bounded;
mod broken;
mod charset;
mod classify;
mod client;
mod events;
mod guard;
mod heard;
mod lift;
pub mod mcp;
pub mod remote;
mod repeating;
mod service;
mod trouble;
mod wire;

pub use classify::{Answer, classify};
pub use client::{Client, ClientSettings, Incoming, IncomingStream, Outgoing};
pub use events::{EVENT_BYTES_LIMIT, Event};
pub use guard::{Allowed, AllowedError, Forbidden, Refusal, Trust, check_address, check_url};
pub use http::{Method, header};
pub use service::{BindingError, Service};
pub use trouble::Stake;
pub use url::{ParseError, Url};
pub use wire::{Lookup, Lookups, SetupError, SystemLookup};
