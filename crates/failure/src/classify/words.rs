//! Infers the category of a third-party code from its words.
//!
//! Only used where a failure states no category, and marked as inferred. Whole words are compared, because a code
//! may only name its subject: `CONNECTION_NAME_UNKNOWN` is about a name.

use std::sync::LazyLock;

use panpan_catalogue::Category;
use regex::Regex;

/// Words of codes, in the order of the search. `*` is the rest of a word.
const WORDS: &[(&str, Category)] = &[
    // What is wrong with an input, whatever it is about.
    (
        "INVALID_(PAGE|PAGINATION|NEXT|NEXT_PAGE|CONTINUATION|CURSOR|SYNC)_TOKEN",
        Category::Validation,
    ),
    (
        "(PAGE|PAGINATION|CONTINUATION|CURSOR|SYNC)_TOKEN_(EXPIRED|INVALID)",
        Category::Validation,
    ),
    (
        "(TOKEN|CONTEXT|INPUT|MESSAGE|PROMPT|LENGTH|SIZE)_LIMIT(_EXCEEDED)?|TOO_(LONG|LARGE|BIG|SHORT|SMALL)|OUT_OF_RANGE",
        Category::Validation,
    ),
    (
        "(INVALID|UNSUPPORTED|MALFORMED)_(RATE|TIMEOUT|QUOTA|CONNECTION|PERMISSION|DEADLINE)*(_*)?",
        Category::Validation,
    ),
    // Who may call.
    (
        "(INVALID|EXPIRED|REVOKED|MISSING|BAD)_((ACCESS|AUTH|AUTHENTICATION|REFRESH|BEARER|ID|API|SESSION|SECURITY|OAUTH|CLIENT)_)?TOKEN(_ID)?",
        Category::AuthFail,
    ),
    (
        "((ACCESS|AUTH|AUTHENTICATION|REFRESH|BEARER|ID|API|SESSION|SECURITY|OAUTH)_)?TOKEN_(HAS_)?(EXPIRED|INVALID|REVOKED|MISSING|REQUIRED)",
        Category::AuthFail,
    ),
    (
        "(INVALID|EXPIRED|MISSING|BAD|NO|INCORRECT)_(CREDENTIAL*|GRANT|LOGIN|SIGNATURE)",
        Category::AuthFail,
    ),
    (
        "(AUTH|LOGIN|SIGN_IN|SIGNIN|CREDENTIALS)_(REQUIRED|FAILED|FAILURE|ERROR|EXPIRED|MISSING)|SESSION_EXPIRED|NOT_(AUTHED|AUTHENTICATED|LOGGED_IN|SIGNED_IN)",
        Category::AuthFail,
    ),
    (
        "PERMISSION*|FORBIDDEN|ACCESS_DENIED|NOT_(AUTHORIZED|PERMITTED)|UNAUTHORIZED*|UNAUTHENTICATED",
        Category::AuthFail,
    ),
    (
        "(INSUFFICIENT|MISSING)_(SCOPE*|PRIVILEGE*|ACCESS|RIGHTS|ROLE*)",
        Category::AuthFail,
    ),
    ("AUTHENTICATION|API_KEY|APIKEY", Category::AuthFail),
    // Limits.
    (
        "RATE_LIMIT*|RATELIMIT*|TOO_MANY_REQUESTS|THROTTL*|SLOW_DOWN|REQUEST_THROTTLED",
        Category::RateLimit,
    ),
    (
        "QUOTA*|OUT_OF_(CREDITS|STORAGE|MEMORY|SPACE)",
        Category::Resource,
    ),
    (
        "INSUFFICIENT_(STORAGE|CAPACITY|RESOURCE*|MEMORY|SPACE|CREDIT*|FUNDS|BALANCE|DISK*|INSTANCE*)",
        Category::Resource,
    ),
    // What passes.
    ("LOCK_TIMEOUT", Category::Transient),
    ("*TIMEOUT|TIMED_OUT|*TIMEDOUT|DEADLINE*", Category::Timeout),
    (
        "(SERVICE|SERVER|TEMPORARILY|CURRENTLY|UPSTREAM|BACKEND|SYSTEM|API|DATABASE|DB|HOST|NETWORK|MODEL|NODE|CLUSTER|GATEWAY|RESOURCE)_UNAVAILABLE",
        Category::Transient,
    ),
    ("OVERLOADED|TEMPORAR*", Category::Transient),
    (
        "CONNECTION_(REFUSED|LOST|RESET|ERROR|FAILED|FAILURE|CLOSED|ABORTED|EXCEPTION|DROPPED|INTERRUPTED)|CONNECT_(ERROR|FAILED|EXCEPTION)|(LOST|NO)_CONNECTION",
        Category::Network,
    ),
    (
        "NETWORK_(ERROR|FAILURE|FAILED|UNREACHABLE|DOWN)",
        Category::Network,
    ),
    // What is wrong with the target, and then with the input.
    (
        "*NOT_FOUND|NO_SUCH*|ALREADY*|CONFLICT*|BAD_REQUEST",
        Category::ClientError,
    ),
    (
        "BAD_USER_INPUT|INVALID*|VALIDATION*|MALFORMED*|MISSING*",
        Category::Validation,
    ),
    ("INSUFFICIENT*", Category::ClientError),
];

