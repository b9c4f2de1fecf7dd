//! Call options in request headers: idempotency key, retry seed and timeout.

use std::num::NonZeroU64;

use http::{HeaderMap, HeaderName};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::IdempotencyKey;

use crate::options::{CallOptions, TIMEOUT_FORM};

pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const SEED: HeaderName = HeaderName::from_static("panpan-retry-seed");
pub(super) const TIMEOUT: HeaderName = HeaderName::from_static("panpan-timeout-ms");

/// The first header with a call option, if there is one.
pub(super) fn find_option(headers: &HeaderMap) -> Option<&'static HeaderName> {
    static NAMES: [HeaderName; 3] = [KEY, SEED, TIMEOUT];
    let mut present = headers.keys();
    present.find_map(|present| NAMES.iter().find(|name| *name == present))
}

/// Parses the call options in the headers.
pub(super) fn options(headers: &HeaderMap) -> Result<CallOptions, Failure> {
    // Most calls have none of these headers, and one pass over the few headers shows it.
    if find_option(headers).is_none() {
        return Ok(CallOptions::default());
    }
    let key = text(headers, &KEY)?.map(|key| IdempotencyKey::new(unquoted(key)));
    Ok(CallOptions {
        key: key
            .transpose()
            .map_err(|error| invalid_key(&error.to_string()))?,
        retry_seed: number(headers, &SEED)?,
        timeout_ms: number::<NonZeroU64>(headers, &TIMEOUT)?.map(NonZeroU64::get),
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map(str::trim);
    text.map(Some)
        .map_err(|_| invalid(name, "contains characters other than visible ASCII"))
}

fn invalid(name: &HeaderName, problem: &str) -> Failure {
    let message = format!("the header {name} {problem}");
    Failure::new(codes::INVALID_REQUEST).with_message(message)
}

fn number<T: std::str::FromStr>(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<Option<T>, Failure> {
    let Some(text) = text(headers, name)? else {
        return Ok(None);
    };
    let expected = match *name == TIMEOUT {
        true => TIMEOUT_FORM,
        false => "a whole number",
    };
    let number = text.parse().map(Some);
    number.map_err(|_| invalid(name, &format!("is not {expected}")))
}

/// The specification of the header puts the key in quotes; most callers omit them.
fn unquoted(key: &str) -> &str {
    let inner = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    inner.unwrap_or(key)
}

fn invalid_key(reason: &str) -> Failure {
    let violation = Violation::value("/idempotency_key", reason).expected(IdempotencyKey::form());
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason)
        .with_violation(violation)
}

#[cfg(test)]
mod tests {
    use panpan_runtime::CallRequest;
    use serde_json::Value;

    use super::super::decode::IN_BODY;
    use super::*;

    fn key(header: Option<&str>, body: Option<&str>) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(KEY, header.parse().unwrap());
        }
        let mut request = CallRequest::from_wire("a/b", Value::Null);
        request.key = body.map(|key| IdempotencyKey::new(key).unwrap());
        let applied = options(&headers).and_then(|options| options.apply(&IN_BODY, &mut request));
        match applied {
            Ok(()) => Ok(request.key.map(|key| key.as_str().to_owned())),
            Err(failure) => Err(failure.code().to_string()),
        }
    }

    #[test]
    fn a_key_comes_from_header_or_body_and_both_must_agree() {
        let accepted = |key: &str| Ok(Some(key.to_owned()));
        let refused = || Err("INVALID_INPUT".to_owned());
        for (header, body, expected) in [
            (None, None, Ok(None)),
            (Some("a"), None, accepted("a")),
            (Some("\"a\""), None, accepted("a")),
            (None, Some("b"), accepted("b")),
            (Some("\"a\""), Some("a"), accepted("a")),
            (Some("a"), Some("b"), refused()),
            (Some(""), None, refused()),
            (Some("a b"), None, refused()),
        ] {
            assert_eq!(key(header, body), expected, "{header:?} {body:?}");
        }
    }
}
