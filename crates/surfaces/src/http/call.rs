//! Handlers of `/call`, `/batch` and `/operations/...`, and of unknown paths and methods.

use axum::BoxError;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use http::header::ACCEPT;
use http::{HeaderMap, Method, StatusCode, Uri};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Answer, CallRequest};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::service::{Admitted, Identified, identified};
use super::{HttpState, body, decode, dialect, headers, response, subscribe};
use crate::batch;
use crate::caller::Caller;
use crate::gateway::Surface;

/// A request with its whole body and an identified caller.
pub(super) struct Received {
    pub(super) dialect: Dialect,
    pub(super) caller: Caller,
    pub(super) body: Bytes,
    headers: HeaderMap,
}

/// Receives a request: determines its dialect and reads its body. A failure to identify the caller is reported
/// before any other failure of the call.
async fn receive<B>(
    state: &HttpState,
    identified: Identified,
    request: http::Request<B>,
    own: Dialect,
) -> Result<Received, Response>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let (parts, body) = request.into_parts();
    let dialect = dialect::requested(parts.uri.query(), &parts.headers, own)
        .map_err(|failure| response::refused_unread(state, Surface::Http, own, failure))?;
    let body = body::read(body, state).await;
    let body =
        body.map_err(|failure| response::refused_unread(state, Surface::Http, dialect, failure))?;
    match identified {
        Ok(caller) => Ok(Received {
            dialect,
            caller,
            body,
            headers: parts.headers,
        }),
        Err(failure) => Err(response::refused(state, dialect, "", failure)),
    }
}

/// Receives a request from the router, with its caller in the extensions.
pub(super) async fn receive_routed(
    state: &HttpState,
    request: Request,
    own: Dialect,
) -> Result<Received, Response> {
    receive(state, identified(request.extensions()), request, own).await
}

impl Received {
    /// The call in the body, with the options in the headers.
    pub(super) fn call(&self, state: &HttpState) -> Result<CallRequest, Failure> {
        let call = decode::call(&self.body, state.0.gateway.limits().body_bytes)?;
        self.apply_headers(call)
    }

    fn apply_headers(&self, mut call: CallRequest) -> Result<CallRequest, Failure> {
        headers::options(&self.headers)?.apply(&decode::IN_BODY, &mut call)?;
        Ok(call)
    }

    /// Whether the caller accepts server-sent events.
    fn accepts_events(&self) -> bool {
        let accepted = self.headers.get_all(ACCEPT).iter();
        let mut accepted = accepted.filter_map(|it| it.to_str().ok());
        accepted.any(|it| it.contains("text/event-stream"))
    }
}

/// `POST /call`.
pub(super) async fn one(state: &HttpState, identified: Identified, request: Admitted) -> Response {
    match receive(state, identified, request, Dialect::Call).await {
        Ok(received) => respond(state, &received, received.call(state)).await,
        Err(response) => response,
    }
}

