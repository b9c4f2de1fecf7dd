//! The events of a flow as server-sent events: `GET /tasks/{id}/events`, and the response to a JSON-RPC request
//! `tasks.execute` that asks for a stream.
//!
//! Both subscribe to the operation `tasks/events`. The id of an event is its number in the journal of the flow, so a
//! client that sends it back in `Last-Event-ID` continues where it stopped.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderName};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, Violation, codes};
use panpan_runtime::CallRequest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::unreadable_path;
use super::service::{Identified, identified};
use super::subscribe::{Format, event_stream};
use super::{HttpState, response};
use crate::caller::Caller;
use crate::gateway::Surface;
use crate::items::Items;
use crate::jsonrpc::{self, Params};

/// The operation that shows whether there is such a task.
const GET: &str = "tasks/get";

/// The operation that both subscribe to.
const EVENTS: &str = "tasks/events";

/// The spellings of the method that can be streamed.
const EXECUTE: [&str; 3] = ["tasks.execute", "tasks/execute", "/tasks/execute"];

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// `GET /tasks/{id}/events`.
pub(super) async fn follow(
    State(state): State<HttpState>,
    task: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let Path(task) = match task {
        Ok(task) => task,
        Err(rejection) => return unreadable_path(&state, &rejection),
    };
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => {
            return response::refused_unread(&state, Surface::Http, Dialect::Call, failure);
        }
    };
    match last_event_id(request.headers()) {
        Ok(after) => match missing(&state, &caller, &task).await {
            None => followed(state, &caller, json!({"task_id": task, "after": after})),
            Some(failure) => refused(&failure),
        },
        Err(failure) => response::refused(&state, Dialect::Call, EVENTS, failure),
    }
}

fn followed(state: HttpState, caller: &Caller, input: Value) -> Response {
    match subscribe(&state, caller, input) {
        Ok(items) => event_stream(state, items, Dialect::Call, Format::WHOLE, None),
        Err(failure) => refused(&failure),
    }
}

fn refused(failure: &Redacted) -> Response {
    let status = response::status(failure);
    response::of_failure(failure, status, Dialect::Call, Envelope::default())
}

/// Why this caller has no such task. A stream says so only in its first event, when its status has been sent.
async fn missing(state: &HttpState, caller: &Caller, task: &str) -> Option<Redacted> {
    let of_task = [
        codes::TASK_NOT_FOUND,
        codes::TASK_NOT_OWNED,
        codes::UNAUTHORIZED,
        codes::INVALID_INPUT,
    ];
    let request = CallRequest::from_wire(GET, json!({"task_id": task}));
    let found = state.0.gateway.call(Surface::Http, caller, request).await;
    let failure = found.outcome.err()?;
    let is_about_task = of_task.iter().any(|it| it.code == failure.code().as_str());
    is_about_task.then_some(failure)
}

fn last_event_id(headers: &HeaderMap) -> Result<u64, Failure> {
    let Some(header) = headers.get(LAST_EVENT_ID) else {
        return Ok(0);
    };
    let number = header.to_str().ok().and_then(|it| it.trim().parse().ok());
    number.ok_or_else(|| {
        let reason = "Last-Event-ID is not the id of an event";
        Failure::new(codes::INVALID_INPUT)
            .with_message(reason)
            .with_violation(Violation::value("/Last-Event-ID", reason).expected("a whole number"))
    })
}

/// Whether a JSON-RPC request executes tasks and asks for a stream.
pub(super) fn is_requested(request: &jsonrpc::Request<'_>) -> bool {
    if !EXECUTE.contains(&&*request.method) {
        return false;
    }
    let is_set = |value: Option<&Value>| value.is_some_and(|it| *it == true);
    let in_params = match &request.params {
        Params::Named(members) => is_set(members.get("use_streaming")),
        _ => false,
    };
    let metadata: Option<Value> = request
        .metadata
        .and_then(|it| serde_json::from_str(it.get()).ok());
    in_params || metadata.is_some_and(|it| is_set(it.get("stream")))
}

/// The response to such a request: the JSON-RPC response as the first event, then the events of the flow.
///
/// A failure is an ordinary response. So is the response if no stream can be opened: the tasks run, and a refusal would
/// make the client execute them again.
pub(super) fn after_execute(
    state: &HttpState,
    identified: &Identified,
    bytes: Vec<u8>,
) -> Response {
    let streamed = identified.as_ref().ok().and_then(|caller| {
        let (input, first) = (events_of(&bytes)?, serde_json::from_slice(&bytes).ok()?);
        let items = subscribe(state, caller, input).ok()?;
        Some(event_stream(
            state.clone(),
            items,
            Dialect::Call,
            Format::WHOLE,
            Some(first),
        ))
    });
    streamed.unwrap_or_else(|| response::json_bytes(bytes))
}

/// The input of `tasks/events` for an execution. What happened in earlier ones is not streamed again.
fn events_of(executed: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Executed {
        result: Option<Value>,
    }
    let result = serde_json::from_slice::<Executed>(executed).ok()?.result?;
    let after = result["events_after"].as_u64().unwrap_or_default();
    Some(json!({"task_id": result["root_task_id"].as_str()?, "after": after}))
}

fn subscribe(state: &HttpState, caller: &Caller, input: Value) -> Result<Items, Redacted> {
    let request = CallRequest::from_wire(EVENTS, input);
    state.0.gateway.subscribe(Surface::Http, caller, request)
}
