//! Media types, grouped by how a contract treats a body.

use panpan_contract::path::Path;
use serde_json::{Map, Value};

use super::reader::Reader;

/// The kind of a body. A request prefers them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Media {
    /// JSON.
    Json,
    /// A form of names and values.
    Form,
    /// A form of parts.
    Multipart,
    /// Other text.
    Text,
    /// A stream of events.
    Events,
    /// Anything else.
    Bytes,
}

impl Media {
    /// The kind of a media type, ignoring its parameters.
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

/// Names and suffixes of text types other than `text/…`.
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

/// The preference of a media type, best first: plain JSON first, then the patch format that looks like the
/// patched object.
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

/// The most media types of one body that are read.
pub const MEDIA_TYPES_LIMIT: usize = 50;

/// The bodies in `content`, best first.
pub(super) fn ranked<'a>(
    reader: &mut Reader<'_>,
    content: Option<&'a Map<String, Value>>,
    location: &Path<'_>,
) -> Vec<(&'a String, &'a Value)> {
    let count = content.map_or(0, Map::len);
    reader.spend(count);
    if count > MEDIA_TYPES_LIMIT {
        let message = format!("{count} media types: only the first {MEDIA_TYPES_LIMIT} are read");
        reader.warnings.note(location, message);
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
    fn a_media_type_has_a_kind() {
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
    fn plain_json_is_preferred() {
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