/// `POST /operations/{namespace}/{operation}`: the body is the input. A subscription responds with events, like
/// `/subscribe`, if the caller accepts them.
pub(super) async fn named(
    State(state): State<HttpState>,
    operation: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Response> {
    let Path(operation) = operation.map_err(|rejection| unreadable_path(&state, &rejection))?;
    let received = receive_routed(&state, request, Dialect::Problem).await?;
    let input = match received.body.trim_ascii() {
        [] => Ok(decode::empty_input()),
        body => decode::document(body, state.0.gateway.limits().body_bytes),
    };
    let call = input.map(|input| CallRequest::from_wire(operation, input));
    let request = call.and_then(|call| received.apply_headers(call));
    Ok(match request {
        Ok(request)
            if received.accepts_events() && state.0.gateway.is_subscription(&request.operation) =>
        {
            subscribe::open(state, &received, request)
        }
        request => respond(&state, &received, request).await,
    })
}

async fn respond(
    state: &HttpState,
    received: &Received,
    request: Result<CallRequest, Failure>,
) -> Response {
    let gateway = &state.0.gateway;
    match request {
        Ok(request) => {
            let answer = gateway.call(Surface::Http, &received.caller, request);
            response::of_call(&answer.await, received.dialect)
        }
        Err(failure) => response::refused(state, received.dialect, "", failure),
    }
}

/// `POST /batch`: an array of calls; the results have the same order.
pub(super) async fn batch(
    State(state): State<HttpState>,
    request: Request,
) -> Result<Response, Response> {
    let received = receive_routed(&state, request, Dialect::Call).await?;
    let options = headers::options(&received.headers).and_then(|it| it.refuse_in_batch());
    let items = options
        .and_then(|()| items(&state, &received.body))
        .map_err(|failure| response::refused(&state, received.dialect, "", failure))?;
    let caller = &received.caller;
    let calls = items
        .into_iter()
        .map(|item| item_answer(&state, caller, item));
    let answers: Vec<Answer> = batch::run(&state.0.gateway, calls).collect().await;
    let results = answers.iter().map(Item).collect();
    Ok(response::json(&Results { results }))
}

fn items(state: &HttpState, body: &[u8]) -> Result<Vec<Value>, Failure> {
    let limits = state.0.gateway.limits();
    match decode::document(body, limits.body_bytes)? {
        Value::Array(items) if items.len() > limits.batch => {
            Err(batch::too_many(items.len(), limits.batch))
        }
        Value::Array(items) => Ok(items),
        _ => {
            Err(Failure::new(codes::INVALID_REQUEST)
                .with_message("a batch must be an array of calls"))
        }
    }
}

async fn item_answer(state: &HttpState, caller: &Caller, item: Value) -> Answer {
    let gateway = &state.0.gateway;
    match decode::call_in(item) {
        Ok(request) => gateway.call(Surface::Http, caller, request).await,
        Err(failure) => gateway.refuse_unread(Surface::Http, "", failure),
    }
}

/// The body of a batch response.
#[derive(Serialize)]
struct Results<'a> {
    results: Vec<Item<'a>>,
}

struct Item<'a>(&'a Answer);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let id = Value::from(self.0.call.to_string());
        let envelope = Envelope {
            request_id: Some(&id),
            ..Envelope::default()
        };
        match &self.0.outcome {
            Ok(output) => Dialect::Call
                .success(output, envelope)
                .serialize(serializer),
            Err(failure) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("request_id", &id)?;
                map.serialize_entry("result", "error")?;
                map.serialize_entry("error", &Dialect::Call.failure(failure, envelope))?;
                map.end()
            }
        }
    }
}

/// The fallback for unknown paths.
pub(super) async fn no_such_path(State(state): State<HttpState>, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let failure = Failure::new(codes::NOT_FOUND)
        .with_message("no such path")
        .with_detail("path", path)
        .with_actions(["Call operations with POST /call, POST /rpc, POST /mcp or GET /ws; list them with GET /search"]);
    response::problem(&state, &failure, StatusCode::NOT_FOUND)
}

/// A path whose percent-encoding is not UTF-8.
pub(super) fn unreadable_path(state: &HttpState, rejection: &PathRejection) -> Response {
    let failure = Failure::new(codes::INVALID_REQUEST)
        .with_message("the path is not valid UTF-8")
        .caused_by(rejection);
    response::problem(state, &failure, StatusCode::BAD_REQUEST)
}

/// A known path with a method that it does not support.
pub(super) async fn wrong_method(
    State(state): State<HttpState>,
    method: Method,
    uri: Uri,
) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let failure = Failure::new(codes::INVALID_REQUEST)
        .with_message(format!("{path} does not support {method}"))
        .with_actions(["Read GET /openapi.json for the methods of each path"]);
    response::problem(&state, &failure, StatusCode::METHOD_NOT_ALLOWED)
}
