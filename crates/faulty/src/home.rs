//! What the service knows, and who answers which path.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use crate::fault::{Place, Then};
use crate::orders::{self, Orders};
use crate::perform::{Wire, end, perform};
use crate::request::{Request, Unreadable};
use crate::service::Addresses;
use crate::table::Row;
use crate::template::Surroundings;
use crate::{document, events, respond};

/// What the service knows.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) addresses: Addresses,
    orders: Mutex<Orders>,
    /// How often each row was asked for, by its slug.
    calls: Mutex<HashMap<String, u64>>,
}

impl Home {
    pub(crate) fn new(addresses: Addresses) -> Self {
        Self {
            addresses,
            orders: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    pub(crate) fn calls(&self, slug: &str) -> u64 {
        held(&self.calls).get(slug).copied().unwrap_or(0)
    }

    pub(crate) fn orders_done(&self) -> u64 {
        held(&self.orders).done()
    }

    /// Reads one request and answers it.
    pub(crate) async fn serve(&self, wire: &mut impl Wire) -> io::Result<()> {
        let status = match Request::read(wire).await {
            Ok(request) => return self.answer(wire, &request).await,
            Err(Unreadable::Gone) => return Ok(()),
            Err(Unreadable::NotHttp) => 400,
            Err(Unreadable::HeadTooLong) => 431,
            Err(Unreadable::BodyTooLong) => 413,
        };
        let message = json!({"message": "this request cannot be read"});
        send(wire, &respond::json(status, &[], &message)).await
    }

    async fn answer(&self, wire: &mut impl Wire, request: &Request) -> io::Result<()> {
        if let Some(slug) = request.path.strip_prefix("/fault/")
            && let Some(row) = Row::of_slug(slug)
        {
            *held(&self.calls).entry(slug.to_owned()).or_default() += 1;
            let surroundings = Surroundings {
                now: Timestamp::now(),
                headers: &request.headers,
            };
            return perform(wire, row, request, surroundings).await;
        }
        match (request.method.as_str(), request.path.as_str()) {
            (_, "/echo") => send(wire, &respond::json(200, &[], &echo(request))).await,
            ("POST", "/orders") => {
                let taken = held(&self.orders).take(request);
                orders::answer(wire, request, taken).await
            }
            ("GET", "/orders/count") => {
                let count = json!({"count": self.orders_done()});
                send(wire, &respond::json(200, &[], &count)).await
            }
            ("GET", "/events") => events::stream(wire, request).await,
            ("GET", "/openapi.json") => {
                let place = request
                    .asked("place")
                    .map_or(Some(Place::Plain), Place::of_word);
                match place {
                    Some(place) => {
                        let document = document::document(place, &self.addresses.url(place));
                        send(wire, &respond::json(200, &[], &document)).await
                    }
                    None => nothing_there(wire).await,
                }
            }
            _ => nothing_there(wire).await,
        }
    }
}

async fn nothing_there(wire: &mut impl Wire) -> io::Result<()> {
    let message = json!({"message": "nothing is there; /openapi.json says what is"});
    send(wire, &respond::json(404, &[], &message)).await
}

async fn send(wire: &mut impl Wire, bytes: &[u8]) -> io::Result<()> {
    wire.write_all(bytes).await?;
    end(wire, Then::Close).await
}

/// What was asked, as it arrived.
fn echo(request: &Request) -> Value {
    let text = |pairs: &[(String, String)]| -> Map<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect()
    };
    let body = String::from_utf8_lossy(&request.body).into_owned();
    json!({
        "method": request.method,
        "path": request.path,
        "query": text(&request.query),
        "headers": text(&request.headers),
        "body": serde_json::from_slice(&request.body).unwrap_or(Value::String(body)),
    })
}

/// Nothing that is done under these locks can leave them half done.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
