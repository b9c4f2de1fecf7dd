//! The command line: one file per command, and here what they share.
//!
//! Data goes to stdout, everything else to stderr. Exit 0 when it is done, 1 when the answer is no, 2
//! when it could not be done.

mod call;
mod error;
mod explain;
mod export;
#[cfg(target_os = "linux")]
mod guard;
mod import;
mod mcp;
mod serve;
mod terminal;
mod token;
mod translate;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
pub(crate) use error::Hinted;

use crate::backend::Backend;

/// The exit code of a process that was asked to stop at once.
const INTERRUPTED: i32 = 130;

/// Every failure of every tool: typed, safe to retry or plainly not, with what to do next.
#[derive(Debug, Parser)]
#[command(name = "panpan", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve operations over MCP, HTTP, JSON-RPC and WebSocket.
    Serve(serve::Args),
    /// Show what a code means and what to do about it; without a code, list all.
    Explain(explain::Args),
    /// Turn a success or failure on standard input into another dialect.
    Translate(translate::Args),
    /// Call an operation and print its outcome.
    Call(call::Args),
    /// Serve operations as MCP tools on stdin and stdout.
    Mcp(mcp::Args),
    /// Write what operations take, give and fail with, for programs that read OpenAPI, contracts or MCP.
    Export(export::Args),
    /// Make a contract of the description of a service, and say what is in it.
    Import(import::Args),
    /// Make, list and revoke the tokens callers prove themselves with.
    Token(token::Args),
    /// Run a program, and end it with everything it started: how MCP servers are started.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Guard(guard::Args),
}

/// Ends the process, and what it started.
fn leave_at_once(backend: &Backend) -> ! {
    backend.kill_servers();
    #[allow(clippy::exit, reason = "the one who runs it asked for exactly this")]
    std::process::exit(INTERRUPTED);
}

/// What a command that could do its work answers.
#[derive(Debug)]
enum Done {
    /// It is done.
    Yes,
    /// The answer is no, and this is why.
    No(Hinted),
    /// Everything was told already; this is the exit code.
    Told(u8),
}

/// Runs the command named by the arguments of the process.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::usage(&usage),
    };
    let outcome = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Explain(args) => explain::run(&args, &mut io::stdout().lock()),
        Command::Translate(args) => translate::run(&args, io::stdin(), &mut io::stdout().lock()),
        Command::Call(args) => call::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Export(args) => export::run(&args, &mut io::stdout().lock()),
        Command::Import(args) => import::run(&args, io::stdin(), &mut io::stdout().lock()),
        Command::Token(args) => token::run(&args, &mut io::stdout().lock()),
        #[cfg(target_os = "linux")]
        Command::Guard(args) => guard::run(&args),
    };
    match outcome {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::Told(exit_code)) => ExitCode::from(exit_code),
        Ok(Done::No(why)) => error::report(&why.into(), error::ANSWER_IS_NO),
        Err(error) => error::report(&error, error::COULD_NOT),
    }
}
