//! Log lines about failures, and the counts of the calls of tasks, which no protocol carries.

use std::fmt;

use panpan_failure::Redacted;
use panpan_runtime::Trace;

use super::{Gateway, Surface};
use crate::caller::Caller;

/// The last call of a task that ended.
#[derive(Clone, Copy, Debug)]
pub struct TaskCall<'a, Id> {
    /// The id of the task.
    pub task: Id,
    /// The caller it belongs to.
    pub owner: Option<&'a str>,
    /// The operation that it calls.
    pub operation: &'a str,
    /// How many attempts there were after the first.
    pub retries: u32,
    /// Its failure.
    pub failure: Option<&'a Redacted>,
}

impl Gateway {
    /// Logs a failure that a caller saw; its private cause is logged with the same id. Repeated codes are
    /// sampled, and the next line has the number of omitted lines.
    pub(super) fn log_failure(
        &self,
        surface: Surface,
        caller: Option<&Caller>,
        failure: &Redacted,
    ) {
        let Some(left_out) = self.0.lines.admit(failure.code().as_str()) else {
            return;
        };
        let trace = caller.and_then(|caller| caller.trace);
        tracing::info!(
            failure = failure.id().map(tracing::field::display),
            code = failure.code().as_str(),
            operation = failure.operation(),
            surface = surface.name(),
            caller = caller.map(|caller| tracing::field::display(&caller.principal)),
            request_id = caller.and_then(|caller| caller.request_id.as_deref()),
            trace_id = trace.as_ref().map(Trace::trace_id),
            left_out = (left_out > 0).then_some(left_out),
            "failed"
        );
    }

    /// Counts the call of a task, and logs its failure. Calls of internal operations, such as webhooks, are not counted:
    /// metrics are shown to callers.
    pub fn task_ended(&self, call: TaskCall<'_, impl fmt::Display>) {
        let is_internal = self.0.dispatcher.with_registry(|registry| {
            let known = registry.get(call.operation).is_some();
            known && registry.external(call.operation).is_none()
        });
        if !is_internal {
            let call_metrics = self.call_metrics(Surface::Task, call.operation);
            call_metrics.ended_after(call.retries, call.failure);
        }
        let Some(failure) = call.failure else {
            return;
        };
        let Some(left_out) = self.0.task_lines.admit(failure.code().as_str()) else {
            return;
        };
        tracing::info!(
            failure = failure.id().map(tracing::field::display),
            code = failure.code().as_str(),
            operation = failure.operation(),
            surface = Surface::Task.name(),
            caller = call.owner.map(tracing::field::display),
            task = %call.task,
            left_out = (left_out > 0).then_some(left_out),
            "failed"
        );
    }
}
