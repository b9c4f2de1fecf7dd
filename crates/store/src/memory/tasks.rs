//! Tasks in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Filter, Key, NewRow, Page, Redefined, Row, Rows, StoredDefinition,
    StoredOutcome,
};
use panpan_flow::{Priority, Queued, State, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;

/// The most bytes of definitions, results and failures that tasks in memory take; more tasks are refused.
pub const MEMORY_TASKS_BYTES_LIMIT: usize = 512 * 1024 * 1024;

/// What a task takes besides its texts, in bytes.
const TASK_BYTES: usize = 512;

/// The stored tasks and what finds them quickly.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    last_key: i64,
    tasks: BTreeMap<Key, Task>,
    keys: HashMap<TaskId, Key>,
    flows: BTreeMap<Key, BTreeSet<Key>>,
    children: BTreeMap<Key, BTreeSet<Key>>,
    dependents: BTreeMap<Key, Vec<Edge>>,
    ready: BTreeSet<(Priority, i64, Key)>,
    due: BTreeSet<(Timestamp, Key)>,
    /// How many tasks of each flow are queued.
    active: HashMap<Key, usize>,
    journals: BTreeMap<Key, BTreeMap<u64, Announced>>,
    last_number: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Task {
    row: Row,
    definition: Arc<str>,
    authority: Option<Arc<str>>,
    user_id: Option<String>,
    dependencies: Vec<Edge>,
    outcomes: Vec<StoredOutcome>,
    history: Option<Arc<str>>,
}

/// The rows of tasks within a transaction: the caller holds the lock of the store.
pub(super) struct MemoryRows<'a> {
    pub(super) tasks: &'a mut Tasks,
    pub(super) now: Timestamp,
}

impl Tasks {
    fn found<'a>(&'a self, keys: &'a [Key]) -> impl Iterator<Item = &'a Task> {
        keys.iter().filter_map(|key| self.tasks.get(key))
    }

    fn insert(&mut self, new: &NewRow) {
        let row = &new.row;
        self.keys.insert(row.id, row.key);
        self.flows.entry(row.flow).or_default().insert(row.key);
        if let Some(parent) = row.parent {
            self.children.entry(parent).or_default().insert(row.key);
        }
        self.link(&new.dependencies);
        self.queue(row);
        self.bytes += TASK_BYTES + new.definition.len();
        let task = Task {
            row: row.clone(),
            definition: new.definition.clone(),
            authority: new.authority.clone(),
            user_id: new.user_id.clone(),
            dependencies: new.dependencies.clone(),
            outcomes: Vec::new(),
            history: None,
        };
        self.tasks.insert(row.key, task);
    }

    fn link(&mut self, edges: &[Edge]) {
        for edge in edges {
            self.dependents.entry(edge.on).or_default().push(*edge);
        }
    }

    fn unlink(&mut self, edges: &[Edge]) {
        for edge in edges {
            if let Some(edges) = self.dependents.get_mut(&edge.on) {
                edges.retain(|it| it.task != edge.task);
            }
        }
    }

    fn queue(&mut self, row: &Row) {
        match row.run.queued {
            Queued::No => return,
            Queued::Ready => {
                self.ready.insert((row.priority, row.turn, row.key));
            }
            Queued::At(at) => {
                self.due.insert((at, row.key));
            }
        }
        *self.active.entry(row.flow).or_default() += 1;
    }

    fn unqueue(&mut self, row: &Row) {
        match row.run.queued {
            Queued::No => return,
            Queued::Ready => {
                self.ready.remove(&(row.priority, row.turn, row.key));
            }
            Queued::At(at) => {
                self.due.remove(&(at, row.key));
            }
        }
        if let Some(active) = self.active.get_mut(&row.flow) {
            *active = active.saturating_sub(1);
        }
    }

