//! `panpan serve` as a process: start, errors, signals, files and the log.
//!
//! The protocols are tested in the surfaces crate. The tests use Unix signals.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod access;
mod clients;
mod first_start;
mod full_store;
mod logs;
mod offered_operations;
mod postgres;
mod refusals;
mod settings;
mod sharing;
mod sources;
mod stopping;
