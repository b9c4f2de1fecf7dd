//! Tests of the store ports: cases for every store, and cases for one store only.
//!
//! A case is written once in `cases` and runs on every store listed in `shared`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cases;
mod memory_only;
mod postgres_only;
#[path = "../shared/mod.rs"]
mod shared;
mod sqlite_only;
mod support;

shared::on_every_store!();
