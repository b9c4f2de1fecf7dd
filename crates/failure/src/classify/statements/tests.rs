//! Tests that every form reads its samples and ignores its innocents.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn members() -> InputMembers {
    let names = ["limit", "age", "name", "status", "email", "page"];
    let properties = names.map(|name| (name.to_owned(), json!({})));
    InputMembers::of_schema(&json!({"properties": serde_json::Map::from_iter(properties)}))
}

/// The statements that a form reads, as in its samples.
fn summary_for(form: &form::Form, statements: &Statements) -> String {
    match form.reading {
        Reading::Condition(_) => statements
            .condition
            .map_or_else(String::new, |it| format!("{it:?}")),
        Reading::Poll => statements
            .poll_ms
            .map_or_else(String::new, |it| format!("{it} ms")),
        Reading::Progress => match statements.is_in_progress {
            true => "in progress".to_owned(),
            false => String::new(),
        },
        _ => summary(statements),
    }
}

/// A sample and what the form reads from it.
fn expected(form: &form::Form, sample: &'static str) -> (&'static str, String) {
    match (form.reading, sample.split_once(" => ")) {
        (Reading::Condition(condition), None) => (sample, format!("{condition:?}")),
        (Reading::Progress, None) => (sample, "in progress".to_owned()),
        (Reading::NoEffect | Reading::DeclaredNoEffect, None) => (sample, "nothing".to_owned()),
        (_, read) => read.map(|(text, read)| (text, read.to_owned())).unwrap(),
    }
}

/// Delay, effect and demands, as in the samples.
fn summary(statements: &Statements) -> String {
    let delay = statements.delay_ms.map(|it| format!("{it} ms"));
    let nothing = statements.nothing_happened.then(|| "nothing".to_owned());
    let moment = statements.moment.as_ref().map(|it| format!("at {it}"));
    let some_day = statements.states_uncertain_moment;
    let some_day = some_day.then(|| "some day".to_owned());
    let times = delay.into_iter().chain(moment).chain(some_day);
    let demands = statements.demands.iter();
    let demands = demands.map(|it| format!("{}: {}", it.pointer, it.expectation));
    let all: Vec<String> = times.chain(nothing).chain(demands).collect();
    all.join("; ")
}

#[test]
fn every_form_reads_its_samples() {
    let mut unread = Vec::new();
    for form in forms() {
        for (sample, expected) in form.proof.samples.iter().map(|it| expected(form, it)) {
            let mut alone = Statements::default();
            for sentence in sentences::of(sample) {
                form.read(&sentence, &members(), &mut alone);
            }
            let read = summary_for(form, &alone);
            if read != expected {
                unread.push(format!("{} reads {read:?} in {sample:?}", form.name));
            }
            let all = match form.reading {
                Reading::DeclaredNoEffect => declared_statements(sample, &members()),
                _ => statements(sample, &members()),
            };
            let read = summary_for(form, &all);
            if read != expected {
                unread.push(format!("all forms read {read:?} in {sample:?}"));
            }
        }
    }
    assert!(unread.is_empty(), "{unread:#?}");
}

#[test]
fn no_form_reads_an_innocent() {
    let mut misread = Vec::new();
    for form in forms() {
        for innocent in form.proof.innocents {
            let read = match form.reading {
                Reading::DeclaredNoEffect => declared_statements(innocent, &members()),
                _ => statements(innocent, &members()),
            };
            let read = summary_for(form, &read);
            if !read.is_empty() {
                misread.push(format!("{}: {read:?} in {innocent:?}", form.name));
            }
        }
    }
    assert!(misread.is_empty(), "{misread:#?}");
}

#[test]
fn partial_statements_are_only_read_from_declared_texts() {
    let declared = forms().filter(|it| matches!(it.reading, Reading::DeclaredNoEffect));
    for sample in declared.flat_map(|it| it.proof.samples) {
        assert!(
            declared_statements(sample, &members()).nothing_happened,
            "{sample}"
        );
        assert!(!statements(sample, &members()).nothing_happened, "{sample}");
    }
}

