//! Plans: tasks that form a tree and a graph of dependencies without cycles.
//!
//! A [`Plan`] exists only if all its tasks are valid together. Validation reads no store: the caller looks up
//! the tasks of [`ids_to_look_up`] first.

mod graph;
pub(crate) mod inputs;
mod links;
mod problem;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;
use panpan_failure::Violation;
use serde_json::{Map, Value};

use crate::state::State;
use crate::task::{NewTask, ReadTask, TaskId};

pub use inputs::SCHEMAS_LIMIT;
pub(crate) use inputs::check_schemas;
pub(crate) use problem::Problems;
pub use problem::{About, LISTED_IDS_LIMIT, PROBLEMS_LIMIT, PlanError, PlanProblem, ProblemKind};
pub(crate) use tree::arrows;

/// The most tasks of a plan.
pub const TASKS_LIMIT: usize = 200_000;

/// The most levels of a tree, with its root. A tree that is shown nests two levels for each of these, and clients often
/// read at most 128.
pub const TREE_LEVELS_LIMIT: usize = 50;

/// The most dependencies of a task.
pub const DEPENDENCIES_LIMIT: usize = 10_000;

/// The most dependencies of all tasks of a plan.
pub const TOTAL_DEPENDENCIES_LIMIT: usize = 1_000_000;

/// Tasks outside the plan.
pub trait KnownTasks {
    /// The task with this id.
    fn find(&self, id: TaskId) -> Option<KnownTask>;
}

/// A task that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTask {
    /// The root of its flow.
    pub root: TaskId,
    /// Its level in the tree, where a root has level 1. Read only of parents of the plan.
    pub level: usize,
    /// Its state.
    pub state: State,
    /// Whether the caller may see it. For references, a task that the caller may not see does not exist; its id
    /// is taken nevertheless.
    pub is_visible: bool,
}

impl<F: Fn(TaskId) -> Option<KnownTask>> KnownTasks for F {
    fn find(&self, id: TaskId) -> Option<KnownTask> {
        self(id)
    }
}

/// The operations that tasks can run.
pub trait Methods {
    /// Whether a task can run an operation of this name.
    fn exists(&self, method: &str) -> bool;

    /// The operation that this is another name of, such as that of its tool.
    fn with_alias(&self, alias: &str) -> Option<String> {
        let _ = alias;
        None
    }

    /// Whether this is an operation that streams, which a task cannot run.
    fn streams(&self, method: &str) -> bool {
        let _ = method;
        false
    }

    /// Whether an existing operation may change something.
    fn changes(&self, method: &str) -> bool {
        let _ = method;
        true
    }

    /// The schema of the input of an existing operation.
    fn input_schema(&self, method: &str) -> Option<&Value> {
        let _ = method;
        None
    }

    /// Existing operations with similar names, the most similar first.
    fn similar(&self, method: &str) -> Vec<String>;

    /// What an existing operation does not accept in the inputs of a task, with pointers into the inputs.
    fn violations(&self, method: &str, inputs: &Map<String, Value>) -> Vec<Violation> {
        let _ = (method, inputs);
        Vec::new()
    }
}

/// Tasks that are valid together, in the order of the client.
#[derive(Clone, Debug)]
pub struct Plan {
    tasks: Vec<NewTask>,
    positions: Positions,
    top: usize,
    root: TaskId,
}

type Positions = HashMap<TaskId, u32, FixedState>;

/// The tasks outside the plan that validation asks for: parents, dependencies, originals, and the ids that the
/// client chose, which may be taken.
pub(crate) fn ids_to_look_up(tasks: &[ReadTask]) -> BTreeSet<TaskId> {
    let own: BTreeSet<TaskId> = tasks.iter().map(|read| read.task.id).collect();
    let mut ids = BTreeSet::new();
    for ReadTask {
        task, id_is_given, ..
    } in tasks
    {
        let dependencies = task.dependencies.iter().map(|it| it.id);
        let original = task.definition.origin.original();
        let referred = dependencies.chain(task.parent).chain(original);
        ids.extend(referred.filter(|id| !own.contains(id)));
        ids.extend(id_is_given.then_some(task.id));
    }
    ids
}

impl Plan {
    /// Validates tasks, or returns all problems.
    ///
    /// The tasks are a whole flow with one root, or hang below one task that exists already, whose flow they
    /// join.
    pub fn new(
        tasks: Vec<ReadTask>,
        known: &dyn KnownTasks,
        methods: &dyn Methods,
    ) -> Result<Self, PlanError> {
        let mut problems = Problems::default();
        check_schemas(&tasks, &mut problems);
        Self::with_problems(tasks, known, methods, problems)
    }

