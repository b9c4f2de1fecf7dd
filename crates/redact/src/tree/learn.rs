//! Collects the secrets inside a JSON value, so that the redactor can remove the same values from
//! other texts. Nothing is changed here.

use serde_json::{Map, Value};

use super::describe::describes_secret;
use super::{Scope, Surroundings, is_claim, is_record, may_name_secret};
use crate::names::is_descriptive;
use crate::prefilter::hits;
use crate::text::{JSON_NESTING, inner_json};
use crate::values::is_word_scheme;
use crate::{DEPTH_LIMIT, is_sensitive_name, labels};

/// Collects the strings and numbers under sensitive names of a value.
pub(crate) fn collect_secrets(value: &Value, found: &mut Vec<String>) {
    collect(value, Scope::root(), 0, found);
}

/// Collects the same from the members of an object.
pub(crate) fn collect_member_secrets(object: &Map<String, Value>, found: &mut Vec<String>) {
    collect_members(object, Scope::root(), 0, found);
}

/// Collects the same from a text that is JSON, or from the JSON between its first and last brace.
pub(crate) fn collect_text_secrets(text: &str, found: &mut Vec<String>) {
    let hits = hits(text.as_bytes());
    let embedded = || {
        let start = text.find('{').filter(|_| hits != 0)?;
        inner_json(
            &text[start..=text.rfind('}').filter(|end| *end > start)?],
            hits,
        )
    };
    if let Some(value) = inner_json(text, hits).or_else(embedded) {
        collect(&value, Scope::root(), 1, found);
    }
}

/// Collects every string and number of a value that is secret as a whole.
pub(crate) fn collect_leaves(value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            found.push(text.clone());
            found.extend(without_scheme(text).map(str::to_owned));
        }
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) if depth < DEPTH_LIMIT => {
            for item in items {
                collect_leaves(item, depth + 1, found);
            }
        }
        Value::Object(members) if depth < DEPTH_LIMIT && !is_claim(members) => {
            let is_record = is_record(members);
            for (name, member) in members {
                let is_secret = !is_record
                    || is_sensitive_name(name)
                    || member.is_object()
                    || member.is_array() && !is_descriptive(name)
                    || labels::is_secret_of_record(name, member);
                if is_secret {
                    collect_leaves(member, depth + 1, found);
                }
            }
        }
        _ => {}
    }
}

fn collect(value: &Value, scope: Scope, nesting: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) if nesting < JSON_NESTING => {
            if let Some(inner) = inner_json(text, hits(text.as_bytes())) {
                collect(&inner, Scope::root(), nesting + 1, found);
            }
        }
        Value::Array(items) if scope.depth <= DEPTH_LIMIT => {
            for item in items {
                collect(item, scope.inner(), nesting, found);
            }
        }
        Value::Object(members) if scope.depth <= DEPTH_LIMIT => {
            collect_members(members, scope, nesting, found);
        }
        _ => {}
    }
}

fn collect_members(
    members: &Map<String, Value>,
    scope: Scope,
    nesting: usize,
    found: &mut Vec<String>,
) {
    let is_label = members.values().any(may_name_secret) && labels::labels_secret(members);
    let labelled = scope.labelled || is_label;
    let surroundings = Surroundings::of(members);
    for (name, member) in members {
        let sensitive = is_sensitive_name(name) && surroundings.has_secret(name, member)
            || labelled && labels::holds_value(name, member);
        if sensitive && !describes_secret(member, scope) {
            collect_leaves(member, scope.depth, found);
        } else {
            let inner = scope
                .under(name)
                .labelled(is_label && labels::is_container(name));
            collect(member, inner, nesting, found);
        }
    }
}

/// The credential of a header value, which prose may repeat without its scheme.
fn without_scheme(text: &str) -> Option<&str> {
    let (scheme, credential) = text.split_once(' ')?;
    is_word_scheme(scheme).then_some(credential)
}
