//! Tasks in memory. `rows` implements the rows of the flow port.

mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Ending, Filter, Key, NewRow, Redefined, Row, StoredOutcome,
};
use panpan_flow::{Announcement, Priority, Queued, State, TaskId};

pub(super) use rows::MemoryRows;

/// The most bytes that tasks in memory take, with their dependencies, results, failures and events; more tasks of
/// callers are refused.
pub const MEMORY_TASKS_BYTES_LIMIT: usize = 512 * 1024 * 1024;

/// What a task takes besides its texts, in bytes.
const TASK_BYTES: usize = 512;

/// What a dependency takes, in bytes.
const EDGE_BYTES: usize = 128;

/// What an entry of a journal takes, in bytes.
const ENTRY_BYTES: usize = 128;

/// The stored tasks and what finds them quickly.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    last_key: i64,
    /// Boxed, because the nodes of the map are half empty after inserts in order.
    tasks: BTreeMap<Key, Box<Task>>,
    keys: HashMap<TaskId, Key>,
    flows: BTreeMap<Key, BTreeSet<Key>>,
    children: BTreeMap<Key, BTreeSet<Key>>,
    /// The edges to each task, by the task, the dependent, and whether it is required.
    dependents: BTreeSet<(Key, Key, bool)>,
    ready: BTreeSet<Place>,
    /// The turns of all ready tasks by flow and priority.
    turns: BTreeSet<(Key, Place)>,
    /// Ready tasks that are set aside, by group, and the group of each.
    aside: BTreeMap<Arc<str>, BTreeSet<Place>>,
    groups: HashMap<Key, Arc<str>>,
    due: BTreeSet<(Timestamp, Key)>,
    /// How many tasks of each flow are queued.
    active: HashMap<Key, usize>,
    journals: BTreeMap<Key, BTreeMap<u64, Announced>>,
    last_number: u64,
    bytes: usize,
}

/// A place among ready tasks.
type Place = (Priority, i64, Key);

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

impl Tasks {
    fn found<'a>(&'a self, keys: &'a [Key]) -> impl Iterator<Item = &'a Task> {
        keys.iter()
            .filter_map(|key| self.tasks.get(key).map(|it| &**it))
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
        self.bytes += new_bytes(new);
        let task = Task {
            row: row.clone(),
            definition: new.definition.clone(),
            authority: new.authority.clone(),
            user_id: new.user_id.clone(),
            dependencies: new.dependencies.clone(),
            outcomes: Vec::new(),
            history: None,
        };
        self.tasks.insert(row.key, Box::new(task));
    }

    fn link(&mut self, edges: &[Edge]) {
        for edge in edges {
            self.dependents.insert((edge.on, edge.task, edge.required));
        }
    }

    fn unlink(&mut self, edges: &[Edge]) {
        for edge in edges {
            self.dependents.remove(&(edge.on, edge.task, edge.required));
        }
    }

    /// The edges to a task.
    fn dependents(&self, on: Key) -> impl Iterator<Item = Edge> {
        let edges = self.dependents.range((on, Key(i64::MIN), false)..);
        let edges = edges.take_while(move |(found, _, _)| *found == on);
        edges.map(|(on, task, required)| Edge {
            task: *task,
            on: *on,
            required: *required,
        })
    }

    fn queue(&mut self, row: &Row) {
        match row.run.queued {
            Queued::No => return,
            Queued::Ready => {
                self.ready.insert(place(row));
                self.turns.insert((row.flow, place(row)));
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
                self.take_back(row);
                self.ready.remove(&place(row));
                self.turns.remove(&(row.flow, place(row)));
            }
            Queued::At(at) => {
                self.due.remove(&(at, row.key));
            }
        }
        if let Some(active) = self.active.get_mut(&row.flow) {
            *active = active.saturating_sub(1);
        }
    }

    /// The smallest turn of ready tasks of a priority.
    fn first_turn(&self, priority: Priority) -> Option<i64> {
        let first = (priority, i64::MIN, Key(i64::MIN));
        let queues = self.aside.values().chain([&self.ready]);
        let firsts = queues.filter_map(|queue| queue.range(first..).next());
        let turns = firsts.filter(|(found, _, _)| *found == priority);
        turns.map(|(_, turn, _)| *turn).min()
    }

    /// The turn of the next task of a flow and priority that becomes ready.
    fn next_turn(&self, flow: Key, priority: Priority) -> i64 {
        let place = |turn, key| (flow, (priority, turn, Key(key)));
        let of_flow = place(i64::MIN, i64::MIN)..=place(i64::MAX, i64::MAX);
        let last = self.turns.range(of_flow).next_back();
        let last = last.map(|(_, (_, turn, _))| *turn);
        1 + last.max(self.first_turn(priority)).unwrap_or_default()
    }

    /// Sets a ready task aside.
    fn set_aside(&mut self, key: Key, group: &Arc<str>) {
        let Some(place) = self.tasks.get(&key).map(|task| place(&task.row)) else {
            return;
        };
        if self.ready.remove(&place) {
            self.aside.entry(group.clone()).or_default().insert(place);
            self.groups.insert(key, group.clone());
        }
    }

    /// Removes a task from its group, if it is set aside.
    fn take_back(&mut self, row: &Row) {
        let Some(group) = self.groups.remove(&row.key) else {
            return;
        };
        if let Some(places) = self.aside.get_mut(&group) {
            places.remove(&place(row));
            if places.is_empty() {
                self.aside.remove(&group);
            }
        }
    }

