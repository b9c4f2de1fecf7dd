//! The process that is killed: a real dispatcher over a real file or database, with many concurrent callers.

use std::io::{self, BufRead as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use panpan_runtime::ports::Outcomes;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{CallRequest, Dispatcher, IdempotencyKey, InFlight, Ports, Settings};
use panpan_store::{PostgresStore, SqliteOptions, SqliteStore, Synchronous};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::flow;
use crate::message::{Answered, Message};
use crate::observed_store::ObservedStore;
use crate::operations::{Operations, input};
use crate::options::{ChildOptions, Defect, Task};
use crate::plan::{Plan, key};

/// The lease of a key.
pub(crate) const LEASE_MS: u64 = 300;

/// The lease of a key in runs without kills: under trace on a busy machine, heartbeats are late.
const LONG_LEASE_MS: u64 = 60_000;

/// The number of concurrent callers.
const CALLERS: usize = 32;

/// How often a call is repeated before it counts as stuck. Each repeat waits until its timeout.
const CALLS_MAX: u32 = 50;

/// Ends the list of numbers on the input.
pub(crate) const GO: &str = "go";

/// Runs until the work is done, until the parent ends, or until it is killed.
pub(crate) fn run(options: &ChildOptions) {
    let numbers = numbers_to_call();
    if let Task::Flows(share) = options.task {
        return flow::child::run(options, share);
    }
    let clients = Clients::open(options);
    Message::Started.send();
    let runtime = runtime();
    runtime.block_on(async {
        tokio::select! {
            () = run_task(&clients, options, numbers) => Message::Done.send(),
            () = parent_gone() => {}
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

async fn run_task(clients: &Arc<Clients>, options: &ChildOptions, numbers: Vec<u64>) {
    match options.task {
        Task::Settle => settle(clients, numbers).await,
        Task::Load => load(clients, options.first, u64::MAX, numbers).await,
        Task::Calls(calls) => load(clients, options.first, options.first + calls, numbers).await,
        Task::Flows(_) => unreachable!("flows have their own child"),
    }
}

/// Makes new calls, and repeats earlier calls, each in its own task because it may wait for a lease to expire.
async fn load(clients: &Arc<Clients>, first: u64, end: u64, repeated: Vec<u64>) {
    let mut callers = JoinSet::new();
    for number in repeated {
        let clients = Arc::clone(clients);
        callers.spawn(async move { _ = clients.call(number).await });
    }
    let next = Arc::new(AtomicU64::new(first));
    for _ in 0..CALLERS {
        let (clients, next) = (Arc::clone(clients), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return;
                }
                clients.call_new(number).await;
            }
        });
    }
    callers.join_all().await;
}

async fn settle(clients: &Arc<Clients>, numbers: Vec<u64>) {
    let numbers = Arc::new(Mutex::new(numbers));
    let mut callers = JoinSet::new();
    for _ in 0..2 * CALLERS {
        let (clients, numbers) = (Arc::clone(clients), Arc::clone(&numbers));
        callers.spawn(async move {
            loop {
                let number = numbers.lock().unwrap().pop();
                let Some(number) = number else { return };
                for _ in 0..CALLS_MAX {
                    if clients.call(number).await {
                        break;
                    }
                }
            }
        });
    }
    callers.join_all().await;
}

/// The state that the callers share.
struct Clients {
    seed: u64,
    dispatcher: Dispatcher,
}

impl Clients {
    fn open(options: &ChildOptions) -> Arc<Self> {
        let operations =
            Operations::open(&options.directory, options.seed).expect("the effects can be opened");
        let registry =
            Arc::new(operations).registry(options.defect == Defect::RunsTwice, Vec::new());
        let settings = Settings {
            lease_ms: match options.task {
                Task::Calls(_) => LONG_LEASE_MS,
                Task::Load | Task::Settle | Task::Flows(_) => LEASE_MS,
            },
            ..Settings::default()
        };
        let ports = Ports::system(store(options));
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        let seed = options.seed;
        Arc::new(Self { seed, dispatcher })
    }

    /// Makes a new call.
    async fn call_new(&self, number: u64) {
        Message::Calling(number).send();
        if Plan::of(self.seed, number).called_twice {
            tokio::join!(self.call(number), self.call(number));
        } else {
            self.call(number).await;
        }
    }

    /// Makes a call and reports the answer; returns whether its outcome is recorded.
    async fn call(&self, number: u64) -> bool {
        let operation = Plan::of(self.seed, number).operation;
        let key = IdempotencyKey::new(&key(number)).expect("a valid key");
        let request = CallRequest {
            in_flight: InFlight::Wait,
            ..CallRequest::from_wire(operation, input(number)).keyed(key)
        };
        let answer = self.dispatcher.dispatch(request).await;
        let answered = Answered::of(number, &answer);
        let kept = answered.kept;
        Message::Answered(answered).send();
        kept
    }
}

fn store(options: &ChildOptions) -> Arc<dyn Outcomes> {
    let inner: Arc<dyn Outcomes> = match &options.database {
        Some(address) => database(address),
        None => file(options),
    };
    Arc::new(ObservedStore {
        inner,
        acknowledges_early: options.defect == Defect::AcknowledgesEarly,
    })
}

/// The store in a database.
pub(crate) fn database(address: &str) -> Arc<PostgresStore> {
    let address = address.parse().expect("a valid address from the parent");
    let store = PostgresStore::open(&address);
    Arc::new(store.expect("the store opens after a kill"))
}

/// The store in the directory.
pub(crate) fn file(options: &ChildOptions) -> Arc<SqliteStore> {
    let mut settings = SqliteOptions::default();
    if options.defect == Defect::DoesNotSync {
        settings.synchronous = Synchronous::Off;
    }
    // The store creates its folder.
    let path = options.directory.join("store").join("panpan.db");
    let store = SqliteStore::open_with(path, Arc::new(SystemClock), settings);
    Arc::new(store.expect("the store opens after a kill"))
}

fn numbers_to_call() -> Vec<u64> {
    let lines = io::stdin().lock().lines().map_while(Result::ok);
    let numbers = lines.take_while(|line| line != GO);
    numbers.filter_map(|line| line.parse().ok()).collect()
}

/// Ready when the input is closed, because the parent has ended or will not kill this child.
pub(crate) async fn parent_gone() {
    let (gone, wait) = oneshot::channel();
    std::thread::spawn(move || {
        _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        _ = gone.send(());
    });
    _ = wait.await;
}

pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build();
    runtime.expect("a runtime")
}
