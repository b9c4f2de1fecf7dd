//! A flow that is being watched: what is known of its tasks, and how events change it. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use panpan_flow::{State, TaskId, is_satisfied};

use super::seen::{SeenEvent, SeenTask};

/// The most tasks of a flow that are shown. Further ones are only counted.
pub(super) const SHOWN_LIMIT: usize = 10_000;

/// A flow with its tasks in the order of the tree.
#[derive(Clone, Debug)]
pub(super) struct SeenFlow {
    rows: Vec<FlowRow>,
    places: BTreeMap<TaskId, usize>,
    /// How many tasks it has, including those that are not shown.
    pub(super) total: u64,
}

/// A task and its place in the tree.
#[derive(Clone, Debug)]
pub(super) struct FlowRow {
    pub(super) task: SeenTask,
    pub(super) depth: usize,
}

/// What a task is doing: its state, or why it is still pending.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doing {
    State(State),
    /// Required dependencies ended without success.
    Blocked(Vec<TaskId>),
    /// Dependencies have not ended.
    Waiting(Vec<TaskId>),
}

/// How many tasks are in each state. Blocked ones are pending, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) by_state: [u64; 5],
    pub(super) blocked: u64,
}

impl Counts {
    pub(super) fn of(&self, state: State) -> u64 {
        self.by_state[usize::from(state.number())]
    }
}

impl SeenFlow {
    /// A flow of these tasks, or the part below one of them.
    pub(super) fn new(tasks: Vec<SeenTask>, top: TaskId, total: u64) -> Self {
        let mut children: BTreeMap<TaskId, Vec<SeenTask>> = BTreeMap::new();
        let mut next = Vec::new();
        for task in tasks {
            match task.parent {
                _ if task.id == top => next.push((task, 0)),
                Some(parent) => children.entry(parent).or_default().push(task),
                None => {}
            }
        }
        let mut rows = Vec::new();
        while let Some((task, depth)) = next.pop() {
            let below = children.remove(&task.id).unwrap_or_default();
            next.extend(below.into_iter().rev().map(|it| (it, depth + 1)));
            rows.push(FlowRow { task, depth });
        }
        let places = rows.iter().enumerate();
        let places = places.map(|(place, row)| (row.task.id, place)).collect();
        Self {
            rows,
            places,
            total,
        }
    }

    pub(super) fn rows(&self) -> &[FlowRow] {
        &self.rows
    }

    pub(super) fn find(&self, id: TaskId) -> Option<&SeenTask> {
        let place = self.places.get(&id)?;
        Some(&self.rows[*place].task)
    }

    /// The last change that is known.
    pub(super) fn updated_at(&self) -> Option<Timestamp> {
        self.rows.iter().map(|row| row.task.updated_at).max()
    }

    /// Applies an event, unless something newer is known. Returns whether the task has to be read to know all of it:
    /// an event has no failure and no number of attempts.
    pub(super) fn apply(&mut self, event: &SeenEvent) -> bool {
        let Some(place) = self.places.get(&event.task) else {
            return false;
        };
        let task = &mut self.rows[*place].task;
        if event.is_final || event.at < task.updated_at {
            return false;
        }
        let starts = task.state != State::InProgress && event.state == State::InProgress;
        let begins_again = event.state == State::Pending;
        if begins_again || starts {
            task.problem = None;
            task.may_have_happened = false;
            task.retry_at = None;
            task.attempts = u32::from(starts);
        }
        task.state = event.state;
        task.progress = event.progress;
        task.updated_at = event.at;
        event.has_details || task.retry_at.is_some() || task.attempts > 1
    }

    /// Tasks whose next attempt was due before now: no event says that it has begun.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = TaskId> {
        let tasks = self.rows.iter().map(|row| &row.task);
        let tasks = tasks.filter(|task| task.state == State::InProgress);
        let due = tasks.filter(move |task| task.retry_at.is_some_and(|at| at <= now));
        due.map(|task| task.id)
    }

    /// Replaces what is known of a task.
    pub(super) fn replace(&mut self, task: SeenTask) {
        if let Some(place) = self.places.get(&task.id) {
            self.rows[*place].task = task;
        }
    }

    pub(super) fn doing(&self, task: &SeenTask) -> Doing {
        if task.state != State::Pending {
            return Doing::State(task.state);
        }
        let state = |id: TaskId| self.find(id).map(|it| it.state);
        let open = |it: &&panpan_flow::Dependency| {
            state(it.id).is_some_and(|state| !is_satisfied(it.required, state))
        };
        let open = task.dependencies.iter().filter(open);
        let (ended, waiting): (Vec<TaskId>, Vec<TaskId>) = open
            .map(|it| it.id)
            .partition(|id| state(*id).is_some_and(State::is_terminal));
        match (ended.is_empty(), waiting.is_empty()) {
            (false, _) => Doing::Blocked(ended),
            (true, false) => Doing::Waiting(waiting),
            (true, true) => Doing::State(State::Pending),
        }
    }

    /// How many of the shown tasks are in each state.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in &self.rows {
            counts.by_state[usize::from(row.task.state.number())] += 1;
            let is_blocked = matches!(self.doing(&row.task), Doing::Blocked(_));
            counts.blocked += u64::from(is_blocked);
        }
        counts
    }

    /// Whether all shown tasks have succeeded, except those that other tasks only wait for: a task that has
    /// dependents, none of which requires it.
    pub(super) fn has_succeeded(&self) -> bool {
        let dependencies = || self.rows.iter().flat_map(|row| &row.task.dependencies);
        let required = dependencies().filter(|it| it.required).map(|it| it.id);
        let required: BTreeSet<TaskId> = required.collect();
        let optional: BTreeSet<TaskId> = dependencies()
            .map(|it| it.id)
            .filter(|id| !required.contains(id))
            .collect();
        let is_root = |row: &FlowRow| row.depth == 0;
        self.rows.iter().all(|row| {
            let may_fail = !is_root(row) && optional.contains(&row.task.id);
            row.task.state == State::Completed || (may_fail && row.task.state.is_terminal())
        })
    }
}
