//! The rows of tasks within a transaction.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Failures, Filter, Histories, JournalPage, Key, NewRow, Page, Redefined,
    ResultSizes, Row, Rows, StoredDefinition, StoredOutcome, Work,
};
use panpan_flow::{Priority, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;

use super::super::errors::QueryError;
use super::super::session::Session;
use super::columns;
use super::journal::Journal;
use super::transaction::{Access, Transaction};
use super::{change, select};
use crate::time::timestamp;

/// Runs work in a transaction. Returns the result of the work, and whether it changed anything.
pub(super) async fn run(
    session: &Session,
    work: &mut dyn Work,
    access: Access,
) -> Result<(Result<(), StoreError>, bool), QueryError> {
    let mut rows = PostgresRows {
        transaction: Transaction::begin(session, access).await?,
        journal: Journal::default(),
        has_changed: false,
    };
    let mut done = work.run(&mut rows).await;
    if done.is_ok() {
        done = rows.journal.write(&mut rows.transaction).await;
    }
    match done {
        Ok(()) => rows.transaction.commit().await?,
        Err(_) => rows.transaction.roll_back().await?,
    }
    let has_changed = rows.has_changed && done.is_ok();
    Ok((done, has_changed))
}

/// The rows of tasks.
struct PostgresRows<'a> {
    transaction: Transaction<'a>,
    journal: Journal,
    has_changed: bool,
}

impl<'a> PostgresRows<'a> {
    /// The transaction, to change something.
    fn changing(&mut self) -> &mut Transaction<'a> {
        self.has_changed = true;
        &mut self.transaction
    }
}

fn nothing<'a>() -> BoxFuture<'a, Result<(), StoreError>> {
    Box::pin(std::future::ready(Ok(())))
}

