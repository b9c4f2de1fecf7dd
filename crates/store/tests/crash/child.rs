//! The process that is killed: a real dispatcher over a real file, with many callers at once.

use std::io::{self, BufRead as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use panpan_runtime::ports::Outcomes;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{CallRequest, Dispatcher, IdempotencyKey, InFlight, Ports, Settings};
use panpan_store::{SqliteOptions, SqliteStore, Synchronous};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::line::{Answered, Line};
use crate::operations::{Stage, input};
use crate::orders::{Defect, Orders, Work};
use crate::plan::{Plan, key};
use crate::watched::Watched;

/// How long a key is held without a sign of life.
const LEASE_MS: u64 = 300;

/// The same where nobody is killed: under trace on a busy machine, signs of life come late.
const LONG_LEASE_MS: u64 = 60_000;

/// How many callers there are at once.
const CALLERS: usize = 32;

/// How often a key is asked for before it counts as stuck. Each time waits as long as a call may take.
const ASKED_AT_MOST: u32 = 50;

/// What ends the list of numbers to ask for.
pub(crate) const GO: &str = "go";

/// Does what it was told, until that is done, until its parent is gone, or until it is killed.
pub(crate) fn run(orders: &Orders) {
    let numbers = numbers_to_ask();
    let fixture = Fixture::open(orders);
    Line::Began.send();
    let runtime = runtime();
    runtime.block_on(async {
        tokio::select! {
            () = work(&fixture, orders, numbers) => Line::Done.send(),
            () = parent_gone() => {}
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

async fn work(fixture: &Arc<Fixture>, orders: &Orders, numbers: Vec<u64>) {
    match orders.work {
        Work::Settle => settle(fixture, numbers).await,
        Work::Load => load(fixture, orders.first, u64::MAX, numbers).await,
        Work::Some(calls) => load(fixture, orders.first, orders.first + calls, numbers).await,
    }
}

/// New calls, and beside them one caller for each call that is asked for again: those may wait long
/// for a lease to run out.
async fn load(fixture: &Arc<Fixture>, first: u64, end: u64, again: Vec<u64>) {
    let mut callers = JoinSet::new();
    for number in again {
        let fixture = Arc::clone(fixture);
        callers.spawn(async move { _ = fixture.ask(number).await });
    }
    let next = Arc::new(AtomicU64::new(first));
    for _ in 0..CALLERS {
        let (fixture, next) = (Arc::clone(fixture), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return;
                }
                fixture.begin(number).await;
            }
        });
    }
    callers.join_all().await;
}

async fn settle(fixture: &Arc<Fixture>, numbers: Vec<u64>) {
    let numbers = Arc::new(Mutex::new(numbers));
    let mut callers = JoinSet::new();
    for _ in 0..2 * CALLERS {
        let (fixture, numbers) = (Arc::clone(fixture), Arc::clone(&numbers));
        callers.spawn(async move {
            loop {
                let number = numbers.lock().unwrap().pop();
                let Some(number) = number else { return };
                for _ in 0..ASKED_AT_MOST {
                    if fixture.ask(number).await {
                        break;
                    }
                }
            }
        });
    }
    callers.join_all().await;
}

/// What the callers share.
struct Fixture {
    seed: u64,
    dispatcher: Dispatcher,
}

impl Fixture {
    fn open(orders: &Orders) -> Arc<Self> {
        let stage = Stage::open(&orders.directory, orders.seed).expect("the effects can be opened");
        let registry = Arc::new(stage).registry(orders.defect == Defect::RunsTwice);
        let settings = Settings {
            lease_ms: match orders.work {
                Work::Some(_) => LONG_LEASE_MS,
                Work::Load | Work::Settle => LEASE_MS,
            },
            ..Settings::default()
        };
        let ports = Ports::system(store(&orders.directory, orders.defect));
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        let seed = orders.seed;
        Arc::new(Self { seed, dispatcher })
    }

    /// Makes a call nobody has made before.
    async fn begin(&self, number: u64) {
        Line::Asked(number).send();
        if Plan::of(self.seed, number).twice_at_once {
            tokio::join!(self.ask(number), self.ask(number));
        } else {
            self.ask(number).await;
        }
    }

    /// Makes a call and tells how it ended; whether that is the last word.
    async fn ask(&self, number: u64) -> bool {
        let operation = Plan::of(self.seed, number).operation;
        let key = IdempotencyKey::new(&key(number)).expect("a key is made of visible characters");
        let request = CallRequest {
            in_flight: InFlight::Wait,
            ..CallRequest::from_wire(operation, input(number)).keyed(key)
        };
        let answer = self.dispatcher.dispatch(request).await;
        let answered = Answered::of(number, &answer);
        let kept = answered.kept;
        Line::Answered(answered).send();
        kept
    }
}

fn store(directory: &Path, defect: Defect) -> Arc<dyn Outcomes> {
    let mut options = SqliteOptions::default();
    if defect == Defect::DoesNotSync {
        options.synchronous = Synchronous::Off;
    }
    // The store makes its folder itself.
    let path = directory.join("store").join("panpan.db");
    let store = SqliteStore::open_with(path, Arc::new(SystemClock), options);
    Arc::new(Watched {
        inner: Arc::new(store.expect("the store opens whatever was killed over it")),
        answers_early: defect == Defect::AnswersEarly,
    })
}

fn numbers_to_ask() -> Vec<u64> {
    let lines = io::stdin().lock().lines().map_while(Result::ok);
    let numbers = lines.take_while(|line| line != GO);
    numbers.filter_map(|line| line.parse().ok()).collect()
}

/// Ready when the parent closes the input, or ends without a word: nobody is left to kill the child.
async fn parent_gone() {
    let (gone, wait) = oneshot::channel();
    std::thread::spawn(move || {
        _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        _ = gone.send(());
    });
    _ = wait.await;
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build();
    runtime.expect("the system has threads")
}
