//! Why a command about tasks is refused, and the failure for it.

use panpan_failure::{Failure, codes};
use panpan_runtime::ports::StoreError;
use serde_json::{Value, json};

use crate::plan::PlanError;
use crate::state::{State, Transition};
use crate::task::TaskId;

/// The most ids that a failure lists.
const LISTED_LIMIT: usize = 50;

/// Why a command about tasks is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// There is no task with this id.
    #[error("there is no task {0}")]
    NotFound(TaskId),
    /// The task belongs to another principal.
    #[error("task {0} belongs to another caller")]
    NotOwned(TaskId),
    /// The transition table forbids it.
    #[error("task {task} cannot change its state: {reason}")]
    Transition {
        /// The task.
        task: TaskId,
        /// The transition.
        transition: Transition,
        /// Why it is forbidden.
        reason: String,
    },
    /// Its dependencies are not satisfied.
    #[error("task {task} waits for {} dependencies", unsatisfied.len())]
    Unsatisfied {
        /// The task.
        task: TaskId,
        /// The dependencies.
        unsatisfied: Vec<Unsatisfied>,
    },
    /// It is being executed.
    #[error("task {0} is already executing")]
    AlreadyExecuting(TaskId),
    /// It is being executed, and these members cannot be changed meanwhile.
    #[error("task {task} is in progress: {} can be changed when it has ended", members.join(", "))]
    InProgress {
        /// The task.
        task: TaskId,
        /// The members.
        members: Vec<String>,
    },
    /// It is an archive, which never changes.
    #[error("task {0} is an archive and cannot be changed: copy it and change the copy")]
    Archived(TaskId),
    /// It cannot be deleted.
    #[error("task {task} cannot be deleted: {reason}")]
    CannotDelete {
        /// The task.
        task: TaskId,
        /// Why.
        reason: String,
        /// The tasks that have to be deleted first.
        first: Vec<TaskId>,
    },
    /// The described tasks are invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A refusal does not undo the transaction of a store; an error of the store does.
pub(crate) fn refused<T>(done: Result<T, TaskError>) -> Result<Result<T, TaskError>, StoreError> {
    match done {
        Err(TaskError::Store(error)) => Err(error),
        other => Ok(other),
    }
}

/// A dependency that a task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsatisfied {
    /// The task that it depends on.
    pub id: TaskId,
    /// The state of that task.
    pub state: State,
    /// Whether that task has to succeed.
    pub required: bool,
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        let message = error.to_string();
        match error {
            TaskError::NotFound(task) => {
                about(Failure::new(codes::TASK_NOT_FOUND), task).with_message(message)
            }
            TaskError::NotOwned(task) => about(Failure::new(codes::UNAUTHORIZED), task)
                .with_message(message)
                .with_detail("reason", "the task belongs to another caller"),
            TaskError::Transition {
                task,
                transition,
                reason,
            } => transition.failure(task, &reason),
            TaskError::Unsatisfied { task, unsatisfied } => unsatisfied_failure(task, &unsatisfied),
            TaskError::AlreadyExecuting(task) => {
                about(Failure::new(codes::TASK_ALREADY_EXECUTING), task)
                    .with_message(message)
                    .with_detail("current_status", State::InProgress.word())
            }
            TaskError::InProgress { task, members } => {
                about(Failure::new(codes::TASK_ALREADY_EXECUTING), task)
                    .with_message(message)
                    .with_detail("current_status", State::InProgress.word())
                    .with_detail("members", members)
            }
            TaskError::Archived(task) => about(Failure::new(codes::INVALID_TASK_SCHEMA), task)
                .with_message(message)
                .with_detail("origin_type", "archive")
                .with_actions(["Copy the task with tasks/copy, then change the copy"]),
            TaskError::CannotDelete {
                task,
                reason,
                first,
            } => about(Failure::new(codes::CANNOT_DELETE_TASK), task)
                .with_message(message)
                .with_detail("reason", reason)
                .with_detail(
                    "delete_first",
                    listed(first.iter().map(|id| json!(id.to_string()))),
                ),
            TaskError::Plan(error) => error.into(),
            TaskError::Store(error) => error.failure(),
        }
    }
}

fn about(failure: Failure, task: TaskId) -> Failure {
    failure.with_detail("task_id", task.to_string())
}

fn unsatisfied_failure(task: TaskId, unsatisfied: &[Unsatisfied]) -> Failure {
    let entry = |it: &Unsatisfied| json!({"task_id": it.id.to_string(), "status": it.state.word(), "required": it.required});
    let count = unsatisfied.len();
    let first = unsatisfied.first();
    let example = first.map(|it| format!(", such as {} ({})", it.id, it.state));
    let message = format!(
        "task {task} cannot run yet: {count} of its dependencies are not satisfied{}",
        example.unwrap_or_default()
    );
    about(Failure::new(codes::DEPENDENCY_NOT_SATISFIED), task)
        .with_message(message)
        .with_detail("unsatisfied", listed(unsatisfied.iter().map(entry)))
        .with_detail("unsatisfied_count", count)
}

fn listed(all: impl Iterator<Item = Value>) -> Value {
    Value::Array(all.take(LISTED_LIMIT).collect())
}
