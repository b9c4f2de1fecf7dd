//! JSON-RPC 2.0: every operation is a method, and parameters go by name.
//!
//! From the bytes of a body to the bytes of an answer. How the bytes come and go is not known here.

mod answer;
mod reader;
mod request;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use panpan_contract::operation::Visibility;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{Answer, CallRequest, Registry};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::gateway::{Gateway, Surface};
use crate::json;
use crate::meta::{IN_META, Terms};
use request::{Body, Invalid, Item};

pub(crate) use request::{Params, Request};

/// How many calls of one batch run at a time.
const BATCH_AT_A_TIME: usize = 16;

/// The answer to a body, or `None` when nothing in it wants one.
///
/// Where it is not known who calls, every request is answered with the reason. What the headers say is
/// about one call: a batch is refused with them.
pub(crate) async fn serve(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    terms: &Terms,
    body: &[u8],
) -> Option<Vec<u8>> {
    let limits = gateway.limits();
    let refused = match request::read(body, limits.body_bytes, limits.batch) {
        Ok(Body::One(item)) => {
            let answered = one(gateway, caller, terms, item).await?;
            return Some(answer::alone(&answered, body.len()));
        }
        Ok(Body::Batch(items)) if !items.is_empty() => match terms.refuse_for_several() {
            Ok(()) => return batch(gateway, caller, items, body.len()).await,
            Err(failure) => failure,
        },
        Ok(Body::Batch(_)) => Failure::new(codes::INVALID_REQUEST)
            .with_message("a batch holds at least one request, and this one is empty"),
        Ok(Body::TooMany(count)) => too_many(count, limits.batch),
        Err(error) => json::unreadable(&error),
    };
    Some(answer::alone(&unread(gateway, None, refused), body.len()))
}

/// The one request a body holds; `None` for a batch, and for what is no request.
pub(crate) fn single(body: &[u8], bytes_limit: usize) -> Option<Request<'_>> {
    match request::read(body, bytes_limit, 0).ok()? {
        Body::One(Item::Request(request)) => Some(request),
        _ => None,
    }
}

/// What answers a request: under its id, or under none where it could not be read.
#[derive(Debug)]
struct Answered<'a> {
    id: Option<&'a RawValue>,
    answer: Answer,
}

async fn batch(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    items: Vec<Item<'_>>,
    body_bytes: usize,
) -> Option<Vec<u8>> {
    // A batch alone is not to meet the limit of its caller.
    let room = gateway.limits().calls_in_flight_per_caller.max(1);
    let terms = Terms::default();
    // Not by a closure, of which the compiler cannot see that it may be sent to another thread.
    let mut calls = Vec::with_capacity(items.len());
    for item in items {
        calls.push(one(gateway, caller, &terms, item));
    }
    let mut answers = pin!(stream::iter(calls).buffered(BATCH_AT_A_TIME.min(room)));
    let mut list = answer::List::new(body_bytes);
    while let Some(answered) = answers.next().await {
        if let Some(answered) = answered {
            list.add(&answered);
        }
    }
    list.finish()
}

async fn one<'a>(
    gateway: &Gateway,
    caller: &Result<Caller, Failure>,
    terms: &Terms,
    item: Item<'a>,
) -> Option<Answered<'a>> {
    let Request { id, method, params } = match item {
        Item::Request(request) => request,
        Item::Invalid(Invalid { id, problem }) => return Some(unread(gateway, id, problem.into())),
    };
    let registry = method
        .contains('.')
        .then(|| gateway.dispatcher().registry());
    let name = registry.and_then(|registry| alias(&registry, &method));
    let name = name.unwrap_or_else(|| method.into_owned());
    let answer = match caller {
        Ok(caller) => call(gateway, caller, terms, name, params).await,
        Err(unknown) => {
            let request = CallRequest::from_wire(name, Value::Null);
            gateway.refuse(Surface::JsonRpc, request, unknown.clone())
        }
    };
    id.map(|id| Answered {
        id: Some(id),
        answer,
    })
}

async fn call(
    gateway: &Gateway,
    caller: &Caller,
    terms: &Terms,
    name: String,
    params: Params,
) -> Answer {
    let (mut members, mut problem) = match params {
        Params::Named(members) => (members, None),
        Params::Listed => (Map::new(), Some(by_position())),
        Params::Twice(members, pointer) => (members, Some(json::ambiguous(&pointer))),
    };
    let meta = take_meta(&mut members);
    let mut request = CallRequest::from_wire(name, Value::Object(members));
    if let (None, Some(meta)) = (&problem, meta) {
        problem = IN_META.apply(&meta, &mut request).err();
    }
    if problem.is_none() {
        problem = terms.apply(&IN_META, &mut request).err();
    }
    match problem {
        // What does not exist has no parameters that could be wrong.
        Some(problem) if is_callable(&gateway.dispatcher().registry(), &request.operation) => {
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

/// The operation a dotted name stands for: `tasks.create` for `tasks/create`.
fn alias(registry: &Arc<Registry>, method: &str) -> Option<String> {
    if is_callable(registry, method) {
        return None;
    }
    let candidates = [method.replace('.', "/"), method.replacen('.', "/", 1)];
    let mut candidates = candidates.into_iter();
    candidates.find(|name| is_callable(registry, name))
}

/// Whether it exists for callers from outside. To tell others apart would tell that they exist.
fn is_callable(registry: &Registry, name: &str) -> bool {
    registry
        .get(name)
        .is_some_and(|operation| operation.spec().visibility == Visibility::External)
}

fn unread<'a>(gateway: &Gateway, id: Option<&'a RawValue>, failure: Failure) -> Answered<'a> {
    let request = CallRequest::from_wire("", Value::Null);
    let answer = gateway.refuse(Surface::JsonRpc, request, failure);
    Answered { id, answer }
}

fn too_many(count: usize, limit: usize) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!(
            "the batch holds {count} requests; at most {limit} are taken at once, and none was executed"
        ))
        .with_detail("batch_limit", limit)
        .with_actions(["Send the requests in smaller batches"])
}

fn by_position() -> Failure {
    let reason = "parameters go by name here, and these go by position";
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason)
        .with_violation(Violation::wrong_type("", "object", "a list".into()))
}
