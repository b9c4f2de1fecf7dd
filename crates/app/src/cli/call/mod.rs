//! `panpan call`: calls one operation, on a server or in this process, and prints its outcome.
//!
//! Exit code 0 is a success, 1 a failure of the operation, 2 a call that could not be made, 130 an interrupted call.

pub(super) mod input;
pub(super) mod local;
mod options;
mod pairs;
mod print;
pub(super) mod remote;
mod report;

use std::io;

use panpan_failure::{Effect, Failure, Marked, Redacted};
use panpan_redact::{Redactor, Secret};
use panpan_runtime::IdempotencyKey;
use serde_json::Value;
use uuid::Uuid;

use super::Status;
use super::target::Target;
pub(super) use options::Args;
pub(super) use print::Printer;

/// Receives each item of a subscription.
pub(super) type OnItem<'a> = dyn FnMut(Value) -> io::Result<()> + 'a;

/// The call to make.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    operation: &'a str,
    input: Value,
    key: Option<IdempotencyKey>,
    seed: Option<i64>,
    timeout_ms: Option<u64>,
}

impl<'a> Call<'a> {
    /// A call without options.
    pub(super) fn new(operation: &'a str, input: Value) -> Self {
        Self {
            operation,
            input,
            key: None,
            seed: None,
            timeout_ms: None,
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum End {
    Output {
        value: Value,
        call: Option<Uuid>,
        replayed: bool,
    },
    /// After the last item of a subscription; all items are printed.
    Streamed,
    /// The operation failed.
    Failed { failure: Redacted, replayed: bool },
    /// The server gave no valid response.
    NoResponse(Redacted),
    /// By Ctrl-C, with its effect if that is known.
    Interrupted(Option<Effect>),
}

/// Calls the operation and prints its outcome.
pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let input = input::read(&args.input, io::stdin())?;
    let call = Call {
        key: args.key.clone(),
        seed: args.seed,
        timeout_ms: args.timeout,
        ..Call::new(&args.operation, input)
    };
    let target = args.target.target()?;
    let printer = Printer::of(args);
    let runtime = super::runtime()?;
    let mut on_item = |item| printer.item(&item, &mut io::stdout().lock());
    let end = match target {
        Target::Local { store, token } => {
            runtime.block_on(local::run(&store, token, call, &mut on_item))
        }
        Target::Server(settings) => runtime.block_on(remote::run(&settings, call, &mut on_item)),
    };
    // Unfinished tasks must not keep the process alive.
    runtime.shutdown_background();
    let exit_code = printer.print(&end?, &mut io::stdout().lock(), &mut io::stderr().lock())?;
    Ok(Status::Exit(exit_code))
}

/// Does the work; `None` if the interrupt comes first.
pub(super) async fn unless_interrupted<T>(
    interrupt: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        // The interrupt is polled first, so that no work starts that cannot be interrupted.
        biased;
        () = interrupt => None,
        done = work => Some(done),
    }
}

/// Waits for Ctrl-C. If that is impossible it waits forever, and Ctrl-C ends the process.
pub(super) async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Redacts a failure from a server, including the caller's own token.
pub(super) fn redact(failure: Failure, token: Option<&Secret<String>>) -> Redacted {
    let mut redactor = Redactor::new();
    if let Some(token) = token {
        redactor.learn_literal(token.expose());
    }
    failure.redacted_by(redactor, Marked::default())
}
