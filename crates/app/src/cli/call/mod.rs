//! `panpan call`: one operation, at a server or in this process, and its outcome for people or programs.
//!
//! Exit 0 when the operation succeeded, 1 when it failed, 2 when it could not be asked, 130 when it was
//! stopped.

mod here;
mod input;
mod options;
mod page;
mod pairs;
mod show;
mod there;

use std::io;

use anyhow::Context;
use panpan_failure::{Effect, Failure, Marked, Redacted};
use panpan_redact::{Redactor, Secret};
use serde_json::Value;
use uuid::Uuid;

use super::Done;
pub(super) use options::Args;
use options::Place;
use show::Screen;

/// The exit code of what was stopped by Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

/// What is done with an item of a subscription.
type OnItem<'a> = dyn FnMut(Value) -> io::Result<()> + 'a;

/// What to call.
#[derive(Clone, Debug)]
struct Asked<'a> {
    operation: &'a str,
    input: Value,
    args: &'a Args,
}

/// How a call ended.
#[derive(Debug)]
enum End {
    /// With an output.
    Output {
        value: Value,
        call: Option<Uuid>,
        replayed: bool,
    },
    /// With the last item of a subscription; all were shown.
    Streamed,
    /// With a failure of the operation.
    Failed { failure: Redacted, replayed: bool },
    /// Without an answer.
    Unanswered(Redacted),
    /// By Ctrl-C, with what is known about its effect.
    Stopped(Option<Effect>),
}

/// Calls the operation and shows its outcome.
pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    let asked = Asked {
        operation: &args.operation,
        input: input::read(&args.input, io::stdin())?,
        args,
    };
    let place = args.place()?;
    let screen = Screen::of(args);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that make calls")?;
    let mut on_item = |item| screen.item(&item, &mut io::stdout().lock());
    let end = match place {
        Place::Here { store, token } => {
            runtime.block_on(here::ask(&store, token, asked, &mut on_item))
        }
        Place::There(settings) => runtime.block_on(there::ask(&settings, asked, &mut on_item)),
    };
    // Work that was left behind must not keep the process alive.
    runtime.shutdown_background();
    let exit_code = screen.show(&end?, &mut io::stdout().lock(), &mut io::stderr().lock())?;
    Ok(Done::Told(exit_code))
}

/// Does the work unless the interrupt comes first.
async fn unless<T>(
    interrupt: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        // First, so that nothing is begun that could not be stopped.
        biased;
        () = interrupt => None,
        done = work => Some(done),
    }
}

/// Ctrl-C. Where that cannot be heard it never comes, and ends the process as it always did.
async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A failure from elsewhere without secrets, the caller's own among them.
fn cleaned(failure: Failure, token: Option<&Secret<String>>) -> Redacted {
    let mut redactor = Redactor::new();
    if let Some(token) = token {
        redactor.learn_literal(token.expose());
    }
    failure.redacted_by(redactor, Marked::default())
}
