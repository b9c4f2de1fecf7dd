//! Reads the successful responses of an operation.

use panpan_contract::path::Path;
use serde_json::{Map, Value, json};

use super::media::{Media, rank, ranked};
use super::reader::Reader;
use super::schemas::{anything, is_bytes};
use crate::reference::Resolved;

/// Statuses of responses without a body.
const WITHOUT_BODY: [&str; 2] = ["204", "205"];

/// The output of an operation.
#[derive(Debug)]
pub(super) struct Success {
    /// The schema of the output; for a stream, of each item.
    pub(super) schema: Value,
    /// The media types to request, best first.
    pub(super) accepts: Vec<String>,
    /// Whether the response is a stream of events.
    pub(super) is_stream: bool,
}

/// Whether a status is a success.
pub(super) fn is_success(status: &str) -> bool {
    matches!(
        status.as_bytes(),
        [b'2', b'0'..=b'9', b'0'..=b'9'] | [b'2', b'X' | b'x', b'X' | b'x']
    )
}

/// A successful response.
struct SuccessResponse<'a> {
    status: &'a str,
    /// The response object; `None` if its reference cannot be resolved.
    found: Option<Resolved<'a>>,
}

impl<'a> SuccessResponse<'a> {
    /// The bodies that it describes.
    fn content(&self) -> Option<&'a Map<String, Value>> {
        let content = self.found.as_ref()?.value.get("content")?.as_object()?;
        (!content.is_empty()).then_some(content)
    }
}

/// Reads the successful responses in `responses`.
pub(super) fn success<'a>(
    reader: &mut Reader<'a>,
    responses: Option<&'a Map<String, Value>>,
    location: &Path<'_>,
) -> Success {
    let responses = responses.into_iter().flatten();
    let successes = responses.filter(|(status, _)| is_success(status));
    let responses = successes.map(|(status, response)| {
        let consequence = "any output is accepted";
        let found = reader.resolve(response, &location.name(status), consequence);
        SuccessResponse { status, found }
    });
    let responses: Vec<_> = responses.collect();
    let is_stream = is_stream(&responses);
    let mut schemas = Vec::new();
    let mut accepts = Vec::new();
    for response in &responses {
        let origin = location.name(response.status);
        let location = response
            .found
            .as_ref()
            .map_or(origin, |it| it.location(&origin));
        match response.content() {
            Some(content) => {
                let selected = selected(reader, content, is_stream, &location.name("content"));
                for (media_type, schema) in selected {
                    accepts.push(media_type);
                    schemas.push(schema);
                }
            }
            None if WITHOUT_BODY.contains(&response.status) => {
                schemas.push(json!({"type": "null"}));
            }
            None => schemas.push(anything()),
        }
    }
    accepts.sort_by_key(|it| rank(it));
    accepts.dedup();
    Success {
        schema: alternatives(schemas),
        accepts,
        is_stream,
    }
}

/// Whether there are bodies, and all of them are events.
fn is_stream(responses: &[SuccessResponse<'_>]) -> bool {
    let contents = responses.iter().filter_map(SuccessResponse::content);
    let mut types = contents.flat_map(Map::keys).peekable();
    types.peek().is_some() && types.all(|it| Media::of(it) == Media::Events)
}

/// The media types of a response to request, each with its schema.
fn selected<'a>(
    reader: &mut Reader<'a>,
    content: &'a Map<String, Value>,
    is_stream: bool,
    location: &Path<'_>,
) -> Vec<(String, Value)> {
    let bodies = ranked(reader, Some(content), location);
    let kinds = bodies.iter().map(|(media_type, _)| Media::of(media_type));
    let usable = kinds.filter(|it| is_stream || *it != Media::Events);
    let best = usable.min().unwrap_or(Media::Events);
    let (asked, others): (Vec<_>, Vec<_>) = bodies
        .into_iter()
        .partition(|(media_type, _)| Media::of(media_type) == best);
    if !others.is_empty() {
        let others: Vec<_> = others.iter().map(|(it, _)| it.as_str()).collect();
        let asked: Vec<_> = asked.iter().map(|(it, _)| it.as_str()).collect();
        let message = format!(
            "also available as {}: only {} is requested",
            others.join(", "),
            asked.join(" or ")
        );
        reader.warnings.note(location, message);
    }
    let asked = asked.into_iter().map(|(media_type, media)| {
        let schema = output(reader, media_type, media, &location.name(media_type));
        (media_type.clone(), schema)
    });
    asked.collect()
}

/// The schema of a body as the output of an operation.
fn output<'a>(
    reader: &mut Reader<'a>,
    media_type: &str,
    media: &'a Value,
    location: &Path<'_>,
) -> Value {
    let schema = media.get("schema");
    let bytes = || json!({"type": "string", "contentEncoding": "base64"});
    match Media::of(media_type) {
        Media::Json if schema.is_some_and(is_bytes) => bytes(),
        Media::Json => {
            schema.map_or_else(anything, |it| reader.schema(it, &location.name("schema")))
        }
        Media::Events => {
            let items = media.get("itemSchema").map(|it| (it, "itemSchema"));
            let schema = items.or(schema.map(|it| (it, "schema")));
            schema.map_or_else(anything, |(it, name)| {
                reader.schema(it, &location.name(name))
            })
        }
        Media::Text | Media::Form | Media::Multipart => json!({"type": "string"}),
        Media::Bytes => bytes(),
    }
}

/// A schema that accepts what any of these accepts.
pub(super) fn alternatives(schemas: Vec<Value>) -> Value {
    let mut different: Vec<Value> = Vec::new();
    for schema in schemas {
        if !different.contains(&schema) {
            different.push(schema);
        }
    }
    match different.len() {
        0 => anything(),
        1 => different.swap_remove(0),
        _ => json!({"anyOf": different}),
    }
}
