//! The JSON-RPC 2.0 surface: every operation is a method with named parameters.
//!
//! Turns the bytes of a body into the bytes of a response. The transport is the caller's.

mod reader;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::pin::pin;

use futures_util::StreamExt as _;
use panpan_failure::read::ReadError;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{Answer, CallRequest, Registry};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::gateway::{Gateway, Surface};
use crate::limits::Limits;
use crate::options::{CallOptions, IN_META};
use crate::{batch, json};
use request::{Body, Invalid, Item};

pub(crate) use request::{Params, Request};
pub(crate) use response::failed;

/// A body that was parsed.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    read: Result<Body<'a>, ReadError>,
    bytes: usize,
}

impl<'a> Parsed<'a> {
    pub(crate) fn new(body: &'a [u8], limits: &Limits) -> Self {
        Self {
            read: request::read(body, limits.body_bytes, limits.batch),
            bytes: body.len(),
        }
    }

    /// Its request; `None` for a batch and for an invalid request.
    pub(crate) fn request(&self) -> Option<&Request<'a>> {
        match &self.read {
            Ok(Body::One(Item::Request(request))) => Some(request),
            _ => None,
        }
    }
}

/// The response to a body; `None` if all its requests are notifications.
///
/// If the caller could not be identified, every request fails with that failure. Options in headers apply to a
/// single call, so a batch with them is refused.
pub(crate) async fn serve(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    options: &CallOptions,
    body: Parsed<'_>,
) -> Option<Vec<u8>> {
    let refused = match body.read {
        Ok(Body::One(item)) => {
            let response = respond(gateway, caller, options, item).await?;
            return Some(response::single(&response, body.bytes));
        }
        Ok(Body::Batch(items)) if !items.is_empty() => match options.refuse_in_batch() {
            Ok(()) => return respond_to_batch(gateway, caller, items, body.bytes).await,
            Err(failure) => failure,
        },
        Ok(Body::Batch(_)) => {
            Failure::new(codes::INVALID_REQUEST).with_message("the batch is empty")
        }
        Ok(Body::TooMany(count)) => batch::too_many(count, gateway.limits().batch),
        Err(error) => json::unreadable(&error),
    };
    let response = refuse(gateway, None, refused);
    Some(response::single(&response, body.bytes))
}

/// The request in a body; `None` for a batch and for an invalid request.
pub(crate) fn single(body: &[u8], bytes_limit: usize) -> Option<Request<'_>> {
    match request::read(body, bytes_limit, 0).ok()? {
        Body::One(Item::Request(request)) => Some(request),
        _ => None,
    }
}

/// The response to a request; without an id if the id could not be read.
#[derive(Debug)]
struct Response<'a> {
    id: Option<&'a RawValue>,
    answer: Answer,
}

async fn respond_to_batch(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    items: Vec<Item<'_>>,
    body_bytes: usize,
) -> Option<Vec<u8>> {
    let options = CallOptions::default();
    // A loop, since the compiler cannot prove that the futures of a closure are Send.
    let mut calls = Vec::with_capacity(items.len());
    for item in items {
        calls.push(respond(gateway, caller, &options, item));
    }
    let mut responses = pin!(batch::run(gateway, calls));
    let mut list = response::Batch::new(body_bytes);
    while let Some(response) = responses.next().await {
        if let Some(response) = response {
            list.add(&response);
        }
    }
    list.finish()
}

async fn respond<'a>(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    options: &CallOptions,
    item: Item<'a>,
) -> Option<Response<'a>> {
    let Request {
        id, method, params, ..
    } = match item {
        Item::Request(request) => request,
        Item::Invalid(Invalid { id, problem }) => return Some(refuse(gateway, id, problem)),
    };
    let resolve = |registry: &Registry| resolve_dots(registry, &method);
    let has_dots = method.contains('.');
    let name = has_dots.then(|| gateway.dispatcher().with_registry(resolve));
    let name = name.flatten().unwrap_or_else(|| method.into_owned());
    let answer = match caller {
        Ok(caller) => call(gateway, caller, options, name, params).await,
        Err(unidentified) => gateway.refuse_unread(Surface::JsonRpc, name, unidentified.clone()),
    };
    id.map(|id| Response {
        id: Some(id),
        answer,
    })
}

async fn call(
    gateway: &Gateway,
    caller: &Caller,
    options: &CallOptions,
    name: String,
    params: Params,
) -> Answer {
    let (mut input, mut problem) = match params {
        Params::Named(members) => (Value::Object(members), None),
        Params::Positional(items) if gateway.orders_arguments(&name) => (Value::Array(items), None),
        Params::Positional(_) => (Value::Object(Map::new()), Some(positional_params())),
        Params::Duplicate(members, pointer) => (
            Value::Object(members),
            Some(json::duplicate_member(&pointer)),
        ),
    };
    let meta = input.as_object_mut().and_then(take_meta);
    let mut request = CallRequest::from_wire(name, input);
    if let (None, Some(meta)) = (&problem, meta) {
        problem = IN_META.apply(&meta, &mut request).err();
    }
    if problem.is_none() {
        problem = options.apply(&IN_META, &mut request).err();
    }
    match problem {
        // For an operation that does not exist, NOT_FOUND is more useful than invalid parameters.
        Some(problem) if gateway.is_external(&request.operation) => {
            request.caller.clone_from(&caller.identity);
            gateway.refuse(Surface::JsonRpc, request, problem)
        }
        _ => gateway.call(Surface::JsonRpc, caller, request).await,
    }
}

fn take_meta(members: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    if !members.get("_meta")?.is_object() {
        return None;
    }
    match members.remove("_meta") {
        Some(Value::Object(meta)) => Some(meta),
        _ => None,
    }
}

/// The operation with a dotted name: `tasks/create` for `tasks.create`.
fn resolve_dots(registry: &Registry, method: &str) -> Option<String> {
    if registry.external(method).is_some() {
        return None;
    }
    let candidates = [method.replace('.', "/"), method.replacen('.', "/", 1)];
    let mut candidates = candidates.into_iter();
    candidates.find(|name| registry.external(name).is_some())
}

fn refuse<'a>(gateway: &Gateway, id: Option<&'a RawValue>, failure: Failure) -> Response<'a> {
    let answer = gateway.refuse_unread(Surface::JsonRpc, "", failure);
    Response { id, answer }
}

fn positional_params() -> Failure {
    let reason = "params must be an object: the operation declares no order of its arguments";
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason)
        .with_violation(Violation::wrong_type("", "object", "a list".into()))
}
