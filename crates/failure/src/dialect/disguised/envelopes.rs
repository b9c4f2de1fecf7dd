//! Failures of services in successful responses, in envelopes that are none of our dialects: GraphQL responses, a false
//! flag with a list of errors or with a text.

use panpan_catalogue::for_status;
use serde_json::{Map, Value};

use super::super::Dialect;
use super::{ALLOWED, OUTPUTS, has_only, is_text};
use crate::failure::Failure;

/// The errors in a document that has nothing else: a GraphQL response without data, or errors with a flag that is
/// false.
pub(super) fn error_list(members: &Map<String, Value>) -> Option<&[Value]> {
    let errors = members.get("errors")?.as_array()?;
    let is_error = |error: &Value| error.get("message").is_some_and(is_text);
    if errors.is_empty() || !errors.iter().all(is_error) {
        return None;
    }
    let is_flagged = is_flagged_false(members);
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "errors" => true,
        name if is_flag(name) => *value == Value::Bool(false),
        name if OUTPUTS.contains(&name) => value.is_null(),
        "extensions" => !is_flagged,
        "messages" => is_flagged && value.as_array().is_some_and(Vec::is_empty),
        name => is_flagged && ALLOWED.contains(&name),
    };
    let is_failure = is_flagged || is_graphql(errors, members.contains_key("data"));
    (is_failure && members.iter().all(fits)).then_some(errors)
}

fn is_flag(name: &str) -> bool {
    name == "success" || name == "ok"
}

pub(super) fn is_flagged_false(members: &Map<String, Value>) -> bool {
    let mut members = members.iter();
    members.any(|(name, value)| is_flag(name) && *value == Value::Bool(false))
}

/// Whether errors have only the members that GraphQL defines, and the type that some services add. Without `data`
/// (a refused request) each of them needs a member that only GraphQL has.
fn is_graphql(errors: &[Value], has_data: bool) -> bool {
    let is_marked = |it: &Map<String, Value>| {
        it.get("extensions").is_some_and(Value::is_object)
            || it.get("locations").is_some_and(Value::is_array)
    };
    let mut members = errors.iter().filter_map(Value::as_object);
    members.all(|it| {
        let is_known = has_only(it, &["message", "locations", "path", "extensions", "type"]);
        is_known && (has_data || is_marked(it))
    })
}

/// The failure in a document of only a flag that is false, a text that explains it and perhaps a code.
pub(super) fn bare_failure(members: &Map<String, Value>) -> Option<Failure> {
    let is_code = |name: &str| ["code", "error_code", "errorCode"].contains(&name);
    let is_text_member = |name: &str| ["message", "description"].contains(&name);
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        name if is_flag(name) => *value == Value::Bool(false),
        name if is_text_member(name) => is_text(value),
        name => is_code(name) && (is_text(value) || value.is_u64()),
    };
    let texts = members.iter().filter(|(name, _)| is_text_member(name));
    let texts: Vec<&Value> = texts.map(|(_, text)| text).collect();
    let [text] = texts[..] else {
        return None;
    };
    if !is_flagged_false(members) || !members.iter().all(fits) {
        return None;
    }
    let code = members
        .iter()
        .find(|(name, _)| is_code(name))
        .map(|(_, it)| it);
    let status = code
        .and_then(Value::as_u64)
        .and_then(|it| u16::try_from(it).ok());
    let status = status.filter(|it| (400..600).contains(it));
    if let Some(entry) = status.and_then(for_status) {
        return Some(Failure::new(entry).with_message(text.as_str()?));
    }
    let code = code.filter(|it| is_text(it));
    let flat = serde_json::json!({"success": false, "error": text, "code": code});
    Dialect::Flat.read(flat).ok()?.outcome.err()
}

/// The first error in the flat dialect.
pub(super) fn flattened(errors: &[Value]) -> Value {
    let error = &errors[0];
    let codes = [&error["extensions"]["code"], &error["code"], &error["type"]];
    let code = codes.into_iter().find(|it| is_text(it));
    serde_json::json!({"success": false, "error": error["message"], "code": code})
}