    /// Changes a row, and where it is queued.
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Task)) {
        let Some(mut task) = self.tasks.remove(&key) else {
            return;
        };
        self.unqueue(&task.row);
        change(&mut task);
        self.queue(&task.row);
        self.tasks.insert(key, task);
    }

    fn delete(&mut self, key: Key) {
        let Some(task) = self.tasks.remove(&key) else {
            return;
        };
        self.unqueue(&task.row);
        self.keys.remove(&task.row.id);
        self.unlink(&task.dependencies);
        self.dependents.remove(&key);
        let parent = task.row.parent.and_then(|it| self.children.get_mut(&it));
        if let Some(siblings) = parent {
            siblings.remove(&key);
        }
        if let Some(flow) = self.flows.get_mut(&task.row.flow) {
            flow.remove(&key);
        }
        if task.row.flow == key {
            self.journals.remove(&key);
            self.active.remove(&key);
            self.flows.remove(&key);
        }
        let kept: usize = task.outcomes.iter().map(outcome_bytes).sum();
        let freed = TASK_BYTES + task.definition.len() + kept;
        self.bytes = self.bytes.saturating_sub(freed);
    }

    /// The tasks that meet a condition, by key.
    fn matching<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = &'a Task> {
        let none = || Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Key>>;
        let of = |keys: Option<&'a BTreeSet<Key>>| match keys {
            Some(keys) => Box::new(keys.iter().copied()),
            None => none(),
        };
        let candidates = match (filter.parent, filter.flow) {
            (Some(parent), _) => of(self.children.get(&parent)),
            (None, Some(flow)) => of(self.flows.get(&flow)),
            (None, None) => Box::new(self.tasks.keys().copied()),
        };
        let tasks = candidates.filter_map(|key| self.tasks.get(&key));
        tasks.filter(|task| task.meets(filter))
    }
}

impl Task {
    fn meets(&self, filter: &Filter) -> bool {
        let row = &self.row;
        filter.owner.as_ref().is_none_or(|it| row.owner == *it)
            && filter.state.is_none_or(|it| row.run.state == it)
            && (filter.user_id.is_none() || self.user_id == filter.user_id)
            && filter.flow.is_none_or(|it| row.flow == it)
            && filter.parent.is_none_or(|it| row.parent == Some(it))
            && (!filter.roots || row.flow == row.key)
    }
}

