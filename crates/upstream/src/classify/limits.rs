//! Recognises limits where the status does not say which kind: one that passes soon, one that is renewed only with a
//! new day or month, or for money, and one that the request itself exceeds.

use panpan_failure::Category;
use panpan_failure::catalogue::code_from_name;
use panpan_failure::classify::category_of_words;

use super::ErrorResponse;

/// Codes of requests that exceed a limit alone.
const TOO_LARGE_CODES: &str = "batch_too_large payload_too_large request_too_large";

/// Phrases for requests that exceed a limit alone.
const TOO_LARGE: &[&str] = &[
    "must be reduced",
    "request is too large",
    "request too large",
    "single request may contain",
    "split the request",
    "split your request",
];

/// Whether a rate limit is one that this request exceeds alone, so that waiting never helps.
pub(super) fn is_request_too_large(status: u16, codes: &[&str], message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let by_code = codes
        .iter()
        .any(|code| TOO_LARGE_CODES.split(' ').any(|it| it == *code));
    status == 429 && (by_code || contains(&message, TOO_LARGE))
}

const QUOTA: &[&str] = &[
    "quota",
    "limit",
    "credits",
    "allowance",
    "usage cap",
    "product cap",
    "spending cap",
];
const SPENT: &[&str] = &[
    "exhausted",
    "exceeded",
    "reached",
    "used up",
    "spent",
    "ran out",
    "run out",
];
const LONG_TERM: &[&str] = &[
    "monthly",
    "upgrade your plan",
    "upgrade to ",
    "your plan",
    "billing",
];
const DAILY: &[&str] = &["daily", "per day", "day limit", " / day", "/day"];
/// Limits whose number and period are stated; with a status for limits, that means they are exceeded.
const PER_MONTH: &[&str] = &["monthly", "per month", " / month", "/month", "a month"];
const SHORT_TERM: &[&str] = &[
    "second",
    "minute",
    "hour",
    "/s",
    "/min",
    "rps",
    "rpm",
    "concurrent",
];
const UNTIL_TOMORROW: &[&str] = &["try again tomorrow", "until tomorrow", "all of today's"];
/// An account ran out of something. A card or a balance that is too low for one payment is not among them.
const NO_CREDITS: &[&str] = &[
    "credits exceeded",
    "credits exhausted",
    "out of credits",
    "no credits left",
    "exceeding approved",
];

/// Whether a sentence says that a quota is renewed only with a new day or month, or for money. Limits per day count
/// only with a status for limits, or if they were reached: an amount in the input can exceed one too.
pub(super) fn says_quota_spent(message: &str, status: u16) -> bool {
    let message = message.to_ascii_lowercase();
    let has = |phrases: &[&str]| contains(&message, phrases);
    let is_limit = matches!(status, 403 | 429);
    let is_reached = matches!(status, 400 | 401 | 409 | 422)
        && (message.contains("have reached") || message.contains("limit reached"));
    let is_long_term = has(LONG_TERM) || ((is_limit || is_reached) && has(DAILY));
    let is_spent = has(QUOTA) && has(SPENT) && is_long_term;
    let is_stated = status == 429 && has(QUOTA) && has(PER_MONTH) && !has(SHORT_TERM);
    let until_tomorrow = is_limit && has(UNTIL_TOMORROW);
    let no_credits = matches!(status, 400 | 401 | 403 | 409 | 429) && has(NO_CREDITS);
    let is_refused_by_quota = status == 403 && message.contains("exceeded quota");
    is_spent || is_stated || until_tomorrow || no_credits || is_refused_by_quota
}

/// What can be locked, and how services say that it is.
const LOCKABLE: &[&str] = &["account", "user", "card", "login", "profile"];
const LOCKED: &[&str] = &[
    "been locked",
    "is locked",
    "locked out",
    "been blocked",
    "been suspended",
    "is suspended",
    "been disabled",
    "been banned",
];

