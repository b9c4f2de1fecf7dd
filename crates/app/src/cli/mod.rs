//! The command line: one file per command, and here what they share.
//!
//! Data goes to stdout, everything else to stderr. Exit 0 when it is done, 1 when the answer is no, 2
//! when it could not be done.

mod error;
mod mcp;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Every failure of every tool: typed, safe to retry or plainly not, with what to do next.
#[derive(Debug, Parser)]
#[command(name = "panpan", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve operations as MCP tools on stdin and stdout.
    Mcp(mcp::Args),
}

/// What a command that could do its work answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// It is done.
    Yes,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::Yes => ExitCode::SUCCESS,
        }
    }
}

/// Runs the command named by the arguments of the process.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::usage(&usage),
    };
    let outcome = match cli.command {
        Command::Mcp(args) => mcp::run(&args),
    };
    outcome.map_or_else(|error| error::report(&error), ExitCode::from)
}
