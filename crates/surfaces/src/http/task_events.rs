//! The events of a flow as server-sent events: `GET /tasks/{id}/events`, and the response to a JSON-RPC request
//! `tasks.execute` that asks for a stream.
//!
//! Both subscribe to the operation `tasks/events`. The id of an event is its number in the journal of the flow, so a
//! client that sends it back in `Last-Event-ID` continues where it stopped.

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderName};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Effect, Failure, Redacted, Repeat, Violation, codes};
use panpan_runtime::CallRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call::unreadable_path;
use super::service::{Identified, identified};
use super::subscribe::{Frames, error_event, event, event_stream};
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
            None => followed(state, &caller, task, after),
            Some(failure) => refused(&failure),
        },
        Err(failure) => response::refused(&state, Dialect::Call, EVENTS, failure),
    }
}

fn followed(state: HttpState, caller: &Caller, task: String, after: u64) -> Response {
    let input = json!({"task_id": task, "after": after});
    let events = TaskEvents {
        task,
        last: after,
        execution: None,
    };
    match subscribe(&state, caller, input) {
        Ok(items) => event_stream(state, items, events, None),
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
        let events = TaskEvents::of(&bytes)?;
        let first = serde_json::from_slice(&bytes).ok()?;
        let input = json!({"task_id": events.task, "after": events.last});
        let items = subscribe(state, caller, input).ok()?;
        Some(event_stream(state.clone(), items, events, Some(first)))
    });
    streamed.unwrap_or_else(|| response::json_bytes(bytes))
}

/// The events of a task, which have the members `id`, `event` and `data`.
struct TaskEvents {
    task: String,
    /// The id of the last event that was written.
    last: u64,
    /// The id of the JSON-RPC request that executed the task, if the stream is the response to it.
    execution: Option<Box<RawValue>>,
}

impl TaskEvents {
    /// The events of an execution. What happened in earlier ones is not streamed again.
    fn of(executed: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Executed {
            result: Option<Value>,
            id: Box<RawValue>,
        }
        let executed: Executed = serde_json::from_slice(executed).ok()?;
        let result = executed.result?;
        Some(Self {
            task: result["root_task_id"].as_str()?.to_owned(),
            last: result["events_after"].as_u64().unwrap_or_default(),
            execution: Some(executed.id),
        })
    }

    /// How to go on after the failure. What failed is the stream: the tasks were created and go on without it, so an
    /// execution must not be repeated.
    fn advised(&self, failure: Redacted) -> Redacted {
        let (task, last) = (&self.task, self.last);
        let mut resume =
            format!("read on with GET /tasks/{task}/events and the header Last-Event-ID: {last}");
        let can_pass = failure.may_repeat();
        let mut failure = failure;
        let mut recovery = failure.take_recovery();
        if can_pass {
            recovery.required_actions.clear();
            resume = format!("When the server answers again, {resume}");
        } else {
            resume = format!("Then {resume}");
        }
        recovery.required_actions.push(resume);
        if self.execution.is_none() {
            return failure.with_recovery(recovery);
        }
        recovery.required_actions.push(format!(
            "Call tasks/get with {task} to see what became of the tasks; do not execute them again to get the events"
        ));
        let message = format!(
            "the stream of events ended, but the tasks were created and go on without it: {}",
            failure.message()
        );
        failure
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::OnlyWithoutEffect)
            .into_failure()
            .with_message(message)
            .redacted()
            .with_recovery(recovery)
    }
}

impl Frames for TaskEvents {
    fn item(&mut self, item: &Value) -> Bytes {
        self.last = item["id"].as_u64().unwrap_or(self.last);
        let name = item["event"].as_str().unwrap_or("message");
        let fields = format!("id: {}\nevent: {name}\n", item["id"]);
        event(&fields, &item["data"])
    }

    fn failure(&self, failure: Redacted) -> Bytes {
        let failure = self.advised(failure);
        match &self.execution {
            None => error_event(&Dialect::Call.write_failure(&failure, Envelope::default())),
            Some(id) => error_event(&jsonrpc::failed(&failure, id)),
        }
    }
}

fn subscribe(state: &HttpState, caller: &Caller, input: Value) -> Result<Items, Redacted> {
    let request = CallRequest::from_wire(EVENTS, input);
    state.0.gateway.subscribe(Surface::Http, caller, request)
}
