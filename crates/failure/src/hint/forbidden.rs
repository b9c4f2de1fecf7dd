//! Headers by which a server forbids a retry, regardless of the code.
//! They carry no delay; a delay is a `Hint`.

/// Whether the headers of a response forbid to send the call again.
///
/// These are `grpc-retry-pushback-ms` with anything but a number from 0 (gRPC reads even garbage there as
/// "do not retry"), and `x-should-retry` or `stripe-should-retry` with `false`.
pub fn forbids_retry<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    headers
        .into_iter()
        .any(|(name, value)| forbids(&name.to_ascii_lowercase(), value))
}

fn forbids(name: &str, value: &str) -> bool {
    match name {
        "grpc-retry-pushback-ms" => pushback_ms(value).is_none(),
        "x-should-retry" | "stripe-should-retry" => value.trim().eq_ignore_ascii_case("false"),
        _ => false,
    }
}

/// Parses the pushback of gRPC; anything but a number from 0 means "do not retry".
pub(super) fn pushback_ms(raw: &str) -> Option<u64> {
    raw.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_refusal_forbids_a_retry() {
        let check = |name, value, expected| {
            let headers = [("content-type", "application/json"), (name, value)];
            assert_eq!(forbids_retry(headers), expected, "{name}: {value}");
        };
        check("grpc-retry-pushback-ms", "-1", true);
        check("Grpc-Retry-Pushback-Ms", "soon", true);
        check("grpc-retry-pushback-ms", "", true);
        check("grpc-retry-pushback-ms", "1.5", true);
        check("grpc-retry-pushback-ms", "0", false);
        check("grpc-retry-pushback-ms", " 250 ", false);
        check("x-should-retry", "false", true);
        check("X-Should-Retry", "False", true);
        check("x-should-retry", "true", false);
        check("x-should-retry", "maybe", false);
        check("stripe-should-retry", "false", true);
        check("retry-after", "-1", false);
        assert!(!forbids_retry([]));
    }
}
