//! Why pending tasks cannot run: the tasks that ended without success and that they depend on, directly or through other
//! pending tasks.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::StoreError;

use crate::ports::{Edge, Key, Row, Rows};
use crate::state::State;
use crate::step::is_satisfied;
use crate::task::TaskId;

/// The most pending tasks behind others that one answer looks at.
const LOOKED_AT_LIMIT: usize = 10_000;

/// The most causes of a task.
const CAUSES_LIMIT: usize = 100;

/// What is known of tasks and their dependencies, for one answer.
#[derive(Debug, Default)]
pub(super) struct Blocking {
    tasks: BTreeMap<Key, (TaskId, State)>,
    edges: BTreeMap<Key, Vec<Edge>>,
    causes: BTreeMap<Key, Vec<TaskId>>,
}

impl Blocking {
    /// Reads everything about these tasks that [`causes`](Self::causes) needs; their dependencies are known.
    pub(super) async fn look(
        &mut self,
        rows: &mut dyn Rows,
        found: &[Row],
        edges: &[Edge],
    ) -> Result<(), StoreError> {
        let is_pending = |row: &&Row| row.run.state == State::Pending;
        let pending: Vec<Key> = found.iter().filter(is_pending).map(|row| row.key).collect();
        let known = found.iter().map(|row| (row.key, (row.id, row.run.state)));
        self.tasks.extend(known);
        let mut next = self.add(rows, &pending, edges).await?;
        while !next.is_empty() && self.edges.len() + next.len() <= LOOKED_AT_LIMIT {
            let edges = rows.dependencies(&next).await?;
            next = self.add(rows, &next, &edges).await?;
        }
        Ok(())
    }

    /// Adds the edges of these tasks; returns the pending tasks behind them that are not known yet.
    async fn add(
        &mut self,
        rows: &mut dyn Rows,
        tasks: &[Key],
        edges: &[Edge],
    ) -> Result<Vec<Key>, StoreError> {
        let tasks: BTreeSet<Key> = tasks.iter().copied().collect();
        let mut missing = BTreeSet::new();
        let mut behind = BTreeSet::new();
        for key in &tasks {
            self.edges.entry(*key).or_default().clear();
        }
        for edge in edges.iter().filter(|edge| tasks.contains(&edge.task)) {
            self.edges.entry(edge.task).or_default().push(*edge);
            behind.insert(edge.on);
            if !self.tasks.contains_key(&edge.on) {
                missing.insert(edge.on);
            }
        }
        let missing: Vec<Key> = missing.into_iter().collect();
        let loaded = rows.load(&missing).await?.into_iter();
        let loaded = loaded.map(|row| (row.key, (row.id, row.run.state)));
        self.tasks.extend(loaded);
        behind.retain(|key| self.state(*key) == Some(State::Pending));
        behind.retain(|key| !self.edges.contains_key(key));
        Ok(behind.into_iter().collect())
    }

    fn state(&self, key: Key) -> Option<State> {
        self.tasks.get(&key).map(|(_, state)| *state)
    }

    /// The tasks that keep a pending task from running.
    pub(super) fn causes(&mut self, task: &Row) -> Vec<TaskId> {
        if task.run.state != State::Pending {
            return Vec::new();
        }
        // The tasks from this one to one behind it, each with the number of its next dependency.
        let mut path = vec![(task.key, 0)];
        let mut entered = BTreeSet::from([task.key]);
        while let Some((key, number)) = path.last_mut() {
            let key = *key;
            match self.edges.get(&key).and_then(|it| it.get(*number)) {
                Some(edge) => {
                    *number += 1;
                    let is_open = self.state(edge.on) == Some(State::Pending)
                        && !self.causes.contains_key(&edge.on);
                    if is_open && entered.insert(edge.on) {
                        path.push((edge.on, 0));
                    }
                }
                None => {
                    let causes = self.causes_behind(key);
                    self.causes.insert(key, causes);
                    path.pop();
                }
            }
        }
        self.causes.get(&task.key).cloned().unwrap_or_default()
    }

    /// The causes of a task, once those of the pending tasks that it depends on are known.
    fn causes_behind(&self, key: Key) -> Vec<TaskId> {
        let mut causes: Vec<TaskId> = Vec::new();
        for edge in self.edges.get(&key).into_iter().flatten() {
            let ended = self.tasks.get(&edge.on);
            let ended =
                ended.filter(|(_, it)| it.is_terminal() && !is_satisfied(edge.required, *it));
            let own = ended.map(|(id, _)| *id);
            let behind = match self.state(edge.on) {
                Some(State::Pending) => self.causes.get(&edge.on),
                _ => None,
            };
            for id in own.into_iter().chain(behind.into_iter().flatten().copied()) {
                if causes.len() < CAUSES_LIMIT && !causes.contains(&id) {
                    causes.push(id);
                }
            }
        }
        causes
    }
}