impl Rows for PostgresRows<'_> {
    fn now(&self) -> Timestamp {
        timestamp(self.transaction.now_ms())
    }

    fn reserve(&mut self, count: usize) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        Box::pin(change::reserve(&mut self.transaction, count))
    }

    fn insert<'a>(&'a mut self, tasks: &'a [NewRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        match tasks {
            [] => nothing(),
            tasks => Box::pin(change::insert(self.changing(), tasks)),
        }
    }

    fn find<'a>(&'a mut self, ids: &'a [TaskId]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        Box::pin(select::by_id(&mut self.transaction, ids))
    }

    fn load<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        Box::pin(select::by_key(&mut self.transaction, keys))
    }

    fn load_unlocked<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        let (sql, read) = (select::UNLOCKED, columns::row);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn list<'a>(
        &'a mut self,
        filter: &'a Filter,
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        Box::pin(select::list(&mut self.transaction, filter, page))
    }

    fn count<'a>(&'a mut self, filter: &'a Filter) -> BoxFuture<'a, Result<[u64; 5], StoreError>> {
        Box::pin(select::count(&mut self.transaction, filter))
    }

    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
        match rows {
            [] => nothing(),
            rows => Box::pin(change::save(self.changing(), rows)),
        }
    }

    fn definitions<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredDefinition>, StoreError>> {
        let (sql, read) = (select::DEFINITIONS, columns::definition);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn redefine<'a>(
        &'a mut self,
        key: Key,
        redefined: &'a Redefined,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(change::redefine(self.changing(), key, redefined))
    }

    // No signal: the tasks of the flow are released afterwards, which is one.
    fn authorize(
        &mut self,
        flow: Key,
        authority: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(change::authorize(&mut self.transaction, flow, authority))
    }

    fn mark_referenced<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        match keys {
            [] => nothing(),
            keys => Box::pin(change::mark_referenced(self.changing(), keys)),
        }
    }

    fn delete<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        match keys {
            [] => nothing(),
            keys => Box::pin(change::delete(self.changing(), keys)),
        }
    }

    fn dependencies<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        let (sql, read) = (select::DEPENDENCIES, columns::edge);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn dependents<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        Box::pin(select::dependents(&mut self.transaction, keys))
    }

    fn replace_dependencies<'a>(
        &'a mut self,
        task: Key,
        edges: &'a [Edge],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(change::replace_dependencies(self.changing(), task, edges))
    }

    fn outcomes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredOutcome>, StoreError>> {
        let (sql, read) = (select::OUTCOMES, columns::outcome);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn result_sizes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<ResultSizes, StoreError>> {
        let (sql, read) = (select::RESULT_SIZES, columns::size);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn generations(
        &mut self,
        key: Key,
        after: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredOutcome>, StoreError>> {
        Box::pin(select::generations(
            &mut self.transaction,
            key,
            after,
            limit,
        ))
    }

    fn forget_generations(&mut self, key: Key, last: u32) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(change::forget_generations(self.changing(), key, last))
    }

    fn keep<'a>(
        &'a mut self,
        outcomes: &'a [StoredOutcome],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        match outcomes {
            [] => nothing(),
            outcomes => Box::pin(change::keep(self.changing(), outcomes)),
        }
    }

    fn histories<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Histories, StoreError>> {
        let (sql, read) = (select::HISTORIES, columns::text_of_task);
        Box::pin(select::of_keys(&mut self.transaction, sql, keys, read))
    }

    fn set_histories<'a>(
        &'a mut self,
        histories: &'a [(Key, Option<Arc<str>>)],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        match histories {
            [] => nothing(),
            histories => Box::pin(change::set_histories(self.changing(), histories)),
        }
    }

    // Tasks that were made ready and are not claimed are no news: their time had come for every process.
    fn promote(&mut self, limit: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(change::promote(&mut self.transaction, limit))
    }

    fn ready(
        &mut self,
        limit: usize,
        flow: Option<Key>,
    ) -> BoxFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(select::ready(&mut self.transaction, limit, flow))
    }

    // A task that is set aside or recalled was ready before, so neither is news.
    fn set_aside<'a>(
        &'a mut self,
        keys: &'a [Key],
        group: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(change::set_aside(&mut self.transaction, keys, group))
    }

    fn groups_aside(&mut self) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>> {
        Box::pin(select::groups_aside(&mut self.transaction))
    }

    fn recall<'a>(
        &'a mut self,
        group: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        Box::pin(change::recall(&mut self.transaction, group, limit))
    }

    fn next_due(&mut self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        Box::pin(select::next_due(&mut self.transaction))
    }

    fn next_turns<'a>(
        &'a mut self,
        queues: &'a [(Key, Priority)],
    ) -> BoxFuture<'a, Result<Vec<i64>, StoreError>> {
        Box::pin(select::next_turns(&mut self.transaction, queues))
    }

    fn at_rest<'a>(&'a mut self, flows: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        Box::pin(async move {
            if flows.is_empty() {
                return Ok(Vec::new());
            }
            self.journal.lock(&mut self.transaction, flows).await?;
            select::at_rest(&mut self.transaction, flows).await
        })
    }

    fn failures(&mut self, flow: Key, limit: usize) -> BoxFuture<'_, Result<Failures, StoreError>> {
        Box::pin(select::failures(&mut self.transaction, flow, limit))
    }

    fn announce<'a>(
        &'a mut self,
        announced: &'a [Announced],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.has_changed |= !announced.is_empty();
        self.journal.announce(announced);
        nothing()
    }

    fn announcements(
        &mut self,
        flow: Key,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<JournalPage, StoreError>> {
        Box::pin(select::announcements(
            &mut self.transaction,
            flow,
            after,
            limit,
        ))
    }

    fn last_announced(&mut self, flow: Key) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.journal.last_number(&mut self.transaction, flow))
    }

    fn trim_journal(&mut self, flow: Key, keep: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        self.journal.trim(flow, keep);
        nothing()
    }

    fn resting(
        &mut self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        Box::pin(select::resting(&mut self.transaction, since, limit))
    }
}
