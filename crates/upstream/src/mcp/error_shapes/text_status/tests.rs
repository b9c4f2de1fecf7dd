//! Statuses and rate limits in texts.

use super::*;

fn found(text: &str) -> Option<u16> {
    let failure = in_text(text, "files", Timestamp::UNIX_EPOCH);
    failure.and_then(|it| it.upstream()?.status)
}

#[test]
fn every_form_reads_its_hits_and_no_innocents() {
    for (form, pattern) in FORMS.iter().zip(PATTERNS.iter()) {
        assert!(!form.innocents.is_empty(), "{}", form.pattern);
        for (text, status) in form.hits {
            assert_eq!(found(text), Some(*status), "{text}");
            let clauses = clauses(text);
            let fits = |it: &Clause<'_>| pattern.is_match(it.text);
            assert!(clauses.iter().any(fits), "{text} does not need {pattern}");
        }
        for text in form.innocents {
            assert_eq!(found(text), None, "{text}");
        }
    }
}

#[test]
fn rate_limits_count_only_where_they_are_stated() {
    for text in [
        "Rate limited by upstream API, please retry later",
        "Too Many Requests: retry after 5",
        "You are being rate limited. Retry after: 60",
        "Error executing tool x: API rate limit exceeded for user 7",
    ] {
        assert_eq!(found(text), Some(429), "{text}");
    }
    for text in [
        "File not found: docs/rate limit exceeded.md",
        "Syntax error in query: unexpected ')' near \"rate limited)\"",
        "exit code: 2\n  Rate limit exceeded test failed",
        "",
    ] {
        assert_eq!(found(text), None, "{text}");
    }
}

#[test]
fn a_refused_key_is_the_credential_of_the_tool() {
    for (text, status) in [
        ("Invalid API Key provided: sk_test_****", Some(401)),
        ("Error: Incorrect API key provided.", Some(401)),
        ("No page named 'Invalid API key'", None),
        ("Invalid API keys are listed below", None),
    ] {
        assert_eq!(found(text), status, "{text}");
    }
}

#[test]
fn pages_of_proxies_state_a_status_in_their_title() {
    for (text, status) in [
        (
            "<html>\r\n<head><title>502 Bad Gateway</title></head></html>",
            Some(502),
        ),
        ("<html><title>502 ways to cook</title></html>", None),
        ("a page with <title>502 Bad Gateway</title>", None),
    ] {
        assert_eq!(found(text), status, "{text}");
    }
}

#[test]
fn the_body_of_a_status_is_read() {
    for (text, code, delay_ms) in [
        (
            "Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'type': 'insufficient_quota', 'param': None, 'code': 'insufficient_quota'}}",
            "ERR_BUDGET_EXCEEDED",
            None,
        ),
        (
            "Error code: 429 - {'error': {'message': 'Slow down', 'retry_after': 7}}",
            "ERR_HTTP_429_RATE_LIMITED",
            Some(7_000),
        ),
        (
            "<HttpError 403 when requesting https://a.example returned \"no\". Details: \"[{'reason': 'userRateLimitExceeded'}]\">",
            "ERR_HTTP_429_RATE_LIMITED",
            None,
        ),
        (
            "<HttpError 403 when requesting https://a.example returned \"no\". Details: \"[{'reason': 'storageQuotaExceeded'}]\">",
            "ERR_RESOURCE_EXHAUSTED",
            None,
        ),
        (
            "Error code: 429 - {broken",
            "ERR_HTTP_429_RATE_LIMITED",
            None,
        ),
    ] {
        let failure = in_text(text, "files", Timestamp::UNIX_EPOCH).unwrap();
        let found = (failure.code().as_str(), failure.stated_retry_after_ms());
        assert_eq!(found, (code, delay_ms), "{text}");
        assert_eq!(failure.message(), text);
    }
}
