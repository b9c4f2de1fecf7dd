//! Calls as tasks: created at once, polled, cancelled, asked for input, their outcome kept.
//!
//! A task of MCP is a flow of one task: it is created, read and cancelled with the operations `tasks/execute`,
//! `tasks/get` and `tasks/cancel`, so durability, owners and limits are those of flows. This module translates.
//!
//! `create` turns a call into a task. `stateless` serves the methods of the tasks extension (2026-07-28), `session`
//! those of 2025-11-25, which the library does not know: `wire` carries them past it. `stored` writes tasks in both
//! forms, `inputs` has the questions of running tasks.

mod create;
mod inputs;
mod session;
mod stateless;
mod stored;
mod support;
mod wire;

use std::sync::Arc;

use panpan_failure::{Redacted, codes};
use panpan_runtime::{Answer, CallRequest, IdempotencyKey};
use rmcp::ErrorData;
use serde_json::{Value, json};

use super::features::error_response;
use super::rpc_error;
use super::server::{Server, truncated};
use crate::caller::Caller;
use crate::gateway::{Gateway, Surface};
use inputs::TaskQueue;
use stored::StoredTask;

pub use inputs::{TASK_QUESTIONS_LIMIT, TASK_QUESTIONS_PER_OWNER_LIMIT, TaskInputs};
pub(super) use session::may_list;
pub(super) use support::{ask_first, runs_as_task};
pub(super) use wire::{declare_for_session, keep_task_member, may_have_task_member, pass_unread};

const EXECUTE: &str = "tasks/execute";
const GET: &str = "tasks/get";
const LIST: &str = "tasks/list";
const CANCEL: &str = "tasks/cancel";
const EVENTS: &str = "tasks/events";

/// What MCP needs to know of the tasks of this process.
#[derive(Clone, Debug)]
pub struct McpTasks {
    /// The questions of running tasks.
    pub inputs: Arc<TaskInputs>,
    /// How long a task is kept after its last change.
    pub kept_ms: u64,
}

impl Server {
    /// Whether calls can run as tasks: whether the operations of tasks are served.
    pub(super) fn offers_tasks(&self) -> bool {
        are_offered(self.gateway())
    }

    /// Calls an operation of tasks.
    async fn task_operation(
        &self,
        caller: &Caller,
        operation: &str,
        input: Value,
        key: Option<IdempotencyKey>,
    ) -> Answer {
        let call = CallRequest {
            key,
            ..CallRequest::from_wire(operation, input)
        };
        self.gateway().call(Surface::Mcp, caller, call).await
    }

    /// A task in the answer of an operation.
    fn task_in(&self, mut answer: Answer) -> Result<StoredTask, Redacted> {
        let beside = answer.extra.take().map(|it| *it);
        let kept_ms = self.gateway().tasks_kept_ms();
        let task = answer.into_value()?;
        Ok(StoredTask::new(task, beside, kept_ms))
    }

    /// A task of this caller.
    async fn stored_task(&self, caller: &Caller, id: &str) -> Result<StoredTask, ErrorData> {
        let found = self.task_operation(caller, GET, json!({"task_id": id}), None);
        self.task_in(found.await)
            .map_err(|failure| task_error(id, &failure))
    }

    /// The questions of a task that runs in this process.
    fn questions_of(&self, task: &StoredTask) -> Option<Arc<TaskQueue>> {
        self.gateway().task_inputs()?.of(task.id())
    }

    /// Cancels a task; `false` if it had ended before.
    async fn cancel_stored(&self, caller: &Caller, id: &str) -> Result<bool, ErrorData> {
        let cancelled = self.task_operation(caller, CANCEL, json!({"task_id": id}), None);
        match cancelled.await.outcome {
            Ok(_) => Ok(true),
            Err(failure) if has_code(&failure, codes::INVALID_STATE_TRANSITION.code) => Ok(false),
            Err(failure) => Err(task_error(id, &failure)),
        }
    }
}

/// Whether calls can run as tasks: whether the operations of tasks are served.
pub(super) fn are_offered(gateway: &Gateway) -> bool {
    gateway.is_external(EXECUTE)
}

/// The error for a task that cannot be used. A task of another caller does not exist.
fn task_error(id: &str, failure: &Redacted) -> ErrorData {
    let absent = [
        codes::TASK_NOT_FOUND,
        codes::TASK_NOT_OWNED,
        codes::UNAUTHORIZED,
        codes::INVALID_INPUT,
    ];
    match absent.iter().any(|it| has_code(failure, it.code)) {
        true => rpc_error::unknown_task(&truncated(id)),
        false => error_response(failure),
    }
}

fn has_code(failure: &Redacted, code: &str) -> bool {
    failure.code().as_str() == code
}