fn outcome_bytes(outcome: &StoredOutcome) -> usize {
    use panpan_flow::ports::Ending;
    TASK_BYTES
        + match &outcome.ending {
            Ending::Completed { result } => result.len(),
            Ending::Failed { error, failure } => error.len() + failure.len(),
            Ending::Cancelled { error } => error.len(),
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

    fn insert<'a>(&'a mut self, tasks: &'a [NewRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        let new: usize = tasks.iter().map(|it| TASK_BYTES + it.definition.len()).sum();
        if self.tasks.bytes.saturating_add(new) > MEMORY_TASKS_BYTES_LIMIT {
            return Box::pin(ready(Err(StoreError::Full)));
        }
        for task in tasks {
            self.tasks.insert(task);
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
            let state = task.row.run.state;
            if let Some(index) = State::ALL.iter().position(|it| *it == state) {
                counts[index] += 1;
            }
        }
        done(counts)
    }

    fn save<'a>(&'a mut self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
        for row in rows {
            self.tasks.change(row.key, |task| {
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
        let mut grown = 0;
        self.tasks.change(key, |task| {
            grown = redefined.definition.len().saturating_sub(task.definition.len());
            task.definition = redefined.definition.clone();
            task.user_id.clone_from(&redefined.user_id);
            task.row.priority = redefined.priority;
            task.row.has_references = redefined.has_references;
        });
        self.tasks.bytes += grown;
        done(())
    }

    fn delete<'a>(&'a mut self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        for key in keys {
            self.tasks.delete(*key);
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
        let edges = keys.iter().filter_map(|key| self.tasks.dependents.get(key));
        done(edges.flatten().copied().collect())
    }

    fn replace_dependencies<'a>(
        &'a mut self,
        task: Key,
        edges: &'a [Edge],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(found) = self.tasks.tasks.get_mut(&task) {
            let before = std::mem::replace(&mut found.dependencies, edges.to_vec());
            self.tasks.unlink(&before);
            self.tasks.link(edges);
        }
        done(())
    }

    fn outcomes<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<StoredOutcome>, StoreError>> {
        let current = |task: &Task| {
            let generation = task.row.run.generation;
            let mut outcomes = task.outcomes.iter();
            outcomes.find(|it| it.generation == generation).cloned()
        };
        done(self.tasks.found(keys).filter_map(current).collect())
    }

    fn generations(&mut self, key: Key) -> BoxFuture<'_, Result<Vec<StoredOutcome>, StoreError>> {
        let task = self.tasks.tasks.get(&key);
        done(task.map(|it| it.outcomes.clone()).unwrap_or_default())
    }

    fn keep<'a>(
        &'a mut self,
        outcomes: &'a [StoredOutcome],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        for outcome in outcomes {
            if let Some(task) = self.tasks.tasks.get_mut(&outcome.key) {
                task.outcomes.push(outcome.clone());
                self.tasks.bytes += outcome_bytes(outcome);
            }
        }
        done(())
    }

    fn histories<'a>(
        &'a mut self,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<(Key, Arc<str>)>, StoreError>> {
        let history = |task: &Task| Some((task.row.key, task.history.clone()?));
        done(self.tasks.found(keys).filter_map(history).collect())
    }

    fn set_history<'a>(
        &'a mut self,
        key: Key,
        history: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(task) = self.tasks.tasks.get_mut(&key) {
            task.history = history.map(Into::into);
        }
        done(())
    }

    fn promote(&mut self, limit: usize) -> BoxFuture<'_, Result<(), StoreError>> {
        let now = self.now;
        let due = self.tasks.due.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<Key> = due.take(limit).map(|(_, key)| *key).collect();
        for key in due {
            let ready = |task: &mut Task| task.row.run.queued = Queued::Ready;
            self.tasks.change(key, ready);
        }
        done(())
    }

    fn ready(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<Row>, StoreError>> {
        let keys = self.tasks.ready.iter().take(limit);
        let tasks = keys.filter_map(|(_, _, key)| self.tasks.tasks.get(key));
        done(tasks.map(|it| it.row.clone()).collect())
    }

    fn next_due(&mut self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        done(self.tasks.due.first().map(|(at, _)| *at))
    }

    fn turns(&mut self) -> BoxFuture<'_, Result<[i64; 4], StoreError>> {
        let mut turns = [0; 4];
        for (number, turn) in (0..).zip(&mut turns) {
            let Ok(priority) = Priority::try_from(number) else {
                continue;
            };
            let first = (priority, i64::MIN, Key(i64::MIN));
            let mut ready = self.tasks.ready.range(first..);
            let first = ready.next().filter(|(found, _, _)| *found == priority);
            *turn = first.map_or(0, |(_, turn, _)| *turn);
        }
        done(turns)
    }

    fn is_active(&mut self, flow: Key) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.tasks.active.get(&flow).is_some_and(|it| *it > 0))
    }

    fn announce<'a>(
        &'a mut self,
        announced: &'a [Announced],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        for entry in announced {
            self.tasks.last_number += 1;
            let number = self.tasks.last_number;
            let journal = self.tasks.journals.entry(entry.flow).or_default();
            journal.insert(number, entry.clone());
        }
        done(())
    }

    fn announcements(
        &mut self,
        flow: Key,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(u64, Announced)>, StoreError>> {
        let journal = self.tasks.journals.get(&flow);
        let entries = journal.into_iter().flat_map(|it| it.range(after.saturating_add(1)..));
        let entries = entries.take(limit).map(|(number, it)| (*number, it.clone()));
        done(entries.collect())
    }
}
