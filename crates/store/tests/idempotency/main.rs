//! Idempotency keys from the caller's side: calls go through a dispatcher with real operations.
//!
//! A case is written once in `cases` and runs on every store listed in `shared`. Time stands still
//! unless a case advances it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cases;
#[path = "../shared/delegate.rs"]
mod delegate;
#[path = "../shared/mod.rs"]
mod shared;
mod support;

shared::on_every_store!();
