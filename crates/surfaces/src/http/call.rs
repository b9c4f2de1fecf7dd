//! `/call`, `/batch` and one path per operation.

use axum::BoxError;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::header::ACCEPT;
use http::{HeaderMap, Method, StatusCode, Uri};
use panpan_contract::operation::{OperationType, Visibility};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Answer, CallRequest};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::decode::{self, Asked};
use super::key::Stated;
use super::service::{Admitted, Identified, identified};
use super::{HttpState, answer, body, dialect, subscribe};
use crate::caller::Caller;
use crate::gateway::Surface;

/// How many calls of one batch run at a time.
const BATCH_AT_A_TIME: usize = 16;

/// A request whose body has arrived, from somebody who may ask.
pub(super) struct Received {
    pub(super) dialect: Dialect,
    pub(super) caller: Caller,
    pub(super) body: Bytes,
    headers: HeaderMap,
}

/// Takes a request in: which dialect it wants, its body, and who sent it, which comes before what they
/// want.
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
    let dialect = dialect::asked_for(parts.uri.query(), &parts.headers, own)
        .map_err(|failure| answer::turned_away(state, own, failure))?;
    let body = body::read(body, state).await;
    let body = body.map_err(|failure| answer::turned_away(state, dialect, failure))?;
    match identified {
        Ok(caller) => Ok(Received {
            dialect,
            caller,
            body,
            headers: parts.headers,
        }),
        Err(failure) => Err(answer::refused(state, dialect, "", failure)),
    }
}

/// The same for a request the router led here, which carries who sent it.
pub(super) async fn receive_led(
    state: &HttpState,
    request: Request,
    own: Dialect,
) -> Result<Received, Response> {
    receive(state, identified(request.extensions()), request, own).await
}

impl Received {
    /// The call a body asks for.
    pub(super) fn asked(&self, asked: Asked) -> Result<CallRequest, Failure> {
        let stated = Stated::in_headers(&self.headers)?;
        request(asked.operation, stated, asked.stated, asked.input)
    }

    /// Whether the caller names events among what it takes.
    fn takes_events(&self) -> bool {
        let accepted = self.headers.get_all(ACCEPT).iter();
        let mut accepted = accepted.filter_map(|it| it.to_str().ok());
        accepted.any(|it| it.contains("text/event-stream"))
    }
}

fn request(
    operation: String,
    headers: Stated,
    body: Stated,
    input: Value,
) -> Result<CallRequest, Failure> {
    let terms = headers.and(body)?;
    Ok(CallRequest {
        key: terms.key,
        retry_seed: terms.retry_seed,
        timeout_ms: terms.timeout_ms,
        ..CallRequest::from_wire(operation, input)
    })
}

/// `POST /call`.
pub(super) async fn one(state: &HttpState, identified: Identified, request: Admitted) -> Response {
    let received = match receive(state, identified, request, Dialect::Call).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let asked = Asked::read(&received.body, state.0.gateway.limits().body_bytes);
    let request = asked.and_then(|asked| received.asked(asked));
    respond(state, &received, request).await
}

/// `POST /operations/{namespace}/{operation}`: the body is the input. A subscription answers with its
/// items, as `/subscribe` does, if events are what the caller takes.
pub(super) async fn named(
    State(state): State<HttpState>,
    operation: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let operation = match operation {
        Ok(Path(operation)) => operation,
        Err(rejection) => return unreadable_path(&state, &rejection),
    };
    let received = match receive_led(&state, request, Dialect::Problem).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let input = match received.body.trim_ascii() {
        [] => Ok(decode::nothing()),
        body => decode::document(body, state.0.gateway.limits().body_bytes),
    };
    let request = input.and_then(|input| {
        let stated = Stated::in_headers(&received.headers)?;
        self::request(operation, stated, Stated::default(), input)
    });
    match request {
        Ok(request) if received.takes_events() && gives_items(&state, &request) => {
            subscribe::open(state, &received, request)
        }
        request => respond(&state, &received, request).await,
    }
}

