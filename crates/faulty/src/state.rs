//! The state of the service, and the routing of requests.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::fault::Endpoint;
use crate::orders::{self, Orders};
use crate::perform::{Wire, perform, send};
use crate::request::{Request, RequestError};
use crate::service::Addresses;
use crate::table::Row;
use crate::template::TemplateContext;
use crate::{document, events, respond};

/// The state of the service.
#[derive(Debug)]
pub(crate) struct ServiceState {
    pub(crate) addresses: Addresses,
    orders: Mutex<Orders>,
    /// The number of requests for each row, by slug.
    calls: Mutex<HashMap<String, u64>>,
}

impl ServiceState {
    pub(crate) fn new(addresses: Addresses) -> Self {
        Self {
            addresses,
            orders: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    pub(crate) fn calls(&self, slug: &str) -> u64 {
        lock(&self.calls).get(slug).copied().unwrap_or(0)
    }

    pub(crate) fn orders_done(&self) -> u64 {
        lock(&self.orders).done()
    }

    /// Reads one request and responds to it.
    pub(crate) async fn serve(&self, wire: &mut impl Wire) -> io::Result<()> {
        let status = match Request::read(wire).await {
            Ok(request) => return self.answer(wire, &request).await,
            Err(RequestError::Disconnected) => return Ok(()),
            Err(RequestError::NotHttp) => 400,
            Err(RequestError::HeadTooLong) => 431,
            Err(RequestError::BodyTooLong) => 413,
        };
        let message = json!({"message": "the request cannot be parsed"});
        send(wire, &respond::json(status, &[], &message)).await
    }

    async fn answer(&self, wire: &mut impl Wire, request: &Request) -> io::Result<()> {
        if let Some(slug) = request.path.strip_prefix("/fault/")
            && let Some(row) = Row::of_slug(slug)
        {
            *lock(&self.calls).entry(slug.to_owned()).or_default() += 1;
            let context = TemplateContext {
                now: Timestamp::now(),
                headers: &request.headers,
            };
            return perform(wire, row, request, context).await;
        }
        match (request.method.as_str(), request.path.as_str()) {
            (_, "/echo") => send(wire, &respond::json(200, &[], &echo(request))).await,
            ("POST", "/orders") => {
                let taken = lock(&self.orders).take(request);
                orders::answer(wire, request, taken).await
            }
            ("GET", "/orders/count") => {
                let count = json!({"count": self.orders_done()});
                send(wire, &respond::json(200, &[], &count)).await
            }
            ("GET", "/events") => events::stream(wire, request).await,
            ("GET", "/openapi.json") => {
                let endpoint = request
                    .query_value("place")
                    .map_or(Some(Endpoint::Plain), Endpoint::named);
                match endpoint {
                    Some(endpoint) => {
                        let document = document::document(endpoint, &self.addresses.url(endpoint));
                        send(wire, &respond::json(200, &[], &document)).await
                    }
                    None => not_found(wire).await,
                }
            }
            _ => not_found(wire).await,
        }
    }
}

async fn not_found(wire: &mut impl Wire) -> io::Result<()> {
    let message = json!({"message": "not found: see /openapi.json"});
    send(wire, &respond::json(404, &[], &message)).await
}

/// The request as JSON.
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

/// A panic cannot leave the data behind these locks inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
