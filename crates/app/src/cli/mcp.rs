//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use std::sync::Arc;

use anyhow::Context;
use panpan_runtime::{Dispatcher, Registry};
use panpan_store::MemoryOutcomes;
use panpan_surfaces::mcp::serve_stdio;

use super::Done;
use super::error::Hinted;
use crate::world::{RandomIds, StderrLog, SystemClock};

/// Serves the demonstration; there is nothing to choose yet.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> anyhow::Result<Done> {
    let dispatcher = dispatcher()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve calls")?;
    let served = runtime.block_on(serve_stdio(dispatcher));
    // A read of stdin that is still waiting must not keep the process alive.
    runtime.shutdown_background();
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))?;
    Ok(Done::Yes)
}

fn dispatcher() -> anyhow::Result<Dispatcher> {
    let registry = panpan_operations::demo(Registry::builder())
        .build()
        .context("the operations contradict each other")?;
    Ok(Dispatcher::new(
        Arc::new(registry),
        Arc::new(SystemClock),
        Arc::new(RandomIds),
        Arc::new(MemoryOutcomes::default()),
        Arc::new(StderrLog),
    ))
}
