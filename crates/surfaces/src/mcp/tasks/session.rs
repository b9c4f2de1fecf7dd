//! Tasks in 2025-11-25: a call with the member `task`, `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`.
//!
//! The questions of a task reach the client while it waits in `tasks/result`.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use panpan_contract::operation::TaskUse;
use panpan_failure::{Failure, codes};
use panpan_mcp::input::{in_session as session_request, supported_kinds};
use panpan_mcp::names::TASK_META_KEY;
use panpan_runtime::{AskError, CallRequest, CancellationToken};
use rmcp::model::{
    CallToolResponse, CancelledNotificationParam, CustomRequest, MetaObject,
    PaginatedRequestParams, ProtocolVersion, RequestMetaObject,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler as _};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::create::NewTask;
use super::inputs::TaskQueue;
use super::stored::{POLL_INTERVAL_MS, StoredTask, TaskPhase, related};
use super::support::{is_requested, support_word};
use super::{EVENTS, LIST};
use crate::caller::{Caller, Principal};
use crate::gateway::Surface;
use crate::mcp::features::{error_response, failure_error};
use crate::mcp::input_requests::reply_in;
use crate::mcp::request::{ActiveRequest, is_stateless, wire_version};
use crate::mcp::rpc_error;
use crate::mcp::server::{Server, truncated, unknown_tool};
use crate::mcp::tool_index::ToolIndex;
use crate::mcp::tool_result;

/// The number of tasks in a page of a list.
const PAGE: u64 = 100;

impl Server {
    /// The response to a request of a session that rmcp passed on unread; `None` if it is not about tasks.
    pub(in crate::mcp) async fn session_request(
        &self,
        CustomRequest { method, params, .. }: &CustomRequest,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<Value, ErrorData>> {
        let params = params.as_ref().unwrap_or(&Value::Null);
        let has_tasks = self.has_session_tasks(context);
        if method == "tools/list" && !is_stateless(context) {
            return Some(self.session_tools(params, has_tasks, context).await);
        }
        if !has_tasks {
            return None;
        }
        Some(match (method.as_str(), task_id(params)) {
            ("tools/call", _) if is_requested(&context.meta) => {
                self.session_call(params, context).await
            }
            ("tasks/list", _) => self.session_tasks(params, context).await,
            ("tasks/get" | "tasks/cancel" | "tasks/result", Err(refused)) => Err(refused),
            ("tasks/get", Ok(id)) => self.session_task(id, context).await,
            ("tasks/cancel", Ok(id)) => self.cancel_in_session(id, context).await,
            ("tasks/result", Ok(id)) => self.session_result(id, context).await,
            _ => return None,
        })
    }

    /// Whether the request is one of a session with tasks.
    pub(super) fn has_session_tasks(&self, context: &RequestContext<RoleServer>) -> bool {
        let version = context.protocol_version();
        version == Some(ProtocolVersion::V_2025_11_25) && self.offers_tasks()
    }

    /// The created task of a call.
    async fn session_call(
        &self,
        params: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        check_ttl(context.meta.get(TASK_META_KEY))?;
        let (index, name) = (
            self.tool_index(),
            params["name"].as_str().unwrap_or_default(),
        );
        let entry = index.by_tool(name);
        let entry = entry.filter(|entry| entry.task != Some(TaskUse::Forbidden));
        let cannot = || self.not_a_task(name, &index, self.caller(context));
        let entry = entry.ok_or_else(cannot)?;
        let input = match &params["arguments"] {
            Value::Null => json!({}),
            Value::Object(arguments) => Value::Object(arguments.clone()),
            _ => return Err(rpc_error::invalid_params("arguments is not an object")),
        };
        let request = ActiveRequest::new(self, context, None);
        let decoded = request.scope.decode(entry, input);
        let Some(options) = request.task_options(&decoded) else {
            let refused = Box::pin(request.call(Some(entry), decoded)).await?;
            return in_session(refused);
        };
        let client = context.client_capabilities().unwrap_or_default();
        let call = NewTask {
            entry,
            decoded: &decoded,
            options,
            kinds: supported_kinds(&client),
            responses: Map::new(),
        };
        match request.create_task(call).await {
            Ok(task) => Ok(json!({"task": task.in_session(false)})),
            Err(failure) => in_session(tool_result::failed(&failure, Some(&index)).into()),
        }
    }

    /// The error for a tool that does not run as a task, or does not exist.
    fn not_a_task(&self, name: &str, index: &ToolIndex, caller: &Caller) -> ErrorData {
        let listed = self.listed_tools(index, caller);
        match listed.iter().any(|tool| tool.name == name) {
            true => {
                let message = format!("the tool {} cannot run as a task", truncated(name));
                rpc_error::unknown_method(message)
            }
            false => unknown_tool(name, &listed),
        }
    }

    fn is_asking(&self, task: &StoredTask) -> bool {
        let queue = self.questions_of(task);
        queue.is_some_and(|queue| queue.is_asking())
    }

    async fn session_task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let task = self.stored_task(self.caller(context), id).await?;
        Ok(task.in_session(self.is_asking(&task)))
    }

