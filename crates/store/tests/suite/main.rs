//! What every store promises, and what only SQLite does.
//!
//! A case is written once in `cases` and runs on every store that `shared` lists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cases;
mod memory_only;
#[path = "../shared/mod.rs"]
mod shared;
mod sqlite_only;
mod support;

shared::on_every_store!();
