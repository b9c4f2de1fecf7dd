//! Redacts JSON values in place and learns the secrets they hold: names decide first, then every
//! string, key and long number is looked at for itself.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::credentials::is_basic_pair;
use super::literals::Literals;
use super::names::{is_descriptive, listed, strength};
use super::prefilter::{hits, is_name_hit};
use super::text::{JSON_NESTING, inner_json, redact as redact_text, redact_hit};
use super::values::WORD_SCHEMES;
use super::{DEPTH_LIMIT, REPLACEMENT, cards, is_sensitive_name, prose};

/// Redacts a value that no name was given for; tells whether it changed.
pub(super) fn redact(literals: &Literals, value: &mut Value, nesting: usize) -> bool {
    Walk::new(literals, nesting).value(value, Place::outermost())
}

/// Redacts the members of an object; tells whether it changed.
pub(super) fn redact_object(literals: &Literals, object: &mut Map<String, Value>) -> bool {
    Walk::new(literals, 0).object(object, Place::outermost())
}

/// Replaces a value that sits in a secret place; booleans and null say nothing and stay.
pub(super) fn hide(value: &mut Value) -> bool {
    !value.is_boolean() && !value.is_null() && replace(value)
}

/// Replaces a value whatever it is; tells whether it was anything else before.
pub(super) fn replace(value: &mut Value) -> bool {
    if value == REPLACEMENT {
        return false;
    }
    let mut parts = vec![std::mem::replace(value, Value::from(REPLACEMENT))];
    // Taken apart level by level, because dropping a very deep value whole would recurse.
    while let Some(part) = parts.pop() {
        match part {
            Value::Array(items) => parts.extend(items),
            Value::Object(members) => parts.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
    true
}

/// Collects the strings and numbers that sit in secret places of a value.
pub(super) fn secrets(value: &Value, found: &mut Vec<String>) {
    collect(value, Place::outermost(), 0, found);
}

/// Collects the same from the members of an object.
pub(super) fn secrets_of_members(object: &Map<String, Value>, found: &mut Vec<String>) {
    collect_members(object, Place::outermost(), 0, found);
}

/// Collects the same from the JSON that a text is, or that stands between its first and last brace.
pub(super) fn secrets_of_text(text: &str, found: &mut Vec<String>) {
    let hits = hits(text.as_bytes());
    let embedded = || {
        let start = text.find('{').filter(|_| hits != 0)?;
        inner_json(
            &text[start..=text.rfind('}').filter(|end| *end > start)?],
            hits,
        )
    };
    if let Some(value) = inner_json(text, hits).or_else(embedded) {
        collect(&value, Place::outermost(), 1, found);
    }
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

/// How deep a value stands, and whether what surrounds it speaks about errors.
#[derive(Clone, Copy)]
pub(super) struct Place {
    depth: usize,
    among_errors: bool,
}

impl Place {
    pub(super) const fn outermost() -> Self {
        Self {
            depth: 1,
            among_errors: false,
        }
    }

    const fn inner(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    fn under(self, name: &str) -> Self {
        const ERRORS: &str = "error errors violations field_errors fieldErrors validation_errors";
        Self {
            depth: self.depth + 1,
            among_errors: self.among_errors || listed(ERRORS, name),
        }
    }
}

struct Walk<'a> {
    literals: &'a Literals,
    /// What is removed from names, which quote no value.
    in_names: Literals,
    nesting: usize,
}

impl<'a> Walk<'a> {
    fn new(literals: &'a Literals, nesting: usize) -> Self {
        Self {
            literals,
            in_names: literals.told_only(),
            nesting,
        }
    }

    fn value(&self, value: &mut Value, place: Place) -> bool {
        match value {
            Value::String(text) => self.string(text),
            Value::Number(number) if self.is_secret_number(number) => replace(value),
            Value::Array(_) | Value::Object(_) if place.depth > DEPTH_LIMIT => replace(value),
            Value::Array(items) => self.array(items, place),
            Value::Object(members) => self.object(members, place),
            Value::Number(_) | Value::Bool(_) | Value::Null => false,
        }
    }

    fn string(&self, text: &mut String) -> bool {
        let redacted = redact_text(self.literals, text, self.nesting);
        let changed = matches!(&redacted, Cow::Owned(_)) || redacted != *text;
        if changed {
            *text = redacted.into_owned();
        }
        changed
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

    fn array(&self, items: &mut [Value], place: Place) -> bool {
        let (mut announced, mut changed) = (false, false);
        for item in items {
            let is_header = item.as_str().is_some_and(announces_secret);
            changed |= if announced && !is_header {
                hide(item)
            } else {
                self.value(item, place.inner())
            };
            announced = is_header;
        }
        changed
    }

    fn object(&self, members: &mut Map<String, Value>, place: Place) -> bool {
        let indirect = holds_named_value(members);
        let (mut renamed, mut changed) = (Vec::new(), false);
        for (name, member) in members.iter_mut() {
            let found = hits(name.as_bytes());
            let mut sensitive = is_name_hit(found) && strength(name).is_some();
            if found != 0 || !self.in_names.is_empty() || name.contains('\\') {
                let redacted = redact_hit(&self.in_names, name, found, self.nesting);
                if redacted != *name {
                    sensitive |= is_sensitive_name(&redacted);
                    renamed.push((name.clone(), redacted.into_owned()));
                }
            }
            sensitive |= indirect && name.eq_ignore_ascii_case("value")
                || name == "auth" && member.as_str().is_some_and(is_basic_pair);
            let speaks = sensitive && speaks_about_secret(member, place);
            changed |= if sensitive && !speaks {
                hide(member)
            } else {
                let lost = self.value(member, place.under(name));
                // A sentence that gives a secret away is none about it.
                if speaks && lost && !member.is_object() {
                    hide(member);
                }
                lost
            };
        }
        changed |= !renamed.is_empty();
        rename(members, renamed);
        changed
    }
}

/// Whether a value under a sensitive name tells something about the secret: a message, a list of
/// messages, a schema, or one mark of punctuation.
pub(super) fn speaks_about_secret(value: &Value, place: Place) -> bool {
    let speaks = |text: &str| {
        prose::is_sentence(text)
            || place.among_errors && prose::is_remark(text)
            || prose::is_mark(text)
    };
    match value {
        Value::String(text) => speaks(text),
        Value::Array(items) => {
            let spoken = |item: &Value| item.as_str().is_some_and(speaks);
            !items.is_empty() && items.iter().all(spoken)
        }
        Value::Object(members) => is_schema(members),
        _ => false,
    }
}

/// Whether an object describes a value in the words of JSON Schema, none of which holds one.
fn is_schema(members: &Map<String, Value>) -> bool {
    const TYPES: &str = "string integer number boolean object array null";
    const KEYWORDS: &str = "type format minLength maxLength pattern title description nullable \
        minimum maximum required writeOnly readOnly deprecated x-sensitive";
    let typed = members.get("type").and_then(Value::as_str);
    typed.is_some_and(|name| listed(TYPES, name))
        && members.keys().all(|keyword| listed(KEYWORDS, keyword))
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

fn collect(value: &Value, place: Place, nesting: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) if nesting < JSON_NESTING => {
            if let Some(inner) = inner_json(text, hits(text.as_bytes())) {
                collect(&inner, Place::outermost(), nesting + 1, found);
            }
        }
        Value::Array(items) if place.depth <= DEPTH_LIMIT => {
            for item in items {
                collect(item, place.inner(), nesting, found);
            }
        }
        Value::Object(members) if place.depth <= DEPTH_LIMIT => {
            collect_members(members, place, nesting, found);
        }
        _ => {}
    }
}

fn collect_members(
    members: &Map<String, Value>,
    place: Place,
    nesting: usize,
    found: &mut Vec<String>,
) {
    let indirect = holds_named_value(members);
    for (name, member) in members {
        let sensitive = is_sensitive_name(name) || indirect && name.eq_ignore_ascii_case("value");
        if sensitive && !speaks_about_secret(member, place) {
            leaves(member, place.depth, found);
        } else {
            collect(member, place.under(name), nesting, found);
        }
    }
}

/// The credential of a header value, which prose may repeat without its scheme.
fn without_scheme(text: &str) -> Option<&str> {
    let (scheme, credential) = text.split_once(' ')?;
    let is_known = |known: &&str| known.eq_ignore_ascii_case(scheme);
    WORD_SCHEMES.iter().any(is_known).then_some(credential)
}
