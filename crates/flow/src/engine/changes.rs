//! Applies events to tasks within a transaction, and what follows from them: counts of unsatisfied dependencies, and
//! entries of the journal.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::StoreError;

use super::turns::give_turns;
use crate::ports::{Announced, Key, Row, Rows};
use crate::state::{State, Transition};
use crate::step::{Action, Announcement, Queued, TaskEvent, is_satisfied, step};
use crate::task::TaskId;

/// Changed tasks that are not written yet.
pub(super) struct Changes<'a> {
    pub(super) rows: &'a mut dyn Rows,
    changed: BTreeMap<Key, Row>,
    /// The state of tasks before this transaction, where dependents have to learn of it.
    before: BTreeMap<Key, State>,
    /// The tasks that become ready.
    ready: BTreeSet<Key>,
    announced: Vec<Announced>,
    stopped: Vec<TaskId>,
    may_rest: BTreeSet<Key>,
}

/// What remains to be done for written changes.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The tasks whose handlers have to stop.
    pub(super) stopped: Vec<TaskId>,
    /// The flows with a task that changed and is not queued: they may rest now.
    pub(super) may_rest: Vec<Key>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(rows: &'a mut dyn Rows) -> Self {
        Self {
            rows,
            changed: BTreeMap::new(),
            before: BTreeMap::new(),
            ready: BTreeSet::new(),
            announced: Vec::new(),
            stopped: Vec::new(),
            may_rest: BTreeSet::new(),
        }
    }

    /// The task as it is after the events so far.
    pub(super) fn current(&self, row: Row) -> Row {
        self.changed.get(&row.key).cloned().unwrap_or(row)
    }

    /// Applies an event to a task. The result has no new turn yet.
    pub(super) fn apply(&mut self, row: Row, event: &TaskEvent) -> Result<Row, Transition> {
        let row = self.current(row);
        let now = self.rows.now();
        let (run, actions) = step(&row.run, event, now)?;
        match (row.run.queued, run.queued) {
            (Queued::Ready, Queued::Ready) => {}
            (_, Queued::Ready) => drop(self.ready.insert(row.key)),
            (before, after) => {
                self.ready.remove(&row.key);
                if after == Queued::No && (before != Queued::No || !actions.is_empty()) {
                    self.may_rest.insert(row.flow);
                }
            }
        }
        let row = Row { run, ..row };
        for action in actions {
            match action {
                Action::Announce(what) => self.announced.push(Announced {
                    what,
                    ..announced(&row)
                }),
                Action::UpdateDependents { before, .. } => {
                    self.before.entry(row.key).or_insert(before);
                }
                Action::StopHandler => self.stopped.push(row.id),
            }
        }
        self.changed.insert(row.key, row.clone());
        Ok(row)
    }

    /// Adds an entry to the journal that says how a task is: the flow does not rest any more.
    pub(super) fn announce(&mut self, row: &Row) {
        self.announced.push(announced(row));
    }

    /// How many entries are added to journals.
    pub(super) fn announced(&self) -> usize {
        self.announced.len()
    }

    /// Writes everything.
    pub(super) async fn write(mut self) -> Result<Written, StoreError> {
        self.update_dependents().await?;
        let ready = &self.ready;
        let changed = self.changed.values_mut();
        give_turns(self.rows, changed.filter(|row| ready.contains(&row.key))).await?;
        let changed: Vec<Row> = self.changed.into_values().collect();
        self.rows.save(&changed).await?;
        self.rows.announce(&self.announced).await?;
        Ok(Written {
            stopped: self.stopped,
            may_rest: self.may_rest.into_iter().collect(),
        })
    }

    /// Adds what changed states mean for the dependencies of other tasks. This changes no state, so it ends here.
    async fn update_dependents(&mut self) -> Result<(), StoreError> {
        let keys: Vec<Key> = self.before.keys().copied().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut difference: BTreeMap<Key, i64> = BTreeMap::new();
        for edge in self.rows.dependents(&keys).await? {
            let (Some(before), Some(after)) = (self.before.get(&edge.on), self.state(edge.on))
            else {
                continue;
            };
            let unsatisfied = |state| i64::from(!is_satisfied(edge.required, state));
            let by = unsatisfied(after) - unsatisfied(*before);
            *difference.entry(edge.task).or_default() += by;
        }
        difference.retain(|_, by| *by != 0);
        let is_unknown = |key: &&Key| !self.changed.contains_key(key);
        let unknown: Vec<Key> = difference.keys().filter(is_unknown).copied().collect();
        let mut rows = self.rows.load(&unknown).await?;
        let known = difference.keys().filter_map(|key| self.changed.get(key));
        rows.extend(known.cloned());
        for row in rows {
            let by = difference.get(&row.key).copied().unwrap_or_default();
            self.apply(row, &TaskEvent::DependenciesChanged(by))
                .expect("changed dependencies change no state");
        }
        Ok(())
    }

    fn state(&self, key: Key) -> Option<State> {
        self.changed.get(&key).map(|row| row.run.state)
    }
}

/// An entry of the journal that says how a task is since its last change.
pub(super) fn announced(row: &Row) -> Announced {
    Announced {
        flow: row.flow,
        task: Some(row.id),
        at: row.run.updated_at,
        what: Announcement::StatusUpdate,
        state: row.run.state,
        progress: row.run.progress,
    }
}
