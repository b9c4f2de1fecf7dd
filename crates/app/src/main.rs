//! The program `panpan`: hands over to the command line and ends with its exit code.

mod backend;
mod builtin;
mod cli;
mod config;
mod library;
mod place;
mod reload;
mod sources;
mod store;
mod terminal;

use std::process::ExitCode;

/// Chosen by measuring (`./scripts/bench bounds`): what a flood took is given back within seconds.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    terminal::keep_secrets_in_panics();
    cli::run()
}
