//! The command line: one file per command, and here what they share.
//!
//! Data goes to stdout, everything else to stderr. Exit 0 when it is done, 1 when the answer is no, 2
//! when it could not be done.

mod error;
mod explain;
mod mcp;
mod translate;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use error::Hinted;

/// Every failure of every tool: typed, safe to retry or plainly not, with what to do next.
#[derive(Debug, Parser)]
#[command(name = "panpan", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a code means and what to do about it; without a code, list all.
    Explain(explain::Args),
    /// Turn a success or failure on standard input into another dialect.
    Translate(translate::Args),
    /// Serve operations as MCP tools on stdin and stdout.
    Mcp(mcp::Args),
}

/// What a command that could do its work answers.
#[derive(Debug)]
enum Done {
    /// It is done.
    Yes,
    /// The answer is no, and this is why.
    No(Hinted),
}

/// Runs the command named by the arguments of the process.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::usage(&usage),
    };
    let outcome = match cli.command {
        Command::Explain(args) => explain::run(&args, &mut io::stdout().lock()),
        Command::Translate(args) => translate::run(&args, io::stdin(), &mut io::stdout().lock()),
        Command::Mcp(args) => mcp::run(&args),
    };
    match outcome {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::No(why)) => error::report(&why.into(), error::ANSWER_IS_NO),
        Err(error) => error::report(&error, error::COULD_NOT),
    }
}
