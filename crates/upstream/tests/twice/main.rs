//! A panpan in front of a panpan in front of a service: callers of the outer one see of every failure what
//! callers of the inner one see, and nothing is tried more often than with one alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod asking;
mod faults;
#[path = "../support/front.rs"]
mod front;
mod panpan;
mod refusals;

use panpan_failure::{Effect, Failure};
use serde_json::Value;

/// Everything in which a failure differs from what it was inside, where who spoke and what was asked for
/// have other names.
pub(crate) fn differences(inside: &Failure, outside: &Failure) -> Vec<String> {
    let (inside, outside) = (seen(inside), seen(outside));
    let names = inside.as_object().unwrap().keys();
    let names = names.chain(outside.as_object().unwrap().keys());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| inside[*name] != outside[*name])
        .map(|name| format!("{name} was {} and is {}", inside[name], outside[name]))
        .collect()
}

/// The whole failure, with names as they are outside. Keys, and what is advised to do with them, are those
/// of each one's own caller.
fn seen(failure: &Failure) -> Value {
    let mut seen = serde_json::to_value(failure.clone().redacted()).unwrap();
    for name in ["source", "operation"] {
        if let Some(Value::String(text)) = seen.get_mut(name) {
            let outside = text.strip_prefix("inner/").unwrap_or(text).to_owned();
            *text = outside;
        }
    }
    let details = seen.get_mut("details").and_then(Value::as_object_mut);
    if let Some(details) = details {
        details.remove("idempotency_key");
        if details.is_empty() {
            seen.as_object_mut().unwrap().remove("details");
        }
    }
    let mut recovery = seen.get_mut("recovery").and_then(Value::as_object_mut);
    // Each counts the failures of its own callers, and has them wait longer for every one in a row.
    if failure.upstream().is_none() {
        recovery.as_mut().map(|it| it.remove("retry_after_ms"));
    }
    let actions = recovery.and_then(|recovery| recovery.get_mut("required_actions"));
    if let Some(Value::Array(actions)) = actions {
        let is_about_keys = |it: &Value| it.to_string().contains("idempotency_key");
        let is_chosen = failure.effect() != Effect::None || failure.retryable();
        actions.retain(|action| !is_chosen && !is_about_keys(action));
    }
    seen
}
