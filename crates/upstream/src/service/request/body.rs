//! Builds the body of a request from the input or one of its members.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use panpan_contract::binding::{
    BodyForm, Parameter, ParameterLocation, PartEncoding, RequestBody, Style,
};
use panpan_failure::pointer::joined;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Unsendable;
use super::parameter::{encoded, in_media_type, in_query, text};
use crate::transport::essence;

/// The media type of form pairs.
const FORM: &str = "application/x-www-form-urlencoded";

/// The initial capacity of a JSON body; enough for most, so that they are not reallocated.
const JSON_CAPACITY: usize = 1024;

/// The body and its media type; `None` if the input has no body.
pub(super) fn build(
    body: &RequestBody,
    input: &Value,
) -> Result<Option<(HeaderValue, Bytes)>, Unsendable> {
    let (value, at) = match &body.name {
        Some(name) => (input.get(name), joined("", name)),
        None => (Some(input), String::new()),
    };
    let Some(value) = value else {
        return Ok(None);
    };
    let (media_type, bytes) = match body.form {
        BodyForm::Json => (body.media_type.clone(), json(value)),
        BodyForm::Form => {
            let members = members(value, &at)?;
            let written = pairs(members, &body.encoding).join("&");
            (body.media_type.clone(), written.into_bytes())
        }
        BodyForm::Multipart => multipart(body, members(value, &at)?, &at)?,
        BodyForm::Text => (body.media_type.clone(), text(value).into_bytes()),
        BodyForm::Bytes => (body.media_type.clone(), bytes(value, &at)?),
    };
    let media_type = HeaderValue::from_str(&media_type);
    let reason = "has a media type that a header cannot carry";
    let media_type = media_type.map_err(|_| Unsendable::new(at, reason))?;
    Ok(Some((media_type, bytes.into())))
}

fn json(value: &Value) -> Vec<u8> {
    let mut written = Vec::with_capacity(JSON_CAPACITY);
    serde_json::to_writer(&mut written, value)
        .expect("names are strings, and writing to memory does not fail");
    written
}

fn members<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, Unsendable> {
    let reason = "a form body must be an object";
    let members = value.as_object();
    members.ok_or_else(|| Unsendable::new(at.to_owned(), reason))
}

fn bytes(value: &Value, at: &str) -> Result<Vec<u8>, Unsendable> {
    let unsendable = || Unsendable::new(at.to_owned(), "binary content must be written in base64");
    let text = value.as_str().ok_or_else(unsendable)?;
    BASE64_STANDARD.decode(text).map_err(|_| unsendable())
}

/// Members as form pairs, each written like a query parameter.
fn pairs(members: &Map<String, Value>, encoding: &BTreeMap<String, PartEncoding>) -> Vec<String> {
    let given = members.iter().filter(|(_, value)| !value.is_null());
    given
        .flat_map(|(name, value)| in_query(&as_parameter(name, encoding.get(name)), value))
        .collect()
}

/// The whole query string: the pairs of a form, or the value in its media type.
pub(super) fn as_query(parameter: &Parameter, value: &Value) -> Vec<String> {
    let media_type = parameter.content.as_deref().unwrap_or(FORM);
    match value {
        Value::Object(members) if essence(media_type).eq_ignore_ascii_case(FORM) => {
            pairs(members, &BTreeMap::new())
        }
        value => vec![encoded(&in_media_type(media_type, value))],
    }
}

fn as_parameter(name: &str, encoding: Option<&PartEncoding>) -> Parameter {
    let style = encoding.and_then(|it| it.style);
    Parameter {
        name: name.to_owned(),
        wire_name: name.to_owned(),
        place: ParameterLocation::Query,
        style: style.unwrap_or(Style::Form),
        explode: encoding
            .and_then(|it| it.explode)
            .unwrap_or(style.is_none_or(|style| style == Style::Form)),
        allow_reserved: encoding.is_some_and(|it| it.allow_reserved),
        content: encoding.and_then(|it| it.content_type.clone()),
    }
}

fn multipart(
    body: &RequestBody,
    members: &Map<String, Value>,
    at: &str,
) -> Result<(String, Vec<u8>), Unsendable> {
    let boundary = Uuid::new_v4().simple().to_string();
    let mut written = Vec::new();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let encoding = body.encoding.get(name);
        // Each item of an array is a part of its own.
        let (items, is_array) = match value {
            Value::Array(items) => (items.as_slice(), true),
            value => (std::slice::from_ref(value), false),
        };
        for (number, item) in items.iter().enumerate() {
            let mut pointer = joined(at, name);
            if is_array {
                pointer = joined(&pointer, &number.to_string());
            }
            part(&mut written, &boundary, name, item, encoding, &pointer)?;
        }
    }
    written.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let media_type = format!("{}; boundary={boundary}", body.media_type);
    Ok((media_type, written))
}

fn part(
    written: &mut Vec<u8>,
    boundary: &str,
    name: &str,
    value: &Value,
    encoding: Option<&PartEncoding>,
    at: &str,
) -> Result<(), Unsendable> {
    let is_bytes = encoding.is_some_and(|it| it.bytes);
    let content = match value {
        value if is_bytes => bytes(value, at)?,
        value => text(value).into_bytes(),
    };
    let usual = match value {
        _ if is_bytes => "application/octet-stream",
        Value::Object(_) | Value::Array(_) => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    let stated = encoding.and_then(|it| it.content_type.as_deref());
    // Any of several media types is allowed; the first is the usual one.
    let media_type = stated.and_then(|it| it.split(',').next()).unwrap_or(usual);
    let name = quoted(name);
    let file = if is_bytes {
        format!("; filename=\"{name}\"")
    } else {
        String::new()
    };
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\nContent-Type: {}\r\n{}\r\n",
        media_type.trim().replace(['\r', '\n'], ""),
        header_lines(encoding, at)?,
    );
    written.extend_from_slice(head.as_bytes());
    written.extend_from_slice(&content);
    written.extend_from_slice(b"\r\n");
    Ok(())
}

/// The declared headers of a form part.
fn header_lines(encoding: Option<&PartEncoding>, at: &str) -> Result<String, Unsendable> {
    let mut lines = String::new();
    for (name, value) in encoding.iter().flat_map(|it| &it.headers) {
        let is_header = HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !is_header || HeaderValue::from_str(value).is_err() {
            let reason = "has a declared header that is not valid";
            return Err(Unsendable::new(at.to_owned(), reason));
        }
        lines.push_str(&format!("{name}: {value}\r\n"));
    }
    Ok(lines)
}

/// A name within quotes, escaped like in forms of browsers.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
