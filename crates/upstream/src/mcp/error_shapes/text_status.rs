//! HTTP statuses and rate limits in texts, in the formats of common clients.
//!
//! A status counts only where the text states its own failure; see `clauses`.

use std::sync::LazyLock;

use jiff::Timestamp;
use panpan_failure::Failure;
use regex::Regex;

use super::clauses::{Clause, WORD, clauses, is_about_something_else};
use super::{effect_in_text, embedded, from_status};
use crate::mcp::tool_error::bounded;

/// What has to come after a status.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Anything: the words before are certain.
    Any,
    /// The end of the clause, a message, or a word with which such a text continues.
    Clause,
    /// The reason phrase of the status.
    Reason,
}

/// A format in which clients write a status.
struct Form {
    /// Matches from the beginning of the clause, behind at most six words.
    pattern: &'static str,
    end: End,
    /// Texts with their status.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    hits: &'static [(&'static str, u16)],
    /// Texts that look similar and state no status.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    innocents: &'static [&'static str],
}

const FORMS: [Form; 12] = [
    Form {
        pattern: r"(?i:api error \()(?P<status>[45]\d\d)\)",
        end: End::Clause,
        hits: &[("API Error (500): overloaded", 500)],
        innocents: &["API error (5000): x", "No page 'API Error (500): x'"],
    },
    Form {
        pattern: r"(?i:http(?:/\d(?:\.\d)?)?(?:[ -](?:error|status|code|response))*[:=]? ?\(?)(?P<status>[45]\d\d)\b",
        end: End::Clause,
        hits: &[
            ("HTTP 429: slow down", 429),
            ("HTTP 429", 429),
            (
                "Error calling tool 'x': HTTP error 404: Not Found - {'a': 1}",
                404,
            ),
            ("HTTP-Code: 409\nMessage: Contact already exists", 409),
            ("The API returned HTTP 503 for https://a.example/x", 503),
        ],
        innocents: &[
            "HTTP 200 but no body",
            "HTTP 4040 things",
            "http 404.5",
            "http é",
            "expected HTTP 429 but got HTTP 200",
            "Page 'How to handle HTTP 429' not found",
            "config.yml:4: 'http 404' is not a valid value for error_page",
            "Unsupported content type for https://status.example.com/http/503",
            "exit code: 2\nFAIL a.test.ts\n  HTTP 429",
        ],
    },
    Form {
        pattern: r"(?i:(?:response |error )?status(?: ?code)?(?: is| was| of)?[:=]? ?)(?P<status>[45]\d\d)\b",
        end: End::Clause,
        hits: &[
            ("Request failed with status code 503", 503),
            (
                "Jira API error: Request failed with status code 400: {\"a\":1}",
                400,
            ),
            ("HTTP error! status: 404", 404),
        ],
        innocents: &[
            "No issue with the title 'Request failed with status code 500'",
            "Invalid expectation: status code 429 cannot be asserted for step 2",
        ],
    },
    Form {
        pattern: r"(?i:(?:client|server) error ')(?P<status>[45]\d\d) ",
        end: End::Any,
        hits: &[("Client error '403 Forbidden' for url 'https://api'", 403)],
        innocents: &[
            "Client error '4031 x'",
            "see \"Client error '403 Forbidden'\"",
        ],
    },
    Form {
        pattern: r"(?P<status>[45]\d\d) (?i:client|server) (?i:error):",
        end: End::Any,
        hits: &[
            (
                "Error executing tool x: 401 Client Error: Unauthorized for url: https://a.example",
                401,
            ),
            (
                "503 Server Error: Service Unavailable for url: https://a.example",
                503,
            ),
        ],
        innocents: &["found 401 client errors: see the log"],
    },
    Form {
        pattern: r"(?P<status>[45]\d\d)[ :-]+",
        end: End::Reason,
        hits: &[
            ("Error: Brave API error: 429 Too Many Requests\n{}", 429),
            ("GET https://a.example: 404 Not Found []", 404),
            ("Sending invitations failed: 503 Service Unavailable", 503),
        ],
        innocents: &[
            "the answer has 404 rows",
            "404 notes were found",
            "File not found: logs/404 Not Found.txt",
            "503 Not Found",
        ],
    },
    Form {
        pattern: r"(?i:error code:? )(?P<status>[45]\d\d)(?: - |$)",
        end: End::Any,
        hits: &[
            ("Error code: 529 - {'type': 'error'}", 529),
            ("Error code: 404", 404),
        ],
        innocents: &["Error code: 404123", "Error code: 500 rows"],
    },
    Form {
        pattern: r"<HttpError (?P<status>[45]\d\d) when ",
        end: End::Any,
        hits: &[(
            "<HttpError 404 when requesting https://a.example returned \"no\">",
            404,
        )],
        innocents: &["<HttpError without a status>"],
    },
    Form {
        pattern: r"[A-Z]\w*Error\((?P<status>[45]\d\d), ",
        end: End::Any,
        hits: &[(
            "NotFoundError(404, 'index_not_found_exception', 'no such index')",
            404,
        )],
        innocents: &["RangeError(404)"],
    },
    Form {
        pattern: r"(?i:returned error: )(?P<status>[45]\d\d)\b",
        end: End::Clause,
        hits: &[(
            "fatal: unable to access 'https://a.example/': The requested URL returned error: 403",
            403,
        )],
        innocents: &["The linter returned error: 403 lines are too long"],
    },
    Form {
        pattern: r"(?P<status>[45]\d\d) (?:[A-Z_]+\. )?\{",
        end: End::Any,
        hits: &[
            ("529 {\"type\":\"error\"}", 529),
            ("429 RESOURCE_EXHAUSTED. {'error': {}}", 429),
        ],
        innocents: &["500 records {a}"],
    },
    Form {
        pattern: r"(?:GET|POST|PUT|PATCH|DELETE|HEAD) https?://\S+: (?P<status>[45]\d\d)\b",
        end: End::Any,
        hits: &[
            (
                "failed to list issues: GET https://a.example/x: 401 Bad credentials []",
                401,
            ),
            ("POST https://a.example/x: 502 Server Error []", 502),
        ],
        innocents: &[
            "GET https://a.example/x: 200 OK",
            "GET https://a.example/500",
        ],
    },
];

