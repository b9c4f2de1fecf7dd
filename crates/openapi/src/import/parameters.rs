//! Parameters: which an operation has, and how each is sent.

use std::collections::HashSet;

use panpan_contract::binding::{CONNECTION_HEADERS, Parameter, ParameterLocation as Where, Style};
use serde_json::{Value, json};

use super::media::Media;
use super::reader::Reader;
use super::schemas::{anything, weight};
use crate::place::Place;

/// Headers that are described elsewhere in the document; the specification says to ignore them here.
const IGNORED_HEADERS: [&str; 3] = ["accept", "authorization", "content-type"];

/// What marks a value that must not be shown.
const SENSITIVE: &str = "x-sensitive";

/// What the binding of a parameter counts.
const PARAMETER_WEIGHT: usize = 100;

/// A parameter of an operation, before its member of the input has a name.
#[derive(Debug)]
pub(super) struct Given {
    /// How it is sent; the name of the member is still that on the wire.
    pub(super) sent: Parameter,
    /// What may stand there.
    pub(super) schema: Value,
    /// Whether it has to be given.
    pub(super) is_required: bool,
}

/// The parameters of an operation: those of its path, each replaced by the operation's own of the same
/// name and place.
pub(super) fn given<'a>(
    reader: &mut Reader<'a>,
    lists: [(Option<&'a Value>, Place<'_>); 2],
) -> Vec<Given> {
    let mut all = Vec::new();
    for (list, place) in lists {
        let place = place.name("parameters");
        let mut own = Vec::new();
        let mut taken = HashSet::new();
        for (index, parameter) in items(reader, list, &place).iter().enumerate() {
            let place = place.index(index);
            let Some(parameter) = read(reader, parameter, &place) else {
                continue;
            };
            if taken.insert(identity(parameter.sent.place, &parameter.sent.wire_name)) {
                own.push(parameter);
                continue;
            }
            let message = "has the name and place of another parameter; the first one counts";
            reader.warnings.note(&place, message);
        }
        all.retain(|it: &Given| !taken.contains(&identity(it.sent.place, &it.sent.wire_name)));
        all.extend(own);
    }
    all
}

/// What tells a parameter from the others: its place, and its name as far as it counts there.
pub(super) fn identity(place: Where, wire_name: &str) -> (Where, String) {
    match place {
        Where::Header => (place, wire_name.to_ascii_lowercase()),
        _ => (place, wire_name.to_owned()),
    }
}

/// A path parameter that the path names and nobody describes.
pub(super) fn undescribed(name: &str) -> Given {
    Given {
        sent: sent(name, Where::Path),
        schema: json!({"type": "string"}),
        is_required: true,
    }
}

fn items<'a>(reader: &mut Reader<'a>, list: Option<&'a Value>, place: &Place<'_>) -> &'a [Value] {
    match list {
        Some(Value::Array(items)) => items,
        None => &[],
        Some(_) => {
            reader
                .warnings
                .note(place, "is no list of parameters; it is not used");
            &[]
        }
    }
}

fn read<'a>(reader: &mut Reader<'a>, written: &'a Value, place: &Place<'_>) -> Option<Given> {
    let found = reader.follow(written, place, "the parameter is left out")?;
    let place = found.place(place);
    let parameter = found.value;
    let (name, stands) = identified(reader, parameter, &place)?;
    reader.spend(PARAMETER_WEIGHT + 2 * name.len());
    let mut sent = sent(name, stands);
    let schema = match content(reader, parameter, stands, &place) {
        Some((media_type, schema)) => {
            sent.content = Some(media_type);
            schema
        }
        None if stands == Where::Querystring => {
            let message = "a whole query has a media type (\"content\"); the parameter is left out";
            reader.warnings.note(&place, message);
            return None;
        }
        None => {
            read_style(reader, parameter, &place, &mut sent);
            let schema = parameter.get("schema");
            let schema =
                schema.map_or_else(anything, |it| reader.schema(it, &place.name("schema")));
            perhaps_empty(reader, schema, parameter, stands, &place)
        }
    };
    Some(Given {
        schema: described(reader, schema, parameter),
        is_required: stands == Where::Path || is_true(parameter, "required"),
        sent,
    })
}

/// A schema that an empty text fits too, where the document allows one whatever the schema says.
fn perhaps_empty(
    reader: &mut Reader<'_>,
    schema: Value,
    parameter: &Value,
    stands: Where,
    place: &Place<'_>,
) -> Value {
    if !is_true(parameter, "allowEmptyValue") {
        return schema;
    }
    if stands != Where::Query {
        let message = "counts in a query only; it is not used";
        let place = place.name("allowEmptyValue");
        reader.warnings.note(&place, message);
        return schema;
    }
    let takes_it_anyway = [anything(), json!(true), json!({"type": "string"})];
    match takes_it_anyway.contains(&schema) {
        true => schema,
        false => json!({"anyOf": [schema, {"const": ""}]}),
    }
}

fn is_true(parameter: &Value, member: &str) -> bool {
    parameter.get(member) == Some(&Value::Bool(true))
}

