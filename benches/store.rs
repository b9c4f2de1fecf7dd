//! The speed goals of the SQLite store, on the disk with the build directory, with every commit synced.
//!
//! The baselines do the same work with prepared statements on the same tables. `goal.rs` does the measuring.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod goal;

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use goal::{Cost, Goal, Watch};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::ports::{
    Claim, Claimed, Completed, Completion, End, Fingerprint, KeptOutcome, Lease, Outcomes, Scope,
};
use panpan_runtime::system::SystemClock;
use panpan_runtime::{CallRequest, Context, Dispatcher, IdempotencyKey, Ports, Registry};
use panpan_store::SqliteStore;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use uuid::Uuid;

/// The allocator of the panpan program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The number of concurrent callers, and how often each of them calls.
const CALLERS: usize = 256;
const CALLS: usize = 16;

/// The number of outcomes that are replayed, and how many of them in one round.
const KEPT: usize = 20_480;
const ASKED: usize = 2048;

/// The number of outcomes, and the memory limit of the process that stores them, in megabytes.
const OUTCOMES: usize = 1_000_000;
const RESIDENT_MB: f64 = 150.0;

const OPERATION: &str = "bench/noop";
const OUTPUT_BYTES: usize = 512;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn main() -> ExitCode {
    goal::run(|| vec![durable(), replayed(), resident()])
}

/// Keyed calls of a mutation by many callers, against one loop that claims and completes the same number of keys in
/// batches of one per caller. The rate has to be at least 0.8 of the loop's.
fn durable() -> Goal {
    let calls = StoredCalls::new("durable");
    let raw = Raw::new("durable-raw");
    Goal::Ratio {
        name: "keyed durable outcomes, against a raw loop".to_owned(),
        limit: 1.25,
        work: Box::new(move || {
            let keys = (0..CALLERS).map(|_| (0..CALLS).map(|_| new_key()).collect::<Vec<_>>());
            calls.concurrently(keys.collect())
        }),
        baseline: Box::new(move || {
            let rows: Vec<Row> = (0..CALLERS * CALLS).map(|_| Row::new()).collect();
            let watch = Watch::start();
            for batch in rows.chunks(CALLERS) {
                raw.claim(batch);
                raw.complete(batch);
            }
            watch.stop(rows.len())
        }),
    }
}

/// A call that is replayed, against a read of one row by its key. The rate has to be at least half of that of the
/// reads.
fn replayed() -> Goal {
    let calls = StoredCalls::new("replayed");
    let mut keys: Vec<IdempotencyKey> = (0..KEPT).map(|_| new_key()).collect();
    calls.concurrently(keys.chunks(KEPT / CALLERS).map(<[_]>::to_vec).collect());
    keys.sort_by_cached_key(|_| Uuid::new_v4());
    let mut keys = keys.into_iter().cycle();
    let raw = Raw::new("replayed-raw");
    let mut rows: Vec<Row> = (0..KEPT).map(|_| Row::new()).collect();
    for batch in rows.chunks(CALLERS) {
        raw.claim(batch);
        raw.complete(batch);
    }
    rows.sort_by_cached_key(|_| Uuid::new_v4());
    let mut rows = rows.into_iter().cycle();
    Goal::Ratio {
        name: "replay of a stored outcome, against a read".to_owned(),
        limit: 2.0,
        work: Box::new(move || {
            let keys: Vec<IdempotencyKey> = keys.by_ref().take(ASKED).collect();
            let watch = Watch::start();
            calls.runtime.block_on(async {
                for key in keys {
                    assert!(black_box(calls.call(key).await));
                }
            });
            watch.stop(ASKED)
        }),
        baseline: Box::new(move || {
            let rows: Vec<Row> = rows.by_ref().take(ASKED).collect();
            let watch = Watch::start();
            for row in &rows {
                assert_eq!(black_box(raw.read(row)).len(), OUTPUT_BYTES);
            }
            watch.stop(ASKED)
        }),
    }
}

