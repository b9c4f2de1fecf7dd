//! What a key promises, from the caller's side: calls go through a dispatcher with real operations.
//!
//! A case is written once in `cases` and runs on every store that `shared` lists. Time stands still
//! unless a case moves it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cases;
#[path = "../shared/handed_on.rs"]
mod handed_on;
#[path = "../shared/mod.rs"]
mod shared;
mod support;

shared::on_every_store!();
