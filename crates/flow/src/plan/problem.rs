//! What is wrong with a plan: one error for reading and validation, with all problems found.

use std::fmt;

use panpan_failure::catalogue::Entry;
use panpan_failure::{Failure, Violation, codes};
use serde_json::Value;

use crate::task::TaskId;

/// How many problems of each kind are listed, and how many violations a failure has.
pub const PROBLEMS_LIMIT: usize = 50;

/// How many ids a list in the details has: the tasks of a cycle, the roots.
pub const LISTED_IDS_LIMIT: usize = 100;

/// The kind of a problem. The first kind, in this order, decides the code of the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A parameter is missing, or has the wrong type, format or range.
    Malformed,
    /// A task breaks a rule for tasks, or its own `input_schema`.
    Schema,
    /// A parent does not exist.
    Parent,
    /// A dependency does not exist in this flow, or a reference is not to a dependency.
    Dependency,
    /// Dependencies form a cycle.
    Cycle,
    /// The tasks do not form a tree with one root.
    Tree,
    /// An operation does not exist.
    Executor,
}

impl ProblemKind {
    /// All of them.
    pub const ALL: [ProblemKind; 7] = [
        ProblemKind::Malformed,
        ProblemKind::Schema,
        ProblemKind::Parent,
        ProblemKind::Dependency,
        ProblemKind::Cycle,
        ProblemKind::Tree,
        ProblemKind::Executor,
    ];

    /// The code. This is the only place that chooses one.
    pub fn code(self) -> &'static Entry {
        match self {
            ProblemKind::Malformed => codes::INVALID_INPUT,
            ProblemKind::Schema => codes::INVALID_TASK_SCHEMA,
            ProblemKind::Parent => codes::INVALID_PARENT_REFERENCE,
            ProblemKind::Dependency => codes::INVALID_DEPENDENCY_REFERENCE,
            ProblemKind::Cycle => codes::CIRCULAR_DEPENDENCY,
            ProblemKind::Tree => codes::TASK_TREE_VALIDATION_FAILED,
            ProblemKind::Executor => codes::EXECUTOR_NOT_FOUND,
        }
    }
}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanProblem {
    /// The kind.
    pub kind: ProblemKind,
    /// The task, if its id is known.
    pub task: Option<TaskId>,
    /// Where it is in the parameters, what was expected and found, and the reason.
    pub violation: Violation,
    /// What only this kind of problem has.
    pub about: About,
}

/// What a problem is about, beyond a violation.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum About {
    /// Nothing else.
    #[default]
    Value,
    /// A cycle of dependencies or parents; it ends with the first task again.
    Cycle(Vec<TaskId>),
    /// The first of several roots.
    Roots(Vec<TaskId>),
    /// A task that already has the id of a new one.
    Existing(TaskId),
    /// What to do about it, where the expected value does not say it.
    Advice(String),
    /// An operation that does not exist.
    Method {
        /// Its name.
        name: String,
        /// Operations with similar names.
        similar: Vec<String>,
    },
}

impl PlanProblem {
    /// A problem with a task.
    pub(crate) fn new(
        kind: ProblemKind,
        task: impl Into<Option<TaskId>>,
        violation: Violation,
    ) -> Self {
        Self {
            kind,
            task: task.into(),
            violation,
            about: About::Value,
        }
    }

    pub(crate) fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let violation = &self.violation;
        if !violation.pointer.is_empty() {
            write!(formatter, "{}: ", violation.pointer)?;
        }
        formatter.write_str(&violation.reason)?;
        if let Some(expected) = &violation.expected {
            write!(formatter, ": expected {expected}")?;
        }
        match &violation.actual {
            Some(Value::String(actual)) => write!(formatter, ", found {actual}"),
            Some(actual) => write!(formatter, ", found {actual}"),
            None => Ok(()),
        }
    }
}

/// The problems found so far. Of each kind the first are kept, and all are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    listed: Vec<PlanProblem>,
    counts: [usize; ProblemKind::ALL.len()],
}

impl Problems {
    /// Adds a problem. It is built only if it is listed: a large plan can have a problem in every task.
    pub(crate) fn note(&mut self, kind: ProblemKind, problem: impl FnOnce() -> PlanProblem) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= PROBLEMS_LIMIT {
            self.listed.push(problem());
        }
    }

    /// Adds the problems of an error.
    pub(crate) fn add(&mut self, error: PlanError) {
        let hidden = error.count - error.problems.len();
        let first = error.kind();
        for problem in error.problems {
            self.note(problem.kind, || problem);
        }
        self.counts[first as usize] += hidden;
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The value, or all problems.
    pub(crate) fn or_err<T>(mut self, value: impl FnOnce() -> T) -> Result<T, PlanError> {
        if self.listed.is_empty() {
            return Ok(value());
        }
        self.listed.sort_by_key(|problem| problem.kind);
        Err(PlanError {
            problems: self.listed,
            count: self.counts.iter().sum(),
        })
    }
}