/// The name and the place of a parameter, unless it is none that callers give.
fn identified<'v>(
    reader: &mut Reader<'_>,
    parameter: &'v Value,
    place: &Place<'_>,
) -> Option<(&'v str, Where)> {
    let word = |member: &str| parameter.get(member).and_then(Value::as_str);
    let (Some(name), Some(stands)) = (word("name").filter(|it| !it.is_empty()), word("in")) else {
        let message = "has no name or no place (\"in\"); the parameter is left out";
        reader.warnings.note(place, message);
        return None;
    };
    let Some(stands) = place_of(stands) else {
        let message = format!(
            "{stands:?} is no known place; write path, query, querystring, header or cookie. The \
             parameter is left out"
        );
        reader.warnings.note(&place.name("in"), message);
        return None;
    };
    let is_this = |it: &&str| it.eq_ignore_ascii_case(name);
    let why = match stands {
        Where::Header if IGNORED_HEADERS.iter().any(is_this) => {
            "follows from the body, the answers and the security of the operation; the parameter is \
             left out, as the specification says"
        }
        Where::Header if CONNECTION_HEADERS.iter().any(is_this) => {
            "belongs to the connection, and whoever connects writes it; the parameter is left out"
        }
        _ => return Some((name, stands)),
    };
    let message = format!("the header {name} {why}");
    reader.warnings.note(place, message);
    None
}

fn place_of(word: &str) -> Option<Where> {
    Some(match word {
        "path" => Where::Path,
        "query" => Where::Query,
        "querystring" => Where::Querystring,
        "header" => Where::Header,
        "cookie" => Where::Cookie,
        _ => return None,
    })
}

/// How a parameter is sent when nothing else is said.
fn sent(name: &str, place: Where) -> Parameter {
    let style = match place {
        Where::Path | Where::Header => Style::Simple,
        Where::Query | Where::Querystring | Where::Cookie => Style::Form,
    };
    Parameter {
        name: name.to_owned(),
        wire_name: name.to_owned(),
        place,
        style,
        explode: style == Style::Form,
        allow_reserved: false,
        content: None,
    }
}

/// The media type a parameter is written in, and the schema of that.
fn content<'a>(
    reader: &mut Reader<'a>,
    parameter: &'a Value,
    stands: Where,
    place: &Place<'_>,
) -> Option<(String, Value)> {
    let content = parameter.get("content")?.as_object()?;
    let place = place.name("content");
    let mut types: Vec<_> = content.iter().collect();
    types.sort_by_key(|(media_type, _)| super::media::rank(media_type));
    let (media_type, media) = *types.first()?;
    if types.len() > 1 {
        let message = format!("has several media types; {media_type} is used");
        reader.warnings.note(&place, message);
    }
    let is_json = Media::of(media_type) == Media::Json;
    // The members of a form are the pairs of a query.
    let is_form = stands == Where::Querystring && Media::of(media_type) == Media::Form;
    let is_described = is_json || is_form;
    let schema = media.get("schema").filter(|_| is_described);
    let schema = schema.map(|it| reader.schema(it, &place.name(media_type).name("schema")));
    let text = || json!({"type": "string"});
    let schema = schema.unwrap_or_else(|| if is_described { anything() } else { text() });
    Some((media_type.clone(), schema))
}

fn read_style(reader: &mut Reader<'_>, parameter: &Value, place: &Place<'_>, sent: &mut Parameter) {
    if let Some(written) = parameter.get("style") {
        match style(written).filter(|it| may_stand(*it, sent.place)) {
            Some(style) => sent.style = style,
            None => {
                let message =
                    format!("{written} is no style for this place; the usual one is used");
                reader.warnings.note(&place.name("style"), message);
            }
        }
    }
    let explode = parameter.get("explode").and_then(Value::as_bool);
    sent.explode = explode.unwrap_or(sent.style == Style::Form || sent.style == Style::DeepObject);
    sent.allow_reserved = is_true(parameter, "allowReserved");
}

/// The style of a word in the document.
pub(super) fn style(word: &Value) -> Option<Style> {
    Some(match word.as_str()? {
        "simple" => Style::Simple,
        "label" => Style::Label,
        "matrix" => Style::Matrix,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        _ => return None,
    })
}

fn may_stand(style: Style, place: Where) -> bool {
    match style {
        Style::Simple => matches!(place, Where::Path | Where::Header),
        Style::Label | Style::Matrix => place == Where::Path,
        Style::Form => matches!(place, Where::Query | Where::Cookie),
        Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject => place == Where::Query,
    }
}

/// A schema with what the parameter says about itself, where the schema is silent.
fn described(reader: &mut Reader<'_>, mut schema: Value, parameter: &Value) -> Value {
    if schema == Value::Bool(true) {
        schema = anything();
    }
    let Some(members) = schema.as_object_mut() else {
        return schema;
    };
    if let Some(description) = reader.text(parameter.get("description")) {
        members.insert("description".to_owned(), description.into());
    }
    if is_true(parameter, "deprecated") {
        members.insert("deprecated".to_owned(), true.into());
    }
    if is_true(parameter, SENSITIVE) {
        members.insert(SENSITIVE.to_owned(), true.into());
    }
    if let Some(example) = parameter.get("example") {
        reader.spend(weight(example));
        members
            .entry("examples")
            .or_insert_with(|| json!([example]));
    }
    schema
}
