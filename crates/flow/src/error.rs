//! Why a command about tasks is refused, and the failure for it.

use std::sync::Arc;

use panpan_failure::{Alternative, Failure, Violation, codes};
use panpan_runtime::ports::StoreError;
use serde_json::{Value, json};

use crate::engine::{ANSWER_BYTES_LIMIT, COPY_BYTES_LIMIT, COPY_TASKS_LIMIT, MESSAGE_RUNS_LIMIT};
use crate::plan::PlanError;
use crate::ports::Row;
use crate::state::{State, Transition};
use crate::task::TaskId;

/// The most ids that a failure lists.
pub(crate) const LISTED_LIMIT: usize = 50;

/// Why a command about tasks is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum TaskError {
    /// There is no task with this id.
    #[error("there is no task {0}")]
    NotFound(TaskId),
    /// The task belongs to another principal.
    #[error("task {task} belongs to another caller")]
    NotOwned {
        /// The task.
        task: TaskId,
        /// Whether this caller has sent no token.
        is_anonymous: bool,
    },
    /// A task shall have the `user_id` of another caller.
    #[error("user_id is {user}, but the caller is {caller}")]
    OtherUser {
        /// The `user_id`.
        user: String,
        /// The name of the caller.
        caller: String,
    },
    /// The owner of the flow may not call the operation of a task, or it does not exist any more.
    #[error(
        "task {task} calls {operation}, and there is no operation of this name that you may call"
    )]
    NotCallable {
        /// The task.
        task: TaskId,
        /// The operation.
        operation: Arc<str>,
    },
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
    /// It is being executed, or it is queued.
    #[error("task {task} is {} already", if *state == State::Pending { "queued" } else { "executing" })]
    AlreadyExecuting {
        /// The task.
        task: TaskId,
        /// Its state.
        state: State,
    },
    /// It is being executed, and these members cannot be changed meanwhile.
    #[error("task {task} is in progress: {} can be changed when it has ended", members.join(", "))]
    InProgress {
        /// The task.
        task: TaskId,
        /// The members.
        members: Vec<String>,
    },
    /// It has ended, and its dependencies cannot be changed any more.
    #[error(
        "task {task} cannot change its dependencies: it is {state}, and they change only while it is pending"
    )]
    FixedDependencies {
        /// The task.
        task: TaskId,
        /// Its state.
        state: State,
    },
    /// It is an archive, which never changes.
    #[error("task {0} is an archive and cannot be changed: copy it and change the copy")]
    Archived(TaskId),
    /// It is a message to a webhook, which only the server writes.
    #[error("task {0} is a message to a webhook and cannot be changed")]
    Message(TaskId),
    /// It is a message to a webhook that was sent often enough.
    #[error("task {0} is a message to a webhook that was sent {MESSAGE_RUNS_LIMIT} times")]
    SentTooOften(TaskId),
    /// It is too large to be copied with all tasks below it.
    #[error(
        "task {0} is too large to be copied with the tasks below it: at most {COPY_TASKS_LIMIT} tasks with {COPY_BYTES_LIMIT} bytes are copied at once"
    )]
    CopyTooLarge(TaskId),
    /// It cannot be deleted.
    #[error("task {task} cannot be deleted: {obstacle}")]
    CannotDelete {
        /// The task.
        task: TaskId,
        /// Why.
        obstacle: Obstacle,
    },
    /// Its tree is too large for an answer.
    #[error("the tree of task {task} has {tasks} tasks, and more than {ANSWER_BYTES_LIMIT} bytes")]
    TreeTooLarge {
        /// The task.
        task: TaskId,
        /// How many tasks the tree has.
        tasks: usize,
    },
    /// The described tasks are invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TaskError {
    pub(crate) fn already_executing(row: &Row) -> Self {
        TaskError::AlreadyExecuting {
            task: row.id,
            state: row.run.state,
        }
    }
}

/// Why a task cannot be deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Obstacle {
    /// It has started or ended.
    #[error("it is {0}, and only a pending task can be deleted")]
    State(State),
    /// These tasks are below it.
    #[error("it has children")]
    Children(Blockers),
    /// These tasks depend on it.
    #[error("other tasks depend on it")]
    Dependents(Blockers),
}

/// Tasks that would have to be deleted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blockers {
    /// The tasks.
    pub(crate) tasks: Vec<TaskId>,
    /// Whether all of them can be deleted.
    pub(crate) are_pending: bool,
}

