//! Durable flows: trees of tasks whose failures propagate by rule.
//!
//! `task` is the task as a client writes it, `plan` a set of tasks that are valid together. `state` and `step` are the
//! state machine, as pure functions. `engine` applies it to the rows of a store, through the traits in `ports`. `worker`
//! runs tasks through the dispatcher, and `operations` offers them to callers. Nothing here contains SQL or listens.

mod authority;
mod engine;
mod error;
mod flows;
mod kept;
mod limits;
mod operations;
mod plan;
pub mod ports;
mod references;
mod state;
mod step;
mod task;
#[doc(hidden)]
pub mod testing;
mod webhooks;
mod worker;

pub use engine::{
    ANSWER_BYTES_LIMIT, COPY_BYTES_LIMIT, COPY_TASKS_LIMIT, DEFINITIONS_READ_LIMIT, FLOWS_KEPT_MS,
    FLOWS_SWEPT_AT_ONCE, GENERATIONS_LIMIT, MESSAGE_RUNS_LIMIT,
};
pub use flows::{Flows, TASKS_SCOPE};
pub use limits::{
    OPERATION_MISSING_MS, RUNNING_BYTES_LIMIT, RUNNING_BYTES_LIMIT_PER_OWNER, TaskLimits,
};
pub use operations::{WEBHOOK_SENDER, operations};
pub use plan::{
    About, DEPENDENCIES_LIMIT, KnownTask, KnownTasks, LISTED_IDS_LIMIT, Methods, PROBLEMS_LIMIT,
    Plan, PlanError, PlanProblem, ProblemKind, SCHEMAS_LIMIT, TASKS_LIMIT,
    TOTAL_DEPENDENCIES_LIMIT, TREE_LEVELS_LIMIT,
};
pub use state::{State, Transition};
pub use step::{Action, Announcement, Queued, Run, TaskEvent, is_satisfied, step};
pub use task::{
    DELAY_SECONDS_LIMIT, Definition, Dependency, InvalidName, InvalidPriority, InvalidTaskId,
    NAME_CHARACTERS_LIMIT, NESTING_LIMIT, NewTask, Phase, Priority, Provenance,
    RETRY_ATTEMPTS_LIMIT, ReadTask, RequestPlace, SCHEMA_TYPES, Schemas, TaskId, TaskView, Unread,
    read_task_id, read_tasks, result_object,
};
pub use webhooks::{WEBHOOK_URL_BYTES_LIMIT, WebhookKey};
pub use worker::{
    EndedCall, RESULT_BYTES_LIMIT, TaskCallLog, TaskClients, TaskOwners, Worker, WorkerSettings,
};
