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
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::CallRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call::unreadable_path;
use super::service::{Identified, identified};
use super::subscribe::{Format, event_stream};
use super::{HttpState, response};
use crate::caller::Caller;
use crate::gateway::Surface;
use crate::jsonrpc::{self, Params};

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
        Ok(after) => subscribed(state, &caller, &task, after, None),
        Err(failure) => response::refused(&state, Dialect::Call, EVENTS, failure),
    }
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

/// The response to such a request: the JSON-RPC response as the first event, then the events of the flow. A failure
/// is an ordinary response.
pub(super) fn after_execute(
    state: &HttpState,
    identified: &Identified,
    bytes: Vec<u8>,
) -> Response {
    #[derive(Deserialize)]
    struct Executed {
        result: Option<Value>,
    }
    let executed = serde_json::from_slice::<Executed>(&bytes).ok();
    let result = executed.and_then(|it| it.result);
    let root = result.as_ref().and_then(|it| it["root_task_id"].as_str());
    // What happened in earlier executions is not streamed again.
    let after = result.as_ref().and_then(|it| it["events_after"].as_u64());
    let first = serde_json::from_slice::<&RawValue>(&bytes).ok();
    match (identified, root, first) {
        (Ok(caller), Some(root), Some(first)) => subscribed(
            state.clone(),
            caller,
            root,
            after.unwrap_or_default(),
            Some(first),
        ),
        _ => response::json_bytes(bytes),
    }
}

fn subscribed(
    state: HttpState,
    caller: &Caller,
    task: &str,
    after: u64,
    first: Option<&RawValue>,
) -> Response {
    let input = json!({"task_id": task, "after": after});
    let request = CallRequest::from_wire(EVENTS, input);
    match state.0.gateway.subscribe(Surface::Http, caller, request) {
        Ok(items) => event_stream(state, items, Dialect::Call, Format::WHOLE, first),
        Err(failure) => {
            let status = response::status(&failure);
            response::of_failure(&failure, status, Dialect::Call, Envelope::default())
        }
    }
}
