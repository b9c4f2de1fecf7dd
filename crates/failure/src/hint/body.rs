//! Hints in the JSON body of a failure: known fields at known paths.
//! Does not search the whole body and does not read prose.

use jiff::Timestamp;
use serde_json::Value;

use super::text::{self, Unit};
use super::{Hint, headers};

/// Entries of a `details` array that are examined.
const MAX_DETAILS: usize = 64;

/// Where a gateway may repeat the headers of its upstream.
pub(super) const HEADERS_IN_BODY: &str = "error.metadata.headers.";

/// The fields that carry a hint, most precise first, and the unit of their numbers.
const FIELDS: &[(&str, Unit)] = &[
    ("retry_after_ms", Unit::Milliseconds),
    ("retryAfterMs", Unit::Milliseconds),
    ("retry_after", Unit::Seconds),
    ("retryAfter", Unit::Seconds),
    ("retry_after_seconds", Unit::Seconds),
    ("retryAfterSeconds", Unit::Seconds),
    ("retryDelay", Unit::Seconds),
    ("retry_delay", Unit::Seconds),
    ("retry_in", Unit::Seconds),
    ("retryIn", Unit::Seconds),
    ("wait_seconds", Unit::Seconds),
    ("waitSeconds", Unit::Seconds),
    ("resets_in_seconds", Unit::Seconds),
    ("reset_in", Unit::Seconds),
    ("resetIn", Unit::Seconds),
    ("resets_at", Unit::Seconds),
    ("resetsAt", Unit::Seconds),
    ("reset_at", Unit::Seconds),
    ("resetAt", Unit::Seconds),
    ("retry_at", Unit::Seconds),
    ("retryAt", Unit::Seconds),
    ("next_allowed_at", Unit::Seconds),
    ("nextAllowedAt", Unit::Seconds),
    ("nextAccessTime", Unit::Seconds),
    ("blocked_until", Unit::Seconds),
    ("blockedUntil", Unit::Seconds),
    ("reset", Unit::Seconds),
    (ESTIMATE, Unit::Seconds),
];

/// How long work will probably take, of whatever kind; see [`Hint::is_estimate`].
pub(super) const ESTIMATE: &str = "estimated_time";

/// The members of an object that is a duration, and the milliseconds per unit.
const DURATIONS: [(&str, f64); 4] = [
    ("milliseconds", 1.0),
    ("ms", 1.0),
    ("seconds", 1_000.0),
    ("minutes", 60_000.0),
];

/// Whether the field at a path states the end of a quota window, and not a request to wait. It only counts for
/// a rate limit, because other things are reset too.
pub(super) fn is_quota_reset(path: &str) -> bool {
    let field = path.rsplit('.').next().unwrap_or_default();
    field.starts_with("reset")
}

/// The objects that are searched, in this order.
const OBJECTS: [&str; 11] = [
    "",
    "error.",
    "parameters.",
    "details.",
    "error.details.",
    "rate_limit.",
    "rateLimit.",
    "error.rate_limit.",
    "fault.",
    "errors.0.",
    "errors.0.extensions.",
];

/// Reads the hint from the JSON body of a failure.
///
/// Order: the body itself and the objects in which services write it, each entry of `details` and of `error.details`
/// (where Google puts `RetryInfo`), then headers repeated in `error.metadata.headers`. In each object the
/// first field that can be read wins; a value may be a number, a text or an object such as `{"seconds": 5}`.
#[must_use]
pub fn from_body(body: &Value, now: Timestamp) -> Option<Hint> {
    let error = &body["error"];
    let at = |path: &str| match path.trim_end_matches('.') {
        "" => Some(body),
        inner => body.pointer(&format!("/{}", inner.replace('.', "/"))),
    };
    OBJECTS
        .into_iter()
        .find_map(|path| from_fields(path, at(path)?, now))
        .or_else(|| from_details("details", &body["details"], now))
        .or_else(|| from_details("error.details", &error["details"], now))
        .or_else(|| from_repeated_headers(&error["metadata"]["headers"], now))
}

