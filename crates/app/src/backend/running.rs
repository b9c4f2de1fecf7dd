//! What happens while a command runs and when it ends: maintenance of the store, tasks, and draining.

use std::time::Duration;

use futures_util::future::join_all;
use panpan_flow::{FLOWS_KEPT_MS, Flows};
use panpan_runtime::{CancellationToken, Dispatcher};
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::McpTasks;
use panpan_surfaces::{Anonymous, Gateway};
use panpan_upstream::mcp::McpUpstream;
use tokio::time::{Instant, timeout_at};

use super::Backend;
use crate::log::warn;

/// How often metrics are written to the store, and expired outcomes deleted.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(2);

/// How many of these rounds pass before old flows are deleted.
const ROUNDS_PER_SWEEP: u64 = 30;

impl Backend {
    /// The gateway to the dispatcher, with the resources and prompts of the MCP servers. Needs a tokio runtime.
    pub(crate) fn gateway(&self, anonymous: Anonymous, limits: Limits) -> Gateway {
        let gateway = Gateway::new(self.dispatcher.clone(), self.tokens(), anonymous, limits);
        crate::library::attach(&gateway, &self.servers);
        gateway.set_mcp_tasks(McpTasks {
            inputs: self.task_inputs.clone(),
            kept_ms: self.tasks.as_ref().map_or(FLOWS_KEPT_MS, |it| it.kept_ms),
        });
        gateway
    }

    /// A gateway for a process that no client reaches: it only counts and logs.
    pub(crate) fn log_only_gateway(&self) -> Gateway {
        let limits = Limits::default();
        Gateway::new(
            self.dispatcher.clone(),
            self.tokens(),
            Anonymous::Refused,
            limits,
        )
    }

    /// Does some work while the store is maintained and tasks run, then waits for keyed calls that still run, at most for the
    /// time that is left at that moment, and closes the MCP servers.
    pub(crate) async fn run_and_drain<T>(
        &self,
        gateway: Option<&Gateway>,
        work: impl Future<Output = T>,
        left: impl FnOnce() -> Duration,
    ) -> T {
        let (flows, kept_ms) = (
            self.store.flows.clone(),
            self.tasks.as_ref().map(|it| it.kept_ms),
        );
        let maintenance = tokio::spawn(maintain(self.dispatcher.clone(), flows, kept_ms));
        let stop = CancellationToken::new();
        let worker = self
            .worker(gateway)
            .map(|it| tokio::spawn(it.run(stop.clone())));
        let done = work.await;
        // Tasks that are cut off are taken over when their leases end.
        stop.cancel();
        // No client can answer their questions any more.
        self.task_inputs.stop();
        // Keyed calls continue after their callers have left.
        let deadline = Instant::now() + left();
        let drained = timeout_at(deadline, self.dispatcher.drain()).await;
        let ended = match worker {
            // A worker that panicked has nothing to wait for.
            Some(worker) => timeout_at(deadline, worker).await.map(drop),
            None => Ok(()),
        };
        maintenance.abort();
        // Writes the metrics since the last round; the process ends, so a failure changes nothing.
        let _ = self.dispatcher.maintain().await;
        // A server that is not closed would outlive this process.
        join_all(self.servers.iter().map(McpUpstream::close)).await;
        // Includes a server that is just being started.
        self.kill_servers();
        if drained.is_err() {
            warn(
                "calls with an idempotency key were still running and were cut off; repeat them with the same keys",
            );
        }
        if ended.is_err() {
            warn(
                "tasks were still running and were cut off; another process takes them over when their leases end",
            );
        }
        done
    }
}

/// `kept_ms` is how long flows that rest are kept.
async fn maintain(dispatcher: Dispatcher, flows: Flows, kept_ms: Option<u64>) {
    let mut rounds = 0_u64;
    loop {
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
        // If the store is unavailable, the next round tries again; callers learn of it from their calls.
        let _ = dispatcher.maintain().await;
        rounds = rounds.wrapping_add(1);
        if let Some(kept_ms) = kept_ms
            && rounds.is_multiple_of(ROUNDS_PER_SWEEP)
        {
            let _ = flows.sweep(kept_ms).await;
        }
    }
}