    /// Changes a row, and where it is queued. A task that was set aside is no longer.
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Task)) {
        let Some(mut task) = self.tasks.remove(&key) else {
            return;
        };
        self.unqueue(&task.row);
        let before = task.bytes();
        change(&mut task);
        self.resized(before, task.bytes());
        self.queue(&task.row);
        self.tasks.insert(key, task);
    }

    /// Counts a task that took `before` bytes and now takes `after`.
    fn resized(&mut self, before: usize, after: usize) {
        self.bytes = self.bytes.saturating_sub(before) + after;
    }

    fn replace_dependencies(&mut self, key: Key, edges: &[Edge]) {
        if let Some(task) = self.tasks.get_mut(&key) {
            let before = std::mem::replace(&mut task.dependencies, edges.to_vec());
            self.unlink(&before);
            self.link(edges);
            self.resized(before.len() * EDGE_BYTES, edges.len() * EDGE_BYTES);
        }
    }

    fn set_history(&mut self, key: Key, history: Option<&Arc<str>>) {
        if let Some(task) = self.tasks.get_mut(&key) {
            let before = std::mem::replace(&mut task.history, history.cloned());
            self.resized(length(before.as_ref()), length(history));
        }
    }

    fn delete(&mut self, key: Key) {
        let Some(task) = self.tasks.remove(&key) else {
            return;
        };
        self.unqueue(&task.row);
        self.keys.remove(&task.row.id);
        self.children.remove(&key);
        self.unlink(&task.dependencies);
        let parent = task.row.parent.and_then(|it| self.children.get_mut(&it));
        if let Some(siblings) = parent {
            siblings.remove(&key);
        }
        if let Some(flow) = self.flows.get_mut(&task.row.flow) {
            flow.remove(&key);
        }
        if task.row.flow == key {
            let journal = self.journals.remove(&key).unwrap_or_default();
            self.bytes = self.bytes.saturating_sub(journal.len() * ENTRY_BYTES);
            self.active.remove(&key);
            self.flows.remove(&key);
        }
        let kept: usize = task.outcomes.iter().map(outcome_bytes).sum();
        self.resized(task.bytes() + kept, 0);
    }

    /// Keeps the newest entries of a journal, and a mark before them.
    fn trim_journal(&mut self, flow: Key, keep: usize) {
        let Some(journal) = self.journals.get_mut(&flow) else {
            return;
        };
        while journal.len() > keep.saturating_add(1) {
            journal.pop_first();
            self.bytes = self.bytes.saturating_sub(ENTRY_BYTES);
        }
        if journal.len() > keep
            && let Some(mut oldest) = journal.first_entry()
        {
            oldest.get_mut().what = Announcement::Dropped;
        }
    }

    fn redefine(&mut self, key: Key, redefined: &Redefined) {
        self.change(key, |task| {
            task.definition = redefined.definition.clone();
            task.user_id.clone_from(&redefined.user_id);
            task.row.priority = redefined.priority;
            task.row.operation.clone_from(&redefined.operation);
        });
    }

    fn authorize(&mut self, flow: Key, authority: Option<&Arc<str>>) {
        for key in self.flows.get(&flow).cloned().unwrap_or_default() {
            self.change(key, |task| task.authority = authority.cloned());
        }
    }

    fn announce(&mut self, entry: &Announced) {
        self.last_number += 1;
        let journal = self.journals.entry(entry.flow).or_default();
        journal.insert(self.last_number, entry.clone());
        self.bytes += ENTRY_BYTES;
    }

    /// The flows that have rested since a time; those that have rested longest come first.
    fn resting(&self, since: Timestamp) -> Vec<Key> {
        let mut resting: Vec<(Timestamp, Key)> = Vec::new();
        for (flow, tasks) in &self.flows {
            let root = self.tasks.get(flow);
            if let Some(root) = root.filter(|_| self.rests_since(tasks, since)) {
                resting.push((root.row.run.updated_at, *flow));
            }
        }
        resting.sort_unstable();
        resting.into_iter().map(|(_, flow)| flow).collect()
    }

    /// Whether no task of a flow is queued or in progress, and none has changed since a time.
    fn rests_since(&self, flow: &BTreeSet<Key>, since: Timestamp) -> bool {
        let mut tasks = flow.iter().filter_map(|key| self.tasks.get(key));
        tasks.all(|task| {
            let run = &task.row.run;
            run.queued == Queued::No && run.state != State::InProgress && run.updated_at < since
        })
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
        let tasks = candidates.filter_map(|key| self.tasks.get(&key).map(|it| &**it));
        tasks.filter(|task| task.meets(filter))
    }
}

impl Task {
    /// What it takes, without its outcomes.
    fn bytes(&self) -> usize {
        let texts = self.definition.len() + length(self.authority.as_ref());
        let edges = self.dependencies.len() * EDGE_BYTES;
        TASK_BYTES + texts + edges + length(self.history.as_ref())
    }

    /// The outcome of the current generation.
    fn outcome(&self) -> Option<&StoredOutcome> {
        let generation = self.row.run.generation;
        self.outcomes.iter().find(|it| it.generation == generation)
    }

    /// The bytes of the current result.
    fn result_size(&self) -> Option<(Key, usize)> {
        match &self.outcome()?.ending {
            Ending::Completed { result } => Some((self.row.key, result.len())),
            Ending::Failed { .. } | Ending::Cancelled { .. } => None,
        }
    }

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

fn place(row: &Row) -> Place {
    (row.priority, row.turn, row.key)
}

/// What a new task takes.
fn new_bytes(new: &NewRow) -> usize {
    let texts = new.definition.len() + length(new.authority.as_ref());
    TASK_BYTES + texts + new.dependencies.len() * EDGE_BYTES
}

fn length(text: Option<&Arc<str>>) -> usize {
    text.map_or(0, |it| it.len())
}

fn outcome_bytes(outcome: &StoredOutcome) -> usize {
    TASK_BYTES + outcome.ending.bytes()
}
