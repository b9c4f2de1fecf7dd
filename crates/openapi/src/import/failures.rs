//! The failures an operation declares in its `responses`.
//!
//! An exact status gives `HTTP_<status>`; a range gives `HTTP_4XX` or `HTTP_5XX` and `default` gives
//! `HTTP_DEFAULT`: names for the definition only, since an answer is always coded by the status it
//! came with.

use panpan_failure::{Category, Code, ErrorDefinition, StatusPattern};
use serde_json::{Map, Value, json};

use super::answers::{alternatives, is_success};
use super::media::{MEDIA_TYPES_LIMIT, Media, ranked};
use super::reader::Reader;
use super::schemas::anything;
use crate::place::Place;
use crate::reference::{self, Found};

/// The member of a definition that names the headers in which the service says when to come again.
pub const HEADERS_NOTE: &str = "x-panpan-headers";

/// The member of a failure's details that holds a body which is no object.
pub const BODY_DETAIL: &str = "body";

/// What the answers of an operation say besides success.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// The declared failures, in the order of the document's keys.
    pub(super) definitions: Vec<ErrorDefinition>,
    /// Descriptions of answers that are neither success nor failure, by status.
    pub(super) others: Map<String, Value>,
    /// Media types of JSON bodies.
    pub(super) accepts: Vec<String>,
}

/// What a status in a document speaks of.
enum Status {
    Success,
    Failure(StatusPattern),
    /// Information and redirections.
    Other,
    Unknown,
}

impl Status {
    fn of(key: &str) -> Self {
        if is_success(key) {
            return Status::Success;
        }
        match key.as_bytes() {
            [b'1' | b'3', b'0'..=b'9', b'0'..=b'9'] => Status::Other,
            [b'1' | b'3', b'X' | b'x', b'X' | b'x'] => Status::Other,
            [b'4' | b'5', b'0'..=b'9', b'0'..=b'9'] => {
                let number = key.parse().unwrap_or_default();
                Status::Failure(StatusPattern::Exact(number))
            }
            [b'4', b'X' | b'x', b'X' | b'x'] => Status::Failure(StatusPattern::Range(4)),
            [b'5', b'X' | b'x', b'X' | b'x'] => Status::Failure(StatusPattern::Range(5)),
            b"default" => Status::Failure(StatusPattern::Default),
            _ => Status::Unknown,
        }
    }
}

/// Reads everything in `responses` that is no success.
pub(super) fn failures<'a>(
    reader: &mut Reader<'a>,
    responses: Option<&'a Map<String, Value>>,
    place: &Place<'_>,
) -> Failures {
    let mut failures = Failures::default();
    for (status, response) in responses.into_iter().flatten() {
        let place = place.name(status);
        if status.starts_with("x-") {
            continue;
        }
        let pattern = match Status::of(status) {
            Status::Success => continue,
            Status::Failure(pattern) => pattern,
            Status::Other => {
                let found = reader.follow(response, &place, "only its status is known");
                let description = found.and_then(|it| reader.text(it.value.get("description")));
                let description = description.unwrap_or_default();
                failures.others.insert(status.clone(), description.into());
                continue;
            }
            Status::Unknown => {
                let message = "is no status; write 100 to 599, 1XX to 5XX or default";
                reader.warnings.note(&place, message);
                continue;
            }
        };
        let otherwise = "what its body looks like is not known";
        let found = reader.follow(response, &place, otherwise);
        let found = found.unwrap_or(Found::here(&Value::Null));
        failures.add(definition(reader, pattern, &found, &place));
        failures.accepts.extend(json_types(found.value));
    }
    failures
}

impl Failures {
    /// Adds a definition. One status can be written in two ways, and is one failure.
    fn add(&mut self, definition: ErrorDefinition) {
        let mut known = self.definitions.iter_mut();
        match known.find(|it| it.code == definition.code) {
            Some(known) => {
                let schemas = vec![known.schema.take(), definition.schema];
                known.schema = alternatives(schemas);
            }
            None => self.definitions.push(definition),
        }
    }
}

