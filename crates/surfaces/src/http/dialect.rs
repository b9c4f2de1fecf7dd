//! Selects the dialect of a response: that of the path, unless the caller requests another.

use http::HeaderMap;
use http::header::ACCEPT;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, Violation, codes};

/// The dialect that `?dialect=` or else `Accept` requests; `own` if neither does.
pub(super) fn requested(
    query: Option<&str>,
    headers: &HeaderMap,
    own: Dialect,
) -> Result<Dialect, Failure> {
    if let Some(name) = query.and_then(|query| parameter(query, "dialect")) {
        return Dialect::from_name(name).ok_or_else(|| unknown(name));
    }
    let Some(accept) = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()) else {
        return Ok(own);
    };
    let named = accept.split(',').find_map(of_media_type);
    named.unwrap_or(Ok(own))
}

/// A parameter of a query, not decoded.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .find_map(|pair| match pair.split_once('=') {
            Some((key, value)) if key == name => Some(value),
            _ => None,
        })
}

fn of_media_type(text: &str) -> Option<Result<Dialect, Failure>> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next()?;
    if media_type.eq_ignore_ascii_case("application/problem+json") {
        return Some(Ok(Dialect::Problem));
    }
    let name = parts.find_map(|part| part.strip_prefix("dialect="))?;
    let name = name.trim_matches('"');
    Some(Dialect::from_name(name).ok_or_else(|| unknown(name)))
}

fn unknown(name: &str) -> Failure {
    let names = Dialect::ALL.map(Dialect::name).join(", ");
    let shown: String = name.chars().take(64).collect();
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!("unknown dialect {shown:?}"))
        .with_violation(
            Violation::value("/dialect", "unknown dialect")
                .expected(format!("one of {names}"))
                .actual(shown),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_overrides_the_header_and_the_header_the_path() {
        for (query, accept, expected) in [
            (None, None, Some("call")),
            (None, Some("*/*"), Some("call")),
            (None, Some("application/json"), Some("call")),
            (None, Some("application/problem+json"), Some("problem")),
            (
                None,
                Some("text/html, application/json; dialect=bot"),
                Some("bot"),
            ),
            (
                None,
                Some("application/json;q=0.5;dialect=\"flat\""),
                Some("flat"),
            ),
            (None, Some("application/json; dialect=nope"), None),
            (
                Some("dialect=grpc"),
                Some("application/problem+json"),
                Some("grpc"),
            ),
            (Some("a=1&dialect=outcome"), None, Some("outcome")),
            (Some("dialect="), None, None),
            (Some("dialects=bot"), None, Some("call")),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let found = requested(query, &headers, Dialect::Call).ok();
            assert_eq!(found.map(Dialect::name), expected, "{query:?} {accept:?}");
        }
    }
}
