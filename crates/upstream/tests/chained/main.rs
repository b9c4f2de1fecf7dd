//! An outer panpan in front of an inner panpan in front of a service: callers of the outer one see the same failures
//! as callers of the inner one, and the service gets no more requests than from a single panpan.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod elicitation;
mod faults;
mod panpan;
#[path = "../support/panpan_server.rs"]
mod panpan_server;
mod refusals;

use panpan_failure::{Effect, Failure};
use serde_json::Value;

/// The differences between a failure of the inner panpan and the same failure of the outer one, apart from the names of
/// operations.
pub(crate) fn differences(inner: &Failure, outer: &Failure) -> Vec<String> {
    let (inner, outer) = (comparable(inner), comparable(outer));
    let names = inner.as_object().unwrap().keys();
    let names = names.chain(outer.as_object().unwrap().keys());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| inner[*name] != outer[*name])
        .map(|name| format!("{name} was {} and is {}", inner[name], outer[name]))
        .collect()
}

/// The complete failure with inner names, without keys and actions about keys: each panpan states those for its own
/// caller.
fn comparable(failure: &Failure) -> Value {
    let mut members = serde_json::to_value(failure.clone().redacted()).unwrap();
    for name in ["source", "operation"] {
        if let Some(Value::String(text)) = members.get_mut(name) {
            let name = text.strip_prefix("inner/").unwrap_or(text).to_owned();
            *text = name;
        }
    }
    let details = members.get_mut("details").and_then(Value::as_object_mut);
    if let Some(details) = details {
        details.remove("idempotency_key");
        if details.is_empty() {
            members.as_object_mut().unwrap().remove("details");
        }
    }
    let mut recovery = members.get_mut("recovery").and_then(Value::as_object_mut);
    // Each panpan counts the failures of its own callers, and delays grow with every failure in a row.
    if failure.upstream().is_none() {
        recovery.as_mut().map(|it| it.remove("retry_after_ms"));
    }
    let actions = recovery.and_then(|recovery| recovery.get_mut("required_actions"));
    if let Some(Value::Array(actions)) = actions {
        let is_about_keys = |it: &Value| it.to_string().contains("idempotency_key");
        let is_chosen = failure.effect() != Effect::None || failure.retryable();
        actions.retain(|action| !is_chosen && !is_about_keys(action));
    }
    members
}