/// Why tasks are not a plan: all problems, those that decide the code first.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanError {
    problems: Vec<PlanProblem>,
    count: usize,
}

impl PlanError {
    /// An error with one problem.
    pub fn one(problem: PlanProblem) -> Self {
        Self {
            problems: vec![problem],
            count: 1,
        }
    }

    /// The problems of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.problems.extend(other.problems);
        self.problems.sort_by_key(|problem| problem.kind);
        self.count += other.count;
        self
    }

    /// The same error, with each problem replaced.
    pub(crate) fn map(mut self, replace: impl FnMut(PlanProblem) -> PlanProblem) -> Self {
        self.problems = self.problems.into_iter().map(replace).collect();
        self
    }

    /// The same error without ids that were generated for tasks that do not exist.
    pub(crate) fn without_ids(self, is_generated: impl Fn(&TaskId) -> bool) -> Self {
        self.map(|mut problem| {
            problem.task = problem.task.filter(|id| !is_generated(id));
            if let About::Roots(roots) = &mut problem.about {
                roots.retain(|id| !is_generated(id));
            }
            problem
        })
    }

    /// The problems: at most [`PROBLEMS_LIMIT`] of each kind, and at least one.
    pub fn problems(&self) -> &[PlanProblem] {
        &self.problems
    }

    /// The number of all problems, including those that are not listed.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The kind that decides the code.
    pub fn kind(&self) -> ProblemKind {
        self.first().kind
    }

    fn first(&self) -> &PlanProblem {
        self.problems.first().expect("an error has a problem")
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first();
        first.fmt(formatter)?;
        match self.count - 1 {
            0 => Ok(()),
            1 => formatter.write_str("; 1 more problem"),
            more => write!(formatter, "; {more} more problems"),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let first = error.first();
        let mut failure = Failure::new(first.kind.code()).with_message(error.to_string());
        if let Some(task) = first.task {
            failure = failure.with_detail("task_id", task.to_string());
        }
        failure = with_about(failure, &first.about);
        let listed = error.problems.len().min(PROBLEMS_LIMIT);
        if error.count > 1 {
            failure = failure.with_detail("problems", error.count);
        }
        if error.count > listed {
            failure = failure.with_detail("problems_not_listed", error.count - listed);
        }
        let codes = error.problems.iter().take(PROBLEMS_LIMIT);
        let codes: Vec<&str> = codes.map(|problem| problem.kind.code().code).collect();
        if codes.iter().any(|code| *code != first.kind.code().code) {
            failure = failure.with_detail("violation_codes", codes);
        }
        let listed = error.problems.into_iter().take(PROBLEMS_LIMIT);
        failure.with_violations(listed.map(|problem| problem.violation))
    }
}

fn with_about(failure: Failure, about: &About) -> Failure {
    match about {
        About::Value => failure,
        About::Advice(action) => failure.with_actions([action.as_str()]),
        About::Cycle(cycle) => {
            let action = match failure.code().as_str() == codes::CIRCULAR_DEPENDENCY.code {
                true => "Remove one of the dependencies between the tasks in cycle, then call again",
                false => "Change the parent_id of one of the tasks in cycle, then call again",
            };
            failure
                .with_detail("cycle", listed_cycle(cycle))
                // The first task is in the list twice.
                .with_detail("cycle_length", cycle.len().saturating_sub(1))
                .with_actions([action])
        }
        About::Roots(roots) => {
            let failure = failure.with_actions([
                "Give every task except one a parent_id, then call again: a flow has one root, the task without one",
            ]);
            match roots.is_empty() {
                true => failure,
                false => failure.with_detail("roots", listed(roots)),
            }
        }
        About::Existing(id) => failure.with_actions([format!(
            "Call tasks/get with {id} first: an earlier request may have created these tasks; use new ids only for \
             other work"
        )]),
        About::Method { name, similar } => {
            let failure = failure.with_detail("executor", name.as_str());
            let find = "Call services/list to find the operation, then set schemas.method to its name";
            let Some(nearest) = similar.first() else {
                return failure.with_actions([find]);
            };
            failure
                .with_detail("nearest", similar.clone())
                .with_actions([
                    format!("Set schemas.method to {nearest} if that is what you meant"),
                    format!("Otherwise: {find}"),
                ])
        }
    }
}

/// A long cycle is cut before its end, which is its beginning again.
fn listed_cycle(cycle: &[TaskId]) -> Vec<String> {
    let mut ids = listed(cycle);
    if let (true, Some(last)) = (ids.len() < cycle.len(), cycle.last()) {
        ids.truncate(LISTED_IDS_LIMIT - 1);
        ids.push(last.to_string());
    }
    ids
}

fn listed(ids: &[TaskId]) -> Vec<String> {
    let ids = ids.iter().take(LISTED_IDS_LIMIT);
    ids.map(TaskId::to_string).collect()
}