/// The memory of a process, in megabytes, after it has stored many outcomes and read some of them.
fn resident() -> Goal {
    let outcomes = std::env::var("PANPAN_BENCH_OUTCOMES").ok();
    let outcomes = outcomes
        .and_then(|text| text.parse().ok())
        .unwrap_or(OUTCOMES);
    Goal::Figure {
        name: format!("megabytes with {outcomes} outcomes"),
        limit: RESIDENT_MB,
        measure: Box::new(move || {
            let folder = Folder::new("resident");
            let store = Arc::new(folder.store());
            runtime().block_on(async {
                keep_many(&store, outcomes).await;
                for number in (0..outcomes).step_by(97) {
                    let kept = store.kept(scope(number)).await.expect("it can be read");
                    assert!(black_box(kept).is_some());
                }
            });
            resident_mb()
        }),
    }
}

async fn keep_many(store: &Arc<SqliteStore>, outcomes: usize) {
    let next = Arc::new(AtomicUsize::new(0));
    let mut writers = JoinSet::new();
    for _ in 0..CALLERS * 4 {
        let (store, next) = (Arc::clone(store), Arc::clone(&next));
        writers.spawn(async move {
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < outcomes => keep(&store, number).await,
                    _ => return,
                }
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("nothing panics");
    }
}

async fn keep(store: &SqliteStore, number: usize) {
    let claim = Claim {
        scope: scope(number),
        fingerprint: Fingerprint([7; 32]),
        call: Uuid::new_v4(),
        lease_ms: DAY_MS,
    };
    let claimed = store.claim(claim).await.expect("the store takes it");
    let Claimed::Held { lease, .. } = claimed else {
        panic!("the key was claimed already: {claimed:?}");
    };
    let completed = store
        .complete(completion(lease))
        .await
        .expect("the store takes it");
    assert!(matches!(completed, Completed::Recorded { .. }));
}

fn completion(lease: Lease) -> Completion {
    let outcome = KeptOutcome::Output(output().to_string().into());
    Completion {
        lease,
        attempts: 1,
        end: End::Keep {
            outcome,
            keep_ms: DAY_MS,
        },
        without_effect: false,
        recording: None,
    }
}

/// Calls through the whole dispatcher, with a store on disk.
struct StoredCalls {
    runtime: Runtime,
    dispatcher: Dispatcher,
    input: Arc<Value>,
    _folder: Folder,
}

impl StoredCalls {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let noop = |_: Context, _: Arc<Value>| async { Ok::<_, Failure>(output()) };
        let name = OPERATION.parse().expect("the name is one");
        let mut spec = OperationSpec::new(name, OperationType::Mutation);
        spec.input_schema = json!({"type": "object", "required": ["owner"]});
        let registry = Registry::builder().register(spec, noop).build();
        let registry = registry.expect("the operation is one");
        let ports = Ports::system(Arc::new(folder.store()));
        Self {
            runtime: runtime(),
            dispatcher: Dispatcher::new(registry, ports),
            input: Arc::new(json!({"owner": "octo-org", "repository": "hello-world", "page": 3})),
            _folder: folder,
        }
    }

    /// The cost of a call with one concurrent caller for each list of keys.
    fn concurrently(&self, keys: Vec<Vec<IdempotencyKey>>) -> Cost {
        let calls = keys.iter().map(Vec::len).sum();
        let watch = Watch::start();
        self.runtime.block_on(async {
            let mut callers = JoinSet::new();
            for keys in keys {
                let (dispatcher, input) = (self.dispatcher.clone(), Arc::clone(&self.input));
                callers.spawn(async move {
                    for key in keys {
                        assert!(call(&dispatcher, &input, key).await);
                    }
                });
            }
            while let Some(ended) = callers.join_next().await {
                ended.expect("every call succeeds");
            }
        });
        watch.stop(calls)
    }

    async fn call(&self, key: IdempotencyKey) -> bool {
        call(&self.dispatcher, &self.input, key).await
    }
}

/// Whether the call succeeded.
async fn call(dispatcher: &Dispatcher, input: &Arc<Value>, key: IdempotencyKey) -> bool {
    let request = CallRequest::from_wire(OPERATION, Arc::clone(input)).keyed(key);
    let answer = dispatcher.dispatch(request).await;
    black_box(answer).outcome.is_ok()
}

