//! Flows over a store with a manual clock, a worker, and helpers for calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use panpan_failure::{Failure, Redacted};
use panpan_flow::{Flows, TaskLimits, TaskOwners, WebhookKey, Worker, WorkerSettings, operations};
use panpan_runtime::testing::TestPorts;
use panpan_runtime::{
    CallRequest, CancellationToken, Dispatcher, Identity, Ports, Registration, Registry,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::handlers::handlers;
use crate::shared::{Folder, ManualClock, OpenTasks, TaskStore};

/// The lease of tasks in these tests.
pub(crate) const LEASE_MS: u64 = 3000;

/// How long tests wait for a worker.
const POLL_LIMIT: Duration = Duration::from_secs(60);

/// The key of webhooks in these tests.
const WEBHOOK_KEY: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A store with flows, the operations that their tasks call, and a dispatcher.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) world: Arc<Observed>,
    pub(crate) flows: Flows,
    ports: Ports,
    pub(crate) folder: Arc<Folder>,
}

/// What the handlers did, and what they wait for.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The names that `test/run` was called with, in order.
    pub(crate) runs: Mutex<Vec<String>>,
    /// How many handlers of `test/hold` were stopped.
    pub(crate) stops: AtomicUsize,
    /// Lets the handlers of `test/hold` go on.
    pub(crate) go: Notify,
    /// The requests of webhooks, in order.
    pub(crate) requests: Mutex<Vec<Value>>,
    /// The keys of these requests.
    pub(crate) keys: Mutex<Vec<String>>,
    /// How the next webhooks answer: with a failure, or not at all.
    pub(crate) answers: Mutex<Vec<Option<Failure>>>,
}

