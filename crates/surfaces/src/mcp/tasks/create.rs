//! A call that becomes a task.

use panpan_contract::hex;
use panpan_failure::Redacted;
use panpan_mcp::input::supported_kinds;
use panpan_runtime::{CallRequest, IdempotencyKey, QuestionKinds};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ClientCapabilities, CreateTaskResult, InputRequiredResult};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::stored::StoredTask;
use super::support::{runs_as_task, unanswered};
use super::{EXECUTE, GET, inputs};
use crate::mcp::call::DecodedCall;
use crate::mcp::request::{ActiveRequest, is_stateless};
use crate::mcp::resume::ResumeInput;
use crate::mcp::rpc_error;
use crate::mcp::tool_index::Entry;
use crate::mcp::tool_result;
use crate::options::{CallOptions, IN_META};

/// The member of the details that names the key of a call.
const KEY_DETAIL: &str = "idempotency_key";

impl ActiveRequest<'_> {
    /// The response to a call that runs as a task, or that has to; `None` for other calls. Sessions create tasks by
    /// another request.
    pub(in crate::mcp) async fn as_task(
        &self,
        entry: &Entry,
        input: &Value,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        if !self.server.offers_tasks() {
            return None;
        }
        if !is_stateless(self.context) {
            let refused = || rpc_error::unknown_method(self.only_as_task());
            return entry.requires_task().then(|| Err(refused()));
        }
        if !runs_as_task(entry.task, self.scope.meta) {
            return None;
        }
        let client = self.context.client_capabilities().unwrap_or_default();
        if !client.supports_tasks() {
            return entry.requires_task().then(|| Err(tasks_required()));
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
        let decoded = self.scope.decode(entry, input.clone());
        let options = self.task_options(&decoded)?;
        let kinds = supported_kinds(&client);
        let open = unanswered(&entry.ask_first, &responses);
        if kinds.form && !open.is_empty() {
            let required = InputRequiredResult::new(Some(open), None);
            return Some(Ok(required.into()));
        }
        let call = NewTask {
            entry,
            decoded: &decoded,
            options,
            kinds,
            responses,
        };
        Some(Ok(match self.create_task(call).await {
            Ok(task) => {
                let task = task.seed(&self.server.shared);
                CallToolResponse::Task(CreateTaskResult::new(task))
            }
            Err(failure) => {
                let index = self.server.tool_index();
                tool_result::failed(&failure, Some(&index)).into()
            }
        }))
    }

    fn only_as_task(&self) -> &'static str {
        match self.server.has_session_tasks(self.context) {
            true => "this tool runs only as a task: send `task` with the call",
            false => {
                "this tool runs only as a task, which needs protocol version 2025-11-25 or a newer one"
            }
        }
    }

    /// The options of a call that can become a task; `None` if it would be refused before its operation runs. Such a
    /// call is made without a task, for the same refusal.
    pub(super) fn task_options(&self, decoded: &DecodedCall) -> Option<CallOptions> {
        let mut call = CallRequest::from_wire(&*decoded.operation, decoded.input.clone());
        IN_META.apply(self.scope.meta, &mut call).ok()?;
        call.key = decoded.key.as_ref().ok()?.clone();
        if let Some(in_headers) = self.caller().header_options.as_deref() {
            in_headers.apply(&IN_META, &mut call).ok()?;
        }
        let callable = self.scope.gateway.callable(self.caller());
        let mut callable = callable.iter().filter(|it| it.is_offered_to_models());
        let operation = callable.find(|it| it.name().as_str() == decoded.operation)?;
        let is_refused = !decoded.input.is_object()
            || call.timeout_ms == Some(0)
            || !operation.input_violations(decoded.input.clone()).is_empty();
        (!is_refused).then_some(CallOptions {
            key: call.key,
            retry_seed: None,
            timeout_ms: call.timeout_ms,
        })
    }

    /// Creates a task that makes the call.
    pub(super) async fn create_task(&self, new: NewTask<'_>) -> Result<StoredTask, Redacted> {
        let (server, caller) = (self.server, self.caller());
        let sent = new.options.key.clone();
        let key = sent
            .as_ref()
            .map(|key| key_of_task(&new.entry.operation, key));
        let execute = json!({"tasks": [new.definition()]});
        let mut created = server
            .task_operation(caller, EXECUTE, execute, key.clone())
            .await;
        let (is_replayed, beside) = (created.replayed, created.extra.take());
        let output = created.into_value();
        let output = output.map_err(|failure| match (key, sent) {
            (Some(key), Some(sent)) => naming(&sent, &key, failure),
            _ => failure,
        })?;
        let id = output["root_task_id"].as_str().unwrap_or_default();
        if is_replayed {
            // It may have ended. The task exists even if this fails.
            let found = server.task_operation(caller, GET, json!({"task_id": id}), None);
            if let Ok(task) = server.task_in(found.await) {
                return Ok(task);
            }
        }
        let kept_ms = server.gateway().tasks_kept_ms();
        Ok(StoredTask::created(id, beside.as_deref(), kept_ms))
    }
}

/// A call that becomes a task.
pub(super) struct NewTask<'a> {
    pub(super) entry: &'a Entry,
    pub(super) decoded: &'a DecodedCall,
    pub(super) options: CallOptions,
    /// The kinds of questions that the client answers.
    pub(super) kinds: QuestionKinds,
    /// Its responses to questions that are asked first.
    pub(super) responses: Map<String, Value>,
}

impl NewTask<'_> {
    fn definition(mut self) -> Value {
        let entry = self.entry;
        self.responses
            .retain(|name, _| entry.ask_first.contains_key(name));
        let mut params = inputs::params(self.kinds, self.responses);
        let mut call = Map::new();
        if let Some(key) = self.options.key {
            call.insert("idempotency_key".to_owned(), key.as_str().into());
        }
        if let Some(timeout_ms) = self.options.timeout_ms {
            call.insert("timeout_ms".to_owned(), timeout_ms.into());
        }
        if !call.is_empty() {
            params.insert("call".to_owned(), call.into());
        }
        let mut task = json!({
            "name": entry.tool.as_ref().map_or(&*entry.operation, |tool| &*tool.name),
            "schemas": {"method": entry.operation},
            "inputs": *self.decoded.input,
        });
        task["params"] = params.into();
        task
    }
}

/// The key under which a task is created. Keys belong to an operation: that of the task has to be part of it.
fn key_of_task(operation: &str, key: &IdempotencyKey) -> IdempotencyKey {
    let digest = Sha256::new_with_prefix(operation).chain_update([0]);
    let digest = digest.chain_update(key.as_str()).finalize();
    IdempotencyKey::new(&format!("task-{}", hex(&digest))).expect("a digest is visible characters")
}

/// The same failure with the key that the client sent in place of the one that was made from it.
fn naming(sent: &IdempotencyKey, key: &IdempotencyKey, failure: Redacted) -> Redacted {
    let named = |text: &str| text.replace(key.as_str(), sent.as_str());
    let message = named(failure.message());
    let mut recovery = failure.recovery().clone();
    for action in &mut recovery.required_actions {
        *action = named(action);
    }
    let details = failure.details();
    let names_key = details.is_some_and(|it| it.get(KEY_DETAIL) == Some(&key.as_str().into()));
    let mut failure = failure
        .into_failure()
        .with_message(message)
        .with_recovery(recovery);
    if names_key {
        failure = failure.with_detail(KEY_DETAIL, sent.as_str());
    }
    failure.redacted()
}

fn tasks_required() -> ErrorData {
    let tasks = ClientCapabilities::builder().enable_tasks().build();
    ErrorData::missing_required_client_capability(tasks)
}
