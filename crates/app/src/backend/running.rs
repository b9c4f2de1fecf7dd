//! What happens while a command runs and when it ends: maintenance of the store, tasks, and draining.

use std::time::Duration;

use futures_util::future::join_all;
use panpan_flow::{Flows, Worker};
use panpan_runtime::{CancellationToken, Dispatcher, Ports};
use panpan_upstream::mcp::McpUpstream;

use super::Backend;
use crate::log::warn;

/// How often metrics are written to the store, and expired outcomes deleted.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(2);

/// How many of these rounds pass before old flows are deleted.
const ROUNDS_PER_SWEEP: u64 = 30;

impl Backend {
    /// The worker that runs tasks, if this command serves them.
    fn worker(&self) -> Option<Worker> {
        let is_served = self.sources().described.built_in.has_tasks();
        let settings = self.tasks.as_ref().filter(|_| is_served)?.worker.clone();
        let flows = self.store.flows.clone()?;
        let ports = Ports::system(self.store.outcomes.clone());
        Some(Worker::new(flows, self.dispatcher.clone(), ports, settings))
    }

    /// Does some work while the store is maintained and tasks run, then waits for keyed calls that still run, at most for the
    /// time that is left at that moment, and closes the MCP servers.
    pub(crate) async fn run_and_drain<T>(
        &self,
        work: impl Future<Output = T>,
        left: impl FnOnce() -> Duration,
    ) -> T {
        let swept = self.store.flows.clone();
        let swept = swept.zip(self.tasks.as_ref().map(|it| it.kept_ms));
        let maintenance = tokio::spawn(maintain(self.dispatcher.clone(), swept));
        let stop = CancellationToken::new();
        let worker = self.worker().map(|it| tokio::spawn(it.run(stop.clone())));
        let done = work.await;
        // Tasks that are cut off are taken over when their leases end.
        stop.cancel();
        // Keyed calls continue after their callers have left.
        let drained = tokio::time::timeout(left(), async {
            self.dispatcher.drain().await;
            if let Some(worker) = worker {
                // A worker that panicked has nothing to wait for.
                let _ = worker.await;
            }
        })
        .await;
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
        done
    }
}

/// `swept` has the flows to delete from, and how long they are kept.
async fn maintain(dispatcher: Dispatcher, swept: Option<(Flows, u64)>) {
    let mut rounds = 0_u64;
    loop {
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
        // If the store is unavailable, the next round tries again; callers learn of it from their calls.
        let _ = dispatcher.maintain().await;
        rounds = rounds.wrapping_add(1);
        if let Some((flows, kept_ms)) = &swept
            && rounds.is_multiple_of(ROUNDS_PER_SWEEP)
        {
            let _ = flows.sweep(*kept_ms).await;
        }
    }
}
