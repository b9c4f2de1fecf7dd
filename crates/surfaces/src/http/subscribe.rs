//! `/subscribe`: the items of a subscription as server-sent events.
//!
//! An item is asked for when the one before it was handed over, so a slow reader slows the work and
//! loses nothing.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::CallRequest;
use serde::Serialize;

use super::call::{Received, receive_led};
use super::decode::Asked;
use super::service::REQUEST_ID;
use super::{HttpState, answer};
use crate::gateway::Surface;
use crate::items::Items;

/// How often a quiet stream says that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `POST /subscribe`.
pub(super) async fn subscribe(State(state): State<HttpState>, request: Request) -> Response {
    let received = match receive_led(&state, request, Dialect::Call).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let dialect = received.dialect;
    let asked = Asked::read(&received.body, state.0.gateway.limits().body_bytes);
    let request = match asked.and_then(|asked| received.asked(asked)) {
        Ok(request) => request,
        Err(failure) => return answer::refused(&state, dialect, "", failure),
    };
    open(state, &received, request)
}

/// The items of a subscription, or why there are none.
pub(super) fn open(state: HttpState, received: &Received, request: CallRequest) -> Response {
    let dialect = received.dialect;
    let gateway = &state.0.gateway;
    match gateway.subscribe(Surface::Http, &received.caller, request) {
        Ok(items) => opened(state, items, dialect),
        Err(failure) => {
            let status = answer::status(&failure);
            answer::of_failure(&failure, status, dialect, Envelope::default())
        }
    }
}

fn opened(state: HttpState, items: Items, dialect: Dialect) -> Response {
    let id = HeaderValue::from_str(&items.call_id().to_string());
    let mut response = Response::new(Body::from_stream(events(state, items, dialect)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = id {
        headers.insert(REQUEST_ID, id);
    }
    response
}

fn events(
    state: HttpState,
    items: Items,
    dialect: Dialect,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(items), move |items| {
        let state = state.clone();
        async move {
            let mut items = items?;
            let next = tokio::select! {
                next = items.next() => next?,
                () = state.0.stopping.cancelled() => Err(stopped(&state)),
                () = tokio::time::sleep(KEEP_ALIVE) => return Some((Ok(Bytes::from_static(b":\n\n")), Some(items))),
            };
            Some(match next {
                Ok(item) => (Ok(event("", &item)), Some(items)),
                Err(failure) => {
                    let shown = dialect.failure(&failure, Envelope::default());
                    (Ok(event("event: error\n", &shown)), None)
                }
            })
        }
    })
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut bytes = format!("{name}data: ").into_bytes();
    serde_json::to_writer(&mut bytes, data)
        .expect("names are strings, and writing to memory does not fail");
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

/// The end of a stream whose server goes away.
fn stopped(state: &HttpState) -> Redacted {
    let failure = Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and ends the subscription")
        .with_actions(["Subscribe again when the server is back"]);
    answer::refusal(state, Surface::Http, "", failure)
}
