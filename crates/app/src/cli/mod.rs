//! The command line: one module per command, and here what they share.
//!
//! Data goes to stdout, everything else to stderr. Exit code 0 is success, 1 a negative answer, 2 an error.

mod call;
mod error;
mod explain;
mod export;
#[cfg(target_os = "linux")]
mod guard;
mod import;
mod mcp;
mod serve;
mod shutdown;
mod target;
mod task;
mod terminal;
mod token;
mod translate;
mod worker;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
pub(crate) use error::Hinted;
use tokio::runtime::{Builder, Runtime};

use crate::backend::Backend;

/// The exit code of a process that was interrupted, as shells define it.
const INTERRUPTED: u8 = 130;

/// Serve tools to AI agents with typed failures that say whether to retry and what to do next.
#[derive(Debug, Parser)]
#[command(
    name = "panpan",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  panpan serve --openapi api.yaml@https://api.example.com
  panpan mcp --mcp-stdio \"files=npx -y @modelcontextprotocol/server-filesystem .\"
  panpan call demo/divide dividend=1 divisor=0
  panpan explain ERR_TIMEOUT

Run `panpan COMMAND --help` for the options of a command."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve operations over MCP, HTTP, JSON-RPC and WebSocket.
    Serve(serve::Args),
    /// Serve operations as MCP tools on stdin and stdout.
    Mcp(mcp::Args),
    /// Run tasks of a shared store, without serving anything.
    Worker(worker::Args),
    /// Call an operation and print its outcome.
    Call(call::Args),
    /// Run and watch flows: trees of durable tasks.
    Task(task::Args),
    /// Import an OpenAPI document and write its contract file.
    Import(import::Args),
    /// Export operations as OpenAPI, as a contract file or as a list of MCP tools.
    Export(export::Args),
    /// Create, list and revoke tokens of callers.
    Token(token::Args),
    /// Explain an error code, or list all codes.
    Explain(explain::Args),
    /// Translate a success or failure on stdin into another dialect.
    Translate(translate::Args),
    /// Run a program and kill it together with everything it started.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Guard(guard::Args),
}

/// Exits at once, and kills the MCP servers that were started.
fn exit_at_once(backend: &Backend) -> ! {
    backend.kill_servers();
    #[allow(clippy::exit, reason = "the operator asked to stop without waiting")]
    std::process::exit(INTERRUPTED.into());
}

/// The threads of a command.
fn runtime() -> anyhow::Result<Runtime> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the threads of the command")
}

/// How a command ended that did its work.
#[derive(Debug)]
enum Status {
    Success,
    /// The answer is no, for this reason.
    Negative(Hinted),
    /// The output is complete; this is the exit code.
    Exit(u8),
}

/// Runs the command in the arguments of the process.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::print_usage(&usage),
    };
    let ended = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Worker(args) => worker::run(&args),
        Command::Call(args) => call::run(&args),
        Command::Task(args) => task::run(&args),
        Command::Import(args) => import::run(&args, io::stdin(), &mut io::stdout().lock()),
        Command::Export(args) => export::run(&args, &mut io::stdout().lock()),
        Command::Token(args) => token::run(&args, &mut io::stdout().lock()),
        Command::Explain(args) => explain::run(&args, &mut io::stdout().lock()),
        Command::Translate(args) => translate::run(&args, io::stdin(), &mut io::stdout().lock()),
        #[cfg(target_os = "linux")]
        Command::Guard(args) => guard::run(&args),
    };
    match ended {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::Exit(exit_code)) => ExitCode::from(exit_code),
        Ok(Status::Negative(reason)) => error::report(&reason.into(), error::NEGATIVE),
        Err(error) => error::report(&error, error::ERROR),
    }
}