    async fn cancel_in_session(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        if !self.cancel_stored(self.caller(context), id).await? {
            let message = format!("task {} has ended and cannot be cancelled", truncated(id));
            return Err(rpc_error::invalid_params(message));
        }
        self.session_task(id, context).await
    }

    async fn session_tasks(
        &self,
        params: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let caller = self.caller(context);
        if !may_list(&caller.principal) {
            let message = "tasks are listed only for callers with a token";
            return Err(rpc_error::unknown_method(message));
        }
        let cursor = params.get("cursor");
        let cursor = cursor.filter(|it| !it.is_null()).map(|it| {
            let offset = it.as_str().and_then(|it| it.parse::<u64>().ok());
            offset.ok_or_else(|| rpc_error::invalid_params("unknown cursor"))
        });
        let offset = cursor.transpose()?.unwrap_or_default();
        let input = json!({"limit": PAGE, "offset": offset, "roots": true, "fields": "summary"});
        let listed = self.task_operation(caller, LIST, input, None).await;
        let mut listed = listed
            .into_value()
            .map_err(|failure| error_response(&failure))?;
        let total = listed["total"].as_u64().unwrap_or_default();
        let tasks = listed["tasks"].as_array_mut().map(std::mem::take);
        let kept_ms = self.gateway().tasks_kept_ms();
        let stored = |task| StoredTask::new(task, None, kept_ms);
        let tasks = tasks.unwrap_or_default().into_iter().map(stored);
        let tasks: Vec<Value> = tasks.map(|it| it.in_session(self.is_asking(&it))).collect();
        let next = offset + tasks.len() as u64;
        let mut list = json!({"tasks": tasks});
        if next < total && next > offset {
            list["nextCursor"] = next.to_string().into();
        }
        Ok(list)
    }

    /// Waits for the result of a task, and asks its questions meanwhile.
    async fn session_result(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let request = ActiveRequest::new(self, context, None);
        let left = request.scope.cancel.without_key.clone();
        let ended = self
            .shared
            .stopping
            .run_until_cancelled(self.until_ended(id, context));
        let ended = request
            .until_cancelled(left.run_until_cancelled(ended))
            .await?;
        let task = ended.ok_or_else(rpc_error::cancelled)?;
        let task = task.ok_or_else(|| failure_error(stopping()))??;
        task.result_in_session(&self.shared, wire_version(context))
    }

