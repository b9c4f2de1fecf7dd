//! The calls of one task, through the dispatcher, with a note of the last one for the log.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use panpan_failure::Failure;
use panpan_runtime::ports::Clock;
use panpan_runtime::{Answer, CallRequest, Dispatcher, TaskAttempt, TaskState};

use super::clients::{EndedCall, TaskCallLog};
use crate::engine::ClaimedTask;
use crate::task::TaskId;

/// The dispatcher for the calls of one task.
pub(super) struct TaskCalls {
    pub(super) dispatcher: Dispatcher,
    clock: Arc<dyn Clock>,
    log: Option<Arc<dyn TaskCallLog>>,
    task: TaskId,
    owner: Option<Arc<str>>,
}

impl TaskCalls {
    pub(super) fn new(
        dispatcher: Dispatcher,
        clock: Arc<dyn Clock>,
        log: Option<Arc<dyn TaskCallLog>>,
        task: &ClaimedTask,
    ) -> Self {
        let (task, owner) = (task.row.id, task.row.owner.clone());
        Self {
            dispatcher,
            clock,
            log,
            task,
            owner,
        }
    }

    /// Makes one attempt. It is noted unless another one follows.
    pub(super) async fn attempt(&self, request: CallRequest, state: TaskState) -> TaskAttempt {
        let (operation, since) = (request.operation.clone(), self.clock.now());
        let attempt = self.dispatcher.dispatch_task(request, state).await;
        if attempt.retry_after_ms.is_none() {
            self.note(&operation, since, &attempt.answer);
        }
        attempt
    }

    /// Refuses a call that is not made.
    pub(super) fn reject(&self, request: CallRequest, failure: Failure) -> Answer {
        let (operation, since) = (request.operation.clone(), self.clock.now());
        let answer = self.dispatcher.reject(request, failure);
        self.note(&operation, since, &answer);
        answer
    }

    fn note(&self, operation: &str, since: Timestamp, answer: &Answer) {
        if let Some(log) = &self.log {
            let took = self.clock.now().duration_since(since);
            log.ended(EndedCall {
                task: self.task,
                owner: self.owner.as_deref(),
                operation,
                took: Duration::try_from(took).unwrap_or_default(),
                answer,
            });
        }
    }
}
