//! Builds a request from an input: its URL, its headers, its body.
//!
//! The input has passed the schema of the operation. A value that still cannot be sent is a violation, such as one
//! that would change the path or that a header cannot carry.

mod body;
mod parameter;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, Parameter, ParameterLocation};
use panpan_failure::pointer::joined;
use panpan_failure::{Effect, Failure, Violation, codes};
use serde_json::Value;
use url::Url;

/// The parts of a request that depend on the input.
#[derive(Debug)]
pub(super) struct RequestParts {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// A member of the input that cannot be sent.
#[derive(Debug)]
pub(super) struct Unsendable {
    pub(super) pointer: String,
    pub(super) reason: &'static str,
}

impl Unsendable {
    fn new(pointer: String, reason: &'static str) -> Self {
        Self { pointer, reason }
    }

    fn member(name: &str, reason: &'static str) -> Self {
        Self::new(joined("", name), reason)
    }
}

impl From<Unsendable> for Failure {
    fn from(Unsendable { pointer, reason }: Unsendable) -> Self {
        Self::new(codes::ERR_VALIDATION_FAILED)
            .with_message("the input cannot be sent to the service")
            .with_violation(Violation::value(pointer, reason))
            .with_effect(Effect::None)
    }
}

/// The value of the `Accept` header.
pub(super) fn accept(binding: &HttpBinding) -> HeaderValue {
    let accept = match &binding.accepts[..] {
        [] => "*/*".to_owned(),
        some => format!("{}, */*;q=0.1", some.join(", ")),
    };
    HeaderValue::from_str(&accept).unwrap_or(HeaderValue::from_static("*/*"))
}

/// Builds the request for an input, with these headers and those of the input.
pub(super) fn build(
    binding: &HttpBinding,
    address: &Address,
    mut headers: HeaderMap,
    input: &Value,
) -> Result<RequestParts, Unsendable> {
    let url = address.url(binding, input)?;
    for (parameter, value) in arguments(binding, input, ParameterLocation::Header) {
        let (name, value) = header(parameter, value)?;
        headers.insert(name, value);
    }
    if let Some(cookies) = cookies(binding, input)? {
        headers.insert(COOKIE, cookies);
    }
    let body = match &binding.body {
        Some(body) => body::build(body, input)?,
        None => None,
    };
    let body = body.map(|(media_type, bytes)| {
        headers.insert(CONTENT_TYPE, media_type);
        bytes
    });
    Ok(RequestParts { url, headers, body })
}

/// The parameters at one place that have a value in the input; null counts as absent.
fn arguments<'a>(
    binding: &'a HttpBinding,
    input: &'a Value,
    place: ParameterLocation,
) -> impl Iterator<Item = (&'a Parameter, &'a Value)> {
    let parameters = binding.parameters.iter();
    parameters
        .filter(move |it| it.place == place)
        .filter_map(|it| Some((it, input.get(&it.name).filter(|it| !it.is_null())?)))
}

/// The URL of an operation, before the arguments are filled in.
#[derive(Debug)]
pub(super) struct Address {
    base: Url,
    /// The base with the path, if the path has no parameters.
    fixed: Option<Url>,
}

impl Address {
    pub(super) fn new(binding: &HttpBinding, base: Url) -> Self {
        let mut parameters = binding.parameters.iter();
        let is_fixed = parameters.all(|it| it.place != ParameterLocation::Path);
        let fixed = is_fixed.then(|| below(&base, &binding.path));
        Self { base, fixed }
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    fn url(&self, binding: &HttpBinding, input: &Value) -> Result<Url, Unsendable> {
        let mut url = match &self.fixed {
            Some(fixed) => fixed.clone(),
            None => below(&self.base, &path(binding, input)?),
        };
        let pairs = arguments(binding, input, ParameterLocation::Query)
            .flat_map(|(parameter, value)| parameter::in_query(parameter, value));
        let whole = arguments(binding, input, ParameterLocation::Querystring)
            .flat_map(|(parameter, value)| body::as_query(parameter, value));
        let pairs: Vec<String> = pairs.chain(whole).collect();
        if !pairs.is_empty() {
            let fixed = self.base.query().map(|query| format!("{query}&"));
            url.set_query(Some(&format!(
                "{}{}",
                fixed.unwrap_or_default(),
                pairs.join("&")
            )));
        }
        Ok(url)
    }
}

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

fn path(binding: &HttpBinding, input: &Value) -> Result<String, Unsendable> {
    let mut path = binding.path.clone();
    for (parameter, value) in arguments(binding, input, ParameterLocation::Path) {
        let written = parameter::in_path(parameter, value);
        path = path.replace(&format!("{{{}}}", parameter.wire_name), &written);
        if written.is_empty() || has_dot_segment(&path) {
            let reason = "is part of the URL path, and this value would change the path";
            return Err(Unsendable::member(&parameter.name, reason));
        }
    }
    if let Some(missing) = missing(binding, input) {
        let reason = "is part of the URL path and cannot be left out";
        return Err(Unsendable::member(&missing.name, reason));
    }
    Ok(path)
}

/// Whether a path has a segment `.` or `..`. Encoded slashes count, because some services decode them before they
/// resolve a path.
fn has_dot_segment(path: &str) -> bool {
    let decoded = path.replace("%2F", "/").replace("%5C", "/");
    decoded.split('/').any(|it| it == "." || it == "..")
}

/// A path parameter that the input has no value for: without it, the path would name another resource.
fn missing<'a>(binding: &'a HttpBinding, input: &Value) -> Option<&'a Parameter> {
    let mut parameters = binding.parameters.iter();
    parameters.find(|it| {
        it.place == ParameterLocation::Path && input.get(&it.name).is_none_or(Value::is_null)
    })
}

fn header(parameter: &Parameter, value: &Value) -> Result<(HeaderName, HeaderValue), Unsendable> {
    let unsendable = |reason| Unsendable::member(&parameter.name, reason);
    let name = HeaderName::from_bytes(parameter.wire_name.as_bytes());
    let name = name.map_err(|_| unsendable("has an invalid header name"))?;
    let value = HeaderValue::from_str(&parameter::in_header(parameter, value));
    let value = value.map_err(|_| unsendable("contains characters that a header cannot carry"))?;
    Ok((name, value))
}

fn cookies(binding: &HttpBinding, input: &Value) -> Result<Option<HeaderValue>, Unsendable> {
    let mut cookies = Vec::new();
    for (parameter, value) in arguments(binding, input, ParameterLocation::Cookie) {
        cookies.extend(parameter::in_query(parameter, value));
    }
    if cookies.is_empty() {
        return Ok(None);
    }
    let value = HeaderValue::from_str(&cookies.join("; "));
    let reason = "contains characters that a cookie cannot carry";
    value
        .map(Some)
        .map_err(|_| Unsendable::new(String::new(), reason))
}

#[cfg(test)]
mod tests;
