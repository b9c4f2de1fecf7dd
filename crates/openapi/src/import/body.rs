//! The body of a request: its media type, and the schema of its input member.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::binding::{BodyForm, PartEncoding, RequestBody, Style};
use panpan_contract::path::Path;
use panpan_contract::schema::{Place, subschemas_at};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::input::BODY;
use super::media::{Media, rank};
use super::part_headers;
use super::reader::Reader;
use super::schemas::{anything, is_bytes};
use crate::reference::References;

/// The most schemas that are searched for members with bytes.
const SEARCHED_LIMIT: usize = 100;

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) sent: RequestBody,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

/// Reads the body of an operation, if it has one.
pub(super) fn body<'a>(
    reader: &mut Reader<'a>,
    operation: &'a Value,
    location: &Path<'_>,
) -> Option<Body> {
    let written = operation.get("requestBody")?;
    let location = location.name("requestBody");
    let Some(found) = reader.resolve(written, &location, "any JSON is accepted as the body") else {
        return Some(read(reader, "application/json", &Value::Null, &location));
    };
    let location = found.location(&location);
    let is_required = found.value.get("required") == Some(&Value::Bool(true));
    let content = found.value.get("content").and_then(Value::as_object);
    let Some((media_type, media)) = content.and_then(best) else {
        let message = "no media type: add one to \"content\"; the body is ignored";
        reader.warnings.note(&location.name("content"), message);
        return None;
    };
    let location = location.name("content");
    note_unused_types(reader, content, media_type, &location);
    let location = location.name(media_type);
    let mut body = read(reader, media_type, media, &location);
    let description = reader.text(found.value.get("description"));
    if let (Some(members), Some(description)) = (body.schema.as_object_mut(), description) {
        members
            .entry("description")
            .or_insert_with(|| description.into());
    }
    body.is_required = is_required;
    Some(body)
}

fn best(content: &Map<String, Value>) -> Option<(&String, &Value)> {
    content
        .iter()
        .min_by_key(|(media_type, _)| rank(media_type))
}

fn note_unused_types(
    reader: &mut Reader<'_>,
    content: Option<&Map<String, Value>>,
    used: &str,
    location: &Path<'_>,
) {
    let others = content.into_iter().flat_map(Map::keys);
    let others: Vec<_> = others
        .filter(|it| *it != used)
        .map(String::as_str)
        .collect();
    reader.spend(others.len());
    if !others.is_empty() {
        let message = format!("also accepts {}; {used} is sent", others.join(", "));
        reader.warnings.note(location, message);
    }
}

fn read<'a>(
    reader: &mut Reader<'a>,
    media_type: &str,
    media: &'a Value,
    location: &Path<'_>,
) -> Body {
    let form = form(media_type, media.get("schema"));
    Body {
        sent: RequestBody {
            name: Some(BODY.to_owned()),
            media_type: sendable(media_type, form).to_owned(),
            form,
            encoding: encodings(reader, media, form, location),
        },
        schema: member(reader, form, media.get("schema"), &location.name("schema")),
        is_required: false,
    }
}

/// The schema of the input member.
fn member<'a>(
    reader: &mut Reader<'a>,
    form: BodyForm,
    schema: Option<&'a Value>,
    location: &Path<'_>,
) -> Value {
    match (form, schema) {
        (BodyForm::Bytes, _) => json!({"type": "string", "contentEncoding": "base64"}),
        (BodyForm::Text, None) => json!({"type": "string"}),
        (_, None) => anything(),
        (BodyForm::Text, Some(schema)) if !is_text(&reader.references, schema) => {
            let message = "the schema of a text body is not a string: use \"type\": \"string\"; any string is accepted";
            reader.warnings.note(location, message);
            json!({"type": "string"})
        }
        (_, Some(schema)) => reader.schema(schema, location),
    }
}

/// A concrete media type, where the document has a wildcard.
fn sendable(media_type: &str, form: BodyForm) -> &str {
    match form {
        _ if !media_type.contains('*') => media_type,
        BodyForm::Json => "application/json",
        BodyForm::Form => "application/x-www-form-urlencoded",
        BodyForm::Multipart => "multipart/form-data",
        BodyForm::Text => "text/plain",
        BodyForm::Bytes => "application/octet-stream",
    }
}