/// Whether a refusal for too many attempts lasts until a person ends it.
pub(super) fn is_locked_out(status: u16, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let is_for_a_time = contains(
        &message,
        &["temporarily", "for a ", "minutes", "seconds", "hour"],
    );
    status == 429 && contains(&message, LOCKABLE) && contains(&message, LOCKED) && !is_for_a_time
}

/// Whether a spent quota is one of a period, which ends by itself.
pub(super) fn resets_by_itself(codes: &[&str], message: &str) -> bool {
    const CODES: [&str; 4] = [
        "REQUEST_LIMIT_EXCEEDED",
        "dailyLimitExceeded",
        "usage-capped",
        "DAILY_LIMIT_EXCEEDED",
    ];
    let message = message.to_ascii_lowercase();
    let is_periodic = contains(&message, DAILY)
        || contains(&message, PER_MONTH)
        || contains(&message, UNTIL_TOMORROW)
        || contains(&message, &["resets on", "resets at", "resets in", "weekly"]);
    let is_request = !contains(&message, &["storage", "disk", "space"]);
    (is_periodic && is_request) || codes.iter().any(|it| CODES.contains(it))
}

/// Words of codes for limits with a short period: `HOURLY_APIINVOCATION_LIMIT_EXCEEDED`.
const SHORT_PERIODS: [&str; 5] = ["HOURLY", "MINUTELY", "SECONDLY", "BURST", "MINUTE"];

/// Whether a code, in upper case, says that a limit with a short period is reached.
fn is_short_limit(code: &str) -> bool {
    let words: Vec<&str> = code.split('_').collect();
    let has = |word: &str| words.contains(&word);
    let is_reached = has("EXCEEDED") || has("REACHED");
    let is_short = SHORT_PERIODS.into_iter().any(has);
    has("LIMIT") && ((is_short && !has("INVALID")) || (has("RATE") && is_reached))
}

/// Whether a response with an ambiguous status is a rate limit, by the codes or the headers of the service.
///
/// A header with the remaining requests is on every response and counts only at zero; other statuses than 403 also
/// fail for the last request that was allowed, so there the message has to speak of a limit.
pub(super) fn is_rate_limit(response: &ErrorResponse<'_>, codes: &[&str], message: &str) -> bool {
    let mut names = codes.iter().map(|code| code_from_name(code));
    let mut header = Headers::default();
    header.read(response.headers);
    match response.status {
        403 => {
            let is_limit = |name: &String| category_of_words(name) == Some(Category::RateLimit);
            names.any(|it| is_limit(&it)) || header.asks_to_wait || header.none_left
        }
        400 | 409 | 422 => {
            let message = message.to_ascii_lowercase();
            let says_limit = contains(&message, &["limit", "quota", "too many", "throttl"]);
            let by_header = header.none_left && header.has_reset && says_limit;
            names.any(|it| is_short_limit(&it)) || by_header
        }
        _ => false,
    }
}

/// What the headers say about a rate limit.
#[derive(Default)]
struct Headers {
    asks_to_wait: bool,
    none_left: bool,
    has_reset: bool,
}

impl Headers {
    fn read(&mut self, headers: &[(&str, &str)]) {
        for (name, value) in headers {
            match name.to_ascii_lowercase().as_str() {
                "retry-after" | "retry-after-ms" => self.asks_to_wait |= !value.trim().is_empty(),
                "x-ratelimit-remaining" | "ratelimit-remaining" => {
                    self.none_left |= value.trim() == "0";
                }
                "x-ratelimit-reset" | "ratelimit-reset" => self.has_reset = true,
                _ => {}
            }
        }
    }
}