    /// Validates tasks whose own schemas are checked already, or returns all problems with those of the schemas.
    pub(crate) fn with_problems(
        mut tasks: Vec<ReadTask>,
        known: &dyn KnownTasks,
        methods: &dyn Methods,
        problems: Problems,
    ) -> Result<Self, PlanError> {
        check_limits(&tasks)?;
        replace_aliases(&mut tasks, methods);
        let mut draft = Draft {
            positions: Positions::with_capacity_and_hasher(tasks.len(), FixedState::default()),
            tasks: &tasks,
            known,
            problems,
        };
        draft.index();
        let top = draft.check_tree();
        let root = top.and_then(|top| draft.root_of_flow(top));
        let graph = draft.check_dependencies(root);
        draft.check_cycles(&graph);
        draft.check_origins();
        draft.check_methods(methods);
        draft.check_inputs(methods);
        let Draft {
            positions,
            problems,
            ..
        } = draft;
        problems.or_err(|| Self {
            positions,
            top: top.expect("a plan without a top task has a problem"),
            root: root.expect("a plan without a root has a problem"),
            tasks: tasks.into_iter().map(|read| read.task).collect(),
        })
    }

    /// The tasks, in the order of the client; never empty.
    pub fn tasks(&self) -> &[NewTask] {
        &self.tasks
    }

    /// The tasks, in the order of the client.
    pub fn into_tasks(self) -> Vec<NewTask> {
        self.tasks
    }

    /// The root of the flow: the top task, or the root of the existing flow that the plan joins.
    pub fn root(&self) -> TaskId {
        self.root
    }

    /// The task above all others of the plan.
    pub fn top(&self) -> &NewTask {
        &self.tasks[self.top]
    }

    /// Whether the plan is a whole flow, and not a part that joins one.
    pub fn is_new_flow(&self) -> bool {
        self.top().parent.is_none()
    }

    /// The position of a task in [`tasks`](Self::tasks).
    pub fn position(&self, id: TaskId) -> Option<usize> {
        self.positions.get(&id).map(|it| *it as usize)
    }
}

/// Tasks that are being validated.
struct Draft<'a> {
    tasks: &'a [ReadTask],
    /// Of a duplicate id, the first task.
    positions: Positions,
    known: &'a dyn KnownTasks,
    problems: Problems,
}

impl Draft<'_> {
    fn note(&mut self, kind: ProblemKind, at: usize, violation: impl FnOnce() -> Violation) {
        let task = self.tasks[at].task.id;
        let problem = || PlanProblem::new(kind, task, violation());
        self.problems.note(kind, problem);
    }

    /// The pointer to a member of a task.
    fn pointer(&self, at: usize, member: &str) -> String {
        self.tasks[at].place.member(member)
    }

    fn position(&self, id: TaskId) -> Option<usize> {
        self.positions.get(&id).map(|it| *it as usize)
    }

    /// A task outside the plan that the caller may see.
    fn outside(&self, id: TaskId) -> Option<KnownTask> {
        self.known.find(id).filter(|it| it.is_visible)
    }
}

/// Tasks keep the names of operations: a tool or its name may be gone when they run.
fn replace_aliases(tasks: &mut [ReadTask], methods: &dyn Methods) {
    for read in tasks {
        let schemas = read.task.definition.schemas.as_mut();
        let Some(schemas) = schemas.filter(|it| !methods.exists(it.method())) else {
            continue;
        };
        if let Some(method) = methods.with_alias(schemas.method()) {
            *schemas = schemas.clone().with_method(method);
        }
    }
}

/// A plan beyond the limits is not looked at further.
fn check_limits(tasks: &[ReadTask]) -> Result<(), PlanError> {
    if tasks.len() > TASKS_LIMIT {
        return Err(crate::task::too_many_tasks(tasks.len()));
    }
    let mut problems = Problems::default();
    let kind = ProblemKind::Malformed;
    let mut total = 0;
    for ReadTask { task, place, .. } in tasks {
        let count = task.dependencies.len();
        total += count;
        if count > DEPENDENCIES_LIMIT {
            problems.note(kind, || {
                let pointer = place.member("dependencies");
                let violation = Violation::value(pointer, "too many dependencies")
                    .expected(format!("at most {DEPENDENCIES_LIMIT} dependencies"))
                    .actual(count);
                PlanProblem::new(kind, task.id, violation)
            });
        }
    }
    if total > TOTAL_DEPENDENCIES_LIMIT {
        problems.note(kind, || {
            let violation = Violation::value("/tasks", "too many dependencies in all tasks")
                .expected(format!("at most {TOTAL_DEPENDENCIES_LIMIT} dependencies in all tasks"))
                .actual(total);
            PlanProblem::new(kind, None, violation).about(About::Advice(format!(
                "Leave out dependencies, or create the tasks with several requests: all tasks of one together may have \
                 {TOTAL_DEPENDENCIES_LIMIT}"
            )))
        });
    }
    problems.or_err(|| ())
}
