//! The nouns of panpan: what a failure is, how it is written in eight dialects, what is secret in
//! it, when to try again, and how an operation declares its failures.
//!
//! No async, no I/O, no clock and no randomness: time and ids come in as arguments.

pub mod binding;
mod canonical_json;
pub mod circuit;
pub mod classify;
mod code;
mod context;
pub mod contract_file;
mod declare;
pub mod dialect;
pub mod explained;
pub mod factories;
pub mod failure;
mod kind;
pub mod operation;
pub mod pointer;
pub mod read;
pub mod recording;
pub mod redact;
pub mod retry;
mod secret;
pub mod size;
pub mod undeclared;
mod word;

pub use canonical_json::{canonical_json, digest, hex};
pub use code::{Code, CodeError};
pub use context::{Attempted, Audience, ResultExt, for_people, process_tool_result};
pub use declare::DeclareFailures;
pub use failure::{Failure, Redacted};
pub use kind::{DECLARED_JSONRPC_CODE, Facts, Kind, KindError, NumberOwners};
pub use panpan_catalogue as catalogue;
pub use panpan_catalogue::{Category, Effect, Remedies, Remedy, codes};
pub use panpan_contract_derive::Failure;
pub use secret::Secret;

/// What code written by the derive macro refers to.
#[doc(hidden)]
pub mod __private {
    pub use crate::declare::DeclareFailures;
    pub use crate::declare::details::Details;
    pub use crate::declare::support::*;
    pub use crate::failure::Failure;
    pub use crate::kind::{Facts, Kind};
    pub use crate::operation::ErrorDefinition;
    pub use panpan_catalogue::{Category, Effect, Remedies, Remedy};
    pub use schemars::JsonSchema;
    pub use serde::Serialize;
}

/// Compiles the Rust in the README, so that it cannot go stale.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
