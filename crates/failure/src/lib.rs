//! Failures: their codes and facts, the eight dialects, the agent view, and the reading of third-party
//! errors. Tool authors depend on this crate.
//!
//! No async, no I/O, no clock and no randomness: times and ids are arguments. Operations, retry
//! policies and contract files are in `panpan-contract`.

pub mod classify;
mod code;
mod context;
mod declare;
mod definition;
pub mod dialect;
pub mod explained;
mod extensions;
pub mod factories;
mod failure;
pub mod hint;
mod kind;
pub mod pointer;
pub mod read;
pub mod size;
pub mod word;
mod write;

pub use code::{Code, CodeError};
pub use context::{Attempted, Audience, ResultExt, plain_text, process_tool_result};
pub use declare::DeclareFailures;
pub use definition::{ErrorDefinition, StatusPattern};
pub use extensions::{EXTENSION_PREFIX, Extensions, UnknownMember};
pub use failure::{
    Alternative, CAUSES_LIMIT, Cause, EXCERPT_CHARACTERS_LIMIT, FAILURE_BYTES_LIMIT, Failure,
    Fault, Inferred, LONG_DELAY_MS, Marked, NextMove, Recovery, Redacted, Repeat, Upstream,
    Violation, ViolationKind, invites_repeat,
};
pub use kind::{DECLARED_JSONRPC_CODE, Facts, Kind, KindError, NumberOwners, objection_message};
pub use panpan_catalogue as catalogue;
pub use panpan_catalogue::{Category, Effect, Remedies, Remedy, codes};
pub use panpan_failure_derive::Failure;

/// The items that derived code refers to.
#[doc(hidden)]
pub mod __private {
    pub use crate::declare::DeclareFailures;
    pub use crate::declare::details::Details;
    pub use crate::declare::support::*;
    pub use crate::definition::ErrorDefinition;
    pub use crate::failure::Failure;
    pub use crate::kind::{Facts, Kind};
    pub use panpan_catalogue::{Category, Effect, Remedies, Remedy};
    pub use schemars::JsonSchema;
    pub use serde::Serialize;
}

/// Compiles the Rust in the README, so that it cannot go stale.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
