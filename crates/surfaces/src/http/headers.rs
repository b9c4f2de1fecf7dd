//! Call options in request headers: idempotency key, retry seed and timeout.

use http::{HeaderMap, HeaderName};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::IdempotencyKey;

use crate::options::CallOptions;

pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const SEED: HeaderName = HeaderName::from_static("panpan-retry-seed");
pub(super) const TIMEOUT: HeaderName = HeaderName::from_static("panpan-timeout-ms");

/// The first header with a call option, if there is one.
pub(super) fn find_option(headers: &HeaderMap) -> Option<&'static HeaderName> {
    static NAMES: [HeaderName; 3] = [KEY, SEED, TIMEOUT];
    let mut present = headers.keys();
    present.find_map(|present| NAMES.iter().find(|name| *name == present))
}

/// Call options whose key is not parsed yet.
#[derive(Debug, Default)]
pub(super) struct RawOptions {
    pub(super) key: Option<String>,
    pub(super) retry_seed: Option<i64>,
    pub(super) timeout_ms: Option<u64>,
}

impl RawOptions {
    /// The options in the headers.
    pub(super) fn in_headers(headers: &HeaderMap) -> Result<Self, Failure> {
        // Most calls have none of these headers, and one pass over the few headers shows it.
        if find_option(headers).is_none() {
            return Ok(Self::default());
        }
        Ok(Self {
            key: text(headers, &KEY)?.map(|key| unquoted(key).to_owned()),
            retry_seed: number(headers, &SEED)?,
            timeout_ms: number(headers, &TIMEOUT)?,
        })
    }

    /// The options in the headers, parsed.
    pub(super) fn parse_headers(headers: &HeaderMap) -> Result<CallOptions, Failure> {
        Self::in_headers(headers)?.and(Self::default())
    }

    /// Merges the options of headers and body. An option in both must have the same value.
    pub(super) fn and(self, body: Self) -> Result<CallOptions, Failure> {
        let key = agreed(&KEY, self.key, body.key)?;
        let key = key
            .map(|key| IdempotencyKey::new(&key).map_err(|error| invalid_key(&error.to_string())));
        Ok(CallOptions {
            key: key.transpose()?,
            retry_seed: agreed(&SEED, self.retry_seed, body.retry_seed)?,
            timeout_ms: agreed(&TIMEOUT, self.timeout_ms, body.timeout_ms)?,
        })
    }
}

fn agreed<T: PartialEq>(
    header: &HeaderName,
    one: Option<T>,
    other: Option<T>,
) -> Result<Option<T>, Failure> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => {
            let message = format!("the header {header} differs from the value in the body");
            let violation = Violation::value(format!("/{}", member(header)), message.as_str());
            Err(Failure::new(codes::INVALID_INPUT)
                .with_message(message)
                .with_violation(violation))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// The member of the body for the same option as a header.
fn member(header: &HeaderName) -> &'static str {
    match header.as_str() {
        "idempotency-key" => "idempotency_key",
        "panpan-retry-seed" => "retry_seed",
        _ => "timeout_ms",
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map(str::trim);
    text.map(Some).map_err(|_| {
        let message = format!("the header {name} contains characters other than visible ASCII");
        Failure::new(codes::INVALID_REQUEST).with_message(message)
    })
}

fn number<T: std::str::FromStr>(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<Option<T>, Failure> {
    let Some(text) = text(headers, name)? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let message = format!("the header {name} is not a whole number");
        Failure::new(codes::INVALID_REQUEST).with_message(message)
    })
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
    use super::*;

    fn key(header: Option<&str>, body: Option<&str>) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(KEY, header.parse().unwrap());
        }
        let body = RawOptions {
            key: body.map(str::to_owned),
            ..RawOptions::default()
        };
        let options = RawOptions::in_headers(&headers).and_then(|options| options.and(body));
        match options {
            Ok(options) => Ok(options.key.map(|key| key.as_str().to_owned())),
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
