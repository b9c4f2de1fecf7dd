//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use panpan_runtime::{Dispatcher, Registry, World};
use panpan_runtime::system::SystemClock;
use panpan_store::MemoryStore;
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::serve_stdio;
use panpan_surfaces::{Anonymous, Caller, Desk};

use super::Done;
use super::error::Hinted;
use crate::store::StoreAddress;
use crate::world::{StderrLog, tell};

/// How often counts are handed to the store, and old outcomes are forgotten.
const TEND: Duration = Duration::from_secs(2);

/// How long calls that hold a key may go on after the client has left.
const DRAIN: Duration = Duration::from_secs(30);

/// Serves the demonstration.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where outcomes of calls with an idempotency key are kept, so that they are not done twice:
    /// sqlite:PATH for a file that several servers may share, memory: for this process only.
    // Read here and not by the parser, which would repeat an address it refuses, password and all.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PANPAN_STORE",
        hide_env_values = true
    )]
    #[arg(default_value = "memory:")]
    store: String,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    let store = args.store.parse::<StoreAddress>();
    let store = store.context("cannot tell where the store is (--store)")?;
    let dispatcher = dispatcher(&store)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve calls")?;
    let served = runtime.block_on(async {
        let tending = tokio::spawn(tend(dispatcher.clone()));
        let served = serve_stdio(desk(&dispatcher), Caller::anonymous(None)).await;
        // Calls that hold a key go on when the client has left.
        let drained = tokio::time::timeout(DRAIN, dispatcher.drain()).await;
        tending.abort();
        // What was counted since the last time. Nobody is left to be told should that fail.
        let _ = dispatcher.tend().await;
        if drained.is_err() {
            let seconds = DRAIN.as_secs();
            tell(&format!("calls with an idempotency key still ran after {seconds} s and were cut off; ask for them again with their keys"));
        }
        served
    });
    // A read of stdin that is still waiting must not keep the process alive.
    runtime.shutdown_background();
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))?;
    Ok(Done::Yes)
}

/// Callers on a pipe have no tokens.
fn desk(dispatcher: &Dispatcher) -> Desk {
    let clock = Arc::new(SystemClock);
    let tokens = Tokens::new(Arc::new(MemoryStore::new(clock.clone())), clock);
    Desk::new(dispatcher.clone(), tokens, Anonymous::Served, Limits::default())
}

async fn tend(dispatcher: Dispatcher) {
    loop {
        tokio::time::sleep(TEND).await;
        // A store that is away now is asked again the next time; calls are told about it themselves.
        let _ = dispatcher.tend().await;
    }
}

fn dispatcher(store: &StoreAddress) -> anyhow::Result<Dispatcher> {
    let outcomes = store.open().context("cannot open the store")?;
    let builder = panpan_operations::demo(Registry::builder()).with_services();
    let registry = panpan_operations::calls(builder, &outcomes)
        .build()
        .context("the operations contradict each other")?;
    let world = World {
        log: Arc::new(StderrLog),
        ..World::system(outcomes)
    };
    Ok(Dispatcher::new(registry, world))
}
