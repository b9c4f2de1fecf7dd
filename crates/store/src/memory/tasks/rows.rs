//! The rows of tasks in memory, within a transaction.

use std::future::ready;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Ending, Failures, Filter, Histories, JournalPage, Key, NewRow, Page,
    Redefined, ResultSizes, Row, Rows, StoredDefinition, StoredOutcome,
};
use panpan_flow::{Priority, Queued, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;

use super::{MEMORY_TASKS_BYTES_LIMIT, Task, Tasks, new_bytes, outcome_bytes};

/// The rows of tasks: the caller holds the lock of the store.
pub(in crate::memory) struct MemoryRows<'a> {
    tasks: &'a mut Tasks,
    now: Timestamp,
    has_changed: bool,
}

impl<'a> MemoryRows<'a> {
    pub(in crate::memory) fn new(tasks: &'a mut Tasks, now: Timestamp) -> Self {
        Self {
            tasks,
            now,
            has_changed: false,
        }
    }

    /// Whether the transaction has changed anything. It must not fail then, because nothing is undone.
    pub(in crate::memory) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Whether this many bytes fit. Messages are added to a transaction that has changed other tasks, and cannot be undone
    /// any more.
    fn has_room(&self, bytes: usize) -> bool {
        let is_full = self.tasks.bytes.saturating_add(bytes) > MEMORY_TASKS_BYTES_LIMIT;
        !is_full || self.has_changed
    }

    /// The tasks, to change something.
    fn changing(&mut self) -> &mut Tasks {
        self.has_changed = true;
        self.tasks
    }
}

fn done<'a, T: Send + 'a>(result: T) -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(ready(Ok(result)))
}

