//! A stored task as MCP shows it, in both versions.

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure, Redacted, codes};
use panpan_mcp::names::RELATED_TASK_META_KEY;
use panpan_runtime::{Answer, GATEWAY, Output};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, DetailedTask, InputRequests, JsonObject, MetaObject, Task, TaskPayload,
    TaskStatus,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::mcp::rpc_error;
use crate::mcp::server::{Shared, truncated};
use crate::mcp::tool_result::{self, WireVersion};

/// How often clients should ask for a task.
pub(super) const POLL_INTERVAL_MS: u64 = 1000;

/// The only member of the result of a task whose output is not an object.
const RESULT: &str = "result";

/// A task as `tasks/get` returns it.
#[derive(Clone, Debug)]
pub(super) struct StoredTask {
    task: Value,
    /// What the call returned beside its output or its failure.
    extra: Option<Value>,
    /// Whether the output was no object, and is a member of the result.
    is_wrapped: bool,
    kept_ms: Option<u64>,
}

/// The state of a task, as far as MCP knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskPhase {
    Working,
    Completed,
    Failed,
    Cancelled,
}

impl StoredTask {
    /// A task, what its operation said about it beside the output, and how long it is kept.
    pub(super) fn new(task: Value, beside: Option<Value>, kept_ms: Option<u64>) -> Self {
        let mut beside = beside.and_then(|mut it| Some(it.get_mut("task")?.take()));
        let beside = beside.get_or_insert_default();
        let extra = beside.get_mut("extra").map(Value::take);
        Self {
            task,
            extra: extra.filter(|it| !it.is_null()),
            is_wrapped: beside["is_wrapped"] == true,
            kept_ms,
        }
    }

    /// A task that was just created.
    pub(super) fn created(id: &str, beside: Option<&Value>, kept_ms: Option<u64>) -> Self {
        let at = beside.and_then(|it| it.pointer("/task/created_at")?.as_str());
        let at = at.map_or_else(|| Timestamp::now().to_string(), str::to_owned);
        let task = json!({"id": id, "status": "pending", "created_at": at, "updated_at": at});
        Self::new(task, None, kept_ms)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.task.get(name)?.as_str()
    }

    pub(super) fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    pub(super) fn phase(&self) -> TaskPhase {
        match self.text("status") {
            Some("completed") => TaskPhase::Completed,
            Some("failed") => TaskPhase::Failed,
            Some("cancelled") => TaskPhase::Cancelled,
            _ => TaskPhase::Working,
        }
    }

    fn operation(&self) -> &str {
        let method = self.task.pointer("/schemas/method").and_then(Value::as_str);
        method.unwrap_or_default()
    }

    /// What a person or a model can read about its state.
    fn message(&self) -> Option<String> {
        if let Some(error) = self.text("error") {
            return Some(error.to_owned());
        }
        if let Some(at) = self.text("retry_at") {
            return Some(format!("waits until {at} before the next attempt"));
        }
        let progress = self.task.get("progress")?.as_f64()?;
        let is_under_way = self.phase() == TaskPhase::Working && progress > 0.0;
        is_under_way.then(|| format!("{:.0} % done", progress * 100.0))
    }

    /// What the call returned, or the error that it was answered with.
    pub(super) fn outcome(
        &self,
        shared: &Shared,
        version: WireVersion,
    ) -> Result<CallToolResult, ErrorData> {
        let (index, registry) = (shared.tool_index(), shared.gateway.dispatcher().registry());
        let entry = index.by_operation(self.operation());
        let operation = registry.get(self.operation());
        let outcome = match self.phase() {
            TaskPhase::Completed => Ok(self.output()),
            _ => {
                Err(self
                    .failure(operation.is_some_and(|it| it.spec().op_type == OperationType::Query)))
            }
        };
        if let Err(failure) = &outcome {
            let is_gone = entry.is_none() && failure.code().as_str() == codes::NOT_FOUND.code;
            if is_gone {
                return Err(rpc_error::unknown_tool(&truncated(self.operation()), &[]));
            }
        }
        let declared = operation.zip(outcome.as_ref().ok());
        let schema_violation = declared.and_then(|(it, output)| it.output_violation(output));
        let answer = Answer {
            call: Uuid::nil(),
            outcome: outcome.map(Output::from),
            attempts: 0,
            replayed: false,
            schema_violation,
            expires_at: None,
            extra: self.extra.clone().map(Box::new),
        };
        if let Some(error) = tool_result::protocol_error(&answer, version) {
            return Err(error);
        }
        Ok(tool_result::from_answer(
            answer,
            None,
            entry,
            Some(&index),
            version,
        ))
    }

    /// The output of the call. A task keeps an output that is not an object in one member.
    fn output(&self) -> Value {
        let result = self.task.get(RESULT).cloned().unwrap_or_default();
        match result {
            Value::Object(mut members) if self.is_wrapped => {
                members.remove(RESULT).unwrap_or_default()
            }
            result => result,
        }
    }

    /// The failure of the call, which may only have read.
    fn failure(&self, is_read: bool) -> Redacted {
        let stored = self.task.get("failure").filter(|it| !it.is_null()).cloned();
        let stored = stored.and_then(|it| Failure::from_canonical(it).ok());
        let failure = stored.unwrap_or_else(|| self.failure_without_stored_one(is_read));
        failure.redacted()
    }

