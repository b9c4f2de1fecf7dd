//! Media types: what a body of one is to a contract.

use serde_json::{Map, Value};

use super::reader::Reader;
use crate::place::Place;

/// What a body is to a contract. The order is that in which a request chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Media {
    /// JSON.
    Json,
    /// A form of names and values.
    Form,
    /// A form of parts.
    Multipart,
    /// Text of another kind.
    Text,
    /// A stream of events.
    Events,
    /// Anything else.
    Bytes,
}

impl Media {
    /// What a media type means, whatever its parameters.
    pub(super) fn of(media_type: &str) -> Self {
        let essence = essence(media_type);
        let (kind, name) = essence.split_once('/').unwrap_or((&essence, ""));
        let name_base = name.split('+').next().unwrap_or_default();
        let suffix = name.rsplit('+').next().unwrap_or_default();
        match (kind, name) {
            ("*", _) => Media::Json,
            _ if name_base == "json" || suffix == "json" => Media::Json,
            ("application", "x-www-form-urlencoded") => Media::Form,
            ("multipart", _) => Media::Multipart,
            ("text", "event-stream") => Media::Events,
            ("text", _) => Media::Text,
            _ if TEXTS.contains(&name) || TEXTS.contains(&suffix) => Media::Text,
            _ => Media::Bytes,
        }
    }
}

/// Names and suffixes of texts that are not called `text/…`.
const TEXTS: [&str; 10] = [
    "graphql",
    "javascript",
    "json-seq",
    "jsonl",
    "sdp",
    "sql",
    "x-ndjson",
    "x-yaml",
    "xml",
    "yaml",
];

/// How well a media type suits, best first: among JSON the plain one, then the patch that looks like
/// what it patches.
pub(super) fn rank(media_type: &str) -> (Media, u8) {
    let nuance = match essence(media_type).as_str() {
        "application/json" if !media_type.contains(';') => 0,
        "application/json" => 1,
        "application/merge-patch+json" => 2,
        "*/*" => 4,
        _ => 3,
    };
    (Media::of(media_type), nuance)
}

/// The most media types of one body that are looked at.
pub const MEDIA_TYPES_LIMIT: usize = 50;

/// The bodies of a `content`, best first.
pub(super) fn ranked<'a>(
    reader: &mut Reader<'_>,
    content: Option<&'a Map<String, Value>>,
    place: &Place<'_>,
) -> Vec<(&'a String, &'a Value)> {
    let count = content.map_or(0, Map::len);
    reader.spend(count);
    if count > MEDIA_TYPES_LIMIT {
        let message =
            format!("has {count} media types; the first {MEDIA_TYPES_LIMIT} are looked at");
        reader.warnings.note(place, message);
    }
    let bodies = content.into_iter().flatten().take(MEDIA_TYPES_LIMIT);
    let mut bodies: Vec<_> = bodies.collect();
    bodies.sort_by_key(|(media_type, _)| rank(media_type));
    bodies
}

fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_says_what_a_body_is() {
        for (media_type, expected) in [
            ("application/json", Media::Json),
            ("Application/JSON; charset=utf-8", Media::Json),
            ("application/problem+json", Media::Json),
            ("application/json+sarif", Media::Json),
            ("text/json", Media::Json),
            ("*/*", Media::Json),
            ("application/x-www-form-urlencoded", Media::Form),
            ("multipart/form-data", Media::Multipart),
            ("text/event-stream", Media::Events),
            ("text/html", Media::Text),
            ("text/*", Media::Text),
            ("application/xml", Media::Text),
            ("application/apply-patch+yaml", Media::Text),
            ("application/x-ndjson", Media::Text),
            ("application/octet-stream", Media::Bytes),
            ("image/png", Media::Bytes),
            ("image/svg+xml", Media::Text),
            ("application/cbor", Media::Bytes),
            ("odd", Media::Bytes),
            ("", Media::Bytes),
        ] {
            assert_eq!(Media::of(media_type), expected, "{media_type:?}");
        }
    }

    #[test]
    fn the_plainest_json_is_preferred() {
        let mut types = [
            "text/plain",
            "application/json-patch+json",
            "*/*",
            "application/json;stream=watch",
            "application/merge-patch+json",
            "application/json",
        ];
        types.sort_by_key(|it| rank(it));
        assert_eq!(
            types,
            [
                "application/json",
                "application/json;stream=watch",
                "application/merge-patch+json",
                "application/json-patch+json",
                "*/*",
                "text/plain",
            ]
        );
    }
}
