//! The program `panpan`: runs the command line and exits with its code.

mod backend;
mod builtin;
mod cli;
mod config;
mod data_folder;
mod files;
mod library;
mod log;
mod reload;
mod signals;
mod sources;
mod store;

use std::process::ExitCode;

/// Chosen by measurement (`./scripts/bench bounds`): returns memory to the system within seconds after a flood.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    log::redact_panics();
    cli::run()
}
