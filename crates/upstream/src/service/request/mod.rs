//! From an input to a request: its address, its headers, its body.
//!
//! The input has passed the operation's schema. What still cannot be sent is told with its place: a value
//! that would lead to another path, or that no header can hold.

mod body;
mod parameter;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, Parameter, ParameterLocation};
use panpan_failure::pointer::joined;
use panpan_failure::{Effect, Failure, Violation, codes};
use serde_json::Value;
use url::Url;

/// A request without its method.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// Why a part of the input cannot be sent.
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

/// What answers are wanted, as the header says it: the same for every input.
pub(super) fn accepted(binding: &HttpBinding) -> HeaderValue {
    let accepted = match &binding.accepts[..] {
        [] => "*/*".to_owned(),
        some => format!("{}, */*;q=0.1", some.join(", ")),
    };
    let accepted = HeaderValue::from_str(&accepted);
    accepted.unwrap_or(HeaderValue::from_static("*/*"))
}

/// The request an input becomes, with these headers besides its own.
pub(super) fn write(
    binding: &HttpBinding,
    address: &Address,
    mut headers: HeaderMap,
    input: &Value,
) -> Result<Written, Unsendable> {
    let url = address.of(binding, input)?;
    for (parameter, value) in given(binding, input, ParameterLocation::Header) {
        let (name, value) = header(parameter, value)?;
        headers.insert(name, value);
    }
    if let Some(cookies) = cookies(binding, input)? {
        headers.insert(COOKIE, cookies);
    }
    let body = match &binding.body {
        Some(body) => body::write(body, input)?,
        None => None,
    };
    let body = body.map(|(media_type, bytes)| {
        headers.insert(CONTENT_TYPE, media_type);
        bytes
    });
    Ok(Written { url, headers, body })
}

/// The parameters of one place that the input has a value for; one that is null is left out.
fn given<'a>(
    binding: &'a HttpBinding,
    input: &'a Value,
    place: ParameterLocation,
) -> impl Iterator<Item = (&'a Parameter, &'a Value)> {
    let here = binding.parameters.iter();
    here.filter(move |it| it.place == place)
        .filter_map(|it| Some((it, input.get(&it.name).filter(|it| !it.is_null())?)))
}

/// Where the requests of an operation go.
#[derive(Debug)]
pub(super) struct Address {
    base: Url,
    /// The same with the path, where that is the same for every input.
    fixed: Option<Url>,
}

impl Address {
    pub(super) fn new(binding: &HttpBinding, base: Url) -> Self {
        let mut path = binding.parameters.iter();
        let is_fixed = path.all(|it| it.place != ParameterLocation::Path);
        let fixed = is_fixed.then(|| below(&base, &binding.path));
        Self { base, fixed }
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    fn of(&self, binding: &HttpBinding, input: &Value) -> Result<Url, Unsendable> {
        let mut url = match &self.fixed {
            Some(fixed) => fixed.clone(),
            None => below(&self.base, &path(binding, input)?),
        };
        let pairs = given(binding, input, ParameterLocation::Query)
            .flat_map(|(parameter, value)| parameter::in_query(parameter, value));
        let whole = given(binding, input, ParameterLocation::Querystring)
            .flat_map(|(parameter, value)| body::as_query(parameter, value));
        let pairs: Vec<String> = pairs.chain(whole).collect();
        if !pairs.is_empty() {
            let before = self.base.query().map(|query| format!("{query}&"));
            url.set_query(Some(&format!(
                "{}{}",
                before.unwrap_or_default(),
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
    for (parameter, value) in given(binding, input, ParameterLocation::Path) {
        let written = parameter::in_path(parameter, value);
        path = path.replace(&format!("{{{}}}", parameter.wire_name), &written);
        if written.is_empty() || leads_elsewhere(&path) {
            let reason = "is part of an address, and this value would change which one is asked";
            return Err(Unsendable::member(&parameter.name, reason));
        }
    }
    if let Some(missing) = missing(binding, input) {
        let reason = "a path is not whole without this";
        return Err(Unsendable::member(&missing.name, reason));
    }
    Ok(path)
}

/// Whether a path is another one when it is followed. There are services that decode the slashes of a
/// value before they look where a path leads.
fn leads_elsewhere(path: &str) -> bool {
    let decoded = path.replace("%2F", "/").replace("%5C", "/");
    decoded.split('/').any(|it| it == "." || it == "..")
}

/// A part of the path the input has no value for: what is asked for then would be something else.
fn missing<'a>(binding: &'a HttpBinding, input: &Value) -> Option<&'a Parameter> {
    let mut parts = binding.parameters.iter();
    parts.find(|it| {
        it.place == ParameterLocation::Path && input.get(&it.name).is_none_or(Value::is_null)
    })
}

fn header(parameter: &Parameter, value: &Value) -> Result<(HeaderName, HeaderValue), Unsendable> {
    let unsendable = |reason| Unsendable::member(&parameter.name, reason);
    let name = HeaderName::from_bytes(parameter.wire_name.as_bytes());
    let name = name.map_err(|_| unsendable("no header has such a name"))?;
    let value = HeaderValue::from_str(&parameter::as_text(parameter, value));
    let value = value.map_err(|_| unsendable("no header can hold this value"))?;
    Ok((name, value))
}

fn cookies(binding: &HttpBinding, input: &Value) -> Result<Option<HeaderValue>, Unsendable> {
    let mut cookies = Vec::new();
    for (parameter, value) in given(binding, input, ParameterLocation::Cookie) {
        cookies.extend(parameter::in_cookie(parameter, value));
    }
    if cookies.is_empty() {
        return Ok(None);
    }
    let value = HeaderValue::from_str(&cookies.join("; "));
    let reason = "no cookie can hold this value";
    value
        .map(Some)
        .map_err(|_| Unsendable::new(String::new(), reason))
}

#[cfg(test)]
mod tests;
