//! Flows from the caller's side: tasks are created, executed and read through the operations, and run by a worker.
//!
//! A case is written once in `cases` and runs on every store listed in `shared`. `model` compares random orders of
//! events with a simple reading of the rules. Time stands still unless a case advances it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cases;
mod handlers;
mod memory_only;
mod model;
mod postgres_only;
#[path = "../shared/mod.rs"]
mod shared;
mod sqlite_only;
mod support;

shared::on_every_store! {
    memory => crate::shared::memory_tasks,
    sqlite => crate::shared::sqlite_tasks,
    postgres => crate::shared::postgres_tasks,
}
