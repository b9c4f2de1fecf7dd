//! A call that becomes a task.

use panpan_failure::Redacted;
use panpan_mcp::input::supported_kinds;
use panpan_runtime::{CallRequest, QuestionKinds};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, CreateTaskResult, InputRequiredResult, TaskStatus,
};
use serde_json::{Map, Value, json};

use super::stored::StoredTask;
use super::support::{TaskSupport, unanswered};
use super::{EXECUTE, GET, inputs};
use crate::mcp::call::DecodedCall;
use crate::mcp::request::{ActiveRequest, is_stateless};
use crate::mcp::resume::ResumeInput;
use crate::mcp::rpc_error;
use crate::mcp::tool_index::Entry;
use crate::mcp::tool_result;

impl ActiveRequest<'_> {
    /// The response to a call that runs as a task, or that has to; `None` for other calls. Sessions create tasks by
    /// another request.
    pub(in crate::mcp) async fn as_task(
        &self,
        entry: &Entry,
        input: &Value,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        if entry.task == TaskSupport::Required && self.server.has_session_tasks(self.context) {
            let message = "this tool runs only as a task: send `task` with the call";
            return Some(Err(rpc_error::unknown_method(message)));
        }
        let applies = is_stateless(self.context) && entry.task.applies(self.scope.meta);
        if !applies || !self.server.offers_tasks() {
            return None;
        }
        let client = self.context.client_capabilities().unwrap_or_default();
        if !client.supports_tasks() {
            let is_required = entry.task == TaskSupport::Required;
            return is_required.then(|| Err(tasks_required()));
        }
        // A call that waits for input began without a task, and goes on without one.
        let resume = self.resume.as_ref();
        if resume.is_some_and(ResumeInput::resumes_call) {
            return None;
        }
        let responses = match resume.map(ResumeInput::for_new_call).transpose() {
            Ok(responses) => responses.unwrap_or_default(),
            Err(refused) => {
                let call = CallRequest::from_wire(&entry.operation, input.clone());
                return Some(Err(self.resume_error(call, refused.failure(false))));
            }
        };
        let kinds = supported_kinds(&client);
        let open = unanswered(&entry.ask_first, &responses);
        if kinds.form && !open.is_empty() {
            let required = InputRequiredResult::new(Some(open), None);
            return Some(Ok(required.into()));
        }
        let decoded = self.scope.decode(entry, input.clone());
        let created = self.create_task(entry, decoded, kinds, responses).await?;
        Some(Ok(match created {
            Ok(task) => {
                let task = task.task(TaskStatus::Working);
                CallToolResponse::Task(CreateTaskResult::new(task))
            }
            Err(failure) => {
                let index = self.server.tool_index();
                tool_result::failed(&failure, Some(&index)).into()
            }
        }))
    }

    /// Creates a task that makes the call; `None` for a call that would be refused before its operation runs.
    pub(super) async fn create_task(
        &self,
        entry: &Entry,
        decoded: DecodedCall,
        kinds: QuestionKinds,
        mut responses: Map<String, Value>,
    ) -> Option<Result<StoredTask, Redacted>> {
        let stated = decoded.key.as_ref().ok()?.clone();
        if !decoded.input.is_object() || !self.may_call(&entry.operation) {
            return None;
        }
        responses.retain(|name, _| entry.ask_first.contains_key(name));
        let mut task = json!({
            "name": entry.tool.as_ref().map_or(&*entry.operation, |tool| &*tool.name),
            "schemas": {"method": entry.operation},
            "inputs": *decoded.input,
        });
        if let Some(params) = inputs::params(kinds, responses) {
            task["params"] = params;
        }
        let caller = self.caller();
        let in_headers = caller.header_options.as_ref();
        let key = stated.or_else(|| in_headers.and_then(|it| it.key.clone()));
        let server = self.server;
        let execute = server.task_operation(caller, EXECUTE, json!({"tasks": [task]}), key);
        let id = match execute.await {
            Ok(mut executed) => executed["root_task_id"].take(),
            Err(failure) => return Some(Err(failure)),
        };
        let created = server.task_operation(caller, GET, json!({"task_id": id}), None);
        Some(created.await.map(StoredTask::new))
    }

    fn may_call(&self, operation: &str) -> bool {
        let callable = self.scope.gateway.callable(self.caller());
        let mut callable = callable.iter().filter(|it| it.is_offered_to_models());
        callable.any(|it| it.name().as_str() == operation)
    }
}

fn tasks_required() -> ErrorData {
    let tasks = ClientCapabilities::builder().enable_tasks().build();
    ErrorData::missing_required_client_capability(tasks)
}
