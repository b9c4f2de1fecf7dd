//! Reloading operations: when a file of a source changes, on SIGHUP, and when an MCP server changes its tools.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, select_all};
use panpan_mcp::library::Changes;
use panpan_upstream::mcp::McpUpstream;
use tokio::sync::watch;

use crate::backend::{Backend, ServerSet};
use crate::log::{info, warn};
use crate::signals::Signals;
use crate::sources::Sources;

/// How often the files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// How long to wait for further changes of a server, so that a burst causes one reload.
const BURST: Duration = Duration::from_millis(50);

/// Reloads operations whenever their sources change, for as long as it is polled. Invalid sources change nothing.
/// SIGHUP is received from the moment of this call, which needs a tokio runtime.
pub(crate) fn watch_sources(backend: Arc<Backend>, sources: Sources) -> impl Future<Output = ()> {
    let signal = Signals::to_reload().ok();
    async move {
        if let Some(signal) = signal {
            reload_on_changes(signal, backend, sources).await;
        }
    }
}

async fn reload_on_changes(mut signal: Signals, backend: Arc<Backend>, sources: Sources) {
    let mut tools: Vec<ToolChanges> = backend.servers().iter().map(ToolChanges::of).collect();
    let (mut seen, mut backoff) = (file_states(&sources), Backoff::default());
    // A server that changes its tools all the time is refreshed once per interval.
    let mut reacts_at_once = true;
    loop {
        let (is_signalled, has_changed) = tokio::select! {
            () = signal.next() => (true, false),
            () = any_change(&mut tools), if reacts_at_once => (false, true),
            () = tokio::time::sleep(POLL_INTERVAL) => (false, false),
        };
        reacts_at_once = !has_changed;
        if has_changed {
            tokio::time::sleep(BURST).await;
        }
        let now = file_states(&sources);
        if is_signalled || now != seen {
            seen = now;
            reload(&backend, &sources).await;
        }
        if take_changes(&mut tools) || is_signalled {
            refresh_tools(&backend, ServerSet::All).await;
        } else if backend.misses_tools() && backoff.is_over() {
            refresh_tools(&backend, ServerSet::Missing).await;
        }
    }
}

/// The changes of the tools of one server.
struct ToolChanges {
    changes: watch::Receiver<Changes>,
    /// The number of changes at the last refresh.
    seen: u64,
}

impl ToolChanges {
    fn of(server: &McpUpstream) -> Self {
        let mut changes = server.changes();
        let seen = changes.borrow_and_update().tools;
        Self { changes, seen }
    }

    /// Waits for a change.
    async fn wait(&mut self) {
        let seen = self.seen;
        if self.changes.wait_for(|it| it.tools != seen).await.is_err() {
            // A server that is closed changes no more.
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since the last time.
    fn take(&mut self) -> bool {
        let tools = self.changes.borrow_and_update().tools;
        std::mem::replace(&mut self.seen, tools) != tools
    }
}

/// Waits until a server changes its tools.
async fn any_change(tools: &mut [ToolChanges]) {
    let mut waiting: Vec<BoxFuture<'_, ()>> = Vec::new();
    for each in tools {
        waiting.push(Box::pin(each.wait()));
    }
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    select_all(waiting).await;
}

/// Whether a server has changed its tools since the last time.
fn take_changes(tools: &mut [ToolChanges]) -> bool {
    let changed = tools.iter_mut().map(ToolChanges::take);
    changed.fold(false, |any, each| any | each)
}

/// The growing number of intervals between two attempts to reach unavailable servers.
#[derive(Debug, Default)]
struct Backoff {
    intervals: u32,
    passed: u32,
}

impl Backoff {
    const INTERVALS_MAX: u32 = 32;

    /// Counts one interval. When all have passed, starts again with twice as many.
    fn is_over(&mut self) -> bool {
        self.passed += 1;
        if self.passed < self.intervals {
            return false;
        }
        self.intervals = (self.intervals * 2).clamp(1, Self::INTERVALS_MAX);
        self.passed = 0;
        true
    }
}

async fn reload(backend: &Arc<Backend>, sources: &Sources) {
    let (reloading, sources) = (backend.clone(), sources.clone());
    // Importing takes long enough to block other tasks.
    let reloaded = tokio::task::spawn_blocking(move || reloading.reload(&sources)).await;
    match reloaded {
        Ok(Ok(())) => info(&format!(
            "sources reloaded: {}",
            backend.describe_sources().join("; ")
        )),
        Ok(Err(error)) => warn(&format!(
            "cannot reload the sources, so the previous operations stay: {error:#}"
        )),
        Err(error) => warn(&format!("cannot reload the sources: {error}")),
    }
}

async fn refresh_tools(backend: &Backend, set: ServerSet) {
    if let Err(error) = backend.refresh_tools(set).await {
        warn(&format!(
            "cannot serve the changed tools of the MCP servers: {error:#}"
        ));
    }
}

/// The modification time and size of each file; `None` for a file that does not exist.
fn file_states(sources: &Sources) -> Vec<Option<(SystemTime, u64)>> {
    let state = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    sources.files().map(state).collect()
}