impl Rows for MemoryRows<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn reserve(&mut self, count: usize) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        let first = self.tasks.last_key + 1;
        self.tasks.last_key += i64::try_from(count).unwrap_or(i64::MAX);
        done((first..=self.tasks.last_key).map(Key).collect())
    }

    fn admit(&mut self, bytes: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        let has_room = self.has_room(bytes);
        Box::pin(ready(has_room.then_some(()).ok_or(StoreError::Full)))
    }

    fn insert<'a>(&'a mut self, tasks: &'a [NewRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        if !self.has_room(tasks.iter().map(new_bytes).sum()) {
            return Box::pin(ready(Err(StoreError::Full)));
        }
        // As a unique index of a database refuses it.
        if tasks
            .iter()
            .any(|it| self.tasks.keys.contains_key(&it.row.id))
        {
            return Box::pin(ready(Err(StoreError::Unreachable)));
        }
        for task in tasks {
            self.changing().insert(task);
        }
        done(())
    }

    fn find<'a>(&'a mut self, ids: &'a [TaskId]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        let keys = ids.iter().filter_map(|id| self.tasks.keys.get(id));
        let tasks = keys.filter_map(|key| self.tasks.tasks.get(key));
        done(tasks.map(|task| task.row.clone()).collect())
    }

    fn load<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        done(self.tasks.found(keys).map(|it| it.row.clone()).collect())
    }

    fn list<'a>(
        &'a mut self,
        filter: &'a Filter,
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        let number = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        let found = self.tasks.matching(filter);
        let found = found.skip(number(page.offset)).take(number(page.limit));
        done(found.map(|it| it.row.clone()).collect())
    }

    fn count<'a>(&'a mut self, filter: &'a Filter) -> BoxFuture<'a, Result<[u64; 5], StoreError>> {
        let mut counts = [0; 5];
        for task in self.tasks.matching(filter) {
            counts[usize::from(task.row.run.state.number())] += 1;
        }
        done(counts)
    }

    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
        for row in rows {
            self.changing().change(row.key, |task| {
                task.row.turn = row.turn;
                task.row.run = row.run.clone();
            });
        }
        done(())
    }

    fn definitions<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredDefinition>, StoreError>> {
        let definition = |task: &Task| StoredDefinition {
            key: task.row.key,
            text: task.definition.clone(),
            authority: task.authority.clone(),
        };
        done(self.tasks.found(keys).map(definition).collect())
    }

    fn redefine<'a>(
        &'a mut self,
        key: Key,
        redefined: &'a Redefined,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.changing().redefine(key, redefined);
        done(())
    }

    fn authorize(
        &mut self,
        flow: Key,
        authority: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.changing().authorize(flow, authority.as_ref());
        done(())
    }

    fn mark_referenced<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        for key in keys {
            self.changing()
                .change(*key, |task| task.row.has_references = true);
        }
        done(())
    }

    fn delete<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        for key in keys {
            self.changing().delete(*key);
        }
        done(())
    }

    fn dependencies<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        let found = self.tasks.found(keys);
        done(found.flat_map(|it| it.dependencies.clone()).collect())
    }

    fn dependents<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Edge>, StoreError>> {
        let edges = keys.iter().flat_map(|key| self.tasks.dependents(*key));
        done(edges.collect())
    }

    fn replace_dependencies<'a>(
        &'a mut self,
        task: Key,
        edges: &'a [Edge],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.changing().replace_dependencies(task, edges);
        done(())
    }

    fn outcomes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredOutcome>, StoreError>> {
        let current = |task: &Task| task.outcome().cloned();
        done(self.tasks.found(keys).filter_map(current).collect())
    }

    fn result_sizes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<ResultSizes, StoreError>> {
        let sizes = self.tasks.found(keys).filter_map(Task::result_size);
        done(sizes.collect())
    }

    fn generations(
        &mut self,
        key: Key,
        after: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredOutcome>, StoreError>> {
        let task = self.tasks.tasks.get(&key);
        let outcomes = task.into_iter().flat_map(|it| &it.outcomes);
        let later = outcomes.filter(|it| it.generation > after);
        done(later.take(limit).cloned().collect())
    }

    fn forget_generations(&mut self, key: Key, last: u32) -> BoxFuture<'_, Result<(), StoreError>> {
        let tasks = self.changing();
        if let Some(task) = tasks.tasks.get_mut(&key) {
            let forgotten = task.outcomes.extract_if(.., |it| it.generation <= last);
            tasks.bytes -= forgotten.map(|it| outcome_bytes(&it)).sum::<usize>();
        }
        done(())
    }

    fn keep<'a>(
        &'a mut self,
        outcomes: &'a [StoredOutcome],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        for outcome in outcomes {
            let tasks = self.changing();
            if let Some(task) = tasks.tasks.get_mut(&outcome.key) {
                task.outcomes.push(outcome.clone());
                tasks.bytes += outcome_bytes(outcome);
            }
        }
        done(())
    }

    fn histories<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Histories, StoreError>> {
        let history = |task: &Task| Some((task.row.key, task.history.clone()?));
        done(self.tasks.found(keys).filter_map(history).collect())
    }

    fn set_histories<'a>(
        &'a mut self,
        histories: &'a [(Key, Option<Arc<str>>)],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        for (key, history) in histories {
            self.changing().set_history(*key, history.as_ref());
        }
        done(())
    }

    fn promote(&mut self, limit: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        let now = self.now;
        let due = self.tasks.due.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<Key> = due.take(limit).map(|(_, key)| *key).collect();
        for key in due {
            let priority = self.tasks.tasks.get(&key).map(|it| it.row.priority);
            let first = priority.and_then(|it| self.tasks.first_turn(it));
            self.changing().change(key, |task| {
                task.row.run.queued = Queued::Ready;
                task.row.turn = first.unwrap_or(1);
            });
        }
        done(())
    }

    fn ready(
        &mut self,
        limit: usize,
        flow: Option<Key>,
    ) -> BoxFuture<'_, Result<Vec<Row>, StoreError>> {
        if self.tasks.bytes > MEMORY_TASKS_BYTES_LIMIT {
            return done(Vec::new());
        }
        let keys = self.tasks.ready.iter();
        let tasks = keys.filter_map(|(_, _, key)| self.tasks.tasks.get(key));
        let tasks = tasks.filter(|it| flow.is_none_or(|flow| it.row.flow == flow));
        done(tasks.take(limit).map(|it| it.row.clone()).collect())
    }

    fn set_aside<'a>(
        &'a mut self,
        keys: &'a [Key],
        group: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let group: Arc<str> = group.into();
        for key in keys {
            self.tasks.set_aside(*key, &group);
        }
        done(())
    }

    fn groups_aside(&mut self) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>> {
        done(self.tasks.aside.keys().cloned().collect())
    }

    fn recall<'a>(
        &'a mut self,
        group: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        let places = self.tasks.aside.get(group).into_iter().flatten();
        let keys: Vec<Key> = places.take(limit).map(|(_, _, key)| *key).collect();
        for key in &keys {
            self.tasks.change(*key, |_| {});
        }
        done(keys)
    }

    fn next_due(&mut self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        done(self.tasks.due.first().map(|(at, _)| *at))
    }

    fn next_turns<'a>(
        &'a mut self,
        queues: &'a [(Key, Priority)],
    ) -> BoxFuture<'a, Result<Vec<i64>, StoreError>> {
        let next = |(flow, priority): &(Key, Priority)| self.tasks.next_turn(*flow, *priority);
        done(queues.iter().map(next).collect())
    }

    fn at_rest<'a>(&'a mut self, flows: &'a [Key]) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
        let active = &self.tasks.active;
        let rests = |task: &&Task| active.get(&task.row.key).is_none_or(|it| *it == 0);
        let roots = self.tasks.found(flows).filter(rests);
        done(roots.map(|it| it.row.clone()).collect())
    }

    fn failures(&mut self, flow: Key, limit: usize) -> BoxFuture<'_, Result<Failures, StoreError>> {
        let of_flow = self.tasks.flows.get(&flow).into_iter().flatten();
        let tasks = of_flow.filter_map(|key| self.tasks.tasks.get(key).map(|it| &**it));
        let failure = |task: &Task| match &task.outcome()?.ending {
            Ending::Failed { error, .. } => Some((task.row.id, error.clone())),
            _ => None,
        };
        done(tasks.filter_map(failure).take(limit).collect())
    }

    fn announce<'a>(
        &'a mut self,
        announced: &'a [Announced],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        for entry in announced {
            self.changing().announce(entry);
        }
        done(())
    }

    fn announcements(
        &mut self,
        flow: Key,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<JournalPage, StoreError>> {
        let journal = self.tasks.journals.get(&flow);
        let entries = journal
            .into_iter()
            .flat_map(|it| it.range(after.saturating_add(1)..));
        let entries = entries
            .take(limit)
            .map(|(number, it)| (*number, it.clone()));
        done(entries.collect())
    }

    fn last_announced(&mut self, flow: Key) -> BoxFuture<'_, Result<u64, StoreError>> {
        let journal = self.tasks.journals.get(&flow);
        let last = journal.and_then(|it| it.last_key_value());
        done(last.map_or(0, |(number, _)| *number))
    }

    fn trim_journal(&mut self, flow: Key, keep: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tasks.trim_journal(flow, keep);
        done(())
    }

    fn resting(
        &mut self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        let mut resting = self.tasks.resting(since);
        resting.truncate(limit);
        done(resting)
    }
}
