//! What tasks refer to: dependencies, originals, operations.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use panpan_failure::Violation;
use panpan_runtime::shown;

use super::graph::Graph;
use super::tree::arrows;
use super::{About, Draft, Methods, PlanProblem, ProblemKind};
use crate::state::State;
use crate::task::{Provenance, TaskId, is_on_tasks};

impl Draft<'_> {
    /// Checks each dependency, and returns the graph of those within the plan. Without a root it is not known
    /// which existing tasks are in the same flow.
    pub(super) fn check_dependencies(&mut self, root: Option<TaskId>) -> Graph {
        let total = self.tasks.iter().map(|it| it.task.dependencies.len()).sum();
        let mut graph = Graph::with_capacity(self.tasks.len(), total);
        let mut seen: HashSet<TaskId, FixedState> = HashSet::default();
        for (at, read) in self.tasks.iter().enumerate() {
            seen.clear();
            for (number, dependency) in read.task.dependencies.iter().enumerate() {
                let id = dependency.id;
                if !seen.insert(id) {
                    let reason = "the dependency is listed twice";
                    self.note_dependency(at, number, reason, "each dependency once");
                    continue;
                }
                match self.position(id) {
                    _ if id == read.task.id => self.note_cycle(at, Some(number), &[at]),
                    Some(on) => graph.depend(on),
                    None => self.check_outside(at, number, root),
                }
            }
            graph.end_task();
        }
        graph
    }

    fn check_outside(&mut self, at: usize, number: usize, root: Option<TaskId>) {
        let id = self.tasks[at].task.dependencies[number].id;
        let expected = "another task of the same flow";
        match (self.outside(id), root) {
            (None, _) => self.note_dependency(at, number, "there is no such task", expected),
            (Some(known), Some(root)) if known.root != root => {
                self.note_dependency(at, number, "the task belongs to another flow", expected);
            }
            _ => {}
        }
    }

    fn note_dependency(&mut self, at: usize, number: usize, reason: &str, expected: &str) {
        let read = &self.tasks[at];
        self.note(ProblemKind::Dependency, at, || {
            let pointer = format!("{}/{number}/id", read.place.member("dependencies"));
            Violation::value(pointer, reason)
                .expected(expected)
                .actual(read.task.dependencies[number].id.to_string())
        });
    }

    pub(super) fn check_cycles(&mut self, graph: &Graph) {
        for cycle in graph.cycles() {
            self.note_cycle(cycle[0], None, &cycle);
        }
    }

    /// Notes a cycle that starts with a task; `number` is its dependency on the next one, if that is known.
    fn note_cycle(&mut self, at: usize, number: Option<usize>, cycle: &[usize]) {
        let read = &self.tasks[at];
        let ids = self.closed(cycle);
        self.problems.note(ProblemKind::Cycle, || {
            let is_next = |it: &crate::task::Dependency| it.id == ids[1];
            let number = number.or_else(|| read.task.dependencies.iter().position(is_next));
            let pointer = read.place.member("dependencies");
            let pointer = number.map_or(pointer.clone(), |number| format!("{pointer}/{number}/id"));
            let reason = match cycle.len() {
                1 => "a task cannot depend on itself",
                _ => "the dependencies form a cycle",
            };
            let violation = Violation::value(pointer, reason)
                .expected("dependencies without a cycle")
                .actual(arrows(&ids));
            PlanProblem::new(ProblemKind::Cycle, read.task.id, violation).about(About::Cycle(ids))
        });
    }

    /// Originals may be in any flow that the caller may see. A copy may also be of a task of the plan.
    pub(super) fn check_origins(&mut self) {
        for (at, read) in self.tasks.iter().enumerate() {
            let origin = read.task.definition.origin;
            let Some(original) = origin.original() else {
                continue;
            };
            let state = match self.position(original) {
                Some(position) => (position != at).then_some(State::Pending),
                None => self.outside(original).map(|it| it.state),
            };
            if let Some(reason) = unusable(origin, state) {
                let pointer = self.pointer(at, "original_task_id");
                let expected = match origin.needs_completed() {
                    true => "the id of a completed task",
                    false => "the id of another task",
                };
                self.note(ProblemKind::Schema, at, || {
                    Violation::value(pointer, reason)
                        .expected(expected)
                        .actual(original.to_string())
                });
            }
        }
    }

    pub(super) fn check_methods(&mut self, methods: &dyn Methods) {
        for (at, read) in self.tasks.iter().enumerate() {
            let Some(schemas) = &read.task.definition.schemas else {
                continue;
            };
            let method = schemas.method();
            let pointer = format!("{}/method", self.pointer(at, "schemas"));
            if is_on_tasks(method) {
                self.problems.note(ProblemKind::Schema, || {
                    let reason = "a task cannot call an operation on tasks";
                    let violation = Violation::value(pointer, reason)
                        .expected("an operation outside tasks/, or new tasks below this one");
                    let actual = shown(&method.into()).unwrap_or_default();
                    PlanProblem::new(ProblemKind::Schema, read.task.id, violation.actual(actual))
                });
                continue;
            }
            if methods.exists(method) {
                continue;
            }
            self.problems.note(ProblemKind::Executor, || {
                let name = shown(&method.into()).unwrap_or_default();
                let reason = match methods.streams(method) {
                    true => "the operation streams, and a task cannot keep a stream",
                    false => "there is no operation of this name",
                };
                let violation = Violation::value(pointer, reason)
                    .expected("the name of a query or mutation that you may call")
                    .actual(name.clone());
                let about = About::Method {
                    name: name.as_str().unwrap_or_default().to_owned(),
                    similar: match methods.streams(method) {
                        true => Vec::new(),
                        false => methods.similar(method),
                    },
                };
                PlanProblem::new(ProblemKind::Executor, read.task.id, violation).about(about)
            });
        }
    }
}

/// Why a task in this state cannot be the original.
fn unusable(origin: Provenance, state: Option<State>) -> Option<String> {
    match state {
        None => Some("there is no such task".to_owned()),
        Some(state) if origin.needs_completed() && state != State::Completed => Some(format!(
            "the original of a task with origin_type {} has to be completed: it is {state}",
            origin.word()
        )),
        Some(_) => None,
    }
}
