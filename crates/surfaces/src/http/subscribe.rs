//! Handler of `/subscribe`: the items of a subscription as server-sent events.
//!
//! The next item is requested after the last one was written, so a slow client slows the operation down and
//! loses no items.

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
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{Received, receive_routed};
use super::service::REQUEST_ID;
use super::{HttpState, response};
use crate::gateway::Surface;
use crate::items::Items;

/// The interval of keep-alive comments in an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `POST /subscribe`.
pub(super) async fn subscribe(
    State(state): State<HttpState>,
    request: Request,
) -> Result<Response, Response> {
    let received = receive_routed(&state, request, Dialect::Call).await?;
    let request = received
        .call(&state)
        .map_err(|failure| response::refused(&state, received.dialect, "", failure))?;
    Ok(open(state, &received, request))
}

/// Opens a subscription and responds with its items, or with the failure.
pub(super) fn open(state: HttpState, received: &Received, request: CallRequest) -> Response {
    let dialect = received.dialect;
    let gateway = &state.0.gateway;
    match gateway.subscribe(Surface::Http, &received.caller, request) {
        Ok(items) => event_stream(state, items, Data(dialect), None),
        Err(failure) => {
            let status = response::status(&failure);
            response::of_failure(&failure, status, dialect, Envelope::default())
        }
    }
}

/// How items and the failure at the end are written as events.
pub(super) trait Frames: Send + 'static {
    /// An item.
    fn item(&mut self, item: &Value) -> Bytes;

    /// The failure with which the stream ends.
    fn failure(&self, failure: Redacted) -> Bytes;
}

/// An item is the data of an event.
struct Data(Dialect);

impl Frames for Data {
    fn item(&mut self, item: &Value) -> Bytes {
        event("", item)
    }

    fn failure(&self, failure: Redacted) -> Bytes {
        error_event(&self.0.write_failure(&failure, Envelope::default()))
    }
}

/// Responds with items as events, after a first piece of data if there is one.
pub(super) fn event_stream(
    state: HttpState,
    items: Items,
    frames: impl Frames,
    first: Option<&RawValue>,
) -> Response {
    let id = HeaderValue::from_str(&items.call_id().to_string());
    let first = first.map(|data| Ok(event("", &data)));
    let events = stream::iter(first).chain(events(state, items, frames));
    let mut response = Response::new(Body::from_stream(events));
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
    frames: impl Frames,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some((items, frames)), move |open| {
        let state = state.clone();
        async move {
            let (mut items, mut frames) = open?;
            let next = tokio::select! {
                next = items.next() => next?,
                () = state.0.stopping.cancelled() => Err(stopped(&state)),
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    return Some((Ok(Bytes::from_static(b":\n\n")), Some((items, frames))));
                }
            };
            Some(match next {
                Ok(item) => (Ok(frames.item(&item)), Some((items, frames))),
                Err(failure) => (Ok(frames.failure(failure)), None),
            })
        }
    })
}

/// The last event of a stream that failed.
pub(super) fn error_event(failure: &[u8]) -> Bytes {
    [b"event: error\ndata: ", failure, b"\n\n"].concat().into()
}

/// An event, behind the lines with its other fields.
pub(super) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut bytes = format!("{name}data: ").into_bytes();
    serde_json::to_writer(&mut bytes, data)
        .expect("member names are strings, and writing to memory cannot fail");
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

/// The last event of a stream when the server stops.
fn stopped(state: &HttpState) -> Redacted {
    let failure = Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and ended the subscription")
        .with_actions(["Subscribe again after the server has restarted"]);
    response::refusal(state, Surface::Http, "", failure)
}
