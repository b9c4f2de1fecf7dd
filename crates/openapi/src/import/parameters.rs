//! Reads the parameters of an operation, and how each is sent.

use std::collections::HashSet;

use panpan_contract::binding::{CONNECTION_HEADERS, Parameter, ParameterLocation, Style};
use panpan_contract::path::Path;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::media::Media;
use super::reader::Reader;
use super::schemas::{anything, weight};

/// Headers that OpenAPI ignores as parameters, because other parts of the document describe them.
const IGNORED_HEADERS: [&str; 3] = ["accept", "authorization", "content-type"];

/// The extension that marks a sensitive value.
const SENSITIVE: &str = "x-sensitive";

/// The size of a parameter's binding.
const PARAMETER_WEIGHT: usize = 100;

/// A parameter, before its input member has a name.
#[derive(Debug)]
pub(super) struct InputParameter {
    /// How it is sent; `name` is still the name on the wire.
    pub(super) sent: Parameter,
    /// The schema of its value.
    pub(super) schema: Value,
    /// Whether it is required.
    pub(super) is_required: bool,
}

/// The parameters of an operation: the parameters of its path, where those of the operation with the same
/// name and location replace them.
pub(super) fn parameters<'a>(
    reader: &mut Reader<'a>,
    lists: [(Option<&'a Value>, Path<'_>); 2],
) -> Vec<InputParameter> {
    let mut all = Vec::new();
    for (list, location) in lists {
        let location = location.name("parameters");
        let mut own = Vec::new();
        let mut taken = HashSet::new();
        for (index, parameter) in items(reader, list, &location).iter().enumerate() {
            let location = location.index(index);
            let Some(parameter) = read(reader, parameter, &location) else {
                continue;
            };
            if taken.insert(identity(parameter.sent.place, &parameter.sent.wire_name)) {
                own.push(parameter);
                continue;
            }
            let message =
                "duplicate parameter (same name and location): remove one; the first is used";
            reader.warnings.note(&location, message);
        }
        all.retain(|it: &InputParameter| {
            !taken.contains(&identity(it.sent.place, &it.sent.wire_name))
        });
        all.extend(own);
    }
    all
}

/// The identity of a parameter: its location and its name, in lower case for headers.
pub(super) fn identity(
    location: ParameterLocation,
    wire_name: &str,
) -> (ParameterLocation, String) {
    match location {
        ParameterLocation::Header => (location, wire_name.to_ascii_lowercase()),
        _ => (location, wire_name.to_owned()),
    }
}

/// A path parameter that is in the path but not described.
pub(super) fn undescribed(name: &str) -> InputParameter {
    InputParameter {
        sent: sent(name, ParameterLocation::Path),
        schema: json!({"type": "string"}),
        is_required: true,
    }
}

fn items<'a>(reader: &mut Reader<'a>, list: Option<&'a Value>, location: &Path<'_>) -> &'a [Value] {
    match list {
        Some(Value::Array(items)) => items,
        None => &[],
        Some(_) => {
            reader.warnings.note(
                location,
                "not a list of parameters: write an array; it is ignored",
            );
            &[]
        }
    }
}

fn read<'a>(
    reader: &mut Reader<'a>,
    written: &'a Value,
    location: &Path<'_>,
) -> Option<InputParameter> {
    let found = reader.resolve(written, location, "the parameter is ignored")?;
    let location = found.location(location);
    let parameter = found.value;
    let (name, sent_in) = name_and_location(reader, parameter, &location)?;
    reader.spend(PARAMETER_WEIGHT + 2 * name.len());
    let mut sent = sent(name, sent_in);
    let schema = match content(reader, parameter, sent_in, &location) {
        Some((media_type, schema)) => {
            sent.content = Some(media_type);
            schema
        }
        None if sent_in == ParameterLocation::Querystring => {
            let message =
                "a querystring parameter needs a media type: add \"content\"; it is ignored";
            reader.warnings.note(&location, message);
            return None;
        }
        None => {
            read_style(reader, parameter, &location, &mut sent);
            let schema = parameter.get("schema");
            let schema =
                schema.map_or_else(anything, |it| reader.schema(it, &location.name("schema")));
            allow_empty(reader, schema, parameter, sent_in, &location)
        }
    };
    Some(InputParameter {
        schema: described(reader, schema, parameter),
        is_required: sent_in == ParameterLocation::Path || is_true(parameter, "required"),
        sent,
    })
}

