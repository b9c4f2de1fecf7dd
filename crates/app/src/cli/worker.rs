//! `panpan worker`: runs tasks that servers with the same store accepted.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::Status;
use super::error::{Hinted, with_hint};
use super::shutdown::Shutdown;
use crate::backend::{Backend, ServerSet};
use crate::config::{self, Config, Flags};
use crate::log::{self, amount, info};
use crate::reload;
use crate::signals::Signals;

/// The options of `panpan worker`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Give it the store and the sources of `panpan serve`: it runs the tasks that the servers accept. It does not listen.
SIGHUP reloads the sources. The first SIGINT or SIGTERM waits for running tasks, the second stops at once.
All settings: docs/configuration.md.

Examples:
  panpan worker --store postgres://panpan:PASSWORD@db.example.com/panpan
  panpan worker --config /etc/panpan/panpan.toml")]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags<true>,
}

/// Runs tasks until a signal arrives.
pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let file = args.flags.config.as_deref();
    let hint = "correct the listed settings; `panpan worker --help` describes the flags";
    let config = config::load(file, std::env::vars_os(), &args.flags)
        .context(Hinted::new("cannot run tasks", hint))?;
    log::start(log::filter(&config.log.level), config.log.format);
    if !config.store.can_be_shared() {
        let message = "cannot run tasks: the store memory: belongs to one process, so it has no tasks of a server";
        let hint = "name the store of the servers with --store: postgres://… or sqlite:PATH";
        return Err(Hinted::new(message, hint).into());
    }
    let runtime = super::runtime()?;
    let ran = runtime.block_on(work(&config));
    runtime.shutdown_background();
    ran.map(|()| Status::Success)
}

async fn work(config: &Config) -> anyhow::Result<()> {
    let cannot_run = |error| with_hint("cannot run tasks", error);
    let backend = Arc::new(Backend::open_with(config).map_err(cannot_run)?);
    if !backend.has_tasks() {
        let message = "cannot run tasks: the setting builtin leaves the operations of tasks out";
        let hint = "add tasks to --builtin, PANPAN_BUILTIN or `builtin` in panpan.toml";
        return Err(Hinted::new(message, hint).into());
    }
    // Before an MCP server is started, which a signal has to end.
    let signals = Signals::to_stop().context("cannot listen for signals")?;
    let drain = Duration::from_secs(config.drain_seconds);
    let shutdown = Shutdown::new("running tasks", drain);
    tokio::spawn(shutdown.clone().on_signal(signals, backend.clone()));
    let refreshing = backend.refresh_tools(ServerSet::All);
    if let Some(refreshed) = shutdown.started.run_until_cancelled(refreshing).await {
        refreshed.map_err(cannot_run)?;
        announce(config, &backend);
    }
    let sources = config.sources.clone();
    let reloading = tokio::spawn(reload::watch_sources(backend.clone(), sources));
    let stopped = shutdown.started.cancelled();
    let gateway = backend.log_only_gateway();
    let drained = backend.run_and_drain(Some(&gateway), stopped, || shutdown.left());
    drained.await;
    reloading.abort();
    info("stopped");
    Ok(())
}

fn announce(config: &Config, backend: &Backend) {
    for line in backend.describe_sources() {
        info(&line);
    }
    let operations = backend.operation_counts();
    let operations = amount(
        operations.from_sources + operations.built_in,
        "operation",
        "operations",
    );
    let store = &config.store;
    info(&format!("running tasks of {store} with {operations}"));
}
