//! The store port of tasks: rows, and transactions over them.
//!
//! A store only reads and writes rows. All rules about tasks are in `engine`, which runs inside a transaction of the
//! store, so that every store follows the same rules.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use tokio::sync::watch;

use crate::task::{Priority, TaskId};

mod debug;
mod filter;
mod function;
mod stored;

pub use filter::{Filter, Page};
pub(crate) use function::{read, read_at_once, write, write_at_once};
pub use stored::{
    Announced, Edge, Ending, Key, NewRow, Redefined, Row, StoredDefinition, StoredOutcome,
};

/// Stores tasks.
pub trait Tasks: Send + Sync + fmt::Debug {
    /// Runs work in one transaction. All its writes are durable when this returns, or none are made if it fails.
    ///
    /// A store may run the work again from the start if the transaction conflicts with another one.
    fn write(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Runs work that only reads, on one consistent state.
    fn read(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Runs short work as `write` does, without waiting behind other work. Other processes are not notified of its changes.
    fn write_at_once(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(work)
    }

    /// Runs short work as `read` does, without waiting behind other work.
    fn read_at_once(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.read(work)
    }

    /// Changes whenever tasks may have changed, also through another process if the store can tell. A hint: a change
    /// may be missed.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// A unit of work within a transaction.
pub trait Work: Send {
    /// Runs the work. An error rolls its writes back.
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// The rows of tasks, within a transaction. Rows that a writing transaction reads stay locked until it ends.
pub trait Rows: Send {
    /// The time by the clock of the store, the same throughout the transaction.
    fn now(&self) -> Timestamp;

    /// New keys, rising.
    fn reserve(&mut self, count: usize) -> BoxFuture<'_, Result<Vec<Key>, StoreError>>;

    /// Fails with [`StoreError::Full`] if the store has no room for this many more bytes of tasks. Commands that add tasks
    /// or let them run ask first; what ends or deletes tasks does not.
    fn admit(&mut self, bytes: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        let _ = bytes;
        Box::pin(ready(Ok(())))
    }

    /// Adds tasks. Their ids must be new.
    fn insert<'a>(&'a mut self, tasks: &'a [NewRow]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The tasks with these ids, without those that do not exist, in any order.
    fn find<'a>(&'a mut self, ids: &'a [TaskId]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>>;

    /// The tasks with these keys, without those that do not exist, in any order.
    fn load<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>>;

    /// The tasks with these keys that no other transaction has locked, in any order.
    fn load_unlocked<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        self.load(keys)
    }

    /// Tasks that meet a condition, in the order of their keys.
    fn list<'a>(
        &'a mut self,
        filter: &'a Filter,
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>>;

    /// How many tasks meet a condition, by state in the order of [`State::ALL`](crate::State::ALL).
    fn count<'a>(&'a mut self, filter: &'a Filter) -> BoxFuture<'a, Result<[u64; 5], StoreError>>;

    /// Writes the runs of these tasks.
    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The definitions of these tasks, in any order.
    fn definitions<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredDefinition>, StoreError>>;

    /// Replaces the definition of a task, and what the store sorts it by.
    fn redefine<'a>(
        &'a mut self,
        key: Key,
        redefined: &'a Redefined,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Replaces the authority of all tasks of a flow.
    fn authorize(
        &mut self,
        flow: Key,
        authority: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Notes that other tasks are copies of these, or links to them.
    fn mark_referenced<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes tasks with everything that belongs to them.
    fn delete<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The edges from these tasks to their dependencies, in the order in which they were declared.
    fn dependencies<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>>;

    /// The edges from dependents to these tasks, in any order. The edges of a dependent do not change before a writing
    /// transaction ends, as if its row had been read.
    fn dependents<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>>;

    /// Replaces the dependencies of a task.
    fn replace_dependencies<'a>(
        &'a mut self,
        task: Key,
        edges: &'a [Edge],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The current outcomes of these tasks: those of their generation.
    fn outcomes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredOutcome>, StoreError>>;

    /// The bytes of the current results of those of these tasks that are completed, in any order.
    fn result_sizes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<ResultSizes, StoreError>>;

    /// The first `limit` outcomes of a task whose generation is greater than a number, oldest first.
    fn generations(
        &mut self,
        key: Key,
        after: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredOutcome>, StoreError>>;

    /// Deletes the outcomes of a task up to a generation.
    fn forget_generations(&mut self, key: Key, last: u32) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps outcomes.
    fn keep<'a>(
        &'a mut self,
        outcomes: &'a [StoredOutcome],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The histories of failed attempts of these tasks, as JSON; those without a history are left out.
    fn histories<'a>(&'a mut self, keys: &'a [Key])
    -> BoxFuture<'a, Result<Histories, StoreError>>;

    /// Replaces the histories of tasks; `None` deletes one.
    fn set_histories<'a>(
        &'a mut self,
        histories: &'a [(Key, Option<Arc<str>>)],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Makes at most `limit` tasks ready whose time has come. They have had their turn before, so they take the smallest
    /// turn of ready tasks of their priority, or 1.
    fn promote(&mut self, limit: usize) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The first tasks that are ready and not set aside, by priority and turn: of all flows, or of one. Skips tasks that
    /// another transaction has locked. Finds none while the store has no room for their outcomes.
    fn ready(
        &mut self,
        limit: usize,
        flow: Option<Key>,
    ) -> BoxFuture<'_, Result<Vec<Row>, StoreError>>;

    /// Sets ready tasks aside in a group: they stay ready, but are not found as such until they are recalled or saved.
    fn set_aside<'a>(
        &'a mut self,
        keys: &'a [Key],
        group: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The groups that have tasks aside.
    fn groups_aside(&mut self) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>>;

    /// Returns the first `limit` tasks of a group to the other ready ones, by priority and turn, without tasks that
    /// another transaction has locked. The result is their keys.
    fn recall<'a>(
        &'a mut self,
        group: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>>;

    /// When the next task that waits for a time can be claimed.
    fn next_due(&mut self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>>;

    /// The turn of the next task that becomes ready, for each of these flows and priorities, in their order: one more
    /// than the largest turn of ready tasks of the flow, and than the smallest of all flows. Tasks that are set aside are
    /// ready, too. It is 1 if there is none.
    fn next_turns<'a>(
        &'a mut self,
        queues: &'a [(Key, Priority)],
    ) -> BoxFuture<'a, Result<Vec<i64>, StoreError>>;

    /// The roots of those of these flows that rest: no task of theirs can run without another command. A flow does not
    /// begin or cease to rest before the transaction ends. Rows have to be locked before: locking one afterwards may
    /// wait for a transaction that waits for one of these flows.
    fn at_rest<'a>(&'a mut self, flows: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>>;

    /// The first failed tasks of a flow with their messages, in the order of their keys. Does not lock them, so it may
    /// follow [`Rows::at_rest`].
    fn failures(&mut self, flow: Key, limit: usize) -> BoxFuture<'_, Result<Failures, StoreError>>;

    /// Appends announcements to the journal.
    fn announce<'a>(
        &'a mut self,
        announced: &'a [Announced],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Announcements of a flow after a number, in order.
    fn announcements(
        &mut self,
        flow: Key,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<JournalPage, StoreError>>;

    /// The number of the last announcement of a flow, with those of this transaction; 0 without one. Other rows have to be
    /// read before.
    fn last_announced(&mut self, flow: Key) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Keeps the newest `keep` announcements of a flow, if it has more. The one before them stays as
    /// [`Announcement::Dropped`](crate::Announcement::Dropped), so that a reader learns of those that are gone.
    fn trim_journal(&mut self, flow: Key, keep: usize) -> BoxFuture<'_, Result<(), StoreError>>;

    /// At most `limit` flows that rest and have not changed since a time: no task of theirs is queued or in progress.
    /// Those that have rested longest come first.
    fn resting(
        &mut self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Key>, StoreError>>;
}

/// A part of the journal of a flow: announcements with their numbers, in order.
pub type JournalPage = Vec<(u64, Announced)>;

/// Failed tasks with their messages.
pub type Failures = Vec<(TaskId, Arc<str>)>;

/// The bytes of results by task.
pub type ResultSizes = Vec<(Key, usize)>;

/// Histories of failed attempts by task, as JSON.
pub type Histories = Vec<(Key, Arc<str>)>;
