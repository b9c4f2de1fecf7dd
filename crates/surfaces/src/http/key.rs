//! What a request says about its call in headers: the idempotency key, the retry seed, the time it has.

use http::{HeaderMap, HeaderName};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::IdempotencyKey;

use crate::meta::Terms;

pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const SEED: HeaderName = HeaderName::from_static("panpan-retry-seed");
pub(super) const TIMEOUT: HeaderName = HeaderName::from_static("panpan-timeout-ms");

/// A header among these that says something about a call.
pub(super) fn stated_in(headers: &HeaderMap) -> Option<&'static HeaderName> {
    const STATED: [HeaderName; 3] = [KEY, SEED, TIMEOUT];
    static NAMES: [HeaderName; 3] = STATED;
    let mut stated = headers.keys();
    stated.find_map(|stated| NAMES.iter().find(|name| *name == stated))
}

/// What headers and body say together.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub(super) key: Option<String>,
    pub(super) retry_seed: Option<i64>,
    pub(super) timeout_ms: Option<u64>,
}

impl Stated {
    /// What the headers say.
    pub(super) fn in_headers(headers: &HeaderMap) -> Result<Self, Failure> {
        // One walk over few headers, which most calls end with.
        if stated_in(headers).is_none() {
            return Ok(Self::default());
        }
        Ok(Self {
            key: text(headers, &KEY)?.map(|key| unquoted(key).to_owned()),
            retry_seed: number(headers, &SEED)?,
            timeout_ms: number(headers, &TIMEOUT)?,
        })
    }

    /// What the headers of a request say whose body is read elsewhere.
    pub(super) fn alone_in(headers: &HeaderMap) -> Result<Terms, Failure> {
        Self::in_headers(headers)?.and(Self::default())
    }

    /// Both together; the same thing said twice has to be the same.
    pub(super) fn and(self, body: Self) -> Result<Terms, Failure> {
        let key = agreed(&KEY, self.key, body.key)?;
        let key =
            key.map(|key| IdempotencyKey::new(&key).map_err(|error| unusable(&error.to_string())));
        Ok(Terms {
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
            let message = format!("the header {header} says something else than the body");
            let violation = Violation::value(format!("/{}", member(header)), message.as_str());
            Err(Failure::new(codes::INVALID_INPUT)
                .with_message(message)
                .with_violation(violation))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// The member of a body that says the same as a header.
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
        let message = format!("the header {name} holds other than visible characters");
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

/// The header's specification has the key in quotes; most callers leave them out.
fn unquoted(key: &str) -> &str {
    let inner = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    inner.unwrap_or(key)
}

fn unusable(reason: &str) -> Failure {
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
        let body = Stated {
            key: body.map(str::to_owned),
            ..Stated::default()
        };
        let terms = Stated::in_headers(&headers).and_then(|stated| stated.and(body));
        match terms {
            Ok(terms) => Ok(terms.key.map(|key| key.as_str().to_owned())),
            Err(failure) => Err(failure.code().to_string()),
        }
    }

    #[test]
    fn a_key_is_taken_from_header_or_body_and_both_have_to_agree() {
        let said = |key: &str| Ok(Some(key.to_owned()));
        let refused = || Err("INVALID_INPUT".to_owned());
        for (header, body, expected) in [
            (None, None, Ok(None)),
            (Some("a"), None, said("a")),
            (Some("\"a\""), None, said("a")),
            (None, Some("b"), said("b")),
            (Some("\"a\""), Some("a"), said("a")),
            (Some("a"), Some("b"), refused()),
            (Some(""), None, refused()),
            (Some("a b"), None, refused()),
        ] {
            assert_eq!(key(header, body), expected, "{header:?} {body:?}");
        }
    }
}