fn definition<'a>(
    reader: &mut Reader<'a>,
    pattern: StatusPattern,
    found: &Found<'a>,
    place: &Place<'_>,
) -> ErrorDefinition {
    let place = found.place(place);
    let description = reader.text(found.value.get("description"));
    let description = description.unwrap_or_else(|| sentence(pattern));
    let mut definition = ErrorDefinition {
        http_status: Some(pattern),
        category: category(pattern),
        schema: details(reader, found.value, &place),
        ..ErrorDefinition::new(code(pattern), description)
    };
    let headers = waiting_headers(reader, found.value);
    if !headers.is_empty() {
        let noted = definition.extensions.insert(HEADERS_NOTE, headers.into());
        noted.expect("the name is an extension's");
    }
    definition
}

fn code(pattern: StatusPattern) -> Code {
    let code = format!("HTTP_{pattern}").to_ascii_uppercase();
    Code::new(code).expect("every pattern reads as a well-formed code")
}

/// An exact status has its facts in the catalogue; for the others the hundred says all there is.
fn category(pattern: StatusPattern) -> Option<Category> {
    match pattern {
        StatusPattern::Range(4) => Some(Category::ClientError),
        StatusPattern::Range(5) => Some(Category::ServerError),
        _ => None,
    }
}

/// What is said about a failure the document says nothing about.
fn sentence(pattern: StatusPattern) -> String {
    match pattern {
        StatusPattern::Exact(status) => format!("The service answers with status {status}."),
        StatusPattern::Range(hundreds) => {
            format!("The service answers with a status from {hundreds}00 to {hundreds}99.")
        }
        StatusPattern::Default => {
            "The service answers with a status that is not described.".to_owned()
        }
    }
}

/// The headers of a response by which a caller learns when to come again.
fn waiting_headers<'v>(reader: &mut Reader<'_>, response: &'v Value) -> Vec<&'v str> {
    let headers = response.get("headers").and_then(Value::as_object);
    reader.spend(headers.map_or(0, Map::len));
    let names = headers.into_iter().flat_map(Map::keys).map(String::as_str);
    let says_when = |name: &&str| {
        let name = name.to_ascii_lowercase();
        ["retry-after", "ratelimit", "rate-limit"]
            .iter()
            .any(|word| name.contains(word))
    };
    names.filter(says_when).collect()
}

fn json_types(response: &Value) -> impl Iterator<Item = String> {
    let content = response.get("content").and_then(Value::as_object);
    let types = content.into_iter().flat_map(Map::keys);
    types
        .take(MEDIA_TYPES_LIMIT)
        .filter(|it| Media::of(it) == Media::Json && !it.contains('*'))
        .cloned()
}

/// The details of a failure: the body, whatever media type it came in. Details are an object; a body
/// that is none is a member of them.
fn details<'a>(reader: &mut Reader<'a>, response: &'a Value, place: &Place<'_>) -> Value {
    let content = response.get("content").and_then(Value::as_object);
    let place = place.name("content");
    let bodies = ranked(reader, content, &place);
    let schemas = bodies.into_iter().map(|(media_type, media)| {
        let place = place.name(media_type);
        match (Media::of(media_type), media.get("schema")) {
            (Media::Json, None) => anything(),
            (Media::Json, Some(schema)) => {
                let written = reader.schema(schema, &place.name("schema"));
                if is_never_object(reader.document, schema) {
                    in_object(written)
                } else {
                    written
                }
            }
            _ => in_object(json!({"type": "string"})),
        }
    });
    alternatives(schemas.collect())
}

fn in_object(body: Value) -> Value {
    json!({"type": "object", "properties": {BODY_DETAIL: body}})
}

/// Whether the type or the list of values of a schema leaves no object.
fn is_never_object(document: &Value, schema: &Value) -> bool {
    let Ok(found) = reference::follow(document, schema) else {
        return false;
    };
    let is_object = |name: &Value| name == "object";
    let by_type = match found.value.get("type") {
        Some(Value::Array(types)) => !types.is_empty() && !types.iter().any(is_object),
        Some(name) => !is_object(name),
        None => false,
    };
    let values = found.value.get("enum").and_then(Value::as_array);
    let values = values.filter(|it| !it.is_empty());
    by_type || values.is_some_and(|values| !values.iter().any(Value::is_object))
}