/// A plain connection to the same tables: SQLite with its default settings, but as durable as the store.
struct Raw {
    connection: Connection,
    _folder: Folder,
}

impl Raw {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        // Creates the tables.
        drop(folder.store());
        let connection = Connection::open(folder.file()).expect("the file is there");
        for (name, value) in [("synchronous", "FULL"), ("journal_size_limit", "67108864")] {
            connection
                .pragma_update(None, name, value)
                .expect("SQLite knows it");
        }
        Self {
            connection,
            _folder: folder,
        }
    }

    fn claim(&self, rows: &[Row]) {
        const CLAIM: &str = "
            INSERT INTO keys (scope, fingerprint, state, epoch, lease_until, call, previously,
                              attempts, recoveries, generation)
            VALUES (?1, ?2, 1, ?3, ?4, ?5, 0, 0, 0, 1)";
        self.each(CLAIM, rows, |row, claim| {
            claim.execute(params![
                row.scope,
                row.fingerprint,
                row.now_ms,
                row.now_ms,
                row.call
            ])
        });
    }

    fn complete(&self, rows: &[Row]) {
        const COMPLETE: &str = "
            UPDATE keys SET state = 3, attempts = 1, recoveries = 0, expires_at = ?3,
                outcome_kind = 1, outcome_digest = NULL, outcome_bytes = NULL, outcome_text = ?4
            WHERE scope = ?1 AND epoch = ?2 AND state = 1";
        self.each(COMPLETE, rows, |row, complete| {
            complete.execute(params![row.scope, row.now_ms, row.now_ms, row.output])
        });
    }

    fn each(
        &self,
        sql: &str,
        rows: &[Row],
        work: impl Fn(&Row, &mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<usize>,
    ) {
        let run = |sql: &str| self.connection.execute_batch(sql);
        run("BEGIN IMMEDIATE").expect("no other connection writes");
        let mut statement = self.connection.prepare_cached(sql).expect("it is SQL");
        for row in rows {
            assert_eq!(work(row, &mut statement).expect("the key is new"), 1);
        }
        run("COMMIT").expect("the disk has room");
    }

    fn read(&self, row: &Row) -> String {
        const READ: &str = "SELECT outcome_text FROM keys WHERE scope = ?1";
        let mut statement = self.connection.prepare_cached(READ).expect("it is SQL");
        let text = statement.query_row([row.scope], |row| row.get(0));
        text.expect("it was written before")
    }
}

/// The data that one call writes.
#[derive(Clone)]
struct Row {
    scope: [u8; 32],
    fingerprint: [u8; 32],
    call: [u8; 16],
    now_ms: i64,
    output: String,
}

impl Row {
    fn new() -> Self {
        Self {
            scope: random(),
            fingerprint: [7; 32],
            call: Uuid::new_v4().into_bytes(),
            now_ms: jiff::Timestamp::now().as_millisecond(),
            output: output().to_string(),
        }
    }
}

/// The folder of a store, removed after the measurement.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}"));
        // Remove the remains of an aborted run.
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.file(), Arc::new(SystemClock)).expect("the disk has room")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn runtime() -> Runtime {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    builder
        .enable_all()
        .build()
        .expect("a runtime can be built")
}

fn new_key() -> IdempotencyKey {
    IdempotencyKey::new(&Uuid::new_v4().to_string()).expect("it is made of visible characters")
}

/// A scope that looks random, and is always the same for the same number.
fn scope(number: usize) -> Scope {
    let name = OPERATION.parse().expect("the name is one");
    let key = IdempotencyKey::new(&number.to_string()).expect("it is made of visible characters");
    Scope::of(None, &name, &key)
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    for half in bytes.chunks_exact_mut(16) {
        half.copy_from_slice(Uuid::new_v4().as_bytes());
    }
    bytes
}

/// A string that has this length as JSON.
fn output() -> Value {
    "x".repeat(OUTPUT_BYTES - 2).into()
}

/// The resident memory of this process; 0 if the system does not report it.
fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}