impl Observed {
    pub(crate) fn runs(&self) -> Vec<String> {
        self.runs.lock().unwrap().clone()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

impl Fixture {
    pub(crate) fn new(open: OpenTasks) -> Self {
        Self::with(open, ManualClock::new(), Arc::new(Folder::new()))
    }

    /// Another process with the same store and clock.
    pub(crate) fn beside(&self, open: OpenTasks) -> Self {
        Self::with(open, self.clock.clone(), self.folder.clone())
    }

    fn with(open: OpenTasks, clock: Arc<ManualClock>, folder: Arc<Folder>) -> Self {
        let store = open(&folder.path("store.db"), clock.clone());
        Self::over(store, clock, folder)
    }

    /// Another process with the same store, which generates the same ids.
    pub(crate) fn with_the_same_ids(&self) -> Self {
        Self::over(self.store.clone(), self.clock.clone(), self.folder.clone())
    }

    /// Another process with the same store, whose clock is ahead of that of the store.
    pub(crate) fn with_a_clock_ahead(&self, ms: u64) -> Self {
        let clock = ManualClock::new();
        clock.advance(ms);
        Self::over(self.store.clone(), clock, self.folder.clone())
    }

    pub(crate) fn over(
        store: Arc<dyn TaskStore>,
        clock: Arc<ManualClock>,
        folder: Arc<Folder>,
    ) -> Self {
        let TestPorts { ports, .. } = TestPorts::around(store.clone(), clock.clone());
        let flows = Flows::new(store.clone(), ports.ids.clone());
        let flows = flows.with_webhooks(WebhookKey::from_base64(WEBHOOK_KEY));
        let world = Arc::new(Observed::default());
        let all = operations(&flows).into_iter().chain(handlers(&world));
        let builder = all.fold(Registry::builder(), |builder, it| builder.add(it));
        let dispatcher = Dispatcher::new(builder.build().unwrap(), ports.clone());
        Self {
            dispatcher,
            store,
            clock,
            world,
            flows,
            ports,
            folder,
        }
    }

    /// Replaces the operations of this process: those of tests and of tasks whose names meet a condition, and others.
    pub(crate) fn offer(&self, others: Vec<Registration>, is_offered: impl Fn(&str) -> bool) {
        let all = operations(&self.flows).into_iter();
        let all = all.chain(handlers(&self.world));
        let all = all.filter(|it| is_offered(it.name().as_str()));
        let all = all.chain(others);
        let builder = all.fold(Registry::builder(), |builder, it| builder.add(it));
        self.dispatcher.replace(builder.build().unwrap());
    }

    /// Starts a worker that ends when the returned guard is dropped.
    pub(crate) fn worker(&self) -> StopOnDrop {
        self.worker_with(16)
    }

    pub(crate) fn worker_with(&self, concurrency: usize) -> StopOnDrop {
        self.limited_worker(concurrency, TaskLimits::default())
    }

    pub(crate) fn limited_worker(&self, concurrency: usize, limits: TaskLimits) -> StopOnDrop {
        self.worker_of(WorkerSettings {
            concurrency,
            limits,
            ..WorkerSettings::default()
        })
    }

    pub(crate) fn worker_of(&self, settings: WorkerSettings) -> StopOnDrop {
        self.worker_with_lease(WorkerSettings {
            lease_ms: LEASE_MS,
            ..settings
        })
    }

    pub(crate) fn worker_with_lease(&self, settings: WorkerSettings) -> StopOnDrop {
        start(self.new_worker(settings))
    }

    /// A worker that runs only tasks of callers with a token.
    pub(crate) fn worker_checking(&self, owners: Arc<dyn TaskOwners>) -> StopOnDrop {
        let worker = self.new_worker(WorkerSettings::default());
        start(worker.checking(owners))
    }

    fn new_worker(&self, settings: WorkerSettings) -> Worker {
        let (flows, dispatcher) = (self.flows.clone(), self.dispatcher.clone());
        Worker::new(flows, dispatcher, self.ports.clone(), settings)
    }

    /// Calls an operation as a caller without a token.
    pub(crate) async fn call(&self, operation: &str, input: Value) -> Result<Value, Redacted> {
        let request = CallRequest::from_wire(operation, input);
        self.dispatcher.dispatch(request).await.into_value()
    }

    pub(crate) async fn call_as(
        &self,
        caller: Identity,
        operation: &str,
        input: Value,
    ) -> Result<Value, Redacted> {
        let request = CallRequest {
            caller: Some(Arc::new(caller)),
            ..CallRequest::from_wire(operation, input)
        };
        self.dispatcher.dispatch(request).await.into_value()
    }

    pub(crate) async fn ok(&self, operation: &str, input: Value) -> Value {
        self.call(operation, input).await.unwrap()
    }

    /// The code of a refused call.
    pub(crate) async fn code(&self, operation: &str, input: Value) -> String {
        let failure = self.call(operation, input).await.unwrap_err();
        failure.code().as_str().to_owned()
    }

    /// Creates and executes tasks; returns the root.
    pub(crate) async fn execute(&self, tasks: Value) -> String {
        let started = self.ok("tasks/execute", json!({"tasks": tasks})).await;
        assert_eq!(started["status"], "started");
        started["root_task_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn task(&self, id: &str) -> Value {
        self.ok("tasks/get", json!({"task_id": id})).await
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        self.task(id).await["status"].as_str().unwrap().to_owned()
    }

    /// Waits until a task has this status.
    pub(crate) async fn wait_for(&self, id: &str, status: &str) -> Value {
        let has_status = |task: &Value| task["status"] == status;
        let task = async || Some(self.task(id).await).filter(has_status);
        until(&format!("{id} is {status}"), task).await
    }

    /// Waits until handlers were called this often.
    pub(crate) async fn wait_for_runs(&self, count: usize) {
        let are_called = async || (self.world.runs().len() >= count).then_some(());
        until(&format!("handlers are called {count} times"), are_called).await;
    }

    /// Waits until handlers of `test/hold` were stopped this often.
    pub(crate) async fn wait_for_stops(&self, count: usize) {
        let are_stopped = async || (self.world.stops.load(Ordering::SeqCst) == count).then_some(());
        until(&format!("{count} handlers are stopped"), are_stopped).await;
    }

    /// Waits until webhooks were called this often.
    pub(crate) async fn wait_for_requests(&self, count: usize) -> Vec<Value> {
        let requests = async || Some(self.world.requests()).filter(|it| it.len() >= count);
        until(&format!("webhooks are called {count} times"), requests).await
    }

    /// The events of a flow after a number, until it rests.
    pub(crate) async fn events(&self, root: &str, after: u64) -> Vec<Value> {
        let input = json!({"task_id": root, "after": after});
        let request = CallRequest::from_wire("tasks/events", input);
        let events = self.dispatcher.subscribe(request).unwrap();
        events.map(Result::unwrap).collect().await
    }

    /// Waits until no task of the flow can run without another command.
    pub(crate) async fn wait_for_rest(&self, root: &str) {
        let input = json!({"task_id": root});
        let request = CallRequest::from_wire("tasks/events", input);
        let mut events = self.dispatcher.subscribe(request).unwrap();
        while let Some(event) = events.next().await {
            if event.unwrap()["data"]["final"] == true {
                return;
            }
        }
        panic!("the stream of {root} ended before the flow rested");
    }
}

fn start(worker: Worker) -> StopOnDrop {
    let stop = CancellationToken::new();
    let running = tokio::spawn(worker.run(stop.clone()));
    StopOnDrop(stop, running)
}

/// Polls until something is found. Fails after a deadline, and names what did not happen.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let found = tokio::time::timeout(POLL_LIMIT, found).await;
    found.unwrap_or_else(|_| panic!("it did not happen that {what}"))
}

/// Stops a worker.
#[derive(Debug)]
pub(crate) struct StopOnDrop(CancellationToken, tokio::task::JoinHandle<()>);

impl StopOnDrop {
    /// Ends the worker as a crash does: running handlers and their leases stay as they are.
    pub(crate) fn crash(self) {
        self.1.abort();
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A task id from a number. Generated ids of tests have an 8 in place of the 9.
pub(crate) fn id(number: u64) -> String {
    format!("00000000-0000-4000-9000-{number:012}")
}

/// A task that calls `test/run` with its name.
pub(crate) fn task(number: u64, name: &str) -> Value {
    calling(number, name, "test/run")
}

pub(crate) fn calling(number: u64, name: &str, method: &str) -> Value {
    json!({
        "id": id(number),
        "name": name,
        "schemas": {"method": method},
        "inputs": {"name": name},
    })
}

/// The same task below the first one, with these dependencies.
pub(crate) fn below(mut task: Value, dependencies: &[(u64, bool)]) -> Value {
    task["parent_id"] = json!(id(1));
    let dependency = |(on, required): &(u64, bool)| json!({"id": id(*on), "required": required});
    task["dependencies"] = dependencies.iter().map(dependency).collect();
    task
}
