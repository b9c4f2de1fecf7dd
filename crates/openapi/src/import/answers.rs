//! What an operation answers when it succeeds.

use serde_json::{Map, Value, json};

use super::media::{Media, rank, ranked};
use super::reader::Reader;
use super::schemas::{anything, is_bytes};
use crate::place::Place;
use crate::reference::Found;

/// Statuses whose answers have no body.
const BODILESS: [&str; 2] = ["204", "205"];

/// What comes out of an operation.
#[derive(Debug)]
pub(super) struct Success {
    /// The output; of a stream, each item.
    pub(super) schema: Value,
    /// The media types that are asked for, best first.
    pub(super) accepts: Vec<String>,
    /// Whether it answers with events until it ends.
    pub(super) is_stream: bool,
}

/// Whether a status is that of a success.
pub(super) fn is_success(status: &str) -> bool {
    matches!(
        status.as_bytes(),
        [b'2', b'0'..=b'9', b'0'..=b'9'] | [b'2', b'X' | b'x', b'X' | b'x']
    )
}

/// One answer of a success.
struct Answer<'a> {
    status: &'a str,
    /// What it says; nothing if its reference is broken.
    found: Option<Found<'a>>,
}

impl<'a> Answer<'a> {
    /// The bodies it may have, if it says any.
    fn content(&self) -> Option<&'a Map<String, Value>> {
        let content = self.found.as_ref()?.value.get("content")?.as_object()?;
        (!content.is_empty()).then_some(content)
    }
}

/// The answers of the `responses` of an operation that are successes.
pub(super) fn success<'a>(
    reader: &mut Reader<'a>,
    responses: Option<&'a Map<String, Value>>,
    place: &Place<'_>,
) -> Success {
    let responses = responses.into_iter().flatten();
    let successes = responses.filter(|(status, _)| is_success(status));
    let answers = successes.map(|(status, response)| {
        let otherwise = "what comes out may be anything";
        let found = reader.follow(response, &place.name(status), otherwise);
        Answer { status, found }
    });
    let answers: Vec<_> = answers.collect();
    let is_stream = is_stream(&answers);
    let mut schemas = Vec::new();
    let mut accepts = Vec::new();
    for answer in &answers {
        let looked_for = place.name(answer.status);
        let place = answer
            .found
            .as_ref()
            .map_or(looked_for, |it| it.place(&looked_for));
        match answer.content() {
            Some(content) => {
                let chosen = chosen(reader, content, is_stream, &place.name("content"));
                for (media_type, schema) in chosen {
                    accepts.push(media_type);
                    schemas.push(schema);
                }
            }
            None if BODILESS.contains(&answer.status) => schemas.push(json!({"type": "null"})),
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
fn is_stream(answers: &[Answer<'_>]) -> bool {
    let contents = answers.iter().filter_map(Answer::content);
    let mut types = contents.flat_map(Map::keys).peekable();
    types.peek().is_some() && types.all(|it| Media::of(it) == Media::Events)
}

/// The media types of an answer that are asked for, each with what it gives.
fn chosen<'a>(
    reader: &mut Reader<'a>,
    content: &'a Map<String, Value>,
    is_stream: bool,
    place: &Place<'_>,
) -> Vec<(String, Value)> {
    let bodies = ranked(reader, Some(content), place);
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
            "also comes as {}; only {} is asked for",
            others.join(", "),
            asked.join(" or ")
        );
        reader.warnings.note(place, message);
    }
    let asked = asked.into_iter().map(|(media_type, media)| {
        let schema = output(reader, media_type, media, &place.name(media_type));
        (media_type.clone(), schema)
    });
    asked.collect()
}

/// What a body of a media type is as the output of an operation.
fn output<'a>(
    reader: &mut Reader<'a>,
    media_type: &str,
    media: &'a Value,
    place: &Place<'_>,
) -> Value {
    let schema = media.get("schema");
    let bytes = || json!({"type": "string", "contentEncoding": "base64"});
    match Media::of(media_type) {
        Media::Json if schema.is_some_and(is_bytes) => bytes(),
        Media::Json => schema.map_or_else(anything, |it| reader.schema(it, &place.name("schema"))),
        Media::Events => {
            let items = media.get("itemSchema").map(|it| (it, "itemSchema"));
            let schema = items.or(schema.map(|it| (it, "schema")));
            schema.map_or_else(anything, |(it, name)| reader.schema(it, &place.name(name)))
        }
        Media::Text | Media::Form | Media::Multipart => json!({"type": "string"}),
        Media::Bytes => bytes(),
    }
}

/// A schema that what fits one of these fits.
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
