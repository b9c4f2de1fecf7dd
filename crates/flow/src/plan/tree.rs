//! The tree: unique ids, known parents, one root, no loop among parents.

use std::collections::hash_map::Entry;

use panpan_failure::Violation;

use super::{About, Draft, LISTED_IDS_LIMIT, PlanProblem, ProblemKind, TREE_LEVELS_LIMIT};
use crate::task::TaskId;

impl Draft<'_> {
    /// Finds the position of each id, and the ids that are not unique.
    pub(super) fn index(&mut self) {
        for (at, read) in self.tasks.iter().enumerate() {
            let position = u32::try_from(at).expect("the number of tasks is limited");
            let id = read.task.id;
            match self.positions.entry(id) {
                Entry::Occupied(first) => {
                    let first = self.tasks[*first.get() as usize].place.pointer();
                    self.note_repeated_id(at, &first);
                }
                Entry::Vacant(vacant) => {
                    vacant.insert(position);
                    if read.id_is_given && self.known.find(id).is_some() {
                        self.note_existing(at, id);
                    }
                }
            }
        }
    }

    fn note_repeated_id(&mut self, at: usize, first: &str) {
        let pointer = self.pointer(at, "id");
        self.note(ProblemKind::Tree, at, || {
            Violation::value(pointer, format!("duplicate id: {first} has it too"))
                .expected("a new id, or none to have one generated")
        });
    }

    /// A request whose response was lost is often repeated with the same ids.
    fn note_existing(&mut self, at: usize, id: TaskId) {
        let pointer = self.pointer(at, "id");
        self.problems.note(ProblemKind::Tree, || {
            let reason = format!("duplicate id: task {id} already exists");
            let violation = Violation::value(pointer, reason)
                .expected("a new id for other work, or none to have one generated");
            PlanProblem::new(ProblemKind::Tree, id, violation).about(About::Existing(id))
        });
    }

    /// Checks parents, and returns the position of the task above all others if there is one.
    pub(super) fn check_tree(&mut self) -> Option<usize> {
        if self.tasks.is_empty() {
            // Perhaps none of them could be read.
            if self.problems.is_empty() {
                self.note_no_tasks();
            }
            return None;
        }
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(self.tasks.len());
        let mut tops = Vec::new();
        for (at, read) in self.tasks.iter().enumerate() {
            let parent = read.task.parent;
            let inside = parent.and_then(|id| self.position(id));
            parents.push(inside);
            match (parent, inside) {
                (Some(_), Some(_)) => {}
                (Some(id), None) if self.outside(id).is_none() => self.note_parent(at, id),
                (None, None) if read.unread.parent => {}
                _ => tops.push(at),
            }
        }
        let cycles = parent_cycles(&parents);
        if cycles.is_empty() {
            self.check_levels(&parents);
        }
        for cycle in cycles {
            self.note_parent_cycle(&cycle);
        }
        if tops.len() > 1 {
            self.note_roots(&tops);
        }
        tops.first().copied()
    }

    fn note_no_tasks(&mut self) {
        let kind = ProblemKind::Tree;
        self.problems.note(kind, || {
            let violation = Violation::value("/tasks", "the list has no tasks");
            PlanProblem::new(kind, None, violation.expected("at least one task"))
        });
    }

    fn note_parent(&mut self, at: usize, parent: TaskId) {
        let pointer = self.pointer(at, "parent_id");
        self.note(ProblemKind::Parent, at, || {
            Violation::value(pointer, "there is no such task")
                .expected("a task of the same flow, or no value for a root")
                .actual(parent.to_string())
        });
    }

    fn note_parent_cycle(&mut self, cycle: &[usize]) {
        let first = cycle[0];
        let pointer = self.pointer(first, "parent_id");
        let ids = self.closed(cycle);
        let task = ids[0];
        self.problems.note(ProblemKind::Tree, || {
            let reason = "the parents form a loop without a root";
            let violation = Violation::value(pointer, reason)
                .expected("parents that lead to a root")
                .actual(arrows(&ids));
            PlanProblem::new(ProblemKind::Tree, task, violation).about(About::Cycle(ids))
        });
    }

    fn note_roots(&mut self, tops: &[usize]) {
        let listed = tops.iter().take(LISTED_IDS_LIMIT);
        let ids: Vec<TaskId> = listed.map(|at| self.tasks[*at].task.id).collect();
        let second = tops[1];
        let pointer = self.pointer(second, "parent_id");
        let task = self.tasks[second].task.id;
        self.problems.note(ProblemKind::Tree, || {
            let reason = "several tasks have no parent among these tasks";
            let violation = Violation::value(pointer, reason)
                .expected("one root")
                .actual(tops.len());
            PlanProblem::new(ProblemKind::Tree, task, violation).about(About::Roots(ids))
        });
    }

    /// Checks how deep tasks are in the tree; the parents form no loop.
    fn check_levels(&mut self, parents: &[Option<usize>]) {
        // 0 until it is known.
        let mut levels = vec![0; parents.len()];
        for start in 0..parents.len() {
            let unknown = |at: &usize| levels[*at] == 0;
            let follow = |at: &usize| parents[*at].filter(unknown);
            let path = std::iter::successors(Some(start).filter(unknown), follow);
            let path: Vec<usize> = path.collect();
            for at in path.into_iter().rev() {
                let above = match parents[at] {
                    Some(parent) => levels[parent],
                    None => self.level_above(at),
                };
                levels[at] = above + 1;
            }
        }
        for (at, level) in levels.into_iter().enumerate() {
            if level > TREE_LEVELS_LIMIT {
                self.note_level(at, level);
            }
        }
    }

    /// The level of the parent outside the plan; 0 if there is none.
    fn level_above(&self, at: usize) -> usize {
        let parent = self.tasks[at].task.parent;
        let parent = parent.and_then(|id| self.outside(id));
        parent.map_or(0, |it| it.level)
    }

    fn note_level(&mut self, at: usize, level: usize) {
        let pointer = self.pointer(at, "parent_id");
        self.note(ProblemKind::Tree, at, || {
            Violation::value(pointer, "the tree has too many levels")
                .expected(format!(
                    "a parent above level {TREE_LEVELS_LIMIT}: parents only group tasks, dependencies order them"
                ))
                .actual(format!("level {level}"))
        });
    }

    /// The root of the flow of the top task.
    pub(super) fn root_of_flow(&self, top: usize) -> Option<TaskId> {
        let task = &self.tasks[top].task;
        match task.parent {
            None => Some(task.id),
            Some(parent) => self.outside(parent).map(|it| it.root),
        }
    }

    /// The ids of a cycle, ending with the first again.
    pub(super) fn closed(&self, cycle: &[usize]) -> Vec<TaskId> {
        let closed = cycle.iter().chain(cycle.first());
        closed.map(|at| self.tasks[*at].task.id).collect()
    }
}

/// The beginning of a path, for people.
pub(crate) fn arrows(ids: &[TaskId]) -> String {
    const SHOWN: usize = 4;
    let mut shown: Vec<String> = ids.iter().take(SHOWN).map(TaskId::to_string).collect();
    if ids.len() > SHOWN {
        shown.push("...".to_owned());
        shown.extend(ids.last().map(TaskId::to_string));
    }
    shown.join(" -> ")
}

/// The loops among parents. Each task has at most one parent, so that loops have no task in common.
pub(super) fn parent_cycles(parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    // The walk that reached a task first; walks count from 1.
    let mut reached = vec![0; parents.len()];
    let mut cycles = Vec::new();
    for (walk, start) in (1..).zip(0..parents.len()) {
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| reached[*at] == 0) {
            reached[at] = walk;
            next = parents[at];
        }
        let Some(entry) = next.filter(|at| reached[*at] == walk) else {
            continue;
        };
        let follow = |at: &usize| parents[*at].filter(|at| *at != entry);
        cycles.push(std::iter::successors(Some(entry), follow).collect());
    }
    cycles
}