#[test]
fn form_names_are_unique() {
    for (at, form) in forms().enumerate() {
        let is_unique = forms().take(at).all(|it| it.name != form.name);
        assert!(is_unique, "{}", form.name);
    }
}

#[test]
fn several_statements_of_one_text_are_read_together() {
    for (text, expected) in [
        (
            "An export is already running, nothing was changed, retry in 5 seconds.",
            "5000 ms; nothing",
        ),
        (
            "Nothing was written.\nPlease wait 30s; then try again.",
            "30000 ms; nothing",
        ),
        (
            "limit must be at most 100; status must be one of open, closed. Name is required.",
            "/limit: at most 100; /status: one of open, closed; /name: a value",
        ),
        ("Retry\n  in 5\n  seconds", "5000 ms"),
        (
            "Use a page size, e.g. 10, if nothing was changed, retry in 5 seconds",
            "",
        ),
    ] {
        assert_eq!(summary(&statements(text, &members())), expected, "{text}");
    }
}

#[test]
fn data_that_names_a_condition_is_no_condition() {
    let mut misread = Vec::new();
    for text in [
        "No results for 'connection refused'",
        "No results for “permission denied”",
        "No results for `rate limit exceeded`",
        "No issue with the title 'Request failed: too many requests'",
        "No issue titled Connection refused",
        "File not found: docs/rate limit exceeded.md",
        "File not found: rate-limit-exceeded.md",
        "File not found: C:\\logs\\timed out.log",
        "Unsupported content type for https://status.example.com/service-unavailable/timeout",
        "Syntax error in query: unexpected ')' near \"rate limited)\"",
        "config.yml:4: 'access denied' is not a valid value for error_page",
        "Expected the error to be Connection refused",
        "assertion failed: expected timeout but got Connection refused",
        "fatal: ambiguous argument 'fix-timed-out': unknown revision",
        "branch fix/timed-out does not exist",
        "Unknown label 'deadlock detected'",
        "No page matching \"the database is down\"",
        "column \"session expired\" does not exist",
        "Team 'Unauthorized' has no members",
        "Unknown status \"throttled\", use open or closed",
        "No message contains 'retry after 5'",
        "Folder 'Retry in 5 seconds' is empty",
        "No document says 'nothing was changed'",
        "The report 'Monthly quota exceeded' was not found",
        "Label 'no space left on device' does not exist",
        "The rule 'user rejected the tool call' is unknown",
        "Step 2 failed: { \"expected\": \"Service Unavailable\" }",
        "- connection refused\n- permission denied",
        "1. Retry in 5 seconds\n2. Change the name",
        "TimeoutError: locator.click: Timeout 30000ms exceeded.\nCall log:\n  - waiting for locator('a')",
        "Issue does not exist or you do not have permission to see it.",
        "The card was declined by the bank",
        "Choose a password that is not 'Too Many Requests'",
        "The pagination token has expired. Restart the listing without a token.",
        "Try again with fewer words.",
        "Title is too long. Try again with at most 80 characters.",
        "Retry with confirm=true to proceed.",
        "Invalid email. Please try again.",
    ] {
        let read = statements(text, &members());
        if read.condition.is_some() || !summary(&read).is_empty() {
            misread.push(format!(
                "{:?} {} in {text:?}",
                read.condition,
                summary(&read)
            ));
        }
    }
    assert!(misread.is_empty(), "{misread:#?}");
}

#[test]
fn quotes_around_the_error_itself_do_not_hide_it() {
    let mut unread = Vec::new();
    for (text, condition) in [
        ("\"Connection refused\"", Condition::NoConnection),
        ("Error: \"Rate limit exceeded\"", Condition::RateLimit),
        ("Error: 'timed out'", Condition::Timeout),
        (
            "{'error': {'message': 'Rate limit reached for x'}}",
            Condition::RateLimit,
        ),
        (
            "desc = \"connect: connection refused\"",
            Condition::NoConnection,
        ),
        (
            "The server responded with: \"Too many requests.\"",
            Condition::RateLimit,
        ),
        (
            "HTTPConnectionPool(host='a.b', port=443): (Caused by NewConnectionError('<x at 0x7>: Failed: \
             [Errno 111] Connection refused'))",
            Condition::NoConnection,
        ),
        (
            "Traceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\n    connect('db')\n\
             psycopg2.OperationalError: FATAL:  password authentication failed for user \"app\"",
            Condition::SignIn,
        ),
        (
            "page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/\nCall log:\n  - navigating to it",
            Condition::NoConnection,
        ),
        ("open '/etc/hosts': Permission denied", Condition::Forbidden),
    ] {
        let read = statements(text, &members()).condition;
        if read != Some(condition) {
            unread.push(format!("{read:?} in {text:?}"));
        }
    }
    assert!(unread.is_empty(), "{unread:#?}");
}

