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
use super::door::REQUEST_ID;
use super::{House, answer};
use crate::desk::Surface;
use crate::items::Items;

/// How often a quiet stream says that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `POST /subscribe`.
pub(super) async fn subscribe(State(house): State<House>, request: Request) -> Response {
    let received = match receive_led(&house, request, Dialect::Call).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let dialect = received.dialect;
    let asked = Asked::read(&received.body, house.0.desk.limits().body_bytes);
    let request = match asked.and_then(|asked| received.asked(asked)) {
        Ok(request) => request,
        Err(failure) => return answer::refused(&house, dialect, "", failure),
    };
    open(house, &received, request)
}

/// The items of a subscription, or why there are none.
pub(super) fn open(house: House, received: &Received, request: CallRequest) -> Response {
    let dialect = received.dialect;
    let desk = &house.0.desk;
    match desk.subscribe(Surface::Http, &received.caller, request) {
        Ok(items) => opened(house, items, dialect),
        Err(failure) => {
            let status = answer::status(&failure);
            answer::of_failure(&failure, status, dialect, Envelope::default())
        }
    }
}

fn opened(house: House, items: Items, dialect: Dialect) -> Response {
    let id = HeaderValue::from_str(&items.call_id().to_string());
    let mut response = Response::new(Body::from_stream(events(house, items, dialect)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = id {
        headers.insert(REQUEST_ID, id);
    }
    response
}

fn events(
    house: House,
    items: Items,
    dialect: Dialect,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(items), move |items| {
        let house = house.clone();
        async move {
            let mut items = items?;
            let next = tokio::select! {
                next = items.next() => next?,
                () = house.0.stopping.cancelled() => Err(stopped(&house)),
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
fn stopped(house: &House) -> Redacted {
    let failure = Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and ends the subscription")
        .with_actions(["Subscribe again when the server is back"]);
    answer::refusal(house, Surface::Http, "", failure)
}