/// Words that mean a rate limit.
const RATE_LIMIT: &str =
    r"(?i:rate[- ]limited|rate limit (?:has been )?exceeded|too many requests)\b";

/// Words that mean that the credential of the tool is refused.
const CREDENTIAL: &str = r"(?i:(?:invalid|incorrect) api[- ]key(?: provided)?)\b";

/// Words with which the text of a failure continues behind a status or a rate limit.
const CONTINUATIONS: &str =
    "after at by during for from in on please received returned when while with";

/// The title of a page that a proxy sends.
const TITLE: &str = r"(?i)<title>\s*(?:error )?(?P<status>[45]\d\d)[ :-]+";

/// Reason phrases that are common, but not those of the standard.
const OTHER_REASONS: [(u16, &str); 8] = [
    (403, "Access Denied"),
    (408, "Request Time-out"),
    (413, "Request Entity Too Large"),
    (422, "Unprocessable Content"),
    (500, "Server Error"),
    (502, "Server Error"),
    (503, "Service Temporarily Unavailable"),
    (504, "Gateway Time-out"),
];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMS.iter().map(|form| anchored(form.pattern)).collect());
static RATE_LIMIT_PATTERN: LazyLock<Regex> = LazyLock::new(|| anchored(RATE_LIMIT));
static CREDENTIAL_PATTERN: LazyLock<Regex> = LazyLock::new(|| anchored(CREDENTIAL));
static TITLE_PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(TITLE).expect("a fixed pattern compiles"));

/// A status in a text.
struct Found<'a> {
    clause: Clause<'a>,
    status: u16,
}

/// The failure for an HTTP status or a rate limit in a text.
pub(super) fn in_text(text: &str, server: &str, now: Timestamp) -> Option<Failure> {
    let found = status_in(text)?;
    let body = embedded::document(text).map(|it| it.to_string());
    let body = body.as_deref().unwrap_or_else(|| readable(text));
    let failure = from_status(found.status, body, server, now)?;
    let effect = effect_in_text(&failure, found.clause, text);
    Some(failure.with_effect(effect).with_message(bounded(text)))
}

