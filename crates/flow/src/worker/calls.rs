//! The calls of one task, through the dispatcher, and a note of how the last one ended.

use std::sync::Arc;

use panpan_failure::{Failure, Redacted};
use panpan_runtime::{CallRequest, CancellationToken, Dispatcher};

use super::clients::{EndedCall, TaskCallLog};
use crate::engine::ClaimedTask;
use crate::task::TaskId;

/// The dispatcher for the calls of one task.
pub(super) struct TaskCalls {
    pub(super) dispatcher: Dispatcher,
    log: Option<Arc<dyn TaskCallLog>>,
    /// Cancelled when the task is, and when it was taken over by another process.
    stop: CancellationToken,
    task: TaskId,
    owner: Option<Arc<str>>,
}

impl TaskCalls {
    pub(super) fn new(
        dispatcher: Dispatcher,
        log: Option<Arc<dyn TaskCallLog>>,
        stop: CancellationToken,
        task: &ClaimedTask,
    ) -> Self {
        let (task, owner) = (task.row.id, task.row.owner.clone());
        Self {
            dispatcher,
            log,
            stop,
            task,
            owner,
        }
    }

    /// Refuses a call that is not made.
    pub(super) fn reject(&self, request: CallRequest, failure: Failure) -> Redacted {
        let operation = request.operation.clone();
        let rejected = self.dispatcher.reject(request, failure).outcome.err();
        let failure = rejected.expect("a rejected call has no output");
        self.note(&operation, 0, Some(&failure));
        failure
    }

    /// Notes how the task ends, unless it was stopped: then this is not its end.
    pub(super) fn note(&self, operation: &str, retries: u32, failure: Option<&Redacted>) {
        if let Some(log) = &self.log
            && !self.stop.is_cancelled()
        {
            log.ended(EndedCall {
                task: self.task,
                owner: self.owner.as_deref(),
                operation,
                retries,
                failure,
            });
        }
    }
}
