//! A panpan in front of a panpan in front of a service: callers of the outer one see of every failure what
//! callers of the inner one see, and nothing is tried more often than with one alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod asking;
mod faults;
#[path = "../support/front.rs"]
mod front;
mod panpan;
mod refusals;

use panpan_contract::Failure;
use serde_json::{Value, json};

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

/// The whole failure, names told as they are outside. A key is the one its own caller knows.
fn seen(failure: &Failure) -> Value {
    let mut seen = serde_json::to_value(failure.clone().redacted()).unwrap();
    for name in ["source", "operation"] {
        if let Some(Value::String(text)) = seen.get_mut(name) {
            let outside = text.strip_prefix("inner/").unwrap_or(text).to_owned();
            *text = outside;
        }
    }
    if let Some(key) = seen.pointer_mut("/details/idempotency_key") {
        *key = json!("the caller's");
    }
    seen
}