fn from_fields(path: &str, object: &Value, now: Timestamp) -> Option<Hint> {
    FIELDS.iter().find_map(|(field, unit)| {
        let value = object.get(field)?;
        let (raw, delay_ms) = match value {
            Value::String(text) => (text.clone(), text::delay_ms(text, *unit, now)?),
            Value::Number(number) => {
                let raw = number.to_string();
                let delay_ms = text::delay_ms(&raw, *unit, now)?;
                (raw, delay_ms)
            }
            Value::Object(_) => (value.to_string(), duration_ms(value)?),
            _ => return None,
        };
        Some(Hint {
            name: format!("{path}{field}"),
            raw,
            delay_ms,
        })
    })
}

/// The milliseconds of an object such as `{"seconds": 5}`.
fn duration_ms(value: &Value) -> Option<u64> {
    DURATIONS.iter().find_map(|(name, unit_ms)| {
        let number = value.get(name)?.as_f64().filter(|it| *it >= 0.0)?;
        Some(text::whole_ms(number * unit_ms))
    })
}

fn from_details(path: &str, details: &Value, now: Timestamp) -> Option<Hint> {
    let entries = details.as_array()?.iter().take(MAX_DETAILS).enumerate();
    entries
        .into_iter()
        .find_map(|(index, entry)| from_fields(&format!("{path}[{index}]."), entry, now))
}