    async fn until_ended(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<StoredTask, ErrorData> {
        let caller = self.caller(context);
        let mut task = self.stored_task(caller, id).await?;
        while task.phase() == TaskPhase::Working {
            let event = self.until_event(caller, id);
            self.asking_until(event, task.id(), &context.peer).await?;
            task = self.stored_task(caller, id).await?;
            if task.phase() == TaskPhase::Working {
                // A flow can rest although one of its tasks has not run.
                tokio::time::sleep(Duration::from_millis(POLL_INTERVAL_MS)).await;
            }
        }
        Ok(task)
    }

    /// Waits until the journal of a flow says that a task has ended, or that the flow rests.
    async fn until_event(&self, caller: &Caller, id: &str) -> Result<(), ErrorData> {
        let events = CallRequest::from_wire(EVENTS, json!({"task_id": id}));
        let events = self.gateway().subscribe(Surface::Mcp, caller, events);
        let mut events = events.map_err(|failure| error_response(&failure))?;
        while let Some(event) = events.next().await {
            let event = event.map_err(|failure| error_response(&failure))?;
            if ends(&event, id) {
                break;
            }
        }
        Ok(())
    }

    /// Sends the questions of a task to the client until it has ended. Must run in the task of the request, which is
    /// how rmcp finds the stream.
    async fn asking_until<T>(
        &self,
        ended: impl Future<Output = T>,
        task: &str,
        peer: &Peer<RoleServer>,
    ) -> T {
        let Some(inputs) = self.gateway().task_inputs() else {
            return ended.await;
        };
        let mut ended = pin!(ended);
        let over = CancellationToken::new();
        let mut sending = FuturesUnordered::new();
        let mut sent = BTreeSet::new();
        loop {
            let asked = inputs.asked.notified();
            if let Some(queue) = inputs.of(task) {
                for name in queue.requests().into_keys() {
                    if sent.insert(name.clone()) {
                        sending.push(send_question(queue.clone(), name, task, peer, &over));
                    }
                }
            }
            tokio::select! {
                done = &mut ended => {
                    over.cancel();
                    while sending.next().await.is_some() {}
                    return done;
                }
                () = asked => {}
                Some(()) = sending.next() => {}
            }
        }
    }

    /// The list of tools; with tasks, it says which of them run as tasks.
    async fn session_tools(
        &self,
        params: &Value,
        has_tasks: bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let page = Option::<PaginatedRequestParams>::deserialize(params)
            .map_err(|_| rpc_error::invalid_params("the cursor is not a string"))?;
        let mut listed = self.list_tools(page, context.clone()).await?;
        listed.result_type = None;
        let mut listed = serde_json::to_value(listed)
            .map_err(|_| rpc_error::internal("the list of tools could not be serialised"))?;
        let index = self.tool_index();
        let tools = listed.get_mut("tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten().filter(|_| has_tasks) {
            let entry = tool["name"].as_str().and_then(|name| index.by_tool(name));
            if let Some(word) = entry.and_then(|entry| support_word(entry.task)) {
                tool["execution"] = json!({"taskSupport": word});
            }
        }
        Ok(listed)
    }
}

/// The result of a tool as sessions know it.
fn in_session(response: CallToolResponse) -> Result<Value, ErrorData> {
    let unexpected = || rpc_error::internal("the result of the tool could not be serialised");
    let CallToolResponse::Complete(mut result) = response else {
        return Err(unexpected());
    };
    result.result_type = None;
    serde_json::to_value(result).map_err(|_| unexpected())
}

fn stopping() -> Failure {
    Failure::new(codes::ERR_OVERLOADED)
        .with_message("panpan is stopping: ask for the result of the task again when it runs again")
}

fn task_id(params: &Value) -> Result<&str, ErrorData> {
    let missing = || rpc_error::invalid_params("the id of a task is missing: taskId");
    params["taskId"].as_str().ok_or_else(missing)
}

/// Whether an event says that a task has ended.
fn ends(event: &Value, id: &str) -> bool {
    let data = &event["data"];
    let has_ended = ["completed", "failed", "cancelled"].map(|it| data["status"] == it);
    data["task_id"] == id && has_ended.contains(&true)
}

/// Whether a caller can be told apart from all others, so that a list has only its own tasks.
pub(in crate::mcp) fn may_list(principal: &Principal) -> bool {
    matches!(principal, Principal::Known(_))
}

/// The time to live that a client wishes is not used, but has to be a number.
fn check_ttl(task: Option<&Value>) -> Result<(), ErrorData> {
    let ttl = task.and_then(|it| it.get("ttl"));
    match ttl.is_none_or(|it| it.is_null() || it.as_u64().is_some()) {
        true => Ok(()),
        false => Err(rpc_error::invalid_params(
            "task.ttl is not a number of milliseconds",
        )),
    }
}

/// Sends a question of a task to the client. It stays open for other requests if this client leaves.
async fn send_question(
    queue: Arc<TaskQueue>,
    name: String,
    task: &str,
    peer: &Peer<RoleServer>,
    over: &CancellationToken,
) {
    let Some(request) = queue.request(&name).and_then(session_request) else {
        return queue.end(&name, Err(AskError::UnsupportedKind));
    };
    let meta = RequestMetaObject(MetaObject(related(task)));
    let options = PeerRequestOptions::no_options().with_meta(meta);
    let Ok(handle) = peer.send_request_with_option(request, options).await else {
        return;
    };
    let id = handle.id.clone();
    let response = over.run_until_cancelled(handle.await_response()).await;
    match response.map(reply_in) {
        Some(Err(AskError::CallerLeft)) => {}
        Some(reply) => queue.end(&name, reply),
        None => {
            let reason = Some("the reply is no longer needed".to_owned());
            let notification = CancelledNotificationParam::new(Some(id), reason);
            // A client that has disconnected needs no cancellation.
            let _ = peer.notify_cancelled(notification).await;
        }
    }
}
