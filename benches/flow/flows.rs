//! Flows over a store in a file, and workers that run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_flow::ports::{Key, Rows, Tasks, Work};
use panpan_flow::{Flows, Priority, Worker, WorkerSettings, operations};
use panpan_runtime::ports::{Outcomes, StoreError};
use panpan_runtime::system::SystemClock;
use panpan_runtime::{
    BoxFuture, CallRequest, CancellationToken, Context, Dispatcher, Ports, Registration, Registry,
};
use panpan_store::SqliteStore;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::goal::{Cost, Watch};
use crate::graphs::Graph;

/// The operation that does nothing, and the one that waits.
pub(crate) const NOOP: &str = "bench/noop";
pub(crate) const WAIT: &str = "bench/wait";

/// How long that one waits.
const WAIT_MS: u64 = 20;

/// How often a flow is looked at although nothing is known to have changed.
const POLL: Duration = Duration::from_millis(20);

/// A store with flows and the operations that their tasks call.
pub(crate) struct TestBed {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) tasks: Arc<dyn Tasks>,
    dispatcher: Dispatcher,
    flows: Flows,
    ports: Ports,
    folder: Arc<Folder>,
}

impl TestBed {
    /// In a new file.
    pub(crate) fn new(name: &str) -> Self {
        Self::in_folder(Arc::new(Folder::new(name)), Arc::new(runtime()))
    }

    /// In the same file, as another process has it open.
    pub(crate) fn again(&self) -> Self {
        Self::in_folder(self.folder.clone(), self.runtime.clone())
    }

    fn in_folder(folder: Arc<Folder>, runtime: Arc<Runtime>) -> Self {
        let store = Arc::new(folder.store());
        Self::over(store.clone(), store, folder, runtime)
    }

    /// Over any store.
    pub(crate) fn over(
        outcomes: Arc<dyn Outcomes>,
        tasks: Arc<dyn Tasks>,
        folder: Arc<Folder>,
        runtime: Arc<Runtime>,
    ) -> Self {
        let ports = Ports::system(outcomes);
        let flows = Flows::new(tasks.clone(), ports.ids.clone());
        let all = operations(&flows).into_iter().chain(handlers());
        let builder = all.fold(Registry::builder(), |builder, it| builder.add(it));
        let registry = builder.build().expect("the operations are valid");
        Self {
            runtime,
            tasks,
            dispatcher: Dispatcher::new(registry, ports.clone()),
            flows,
            ports,
            folder,
        }
    }

    /// Creates tasks and lets them run.
    pub(crate) fn execute(&self, request: Value) {
        self.runtime
            .block_on(call(&self.dispatcher, "tasks/execute", request));
    }

    /// Creates tasks.
    pub(crate) fn create(&self, request: Value) {
        self.runtime
            .block_on(call(&self.dispatcher, "tasks/create", request));
    }

    /// Waits until no task can run.
    pub(crate) fn wait_rest(&self) {
        self.runtime.block_on(rest(&*self.tasks));
    }
}

/// A worker, which is stopped when this is dropped.
pub(crate) struct Running {
    runtime: Arc<Runtime>,
    tasks: Arc<dyn Tasks>,
    dispatcher: Dispatcher,
    stop: CancellationToken,
    worker: Option<JoinHandle<()>>,
    // Removed after the worker has ended.
    _folder: Arc<Folder>,
}

impl Running {
    pub(crate) fn start(bed: &TestBed, settings: WorkerSettings) -> Self {
        let (flows, dispatcher) = (bed.flows.clone(), bed.dispatcher.clone());
        let worker = Worker::new(flows, dispatcher, bed.ports.clone(), settings);
        let stop = CancellationToken::new();
        let worker = bed.runtime.spawn(worker.run(stop.clone()));
        Self {
            runtime: bed.runtime.clone(),
            tasks: bed.tasks.clone(),
            dispatcher: bed.dispatcher.clone(),
            stop,
            worker: Some(worker),
            _folder: bed.folder.clone(),
        }
    }

    /// Creates a flow and waits until it rests.
    pub(crate) fn run(&self, request: Value) {
        self.runtime.block_on(async {
            call(&self.dispatcher, "tasks/execute", request).await;
            rest(&*self.tasks).await;
        });
    }

    /// Creates flows at once, one after another in each of these lists, and waits until all rest.
    pub(crate) fn run_at_once(&self, lists: Vec<Vec<Value>>) {
        let callers = lists.into_iter().map(|requests| {
            let dispatcher = self.dispatcher.clone();
            self.runtime.spawn(async move {
                for request in requests {
                    call(&dispatcher, "tasks/execute", request).await;
                }
            })
        });
        let callers: Vec<JoinHandle<()>> = callers.collect();
        self.runtime.block_on(async {
            for caller in callers {
                caller.await.expect("every flow is created");
            }
            rest(&*self.tasks).await;
        });
    }

    /// The cost of a task of a flow.
    pub(crate) fn cost_of(&self, graph: Graph, tasks: usize) -> Cost {
        let request = graph.request(tasks);
        let watch = Watch::start();
        self.run(request);
        watch.stop(tasks)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(worker) = self.worker.take() {
            let _ = self.runtime.block_on(worker);
        }
    }
}

async fn call(dispatcher: &Dispatcher, operation: &str, input: Value) {
    let answer = dispatcher.dispatch(CallRequest::from_wire(operation, input));
    answer.await.into_value().expect("the tasks are valid");
}

/// Waits until no task of the store can run.
async fn rest(tasks: &dyn Tasks) {
    let mut changes = tasks.changes();
    loop {
        changes.borrow_and_update();
        let rests = Arc::new(AtomicBool::new(false));
        let work = Box::new(Rests(rests.clone()));
        tasks.read(work).await.expect("the store can be read");
        if rests.load(Ordering::Relaxed) {
            return;
        }
        let _ = tokio::time::timeout(POLL, changes.changed()).await;
    }
}

/// Whether no task can run.
struct Rests(Arc<AtomicBool>);

impl Work for Rests {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let queues = [
                Priority::URGENT,
                Priority::HIGH,
                Priority::NORMAL,
                Priority::LOW,
            ];
            let queues = queues.map(|priority| (Key(0), priority));
            // The first task that becomes ready has turn 1.
            let none_ready = rows.next_turns(&queues).await? == [1; 4];
            let rests = none_ready && rows.next_due().await?.is_none();
            self.0.store(rests, Ordering::Relaxed);
            Ok(())
        })
    }
}

fn handlers() -> Vec<Registration> {
    let spec = |name: &str| {
        let name = name.parse().expect("the name is one");
        let mut spec = OperationSpec::new(name, OperationType::Mutation);
        spec.input_schema = json!({"type": "object", "required": ["owner"]});
        spec
    };
    let noop = |_: Context, _: Arc<Value>| async { Ok::<_, Failure>(json!({"done": true})) };
    let wait = |context: Context, _: Arc<Value>| async move {
        context.sleep(WAIT_MS).await;
        Ok::<_, Failure>(json!({"done": true}))
    };
    vec![
        Registration::new(spec(NOOP), noop),
        Registration::new(spec(WAIT), wait),
    ]
}

/// The folder of a store, removed after the measurement.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-flow-{name}-{number}");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Remove the remains of an aborted run.
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.file(), Arc::new(SystemClock)).expect("the disk has room")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn runtime() -> Runtime {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    builder
        .enable_all()
        .build()
        .expect("a runtime can be built")
}
