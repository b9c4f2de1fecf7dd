//! A store of tasks with a defect: the end of a task is committed before its dependents learn of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Failures, Filter, Histories, JournalPage, Key, NewRow, Page, Redefined,
    ResultSizes, Row, Rows, StoredDefinition, StoredOutcome, Tasks, Work,
};
use panpan_flow::{Priority, State, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use tokio::sync::watch;

/// The delay between the two transactions.
const DELAY: Duration = Duration::from_millis(40);

/// The store with the defect.
#[derive(Debug)]
pub(super) struct WakesLater(pub(super) Arc<dyn Tasks>);

/// Rows that wait for their transaction.
type Held = Arc<Mutex<Vec<Row>>>;

impl Tasks for WakesLater {
    fn write(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let held = Held::default();
            let first = WithoutWaking(work, held.clone());
            self.0.write(Box::new(first)).await?;
            let rows = std::mem::take(&mut *held.lock().unwrap());
            if rows.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(DELAY).await;
            self.0.write(Box::new(Waking(rows))).await
        })
    }

    fn read(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.read(work)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }
}

/// The work without the changes of pending tasks.
struct WithoutWaking(Box<dyn Work>, Held);

impl Work for WithoutWaking {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut rows = HoldingRows {
                inner: rows,
                held: self.1.clone(),
            };
            self.0.run(&mut rows).await
        })
    }
}

/// The changes of pending tasks.
struct Waking(Vec<Row>);

impl Work for Waking {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        rows.save(&self.0)
    }
}

/// Rows that keep back the changes of pending tasks.
struct HoldingRows<'r> {
    inner: &'r mut dyn Rows,
    held: Held,
}

macro_rules! delegate_rows {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name<'a>(&'a mut self, $($argument: $kind),*) -> BoxFuture<'a, Result<$answer, StoreError>> {
            self.inner.$name($($argument),*)
        })*
    };
}

impl Rows for HoldingRows<'_> {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let is_pending = |row: &Row| row.run.state == State::Pending;
            let (pending, others): (Vec<Row>, Vec<Row>) =
                rows.iter().cloned().partition(is_pending);
            self.held.lock().unwrap().extend(pending);
            self.inner.save(&others).await
        })
    }

    delegate_rows! {
        reserve(count: usize) -> Vec<Key>;
        insert(tasks: &'a [NewRow]) -> ();
        find(ids: &'a [TaskId]) -> Vec<Row>;
        load(keys: &'a [Key]) -> Vec<Row>;
        list(filter: &'a Filter, page: Page) -> Vec<Row>;
        count(filter: &'a Filter) -> [u64; 5];
        definitions(keys: &'a [Key]) -> Vec<StoredDefinition>;
        redefine(key: Key, redefined: &'a Redefined) -> ();
        authorize(flow: Key, authority: Option<Arc<str>>) -> ();
        mark_referenced(keys: &'a [Key]) -> ();
        delete(keys: &'a [Key]) -> ();
        dependencies(keys: &'a [Key]) -> Vec<Edge>;
        dependents(keys: &'a [Key]) -> Vec<Edge>;
        replace_dependencies(task: Key, edges: &'a [Edge]) -> ();
        outcomes(keys: &'a [Key]) -> Vec<StoredOutcome>;
        result_sizes(keys: &'a [Key]) -> ResultSizes;
        generations(key: Key, after: u32, limit: usize) -> Vec<StoredOutcome>;
        forget_generations(key: Key, last: u32) -> ();
        keep(outcomes: &'a [StoredOutcome]) -> ();
        histories(keys: &'a [Key]) -> Histories;
        set_histories(histories: &'a [(Key, Option<Arc<str>>)]) -> ();
        promote(limit: usize) -> ();
        ready(limit: usize, flow: Option<Key>) -> Vec<Row>;
        set_aside(keys: &'a [Key], group: &'a str) -> ();
        groups_aside() -> Vec<Arc<str>>;
        recall(group: &'a str, limit: usize) -> Vec<Key>;
        next_due() -> Option<Timestamp>;
        next_turns(queues: &'a [(Key, Priority)]) -> Vec<i64>;
        at_rest(flows: &'a [Key]) -> Vec<Row>;
        failures(flow: Key, limit: usize) -> Failures;
        announce(announced: &'a [Announced]) -> ();
        announcements(flow: Key, after: u64, limit: usize) -> JournalPage;
        last_announced(flow: Key) -> u64;
        trim_journal(flow: Key, keep: usize) -> ();
        resting(since: Timestamp, limit: usize) -> Vec<Key>;
    }
}
