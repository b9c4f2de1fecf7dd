//! Reads the failures that an operation declares in its `responses`.
//!
//! An exact status becomes `HTTP_<status>`; a range becomes `HTTP_4XX` or `HTTP_5XX`, and `default` becomes
//! `HTTP_DEFAULT`. The last three name a definition only: the code of a response is always that of its
//! status.

use panpan_contract::contract_file::excludes_objects;
use panpan_contract::path::Path;
use panpan_failure::{Category, Code, ErrorDefinition, StatusPattern};
use serde_json::{Map, Value, json};

use super::media::{MEDIA_TYPES_LIMIT, Media, ranked};
use super::reader::Reader;
use super::responses::{alternatives, is_success};
use super::schemas::anything;
use crate::reference::Resolved;

/// The member of a definition with the names of the headers that tell when to retry.
pub const HEADERS_EXTENSION: &str = "x-panpan-headers";

/// The member of a failure's details for a body that is not an object.
pub const BODY_DETAIL: &str = "body";

/// The responses of an operation other than success.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// The declared failures, in the order of the document.
    pub(super) definitions: Vec<ErrorDefinition>,
    /// Descriptions of responses that are neither success nor failure, by status.
    pub(super) others: Map<String, Value>,
    /// Media types of JSON bodies.
    pub(super) accepts: Vec<String>,
}

/// The meaning of a status key.
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

/// Reads all responses except success.
pub(super) fn failures<'a>(
    reader: &mut Reader<'a>,
    responses: Option<&'a Map<String, Value>>,
    location: &Path<'_>,
) -> Failures {
    let mut failures = Failures::default();
    for (status, response) in responses.into_iter().flatten() {
        let location = location.name(status);
        if status.starts_with("x-") {
            continue;
        }
        let pattern = match Status::of(status) {
            Status::Success => continue,
            Status::Failure(pattern) => pattern,
            Status::Other => {
                let found = reader.resolve(response, &location, "only its status is kept");
                let description = found.and_then(|it| reader.text(it.value.get("description")));
                let description = description.unwrap_or_default();
                failures.others.insert(status.clone(), description.into());
                continue;
            }
            Status::Unknown => {
                let message = "not a status: use 100 to 599, 1XX to 5XX or default; it is ignored";
                reader.warnings.note(&location, message);
                continue;
            }
        };
        let consequence = "its body is not described";
        let found = reader.resolve(response, &location, consequence);
        let found = found.unwrap_or(Resolved::direct(&Value::Null));
        failures.add(definition(reader, pattern, &found, &location));
        failures.accepts.extend(json_types(found.value));
    }
    failures
}

impl Failures {
    /// Adds a definition. The same status, written in two ways, is one failure.
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
    found: &Resolved<'a>,
    location: &Path<'_>,
) -> ErrorDefinition {
    let location = found.location(location);
    let description = reader.text(found.value.get("description"));
    let description = description.unwrap_or_else(|| sentence(pattern));
    let mut definition = ErrorDefinition {
        http_status: Some(pattern),
        category: category(pattern),
        schema: details(reader, found.value, &location),
        ..ErrorDefinition::new(code(pattern), description)
    };
    let headers = waiting_headers(reader, found.value);
    if !headers.is_empty() {
        let noted = definition
            .extensions
            .insert(HEADERS_EXTENSION, headers.into());
        noted.expect("a valid extension name");
    }
    definition
}

fn code(pattern: StatusPattern) -> Code {
    let code = format!("HTTP_{pattern}").to_ascii_uppercase();
    Code::new(code).expect("every pattern reads as a well-formed code")
}

/// The category of a range. The catalogue has the facts of an exact status.
fn category(pattern: StatusPattern) -> Option<Category> {
    match pattern {
        StatusPattern::Range(4) => Some(Category::ClientError),
        StatusPattern::Range(5) => Some(Category::ServerError),
        _ => None,
    }
}

/// The description of a failure that the document does not describe.
fn sentence(pattern: StatusPattern) -> String {
    match pattern {
        StatusPattern::Exact(status) => format!("The service responds with status {status}."),
        StatusPattern::Range(hundreds) => {
            format!("The service responds with a status from {hundreds}00 to {hundreds}99.")
        }
        StatusPattern::Default => {
            "The service responds with a status that is not described.".to_owned()
        }
    }
}

/// The headers of a response that tell when to retry.
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

/// The schema of a failure's details: of the body, in any media type. Details are an object; another body
/// becomes a member of it.
fn details<'a>(reader: &mut Reader<'a>, response: &'a Value, location: &Path<'_>) -> Value {
    let content = response.get("content").and_then(Value::as_object);
    let location = location.name("content");
    let bodies = ranked(reader, content, &location);
    let schemas = bodies.into_iter().map(|(media_type, media)| {
        let location = location.name(media_type);
        match (Media::of(media_type), media.get("schema")) {
            (Media::Json, None) => anything(),
            (Media::Json, Some(schema)) => {
                let written = reader.schema(schema, &location.name("schema"));
                match reader.references.resolve(schema) {
                    Ok(found) if excludes_objects(found.value) => in_object(written),
                    _ => written,
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