/// A dependency that a task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsatisfied {
    /// The task that it depends on.
    pub(crate) id: TaskId,
    /// The state of that task.
    pub(crate) state: State,
    /// Whether that task has to succeed.
    pub(crate) required: bool,
    /// Whether that task runs, or will run without another command.
    pub(crate) runs: bool,
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        let message = error.to_string();
        match error {
            TaskError::NotFound(task) => {
                about(Failure::new(codes::TASK_NOT_FOUND), task).with_message(message)
            }
            TaskError::NotOwned { task, is_anonymous } => {
                not_owned(task, is_anonymous).with_message(message)
            }
            TaskError::OtherUser { caller, .. } => {
                other_user(&caller).with_message(message)
            }
            TaskError::NotCallable { task, operation } => {
                not_callable(task, &operation).with_message(message)
            }
            TaskError::Transition {
                task,
                transition,
                reason,
            } => transition
                .failure(task, &reason)
                .with_actions([instead_of(transition)]),
            TaskError::Unsatisfied { task, unsatisfied } => unsatisfied_failure(task, &unsatisfied),
            TaskError::AlreadyExecuting { task, state } => executing(task, state)
                .with_message(message)
                .with_actions([format!(
                    "Call tasks/get with {task} to follow the current run, or GET /tasks/{task}/events over HTTP"
                )])
                .with_alternatives([CANCEL_AND_EXECUTE.into()]),
            TaskError::InProgress { task, members } => executing(task, State::InProgress)
                .with_message(message)
                .with_detail("members", members)
                .with_actions(["Wait until the task has ended, then update it"])
                .with_alternatives([CANCEL_AND_UPDATE.into()]),
            TaskError::FixedDependencies { task, state } => Transition::new(state, State::Pending)
                .failure(task, "dependencies can be changed only while the task is pending")
                .with_actions([change_dependencies(state)]),
            TaskError::Archived(task) => about(Failure::new(codes::INVALID_TASK_SCHEMA), task)
                .with_message(message)
                .with_detail("origin_type", "archive")
                .with_actions(["Copy the task with tasks/copy, then change the copy"]),
            TaskError::Message(task) => about(Failure::new(codes::INVALID_TASK_SCHEMA), task)
                .with_message(message)
                .with_actions(["Send the message once more with tasks/execute"]),
            TaskError::SentTooOften(task) => about(Failure::new(codes::INVALID_TASK_SCHEMA), task)
                .with_message(message)
                .with_actions(["Execute the flow again: each time that it rests is a new message"]),
            TaskError::CopyTooLarge(task) => copy_too_large(task).with_message(message),
            TaskError::CannotDelete { task, obstacle } => cannot_delete(task, &obstacle),
            TaskError::TreeTooLarge { task, tasks } => {
                tree_too_large(task, tasks).with_message(message)
            }
            TaskError::Plan(error) => error.into(),
            TaskError::Store(error) => error.failure(),
        }
    }
}

fn about(failure: Failure, task: TaskId) -> Failure {
    failure.with_detail("task_id", task.to_string())
}

const CANCEL_AND_EXECUTE: &str = "Cancel it with tasks/cancel, then execute it again";
const CANCEL_AND_UPDATE: &str = "Cancel it with tasks/cancel, then update it";

/// Another token helps only a caller that has sent none.
fn not_owned(task: TaskId, is_anonymous: bool) -> Failure {
    let failure = match is_anonymous {
        true => Failure::new(codes::UNAUTHORIZED)
            .with_actions(["Send the bearer token of the caller who created the task"]),
        false => Failure::new(codes::TASK_NOT_OWNED),
    };
    about(failure, task).with_detail("reason", "the task belongs to another caller")
}

fn other_user(caller: &str) -> Failure {
    Failure::new(codes::TASK_NOT_OWNED)
        .with_detail("reason", "User ID mismatch")
        .with_actions([format!(
            "Leave out user_id, or set it to {caller}: only a token with the scope panpan:tasks may name another caller"
        )])
}

fn not_callable(task: TaskId, operation: &str) -> Failure {
    let alternative = "Cancel the task with tasks/cancel, then execute another one";
    about(Failure::new(codes::EXECUTOR_NOT_FOUND), task)
        .with_detail("executor", operation)
        .with_actions([
            "Call services/list to find an operation that you may call, then change schemas.method of the task with \
             tasks/update",
        ])
        .with_alternatives([alternative.into()])
}

fn executing(task: TaskId, state: State) -> Failure {
    let failure = Failure::new(codes::TASK_ALREADY_EXECUTING);
    about(failure, task).with_detail("current_status", state.word())
}

fn tree_too_large(task: TaskId, tasks: usize) -> Failure {
    let violation = Violation::value("/task_id", "the tree is too large")
        .expected("a task with a smaller tree")
        .actual(format!("{tasks} tasks"));
    let alternative = "Send \"fields\": \"summary\" to leave out inputs and results";
    about(Failure::new(codes::INVALID_INPUT), task)
        .with_violation(violation)
        .with_actions(["Read the tasks in pages with tasks/list and root_task_id"])
        .with_alternatives([alternative.into()])
}