    /// A cancelled task stores no failure; that of a failed one may be damaged.
    fn failure_without_stored_one(&self, is_read: bool) -> Failure {
        let failure = match self.phase() {
            TaskPhase::Cancelled => {
                let message = self.text("error").unwrap_or("the task was cancelled");
                Failure::new(codes::ERR_CANCELLED).with_message(message)
            }
            _ => Failure::new(codes::INTERNAL)
                .with_message("the stored failure of the task cannot be read"),
        };
        let failure = match is_read {
            true => failure.with_effect(Effect::None),
            false => failure,
        };
        let failure = failure
            .with_source(GATEWAY)
            .with_operation(self.operation());
        // The same for every reader: the id of the task, and the time of its end.
        let ended_at = self.text("completed_at").or(self.text("updated_at"));
        let ended_at = ended_at.and_then(|it| it.parse().ok());
        match (self.id().parse(), ended_at) {
            (Ok(id), Some(at)) => failure.stamped(id, at),
            _ => failure,
        }
    }

    /// The task without its payload, in the stateless version.
    pub(super) fn task(&self, status: TaskStatus) -> Task {
        let time = |name| self.text(name).unwrap_or_default();
        let mut task = Task::new(self.id(), status, time("created_at"), time("updated_at"))
            .with_poll_interval_ms(POLL_INTERVAL_MS);
        if let Some(kept_ms) = self.kept_ms {
            task = task.with_ttl_ms(kept_ms);
        }
        match self.message() {
            Some(message) => task.with_status_message(message),
            None => task,
        }
    }

    /// The task without its payload, with its own status, in the stateless version.
    pub(super) fn seed(&self, shared: &Shared) -> Task {
        self.task(match self.phase() {
            TaskPhase::Working => TaskStatus::Working,
            TaskPhase::Cancelled => TaskStatus::Cancelled,
            TaskPhase::Completed | TaskPhase::Failed => {
                match self.outcome(shared, WireVersion::Stateless) {
                    Ok(_) => TaskStatus::Completed,
                    Err(_) => TaskStatus::Failed,
                }
            }
        })
    }

    /// The task in the stateless version. A failing tool completes; only an error fails.
    pub(super) fn detailed(&self, shared: &Shared, open: InputRequests) -> DetailedTask {
        let payload = match self.phase() {
            TaskPhase::Working if open.is_empty() => TaskPayload::Working,
            TaskPhase::Working => TaskPayload::InputRequired {
                input_requests: open,
            },
            TaskPhase::Cancelled => TaskPayload::Cancelled,
            TaskPhase::Completed | TaskPhase::Failed => {
                match self.outcome(shared, WireVersion::Stateless) {
                    Ok(result) => TaskPayload::Completed {
                        result: object(&result),
                    },
                    Err(error) => TaskPayload::Failed {
                        error: object(&error),
                    },
                }
            }
        };
        let status = payload.status();
        DetailedTask::new(self.task(status), payload)
    }

    /// The task in 2025-11-25, where a failing tool fails its task.
    pub(super) fn in_session(&self, is_asking: bool) -> Value {
        let status = match self.phase() {
            TaskPhase::Working if is_asking => "input_required",
            TaskPhase::Working => "working",
            TaskPhase::Completed => "completed",
            TaskPhase::Failed => "failed",
            TaskPhase::Cancelled => "cancelled",
        };
        let mut task = json!({
            "taskId": self.id(),
            "status": status,
            "createdAt": self.text("created_at"),
            "lastUpdatedAt": self.text("updated_at"),
            "ttl": self.kept_ms,
            "pollInterval": POLL_INTERVAL_MS,
        });
        if let Some(message) = self.message() {
            task["statusMessage"] = message.into();
        }
        task
    }

    /// The result of the call in 2025-11-25, related to the task.
    pub(super) fn result_in_session(
        &self,
        shared: &Shared,
        version: WireVersion,
    ) -> Result<Value, ErrorData> {
        let mut result = self.outcome(shared, version)?;
        result.result_type = None;
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0.extend(related(self.id()));
        Ok(Value::Object(object(&result)))
    }
}

/// The member of `_meta` that relates a message to a task.
pub(super) fn related(task: &str) -> Map<String, Value> {
    Map::from_iter([(RELATED_TASK_META_KEY.to_owned(), json!({"taskId": task}))])
}

fn object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_a_cancelled_task_is_the_same_for_every_reader() {
        let id = "10000000-0000-4000-8000-000000000001";
        let task = json!({
            "id": id, "status": "cancelled", "error": "no more",
            "completed_at": "2026-01-02T03:04:05Z", "schemas": {"method": "shop/get"},
        });
        let task = StoredTask::new(task, None, None);
        let failure = task.failure(true);
        assert_eq!(failure.id().unwrap().to_string(), id);
        assert_eq!(failure.at().unwrap().to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(failure.operation(), Some("shop/get"));
        for (is_read, effect) in [(true, Effect::None), (false, Effect::Unknown)] {
            assert_eq!(task.failure(is_read).effect(), effect, "{is_read}");
        }
    }

    #[test]
    fn only_a_cancelled_task_without_a_readable_failure_is_answered_as_cancelled() {
        let unreadable = json!({"code": 5});
        for (status, failure, code) in [
            ("cancelled", Value::Null, "ERR_CANCELLED"),
            ("failed", Value::Null, "INTERNAL"),
            ("failed", unreadable, "INTERNAL"),
        ] {
            let task = json!({"status": status, "error": "no more", "failure": failure});
            let failure = StoredTask::new(task, None, None).failure(false);
            assert_eq!(failure.code().as_str(), code, "{status}");
        }
    }
}
