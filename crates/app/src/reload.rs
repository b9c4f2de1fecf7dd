//! Keeping up with the files operations come from: on SIGHUP, and when one of them has changed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, select_all};
use panpan_upstream::mcp::{McpChanges, McpUpstream};
use tokio::sync::watch;

use crate::backend::{Backend, Whom};
use crate::sources::Sources;
use crate::terminal::{tell, warn};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// How long further changes of a server are waited for, so that a burst of them is answered once.
const BURST: Duration = Duration::from_millis(50);

/// Serves what the sources give whenever that changes, for as long as it is polled. Sources that cannot be
/// used any more change nothing. Signals are heard from when this is called, within a runtime of tokio.
pub(crate) fn keep_up(backend: Arc<Backend>, sources: Sources) -> impl Future<Output = ()> {
    let hangups = Hangups::heard();
    async move {
        if let Some(hangups) = hangups {
            keep_up_with(hangups, backend, sources).await;
        }
    }
}

async fn keep_up_with(mut hangups: Hangups, backend: Arc<Backend>, sources: Sources) {
    let mut changes: Vec<Heard> = backend.servers().iter().map(Heard::of).collect();
    let (mut seen, mut missing) = (states(&sources), Rest::default());
    // A server whose tools change all the time is asked at every look, like all others.
    let mut may_hurry = true;
    loop {
        let (asked, changed) = tokio::select! {
            () = hangups.next() => (true, false),
            () = any_change(&mut changes), if may_hurry => (false, true),
            () = tokio::time::sleep(LOOK) => (false, false),
        };
        may_hurry = !changed;
        if changed {
            tokio::time::sleep(BURST).await;
        }
        let now = states(&sources);
        if asked || now != seen {
            seen = now;
            reload(&backend, &sources).await;
        }
        if take_changes(&mut changes) || asked {
            ask_servers(&backend, Whom::All).await;
        } else if backend.misses_servers() && missing.is_over() {
            ask_servers(&backend, Whom::Missing).await;
        }
    }
}

/// What is heard of the tools of one server.
struct Heard {
    changes: watch::Receiver<McpChanges>,
    /// How often they had changed when they were last asked for.
    tools: u64,
}

impl Heard {
    fn of(server: &McpUpstream) -> Self {
        let mut changes = server.changes();
        let tools = changes.borrow_and_update().tools;
        Self { changes, tools }
    }

    /// Waits until there are other tools.
    async fn change(&mut self) {
        let tools = self.tools;
        if self.changes.wait_for(|it| it.tools != tools).await.is_err() {
            // A server that is gone tells nothing more.
            std::future::pending::<()>().await;
        }
    }

    /// Whether there are other tools than at the last time.
    fn take(&mut self) -> bool {
        let tools = self.changes.borrow_and_update().tools;
        std::mem::replace(&mut self.tools, tools) != tools
    }
}

/// Waits until a server tells that it has other tools.
async fn any_change(changes: &mut [Heard]) {
    let mut waiting: Vec<BoxFuture<'_, ()>> = Vec::new();
    for each in changes {
        waiting.push(Box::pin(each.change()));
    }
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    select_all(waiting).await;
}

/// Whether a server told that it has other tools.
fn take_changes(changes: &mut [Heard]) -> bool {
    let changed = changes.iter_mut().map(Heard::take);
    changed.fold(false, |any, each| any | each)
}

/// How long servers that are not there are left alone: longer each time.
#[derive(Debug, Default)]
struct Rest {
    /// How many looks it lasts, and how many of them are over.
    looks: u32,
    over: u32,
}

impl Rest {
    /// The most looks it lasts.
    const LONGEST: u32 = 32;

    fn is_over(&mut self) -> bool {
        self.over += 1;
        if self.over < self.looks {
            return false;
        }
        self.looks = (self.looks * 2).clamp(1, Self::LONGEST);
        self.over = 0;
        true
    }
}

async fn reload(backend: &Arc<Backend>, sources: &Sources) {
    let (backend, sources) = (backend.clone(), sources.clone());
    let told = backend.clone();
    // Reading and importing is work for a thread of its own.
    let reloaded = tokio::task::spawn_blocking(move || backend.reload(&sources)).await;
    match reloaded {
        Ok(Ok(())) => tell(&format!(
            "the sources were read again: {}",
            told.about_sources().join("; ")
        )),
        Ok(Err(error)) => warn(&format!(
            "the sources cannot be used as they are now, and what was served before goes on: {error:#}"
        )),
        Err(error) => warn(&format!("the sources could not be read again: {error}")),
    }
}

async fn ask_servers(backend: &Backend, whom: Whom) {
    if let Err(error) = backend.ask_servers(whom).await {
        warn(&format!(
            "the tools of the MCP servers cannot be served as they are now: {error:#}"
        ));
    }
}

/// When each file was written last and how long it is; nothing for one that is not there.
fn states(sources: &Sources) -> Vec<Option<(SystemTime, u64)>> {
    let state = |path: &Path| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    sources.files().map(state).collect()
}

/// What asks for a reload.
struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Hangups {
    fn heard() -> Option<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = signal(SignalKind::hangup()).ok()?;
        Some(Self { signal })
    }

    async fn next(&mut self) {
        self.signal.recv().await;
    }
}

#[cfg(not(unix))]
impl Hangups {
    fn heard() -> Option<Self> {
        Some(Self {})
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