fn copy_too_large(task: TaskId) -> Failure {
    let violation = Violation::value("/task_id", "the tree is too large")
        .expected("a task with a smaller tree");
    about(Failure::new(codes::INVALID_INPUT), task)
        .with_violation(violation)
        .with_actions(["Copy a task below it, or create the tasks anew with tasks/create"])
}

/// What a caller can do instead. The action never advises a caller who wanted to cancel a task to run it: that could
/// repeat an effect.
fn instead_of(transition: Transition) -> &'static str {
    match (transition.current, transition.requested) {
        (State::Pending, _) => "Run the task with tasks/execute, or cancel it with tasks/cancel",
        (State::InProgress, _) => "Wait until the task has ended, or cancel it with tasks/cancel",
        (_, State::Cancelled) => {
            "Leave the task as it is: it has ended, and there is nothing left to cancel"
        }
        (State::Failed, _) => "Run the task again with tasks/execute, or set its status to pending",
        (State::Completed | State::Cancelled, _) => {
            "Run the task again with tasks/execute, or copy it with tasks/copy and change the copy"
        }
    }
}

/// How the dependencies of a task that has ended can be changed. Executing it again does not help: then it runs.
fn change_dependencies(state: State) -> &'static str {
    match state {
        State::Failed => {
            "Set the status to pending in the same update as the dependencies, then run the task with tasks/execute"
        }
        _ => "Copy the task with tasks/copy and change the dependencies of the copy",
    }
}

fn cannot_delete(task: TaskId, obstacle: &Obstacle) -> Failure {
    const CANCEL: &str = "Cancel the task with tasks/cancel and keep it for the record";
    const KEEP: &str =
        "Keep the task: it is deleted with its flow, some time after the last change";
    let blockers = match obstacle {
        Obstacle::State(_) => None,
        Obstacle::Children(blockers) | Obstacle::Dependents(blockers) => Some(blockers),
    };
    let (action, alternative) = match obstacle {
        Obstacle::State(State::InProgress) => (CANCEL, None),
        Obstacle::State(_) => (KEEP, None),
        Obstacle::Children(Blockers { are_pending, .. }) if !are_pending => (CANCEL, Some(KEEP)),
        Obstacle::Dependents(Blockers { are_pending, .. }) if !are_pending => (CANCEL, Some(KEEP)),
        _ => (
            "Delete the tasks in delete_first with tasks/delete, then this one",
            Some(CANCEL),
        ),
    };
    let can_go_first = blockers.is_none_or(|it| it.are_pending);
    // Tasks that have started cannot be deleted first, and keep this one.
    let list = if can_go_first {
        "delete_first"
    } else {
        "kept_by"
    };
    let ids = blockers.into_iter().flat_map(|it| &it.tasks);
    about(Failure::new(codes::CANNOT_DELETE_TASK), task)
        .with_message(format!("task {task} cannot be deleted: {obstacle}"))
        .with_detail("reason", obstacle.to_string())
        .with_detail(list, listed(ids.map(|id| json!(id.to_string()))))
        .with_actions([action])
        .with_alternatives(alternative.map(Alternative::from))
}

fn unsatisfied_failure(task: TaskId, unsatisfied: &[Unsatisfied]) -> Failure {
    let entry = |it: &Unsatisfied| json!({"task_id": it.id.to_string(), "status": it.state.word(), "required": it.required});
    let count = unsatisfied.len();
    let first = unsatisfied.first();
    let runs_meanwhile = unsatisfied.iter().all(|it| it.runs);
    let example = first.map(|it| format!(", such as {} ({})", it.id, it.state));
    let message = format!(
        "task {task} cannot run yet: {count} of its dependencies are not satisfied{}",
        example.unwrap_or_default()
    );
    about(Failure::new(codes::DEPENDENCY_NOT_SATISFIED), task)
        .with_message(message)
        .with_detail("unsatisfied", listed(unsatisfied.iter().map(entry)))
        .with_detail("unsatisfied_count", count)
        .with_actions([match runs_meanwhile {
            true => "Wait until the tasks in unsatisfied have ended: tasks/get shows their status",
            false => "Execute the tasks in unsatisfied with tasks/execute first",
        }])
        .with_alternatives([Alternative::from(
            "Execute the root with tasks/execute, which runs the whole tree in order",
        )])
}

fn listed(all: impl Iterator<Item = Value>) -> Value {
    Value::Array(all.take(LISTED_LIMIT).collect())
}

#[cfg(test)]
mod tests;
