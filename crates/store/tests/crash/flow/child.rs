//! The process that is killed: a worker, and a caller that creates flows.

use std::sync::Arc;
use std::time::Duration;

use panpan_flow::ports::Tasks;
use panpan_flow::{Flows, Worker, WorkerSettings, operations};
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{CallRequest, CancellationToken, Dispatcher, Ports};
use serde_json::json;
use tokio::time::timeout;

use super::plan::FlowPlan;
use super::read;
use super::wakes_later::WakesLater;
use crate::child::{LEASE_MS, database, file, parent_gone, runtime};
use crate::message::Message;
use crate::operations::Operations;
use crate::options::{ChildOptions, Defect, FlowShare};

/// The lease of a task if several workers share a store. A worker that is only slow must not lose a task: a handler
/// that goes on after its task was reconciled elsewhere can have a second effect.
const SHARED_LEASE_MS: u64 = 3000;

/// How many tasks run at once in one process.
const CONCURRENCY: usize = 32;

/// How often the flows are looked at although nothing is known to have changed.
const POLL: Duration = Duration::from_millis(100);

/// Runs until all flows rest, until the parent ends, or until it is killed.
pub(crate) fn run(options: &ChildOptions, share: FlowShare) {
    let runtime = runtime();
    runtime.block_on(async {
        let caller = Caller::open(options);
        Message::Started.send();
        tokio::select! {
            () = caller.run(options.seed, share) => Message::Done.send(),
            () = parent_gone() => return,
        }
        // Other processes may still be needed.
        parent_gone().await;
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// Creates flows while a worker of the same process runs tasks.
struct Caller {
    tasks: Arc<dyn Tasks>,
    dispatcher: Dispatcher,
}

impl Caller {
    fn open(options: &ChildOptions) -> Self {
        let (outcomes, tasks) = stores(options);
        let ports = Ports::system(outcomes);
        let for_worker: Arc<dyn Tasks> = match options.defect {
            Defect::WakesLater => Arc::new(WakesLater(tasks.clone())),
            _ => tasks.clone(),
        };
        let flows = Flows::new(for_worker, ports.ids.clone());
        let handlers =
            Operations::open(&options.directory, options.seed).expect("the effects can be opened");
        let registry =
            Arc::new(handlers).registry(options.defect == Defect::RunsTwice, operations(&flows));
        let dispatcher = Dispatcher::new(registry, ports.clone());
        let settings = WorkerSettings {
            concurrency: CONCURRENCY,
            lease_ms: match options.database {
                Some(_) => SHARED_LEASE_MS,
                None => LEASE_MS,
            },
            poll_ms: LEASE_MS,
            ..WorkerSettings::default()
        };
        let worker = Worker::new(flows, dispatcher.clone(), ports, settings);
        // The process ends without stopping it.
        tokio::spawn(worker.run(CancellationToken::new()));
        Self { tasks, dispatcher }
    }

    /// Creates the flows of this process, and waits until all flows rest.
    async fn run(&self, seed: u64, share: FlowShare) {
        let flows: Vec<FlowPlan> = (0..share.flows).map(|it| FlowPlan::of(seed, it)).collect();
        for (number, flow) in (0..).zip(&flows) {
            if number % share.workers == share.worker {
                self.create(flow).await;
            }
        }
        let roots: Vec<_> = flows.iter().map(FlowPlan::root).collect();
        let mut changes = self.tasks.changes();
        while !read::all_rest(&*self.tasks, &roots).await {
            let _ = timeout(POLL, changes.changed()).await;
        }
    }

    async fn create(&self, flow: &FlowPlan) {
        if read::exists(&*self.tasks, flow.root()).await {
            return;
        }
        let input = json!({"tasks": flow.written()});
        let request = CallRequest::from_wire("tasks/execute", input);
        let answer = self.dispatcher.dispatch(request).await;
        if let Err(refused) = answer.into_value() {
            panic!(
                "a flow was refused: {}: {}",
                refused.code(),
                refused.message()
            );
        }
    }
}

/// The ports of the store that the options name.
pub(super) fn stores(options: &ChildOptions) -> (Arc<dyn Outcomes>, Arc<dyn Tasks>) {
    match &options.database {
        Some(address) => {
            let store = database(address);
            (store.clone(), store)
        }
        None => {
            let store = file(options);
            (store.clone(), store)
        }
    }
}