#[test]
fn a_moment_is_a_delay_from_now() {
    let now: jiff::Timestamp = "2098-12-31T23:59:00Z".parse().unwrap();
    let delay_ms = |text| statements(text, &members()).at(now).delay_ms;
    let text = "Rate limited. Try again at 2099-01-01T00:00:00Z";
    assert_eq!(delay_ms(text), Some(60_000));
    assert_eq!(
        delay_ms("Rate limited. Try again at 2024-01-01T00:00:00Z"),
        None
    );
    assert_eq!(delay_ms("Rate limited. Try again tomorrow."), None);
}

#[test]
fn a_demand_has_the_actual_value_and_its_clause() {
    let read = statements("Invalid request: `limit` may not exceed 100.", &members());
    let input = json!({"limit": 500});
    let violation = &read.violations(&input)[0];
    assert_eq!(violation.pointer, "/limit");
    assert_eq!(violation.expected.as_deref(), Some("at most 100"));
    assert_eq!(violation.actual, Some(json!(500)));
    assert_eq!(violation.reason, "`limit` may not exceed 100");
}

#[test]
fn only_broken_demands_are_taken_from_a_description() {
    let text = "`limit` must be between 1 and 100; `name` is required; `status` must be one of open, closed; \
                `age` must be an integer; `email` must be at most 5 characters.";
    let read = statements(text, &members());
    let broken = |input| {
        let broken = read.broken_by(&input).into_iter();
        broken.map(|it| it.pointer).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(broken(json!({"name": "a"})), "");
    assert_eq!(
        broken(json!({"limit": 100, "name": "a", "status": "open", "age": 3, "email": "a@b.c"})),
        ""
    );
    assert_eq!(
        broken(json!({"limit": 101, "status": "shut", "age": "3", "email": "a@b.cd"})),
        "/limit /name /status /age /email"
    );
    assert_eq!(
        broken(json!({"limit": 0, "name": null, "age": 1.5})),
        "/limit /name /age"
    );
}

#[test]
fn an_expectation_needs_no_member_name() {
    let read = |text| expectation(text).map(|it| it.to_string());
    assert_eq!(read("must be an integer"), Some("integer".to_owned()));
    assert_eq!(read("Must be at most 3"), Some("at most 3".to_owned()));
    assert_eq!(read("is required"), Some("a value".to_owned()));
    assert_eq!(read("This field is required."), Some("a value".to_owned()));
    let within = "Ensure this value is less than or equal to 10.";
    assert_eq!(read(within), Some("at most 10".to_owned()));
    let longer = "Ensure this field has at least 3 characters.";
    assert_eq!(read(longer), Some("at least 3 characters".to_owned()));
    assert_eq!(read("This field is not shown"), None);
    assert_eq!(read("is not an allowed value"), None);
    assert_eq!(read(""), None);
}

#[test]
fn a_text_is_read_up_to_the_limit() {
    let padded = |length: usize| {
        let end = " retry in 5 seconds";
        let text = format!("{}.{end}", "x".repeat(length - end.len() - 1));
        statements(&text, &members()).delay_ms
    };
    assert_eq!(padded(STATEMENTS_BYTES_LIMIT), Some(5_000));
    assert_eq!(padded(STATEMENTS_BYTES_LIMIT + 1), None);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z0-9`', .:;()\n-]{0,200}|(retry|wait|in|5|s|nothing|was|changed|limit|must|be|at most|,| |\\.){0,30}|\\PC{0,100}") {
        let _ = statements(&text, &members());
    }
}