/// Extends the schema to accept an empty string, if the document allows it.
fn allow_empty(
    reader: &mut Reader<'_>,
    schema: Value,
    parameter: &Value,
    sent_in: ParameterLocation,
    location: &Path<'_>,
) -> Value {
    if !is_true(parameter, "allowEmptyValue") {
        return schema;
    }
    if sent_in != ParameterLocation::Query {
        let message = "allowEmptyValue applies to query parameters only: remove it; it is ignored";
        let location = location.name("allowEmptyValue");
        reader.warnings.note(&location, message);
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

/// The name and the location of a parameter, unless callers cannot send it.
fn name_and_location<'v>(
    reader: &mut Reader<'_>,
    parameter: &'v Value,
    location: &Path<'_>,
) -> Option<(&'v str, ParameterLocation)> {
    let word = |member: &str| parameter.get(member).and_then(Value::as_str);
    let (Some(name), Some(sent_in)) = (word("name").filter(|it| !it.is_empty()), word("in")) else {
        let message = "parameter without \"name\" or \"in\": add both; it is ignored";
        reader.warnings.note(location, message);
        return None;
    };
    let Ok(sent_in) = ParameterLocation::deserialize(&parameter["in"]) else {
        let message = format!(
            "{sent_in:?} is not a parameter location: use path, query, querystring, header or cookie; the \
             parameter is ignored"
        );
        reader.warnings.note(&location.name("in"), message);
        return None;
    };
    let is_this = |it: &&str| it.eq_ignore_ascii_case(name);
    let why = match sent_in {
        ParameterLocation::Header if IGNORED_HEADERS.iter().any(is_this) => {
            "is set from the body, the responses and the security of the operation; the parameter is \
             ignored, as OpenAPI requires"
        }
        ParameterLocation::Header if CONNECTION_HEADERS.iter().any(is_this) => {
            "is set by the HTTP connection; the parameter is ignored"
        }
        _ => return Some((name, sent_in)),
    };
    let message = format!("the header {name} {why}");
    reader.warnings.note(location, message);
    None
}

/// The default way to send a parameter.
fn sent(name: &str, sent_in: ParameterLocation) -> Parameter {
    let style = match sent_in {
        ParameterLocation::Path | ParameterLocation::Header => Style::Simple,
        ParameterLocation::Query | ParameterLocation::Querystring | ParameterLocation::Cookie => {
            Style::Form
        }
    };
    Parameter {
        name: name.to_owned(),
        wire_name: name.to_owned(),
        place: sent_in,
        style,
        explode: style == Style::Form,
        allow_reserved: false,
        content: None,
    }
}

/// The media type of a parameter with "content", and its schema.
fn content<'a>(
    reader: &mut Reader<'a>,
    parameter: &'a Value,
    sent_in: ParameterLocation,
    location: &Path<'_>,
) -> Option<(String, Value)> {
    let content = parameter.get("content")?.as_object()?;
    let location = location.name("content");
    let mut types: Vec<_> = content.iter().collect();
    types.sort_by_key(|(media_type, _)| super::media::rank(media_type));
    let (media_type, media) = *types.first()?;
    if types.len() > 1 {
        let message = format!("several media types: {media_type} is used");
        reader.warnings.note(&location, message);
    }
    let is_json = Media::of(media_type) == Media::Json;
    // The members of a form are the pairs of a query.
    let is_form = sent_in == ParameterLocation::Querystring && Media::of(media_type) == Media::Form;
    let is_described = is_json || is_form;
    let schema = media.get("schema").filter(|_| is_described);
    let schema = schema.map(|it| reader.schema(it, &location.name(media_type).name("schema")));
    let text = || json!({"type": "string"});
    let schema = schema.unwrap_or_else(|| if is_described { anything() } else { text() });
    Some((media_type.clone(), schema))
}

fn read_style(
    reader: &mut Reader<'_>,
    parameter: &Value,
    location: &Path<'_>,
    sent: &mut Parameter,
) {
    if let Some(written) = parameter.get("style") {
        match Style::deserialize(written)
            .ok()
            .filter(|it| is_allowed(*it, sent.place))
        {
            Some(style) => sent.style = style,
            None => {
                let message = format!(
                    "{written} is not a style for this location: correct it; the default is used"
                );
                reader.warnings.note(&location.name("style"), message);
            }
        }
    }
    let explode = parameter.get("explode").and_then(Value::as_bool);
    sent.explode = explode.unwrap_or(sent.style == Style::Form || sent.style == Style::DeepObject);
    sent.allow_reserved = is_true(parameter, "allowReserved");
}

fn is_allowed(style: Style, location: ParameterLocation) -> bool {
    match style {
        Style::Simple => matches!(
            location,
            ParameterLocation::Path | ParameterLocation::Header
        ),
        Style::Label | Style::Matrix => location == ParameterLocation::Path,
        Style::Form => matches!(
            location,
            ParameterLocation::Query | ParameterLocation::Cookie
        ),
        Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject => {
            location == ParameterLocation::Query
        }
    }
}

/// The schema with the description and other annotations of the parameter.
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