/// Whether what is called gives items instead of one answer. Who may have them is not asked here; what is
/// internal is answered as what is absent.
fn gives_items(state: &HttpState, request: &CallRequest) -> bool {
    state.0.gateway.dispatcher().look(|registry| {
        let spec = registry.get(&request.operation).map(|it| it.spec());
        spec.is_some_and(|it| {
            it.op_type == OperationType::Subscription && it.visibility == Visibility::External
        })
    })
}

async fn respond(
    state: &HttpState,
    received: &Received,
    request: Result<CallRequest, Failure>,
) -> Response {
    let Received {
        caller, dialect, ..
    } = received;
    match request {
        Ok(request) => {
            let answer = state.0.gateway.call(Surface::Http, caller, request).await;
            answer::of(&answer, *dialect)
        }
        Err(failure) => answer::refused(state, *dialect, "", failure),
    }
}

/// `POST /batch`: a list of calls, answered in its order.
pub(super) async fn batch(State(state): State<HttpState>, request: Request) -> Response {
    let received = match receive_led(&state, request, Dialect::Call).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let terms = Stated::alone_in(&received.headers).and_then(|it| it.refuse_for_several());
    let items = match terms.and_then(|()| items(&state, &received.body)) {
        Ok(items) => items,
        Err(failure) => return answer::refused(&state, received.dialect, "", failure),
    };
    let caller = &received.caller;
    let answers = items
        .into_iter()
        .map(|item| item_answer(&state, caller, item));
    let answers: Vec<Answer> = stream::iter(answers)
        .buffered(BATCH_AT_A_TIME)
        .collect()
        .await;
    answer::json(&Results(&answers))
}

fn items(state: &HttpState, body: &[u8]) -> Result<Vec<Value>, Failure> {
    let limits = state.0.gateway.limits();
    match decode::document(body, limits.body_bytes)? {
        Value::Array(items) if items.len() > limits.batch => {
            let (count, limit) = (items.len(), limits.batch);
            Err(Failure::new(codes::INVALID_REQUEST)
                .with_message(format!(
                    "the batch holds {count} calls; at most {limit} are taken"
                ))
                .with_detail("batch_limit", limit)
                .with_actions(["Send the calls in several batches"]))
        }
        Value::Array(items) => Ok(items),
        _ => Err(Failure::new(codes::INVALID_REQUEST).with_message("a batch is a list of calls")),
    }
}

async fn item_answer(state: &HttpState, caller: &Caller, item: Value) -> Answer {
    let gateway = &state.0.gateway;
    let request = Asked::of(item)
        .and_then(|it| request(it.operation, Stated::default(), it.stated, it.input));
    match request {
        Ok(request) => gateway.call(Surface::Http, caller, request).await,
        Err(failure) => {
            let request = CallRequest::from_wire("", Value::Null);
            gateway.refuse(Surface::Http, request, failure)
        }
    }
}

/// The answers of a batch.
struct Results<'a>(&'a [Answer]);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("results", &Items(self.0))?;
        map.end()
    }
}

struct Items<'a>(&'a [Answer]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for answer in self.0 {
            list.serialize_element(&Item(answer))?;
        }
        list.end()
    }
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

/// Every other path.
pub(super) async fn no_such_path(State(state): State<HttpState>, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let failure = Failure::new(codes::NOT_FOUND)
        .with_message("there is nothing at this path")
        .with_detail("path", path)
        .with_actions(["Call operations at POST /call, POST /rpc, POST /mcp or GET /ws; list them at GET /search"]);
    answer::plain(&state, &failure, StatusCode::NOT_FOUND)
}

/// A path whose percent signs stand for no text.
pub(super) fn unreadable_path(state: &HttpState, rejection: &PathRejection) -> Response {
    let failure = Failure::new(codes::INVALID_REQUEST)
        .with_message("the path is no text in UTF-8")
        .caused_by(rejection);
    answer::plain(state, &failure, StatusCode::BAD_REQUEST)
}

/// A path that is there, asked in the wrong way.
pub(super) async fn wrong_method(
    State(state): State<HttpState>,
    method: Method,
    uri: Uri,
) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let failure = Failure::new(codes::INVALID_REQUEST)
        .with_message(format!("{path} does not answer {method}"))
        .with_actions(["Look at GET /openapi.json for what each path answers"]);
    answer::plain(&state, &failure, StatusCode::METHOD_NOT_ALLOWED)
}