fn from_repeated_headers(repeated: &Value, now: Timestamp) -> Option<Hint> {
    let pairs = repeated.as_object()?.iter();
    let texts = pairs.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let hint = headers::from_headers(texts, now)?;
    Some(Hint {
        name: format!("{HEADERS_IN_BODY}{}", hint.name),
        ..hint
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn now() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn check(body: Value, expected: Option<(&str, &str, u64)>) {
        let hint = from_body(&body, now());
        let found = hint
            .as_ref()
            .map(|h| (h.name.as_str(), h.raw.as_str(), h.delay_ms));
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn known_fields_are_read_at_known_paths() {
        check(
            json!({"retry_after": 64.57}),
            Some(("retry_after", "64.57", 64_570)),
        );
        check(json!({"retry_after": 1}), Some(("retry_after", "1", 1_000)));
        check(
            json!({"retry_after": "30"}),
            Some(("retry_after", "30", 30_000)),
        );
        check(json!({"retry_after": -5}), Some(("retry_after", "-5", 0)));
        check(
            json!({"retry_after_ms": 250}),
            Some(("retry_after_ms", "250", 250)),
        );
        check(
            json!({"retry_after_seconds": 3}),
            Some(("retry_after_seconds", "3", 3_000)),
        );
        check(
            json!({"resets_in_seconds": 90}),
            Some(("resets_in_seconds", "90", 90_000)),
        );
        check(
            json!({"resets_at": 1_700_000_060}),
            Some(("resets_at", "1700000060", 60_000)),
        );
        check(
            json!({"reset_at": "2023-11-14T22:14:20Z"}),
            Some(("reset_at", "2023-11-14T22:14:20Z", 60_000)),
        );
        check(json!({"retryAfter": 2}), Some(("retryAfter", "2", 2_000)));
        check(
            json!({"retryAfter": "2023-11-14T22:13:30Z"}),
            Some(("retryAfter", "2023-11-14T22:13:30Z", 10_000)),
        );
        check(
            json!({"error": {"retry_after": 7}}),
            Some(("error.retry_after", "7", 7_000)),
        );
        check(
            json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 14}}),
            Some(("parameters.retry_after", "14", 14_000)),
        );
        for (body, name, raw) in [
            (json!({"wait_seconds": 42}), "wait_seconds", "42"),
            (
                json!({"details": {"retryAfterSeconds": 42}}),
                "details.retryAfterSeconds",
                "42",
            ),
            (json!({"error": {"reset_in": 42}}), "error.reset_in", "42"),
            (
                json!({"error": {"blocked_until": "2023-11-14T22:14:02Z"}}),
                "error.blocked_until",
                "2023-11-14T22:14:02Z",
            ),
            (
                json!({"rate_limit": {"remaining": 0, "reset": 1_700_000_042}}),
                "rate_limit.reset",
                "1700000042",
            ),
            (
                json!({"next_allowed_at": "2023-11-14T22:14:02Z"}),
                "next_allowed_at",
                "2023-11-14T22:14:02Z",
            ),
            (
                json!({"fault": {"nextAccessTime": "2023-Nov-14 22:14:02+0000 UTC"}}),
                "fault.nextAccessTime",
                "2023-Nov-14 22:14:02+0000 UTC",
            ),
            (
                json!({"error": {"retryAfter": {"seconds": 42}}}),
                "error.retryAfter",
                r#"{"seconds":42}"#,
            ),
            (
                json!({"errors": [{"extensions": {"retryAfter": 42}}]}),
                "errors.0.extensions.retryAfter",
                "42",
            ),
        ] {
            check(body, Some((name, raw, 42_000)));
        }
        check(
            json!({"retry_after": 99_999_999}),
            Some(("retry_after", "99999999", super::super::MAX_HINT_MS)),
        );
    }

    #[test]
    fn retry_info_is_found_among_details() {
        let details = json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30.5s"},
        ]);
        let expected = |name| Some((name, "30.5s", 30_500));
        check(
            json!({"details": details}),
            expected("details[1].retryDelay"),
        );
        check(
            json!({"error": {"details": details}}),
            expected("error.details[1].retryDelay"),
        );
    }

    #[test]
    fn headers_repeated_in_a_body_are_read_as_headers() {
        let headers = json!({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000042000"});
        let body = json!({"error": {"code": 429, "metadata": {"headers": headers}}});
        let hint = from_body(&body, now()).unwrap();
        assert_eq!(hint.name, "error.metadata.headers.x-ratelimit-reset");
        assert_eq!(hint.delay_ms, 42_000);
        assert!(hint.is_quota_reset());
    }

    #[test]
    fn a_quota_reset_is_not_a_request_to_wait() {
        let is_quota = |body: Value| from_body(&body, now()).unwrap().is_quota_reset();
        assert!(is_quota(json!({"error": {"resets_in_seconds": 5}})));
        assert!(is_quota(json!({"reset_at": 1_700_000_060})));
        assert!(!is_quota(json!({"retry_after": 5})));
    }

    #[test]
    fn the_most_precise_field_and_the_outermost_object_win() {
        check(
            json!({"retry_after": 1, "retry_after_ms": 1_200}),
            Some(("retry_after_ms", "1200", 1_200)),
        );
        check(
            json!({"retry_after": "soon", "error": {"retry_after": 5}}),
            Some(("error.retry_after", "5", 5_000)),
        );
        check(
            json!({"retry_after": 9, "error": {"retry_after_ms": 5}}),
            Some(("retry_after", "9", 9_000)),
        );
    }

    #[test]
    fn other_bodies_have_no_hint() {
        for body in [
            json!(null),
            json!([]),
            json!("retry_after"),
            json!(5),
            json!({}),
            json!({"retry_after": null}),
            json!({"retry_after": true}),
            json!({"retry_after": [5]}),
            json!({"retry_after": {"seconds": "5"}}),
            json!({"retry_after": {"seconds": -5}}),
            json!({"retry_after": {"attempts": 5}}),
            json!({"reset": true}),
            json!({"retry_after": ""}),
            json!({"retry_after": " ".repeat(300) + "5"}),
            json!({"error": "retry_after"}),
            json!({"error": {"details": [null, 3, "x", []]}}),
            json!({"other": {"retry_after": 5}}),
        ] {
            check(body, None);
        }
    }

    #[test]
    fn details_are_examined_up_to_the_limit() {
        let at = |index: usize| {
            let mut details = vec![json!({}); index];
            details.push(json!({"retryDelay": "1s"}));
            from_body(&json!({"details": details}), now())
        };
        assert!(at(MAX_DETAILS - 1).is_some());
        assert!(at(MAX_DETAILS).is_none());
    }

    proptest! {
        #[test]
        fn no_value_panics(text: String, number: f64, index in 0..FIELDS.len()) {
            let field = FIELDS[index].0;
            for value in [json!(text), json!(number)] {
                let _ = from_body(&json!({"error": {field: value}}), now());
            }
        }
    }
}