fn contains(message: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_exceeds_a_limit_alone_is_too_large() {
        for (status, codes, message, expected) in [
            (
                429,
                &["rate_limit_exceeded"][..],
                "Request too large for gpt-4o: Limit 30000, Requested 45000. The input or output tokens must be reduced",
                true,
            ),
            (
                429,
                &[],
                "A single request may contain at most 100 rows; this one has 300. Split the request.",
                true,
            ),
            (429, &["batch_too_large"], "no", true),
            (400, &["batch_too_large"], "no", false),
            (429, &["rate_limited"], "Too many requests", false),
            (429, &[], "Reduce the number of requests", false),
        ] {
            assert_eq!(
                is_request_too_large(status, codes, message),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn a_quota_of_a_day_or_a_month_is_spent() {
        for (status, message, expected) in [
            (429, "Usage cap exceeded: Monthly product cap", true),
            (
                429,
                "You are using a Trial key, which is limited to 1000 API calls / month.",
                true,
            ),
            (
                429,
                "Resource level throttle DAY limit for calls to this resource is reached.",
                true,
            ),
            (
                429,
                "You have used all of today's requests. Try again tomorrow.",
                true,
            ),
            (
                400,
                "You have reached your daily sending limit of 500.",
                true,
            ),
            (401, "Maximum credits exceeded", true),
            (
                409,
                "It results in exceeding approved Total Regional Cores quota.",
                true,
            ),
            (
                429,
                "Limit: 5 requests per second and 1000 per month",
                false,
            ),
            (429, "Rate limit exceeded", false),
            (400, "The amount exceeds the daily limit of 500", false),
            (400, "The daily limit must be at most 500", false),
            (402, "Insufficient credits", false),
            (400, "The amount is limited to 1000 per month", false),
            (400, "The date is tomorrow", false),
        ] {
            assert_eq!(says_quota_spent(message, status), expected, "{message}");
        }
    }

    #[test]
    fn a_locked_account_is_no_rate_limit() {
        for (status, message, expected) in [
            (
                429,
                "Too many failed attempts. Your account has been locked; contact support to unlock it.",
                true,
            ),
            (429, "The user is locked out", true),
            (429, "Your account has been temporarily locked", false),
            (429, "Your account is locked for 15 minutes", false),
            (429, "Too many requests of this account", false),
            (423, "The account is locked", false),
        ] {
            assert_eq!(is_locked_out(status, message), expected, "{message}");
        }
    }

    #[test]
    fn a_quota_of_a_period_resets_by_itself() {
        for (codes, message, expected) in [
            (
                &[][..],
                "Daily quota exceeded. Please try again tomorrow.",
                true,
            ),
            (
                &[],
                "Quota exceeded for quota metric 'Queries' and limit 'Queries per day'",
                true,
            ),
            (
                &["REQUEST_LIMIT_EXCEEDED"],
                "TotalRequests Limit exceeded.",
                true,
            ),
            (&[], "Usage cap exceeded: Monthly product cap", true),
            (&[], "Your credits are used up", false),
            (&[], "The storage quota of 5 GB is used up", false),
            (&[], "Monthly storage quota exceeded", false),
            (&["storageQuotaExceeded"], "no", false),
        ] {
            assert_eq!(resets_by_itself(codes, message), expected, "{message}");
        }
    }

    #[test]
    fn a_rate_limit_can_have_another_status() {
        let spent = [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "9")];
        for (status, headers, codes, message, expected) in [
            (
                400,
                &[][..],
                &["HOURLY_APIINVOCATION_LIMIT_EXCEEDED"][..],
                "",
                true,
            ),
            (409, &[], &["BURST_LIMIT"], "", true),
            (400, &spent, &[], "The hourly limit is 1000", true),
            (400, &spent, &[], "The name is too long", false),
            (400, &spent[..1], &[], "The hourly limit is 1000", false),
            (400, &[], &["invalid_rate_limit"], "", false),
            (400, &[], &["CREDIT_LIMIT_EXCEEDED"], "", false),
            (403, &spent[..1], &[], "", true),
            (403, &[], &["rateLimitExceeded"], "", true),
            (403, &[], &["forbidden"], "", false),
            (404, &spent, &["HOURLY_LIMIT"], "limit", false),
        ] {
            let response = ErrorResponse {
                status,
                headers,
                body: "",
                provider: None,
            };
            assert_eq!(
                is_rate_limit(&response, codes, message),
                expected,
                "{status} {codes:?} {message}"
            );
        }
    }
}