/// The form of a body with this media type. For a wildcard, a schema of bytes is sent as bytes.
fn form(media_type: &str, schema: Option<&Value>) -> BodyForm {
    match Media::of(media_type) {
        Media::Json if media_type.trim() == "*/*" && schema.is_none_or(is_bytes) => BodyForm::Bytes,
        Media::Json => BodyForm::Json,
        Media::Form => BodyForm::Form,
        Media::Multipart => BodyForm::Multipart,
        Media::Text | Media::Events => BodyForm::Text,
        Media::Bytes => BodyForm::Bytes,
    }
}

fn is_text<'a>(references: &References<'a>, schema: &'a Value) -> bool {
    let Ok(found) = references.resolve(schema) else {
        return true;
    };
    let kind = found.value.get("type").and_then(Value::as_str);
    kind.is_none_or(|it| it == "string")
}

/// The encodings of form members that differ from the default.
fn encodings<'a>(
    reader: &mut Reader<'a>,
    media: &'a Value,
    form: BodyForm,
    location: &Path<'_>,
) -> BTreeMap<String, PartEncoding> {
    let mut encodings = BTreeMap::new();
    if !matches!(form, BodyForm::Form | BodyForm::Multipart) {
        return encodings;
    }
    let location = location.name("encoding");
    let written = media.get("encoding").and_then(Value::as_object);
    for (name, encoding) in written.into_iter().flatten() {
        let location = location.name(name);
        encodings.insert(name.clone(), part(reader, encoding, form, &location));
    }
    if form == BodyForm::Multipart {
        for name in byte_members(reader, media.get("schema")) {
            encodings.entry(name).or_default().bytes = true;
        }
    }
    encodings
}

fn part<'a>(
    reader: &mut Reader<'a>,
    encoding: &'a Value,
    form: BodyForm,
    location: &Path<'_>,
) -> PartEncoding {
    let style = encoding.get("style");
    let known = style.and_then(|it| Style::deserialize(it).ok());
    if style.is_some() && known.is_none() {
        let message = "unknown style: correct it; the default is used";
        reader.warnings.note(&location.name("style"), message);
    }
    let reserved = encoding.get("allowReserved") == Some(&Value::Bool(true));
    let is_multipart = form == BodyForm::Multipart;
    if reserved && is_multipart {
        let message = "allowReserved has no effect in a multipart form: remove it; it is ignored";
        reader
            .warnings
            .note(&location.name("allowReserved"), message);
    }
    PartEncoding {
        content_type: reader.text(encoding.get("contentType")),
        style: known,
        explode: encoding.get("explode").and_then(Value::as_bool),
        bytes: false,
        allow_reserved: reserved && !is_multipart,
        headers: part_headers::fixed(reader, encoding, form, location),
    }
}

/// The members of a form that are bytes or lists of bytes.
fn byte_members<'a>(reader: &mut Reader<'a>, schema: Option<&'a Value>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<_> = schema.into_iter().collect();
    for _ in 0..SEARCHED_LIMIT {
        let Some(schema) = open.pop() else {
            break;
        };
        let Ok(found) = reader.references.resolve(schema) else {
            continue;
        };
        let parts = subschemas_at(found.value, |place| place == Place::Same);
        open.extend(parts.map(|part| part.schema));
        let properties = found.value.get("properties").and_then(Value::as_object);
        reader.spend(properties.map_or(0, Map::len));
        let bytes = properties.into_iter().flatten();
        let bytes = bytes.filter(|(_, property)| contains_bytes(&reader.references, property));
        names.extend(bytes.map(|(name, _)| name.clone()));
    }
    names
}

fn contains_bytes<'a>(references: &References<'a>, schema: &'a Value) -> bool {
    let Ok(found) = references.resolve(schema) else {
        return false;
    };
    let items = found.value.get("items");
    is_bytes(found.value)
        || items.is_some_and(|it| {
            let found = references.resolve(it);
            found.is_ok_and(|found| is_bytes(found.value))
        })
}