/// Words that only mean their category as the whole code, because others name them as a subject.
const WHOLE: &[(&str, Category)] = &[
    ("CONNECTION", Category::Network),
    ("TOKEN", Category::AuthFail),
    ("UNAVAILABLE", Category::Transient),
];

static PATTERNS: LazyLock<Vec<(Regex, Category)>> = LazyLock::new(|| {
    let parts = WORDS.iter().map(|(words, category)| {
        let words = words.replace('*', "[A-Z0-9]*");
        (format!("(?:^|_)(?:{words})(?:$|_)"), *category)
    });
    let whole = WHOLE
        .iter()
        .map(|(word, category)| (format!("^{word}$"), *category));
    let compiled = parts.chain(whole).map(|(pattern, category)| {
        let pattern = Regex::new(&pattern).expect("every pattern of the table compiles");
        (pattern, category)
    });
    compiled.collect()
});

/// The category that the words of a code imply, if one of them is known.
pub fn category_of_words(code: &str) -> Option<Category> {
    let mut patterns = PATTERNS.iter();
    let (_, category) = patterns.find(|(pattern, _)| pattern.is_match(code))?;
    Some(*category)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_common_codes_imply_a_category() {
        for (code, category) in [
            ("RATE_LIMIT_EXCEEDED", Some(Category::RateLimit)),
            ("USER_RATE_LIMIT_EXCEEDED", Some(Category::RateLimit)),
            ("RATE_LIMITED", Some(Category::RateLimit)),
            ("TOO_MANY_REQUESTS", Some(Category::RateLimit)),
            ("THROTTLING_EXCEPTION", Some(Category::RateLimit)),
            ("QUOTA_EXCEEDED", Some(Category::Resource)),
            ("STORAGE_QUOTA_EXCEEDED", Some(Category::Resource)),
            ("INSUFFICIENT_CREDITS", Some(Category::Resource)),
            ("LOCK_TIMEOUT", Some(Category::Transient)),
            ("GATEWAY_TIMEOUT", Some(Category::Timeout)),
            ("ETIMEDOUT", Some(Category::Timeout)),
            ("CONNECTION_TIMEOUT", Some(Category::Timeout)),
            ("DB_CONNECTION_REFUSED", Some(Category::Network)),
            ("CONNECTION", Some(Category::Network)),
            ("SERVICE_UNAVAILABLE", Some(Category::Transient)),
            ("UNAVAILABLE", Some(Category::Transient)),
            ("INVALID_API_KEY", Some(Category::AuthFail)),
            ("INVALID_TOKEN", Some(Category::AuthFail)),
            ("EXPIRED_ACCESS_TOKEN", Some(Category::AuthFail)),
            ("TOKEN_EXPIRED", Some(Category::AuthFail)),
            ("ACCESS_TOKEN_REVOKED", Some(Category::AuthFail)),
            ("AUTH_REQUIRED", Some(Category::AuthFail)),
            ("INVALID_CREDENTIALS", Some(Category::AuthFail)),
            ("INSUFFICIENT_PERMISSIONS", Some(Category::AuthFail)),
            ("INSUFFICIENT_SCOPE", Some(Category::AuthFail)),
            ("INVALID_REQUEST_ERROR", Some(Category::Validation)),
            ("NO_SUCH_BUCKET", Some(Category::ClientError)),
            ("CARD_DECLINED", None),
        ] {
            assert_eq!(category_of_words(code), category, "{code}");
        }
    }

    #[test]
    fn a_word_that_names_a_subject_implies_nothing_else() {
        for (code, category) in [
            ("CONNECTION_NAME_UNKNOWN", None),
            ("CONNECTIONS_LIST_EMPTY", None),
            ("TOKEN_LIMIT_EXCEEDED", Some(Category::Validation)),
            ("INVALID_PAGE_TOKEN", Some(Category::Validation)),
            ("PAGE_TOKEN_EXPIRED", Some(Category::Validation)),
            ("TOKEN_COUNT_WRONG", None),
            ("INVALID_TIMEOUT", Some(Category::Validation)),
            ("INVALID_RATE_LIMIT", Some(Category::Validation)),
            ("TIMEOUT_TOO_LARGE", Some(Category::Validation)),
            ("INSUFFICIENT_STOCK", Some(Category::ClientError)),
            ("PRODUCT_UNAVAILABLE", None),
            ("UNAVAILABLE_DATES_WRONG", None),
            ("TOKEN_NOT_FOUND", Some(Category::ClientError)),
        ] {
            assert_eq!(category_of_words(code), category, "{code}");
        }
    }
}