/// A text without the bracket that makes it look like a page.
fn readable(text: &str) -> &str {
    match text.trim_start().strip_prefix('<') {
        Some(rest) if rest.starts_with("HttpError") => rest,
        _ => text,
    }
}

fn status_in(text: &str) -> Option<Found<'_>> {
    let clauses = clauses(text);
    let page = || page_status(text).map(|(clause, status)| Found { clause, status });
    let stated = clauses.iter().find_map(|clause| {
        let words = || status_of_words(clause.text);
        let status = status_of(clause.text).or_else(words)?;
        Some(Found {
            clause: *clause,
            status,
        })
    });
    stated.or_else(page)
}

/// The status at the beginning of a clause.
fn status_of(clause: &str) -> Option<u16> {
    FORMS
        .iter()
        .zip(PATTERNS.iter())
        .find_map(|(form, pattern)| {
            let found = pattern.captures(clause)?;
            let status: u16 = found["status"].parse().ok()?;
            let rest = &clause[found.get(0)?.end()..];
            let ends = match form.end {
                End::Any => true,
                End::Clause => is_end(rest) || is_reason(status, rest.trim_start()),
                End::Reason => is_reason(status, rest),
            };
            (ends && !is_about_something_else(&found["head"])).then_some(status)
        })
}

/// The status of a rate limit or a refused credential at the beginning of a clause.
fn status_of_words(clause: &str) -> Option<u16> {
    let states = |pattern: &Regex| {
        let found = pattern.captures(clause)?;
        let rest = &clause[found.get(0)?.end()..];
        (is_end(rest) && !is_about_something_else(&found["head"])).then_some(())
    };
    let limited = states(&RATE_LIMIT_PATTERN).map(|()| 429);
    limited.or_else(|| states(&CREDENTIAL_PATTERN).map(|()| 401))
}

/// The status in the title of a page.
fn page_status(text: &str) -> Option<(Clause<'_>, u16)> {
    let page = text.trim_start();
    let found = TITLE_PATTERN.captures(page.get(..page.floor_char_boundary(1_000))?)?;
    let status: u16 = found["status"].parse().ok()?;
    let rest = &page[found.get(0)?.end()..];
    let clause = Clause {
        before: "",
        text: page,
    };
    (page.starts_with('<') && is_reason(status, rest)).then_some((clause, status))
}

/// Whether a statement ends here, or a message about it follows.
fn is_end(rest: &str) -> bool {
    let mut characters = rest.chars();
    match (characters.next(), characters.next()) {
        (None, _) => true,
        (Some('.'), next) => next.is_none_or(char::is_whitespace),
        (Some(' '), Some(next)) => {
            let word = rest[1..].split(|it: char| !it.is_alphanumeric()).next();
            let continues = |word: &str| CONTINUATIONS.split(' ').any(|it| it == word);
            !(next.is_lowercase() || next.is_numeric()) || word.is_some_and(continues)
        }
        (Some(first), _) => first != '%' && first != '_' && !first.is_alphanumeric(),
    }
}

/// Whether a text begins with the reason phrase of a status.
fn is_reason(status: u16, text: &str) -> bool {
    let standard = http::StatusCode::from_u16(status).ok();
    let standard = standard.and_then(|it| it.canonical_reason());
    let others = OTHER_REASONS.iter().filter(|(other, _)| *other == status);
    let mut reasons = standard
        .into_iter()
        .chain(others.map(|(_, reason)| *reason));
    reasons.any(|reason| {
        let start = text.get(..reason.len());
        let is_same = start.is_some_and(|it| it.eq_ignore_ascii_case(reason));
        is_same && !text[reason.len()..].starts_with(char::is_alphanumeric)
    })
}

/// A pattern at the beginning of a clause, behind at most six words.
fn anchored(pattern: &str) -> Regex {
    let pattern = format!("^(?P<head>(?:{WORD}){{0,6}}?){pattern}");
    Regex::new(&pattern).expect("a fixed pattern compiles")
}

#[cfg(test)]
mod tests;
