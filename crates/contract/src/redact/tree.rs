//! Redacts JSON values in place and learns the secrets they hold: names decide first, then every
//! string, key and long number is looked at for itself.

use serde_json::{Map, Number, Value};

use super::literals::Literals;
use super::names::{is_descriptive, strength};
use super::prefilter::{hits, is_name_hit};
use super::text::{JSON_NESTING, inner_json, redact as redact_text, redact_hit};
use super::values::WORD_SCHEMES;
use super::{DEPTH_LIMIT, REPLACEMENT, cards, is_sensitive_name};

/// Redacts a value that no name was given for.
pub(super) fn redact(literals: &Literals, value: &mut Value, nesting: usize) {
    Walk { literals, nesting }.value(value, 1);
}

/// Redacts the members of an object.
pub(super) fn redact_object(literals: &Literals, object: &mut Map<String, Value>) {
    Walk {
        literals,
        nesting: 0,
    }
    .object(object, 1);
}

/// Replaces a value that sits in a secret place; booleans and null say nothing and stay.
pub(super) fn hide(value: &mut Value) {
    if !value.is_boolean() && !value.is_null() {
        replace(value);
    }
}

/// Replaces a value whatever it is.
pub(super) fn replace(value: &mut Value) {
    let mut parts = vec![std::mem::replace(value, Value::from(REPLACEMENT))];
    // Taken apart level by level, because dropping a very deep value whole would recurse.
    while let Some(part) = parts.pop() {
        match part {
            Value::Array(items) => parts.extend(items),
            Value::Object(members) => parts.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// Collects the strings and numbers that sit in secret places of a value.
pub(super) fn secrets(object: &Map<String, Value>, found: &mut Vec<String>) {
    collect_members(object, 1, 0, found);
}

/// Collects every string and number of a value that is secret as a whole.
pub(super) fn leaves(value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            found.push(text.clone());
            found.extend(without_scheme(text).map(str::to_owned));
        }
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) if depth < DEPTH_LIMIT => {
            for item in items {
                leaves(item, depth + 1, found);
            }
        }
        Value::Object(members) if depth < DEPTH_LIMIT => {
            for (_, member) in members.iter().filter(|(name, _)| !is_descriptive(name)) {
                leaves(member, depth + 1, found);
            }
        }
        _ => {}
    }
}

struct Walk<'a> {
    literals: &'a Literals,
    nesting: usize,
}

impl Walk<'_> {
    fn value(&self, value: &mut Value, depth: usize) {
        match value {
            Value::String(text) => self.string(text),
            Value::Number(number) if self.is_secret_number(number) => replace(value),
            Value::Array(_) | Value::Object(_) if depth > DEPTH_LIMIT => replace(value),
            Value::Array(items) => self.array(items, depth),
            Value::Object(members) => self.object(members, depth),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn string(&self, text: &mut String) {
        if let std::borrow::Cow::Owned(redacted) = redact_text(self.literals, text, self.nesting) {
            *text = redacted;
        }
    }

    fn is_secret_number(&self, number: &Number) -> bool {
        const SMALLEST_CARD: u64 = 1_000_000_000_000;
        let may_be_card = number.as_u64().is_some_and(|whole| whole >= SMALLEST_CARD);
        if !may_be_card && self.literals.is_empty() {
            return false;
        }
        let digits = number.to_string();
        cards::is_card_number(&digits)
            || redact_text(self.literals, &digits, self.nesting) != digits
    }

    fn array(&self, items: &mut [Value], depth: usize) {
        let mut announced = false;
        for item in items {
            let is_header = item.as_str().is_some_and(announces_secret);
            if announced && !is_header {
                hide(item);
            } else {
                self.value(item, depth + 1);
            }
            announced = is_header;
        }
    }

    fn object(&self, members: &mut Map<String, Value>, depth: usize) {
        let indirect = holds_named_value(members);
        let mut renamed = Vec::new();
        for (name, member) in members.iter_mut() {
            let found = hits(name.as_bytes());
            let mut sensitive = is_name_hit(found) && strength(name).is_some();
            if found != 0 || !self.literals.is_empty() || name.contains('\\') {
                let redacted = redact_hit(self.literals, name, found, self.nesting);
                if redacted != *name {
                    sensitive |= is_sensitive_name(&redacted);
                    renamed.push((name.clone(), redacted.into_owned()));
                }
            }
            if sensitive || indirect && name.eq_ignore_ascii_case("value") {
                hide(member);
            } else {
                self.value(member, depth + 1);
            }
        }
        rename(members, renamed);
    }
}

/// Gives members their redacted names, numbered where two would be the same.
fn rename(members: &mut Map<String, Value>, renamed: Vec<(String, String)>) {
    // One count for all of them keeps an object full of secret names linear.
    let mut number = 1usize;
    for (old, new) in renamed {
        let Some(member) = members.remove(&old) else {
            continue;
        };
        let mut unique = new.clone();
        while members.contains_key(&unique) {
            number += 1;
            unique = format!("{new} {number}");
        }
        members.insert(unique, member);
    }
}

/// Whether the next element of an array belongs to this one: a header's name or a flag.
fn announces_secret(text: &str) -> bool {
    const HEADERS: &[&str] = &[
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "x-auth-token",
    ];
    let header = HEADERS
        .iter()
        .any(|header| header.eq_ignore_ascii_case(text));
    header || text.starts_with("--") && !text.contains(['=', ' ']) && is_sensitive_name(text)
}

/// Whether an object is written as `{"name": "password", "value": "x"}`.
fn holds_named_value(members: &Map<String, Value>) -> bool {
    const NAMES: &[&str] = &["name", "key", "header", "field", "Name", "Key"];
    let is_identifier = |name: &&str| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    (members.contains_key("value") || members.contains_key("Value"))
        && NAMES
            .iter()
            .filter_map(|name| members.get(*name)?.as_str())
            .filter(is_identifier)
            .any(is_sensitive_name)
}

fn collect(value: &Value, depth: usize, nesting: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) if nesting < JSON_NESTING => {
            if let Some(inner) = inner_json(text, hits(text.as_bytes())) {
                collect(&inner, 1, nesting + 1, found);
            }
        }
        Value::Array(items) if depth <= DEPTH_LIMIT => {
            for item in items {
                collect(item, depth + 1, nesting, found);
            }
        }
        Value::Object(members) if depth <= DEPTH_LIMIT => {
            collect_members(members, depth, nesting, found);
        }
        _ => {}
    }
}

fn collect_members(
    members: &Map<String, Value>,
    depth: usize,
    nesting: usize,
    found: &mut Vec<String>,
) {
    let indirect = holds_named_value(members);
    for (name, member) in members {
        if is_sensitive_name(name) || indirect && name.eq_ignore_ascii_case("value") {
            leaves(member, depth, found);
        } else {
            collect(member, depth + 1, nesting, found);
        }
    }
}

/// The credential of a header value, which prose may repeat without its scheme.
fn without_scheme(text: &str) -> Option<&str> {
    let (scheme, credential) = text.split_once(' ')?;
    let is_known = |known: &&str| known.eq_ignore_ascii_case(scheme);
    WORD_SCHEMES.iter().any(is_known).then_some(credential)
}
