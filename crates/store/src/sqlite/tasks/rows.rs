//! The rows of tasks on one connection. Remembers the error of SQLite, which the port expresses only in part.

use std::future::ready;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Failures, Filter, Histories, JournalPage, Key, NewRow, Page, Redefined,
    ResultSizes, Row, Rows, StoredDefinition, StoredOutcome,
};
use panpan_flow::{Priority, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use rusqlite::Connection;

use super::super::errors::QueryError;
use super::super::space;
use super::{change, select};
use crate::time::timestamp;

/// The rows of tasks within a transaction. The exclusive reference makes it a type that can move between threads.
pub(super) struct SqliteRows<'a> {
    connection: &'a mut Connection,
    now_ms: i64,
    /// The size limit of the file; `None` if no task may be added.
    size_bytes: Option<u64>,
    error: Option<QueryError>,
}

impl<'a> SqliteRows<'a> {
    pub(super) fn new(
        connection: &'a mut Connection,
        now_ms: i64,
        size_bytes: Option<u64>,
    ) -> Self {
        Self {
            connection,
            now_ms,
            size_bytes,
            error: None,
        }
    }

    /// The last error of SQLite, if there was one.
    pub(super) fn into_error(self) -> Option<QueryError> {
        self.error
    }

    /// A future that is ready with the result.
    fn run<'b, T: Send + 'b>(
        &mut self,
        work: impl FnOnce(&Connection, i64) -> Result<T, QueryError>,
    ) -> BoxFuture<'b, Result<T, StoreError>> {
        let result = work(self.connection, self.now_ms).map_err(|error| {
            let port_error = StoreError::from(&error);
            self.error = Some(error);
            port_error
        });
        Box::pin(ready(result))
    }
}

/// Whether tasks may be added to the file, and this many bytes of them fit.
fn has_room(
    connection: &Connection,
    size_bytes: Option<u64>,
    bytes: usize,
) -> Result<bool, QueryError> {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    match size_bytes {
        Some(size_bytes) => space::has_room_for_tasks(connection, size_bytes, bytes),
        None => Ok(false),
    }
}

impl Rows for SqliteRows<'_> {
    fn now(&self) -> Timestamp {
        timestamp(self.now_ms)
    }

    fn reserve(&mut self, count: usize) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        self.run(|connection, _| change::reserve(connection, count))
    }

    fn admit(&mut self, bytes: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        let size_bytes = self.size_bytes;
        let has_room = self.run(|connection, _| has_room(connection, size_bytes, bytes));
        Box::pin(async {
            match has_room.await? {
                true => Ok(()),
                false => Err(StoreError::Full),
            }
        })
    }

    fn insert<'a>(&'a mut self, tasks: &'a [NewRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::insert(connection, tasks))
    }

    fn find<'a>(&'a mut self, ids: &'a [TaskId]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        self.run(|connection, _| select::by_id(connection, ids))
    }

    fn load<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        self.run(|connection, _| select::by_key(connection, keys))
    }

    fn list<'a>(
        &'a mut self,
        filter: &'a Filter,
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        self.run(|connection, _| select::list(connection, filter, page))
    }

    fn count<'a>(&'a mut self, filter: &'a Filter) -> BoxFuture<'a, Result<[u64; 5], StoreError>> {
        self.run(|connection, _| select::count(connection, filter))
    }

    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::save(connection, rows))
    }

    fn definitions<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredDefinition>, StoreError>> {
        self.run(|connection, _| select::definitions(connection, keys))
    }

    fn redefine<'a>(
        &'a mut self,
        key: Key,
        redefined: &'a Redefined,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::redefine(connection, key, redefined))
    }

    fn authorize(
        &mut self,
        flow: Key,
        authority: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.run(|connection, _| change::authorize(connection, flow, authority.as_deref()))
    }

    fn mark_referenced<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::mark_referenced(connection, keys))
    }

    fn delete<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::delete(connection, keys))
    }

    fn dependencies<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        self.run(|connection, _| select::edges(connection, select::DEPENDENCIES, keys))
    }

    fn dependents<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        self.run(|connection, _| select::edges(connection, select::DEPENDENTS, keys))
    }

    fn replace_dependencies<'a>(
        &'a mut self,
        task: Key,
        edges: &'a [Edge],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::replace_dependencies(connection, task, edges))
    }

    fn outcomes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredOutcome>, StoreError>> {
        self.run(|connection, _| select::outcomes(connection, keys))
    }

    fn result_sizes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<ResultSizes, StoreError>> {
        self.run(|connection, _| select::result_sizes(connection, keys))
    }

    fn generations(
        &mut self,
        key: Key,
        after: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredOutcome>, StoreError>> {
        self.run(|connection, _| select::generations(connection, key, after, limit))
    }

    fn forget_generations(&mut self, key: Key, last: u32) -> BoxFuture<'_, Result<(), StoreError>> {
        self.run(|connection, _| change::forget_generations(connection, key, last))
    }

    fn keep<'a>(
        &'a mut self,
        outcomes: &'a [StoredOutcome],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::keep(connection, outcomes))
    }

    fn histories<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Histories, StoreError>> {
        self.run(|connection, _| select::histories(connection, keys))
    }

    fn set_histories<'a>(
        &'a mut self,
        histories: &'a [(Key, Option<Arc<str>>)],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::set_histories(connection, histories))
    }

    fn promote(&mut self, limit: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        self.run(|connection, now_ms| change::promote(connection, limit, now_ms))
    }

    fn ready(
        &mut self,
        limit: usize,
        flow: Option<Key>,
    ) -> BoxFuture<'_, Result<Vec<Row>, StoreError>> {
        let size_bytes = self.size_bytes;
        self.run(|connection, _| match has_room(connection, size_bytes, 0)? {
            true => select::ready(connection, limit, flow),
            false => Ok(Vec::new()),
        })
    }

    fn set_aside<'a>(
        &'a mut self,
        keys: &'a [Key],
        group: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::set_aside(connection, keys, group))
    }

    fn groups_aside(&mut self) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>> {
        self.run(|connection, _| select::groups_aside(connection))
    }

    fn recall<'a>(
        &'a mut self,
        group: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        self.run(|connection, _| change::recall(connection, group, limit))
    }

    fn next_due(&mut self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        self.run(|connection, _| select::next_due(connection))
    }

    fn next_turns<'a>(
        &'a mut self,
        queues: &'a [(Key, Priority)],
    ) -> BoxFuture<'a, Result<Vec<i64>, StoreError>> {
        self.run(|connection, _| select::next_turns(connection, queues))
    }

    fn at_rest<'a>(&'a mut self, flows: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        self.run(|connection, _| select::at_rest(connection, flows))
    }

    fn failures(&mut self, flow: Key, limit: usize) -> BoxFuture<'_, Result<Failures, StoreError>> {
        self.run(|connection, _| select::failures(connection, flow, limit))
    }

    fn announce<'a>(
        &'a mut self,
        announced: &'a [Announced],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.run(|connection, _| change::announce(connection, announced))
    }

    fn announcements(
        &mut self,
        flow: Key,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<JournalPage, StoreError>> {
        self.run(|connection, _| select::announcements(connection, flow, after, limit))
    }

    fn last_announced(&mut self, flow: Key) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.run(|connection, _| select::last_announced(connection, flow))
    }

    fn trim_journal(&mut self, flow: Key, keep: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        self.run(|connection, _| change::trim_journal(connection, flow, keep))
    }

    fn resting(
        &mut self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        self.run(|connection, _| select::resting(connection, since, limit))
    }
}
