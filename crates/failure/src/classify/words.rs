//! Infers the category of a third-party code from its words.
//!
//! Only used where a failure states no category, and marked as inferred.

use panpan_catalogue::Category;

/// Parts of codes, in the order of the search.
const WORDS: &[(&str, Category)] = &[
    ("RATE_LIMIT", Category::RateLimit),
    ("RATELIMIT", Category::RateLimit),
    ("TOO_MANY_REQUESTS", Category::RateLimit),
    ("THROTTL", Category::RateLimit),
    ("SLOW_DOWN", Category::RateLimit),
    ("QUOTA", Category::Resource),
    ("INSUFFICIENT", Category::Resource),
    ("LOCK_TIMEOUT", Category::Transient),
    ("TIMEOUT", Category::Timeout),
    ("TIMED_OUT", Category::Timeout),
    ("DEADLINE", Category::Timeout),
    ("UNAVAILABLE", Category::Transient),
    ("OVERLOADED", Category::Transient),
    ("TEMPORAR", Category::Transient),
    ("CONNECTION", Category::Network),
    ("UNAUTHORIZED", Category::AuthFail),
    ("UNAUTHENTICATED", Category::AuthFail),
    ("NOT_AUTHED", Category::AuthFail),
    ("AUTHENTICATION", Category::AuthFail),
    ("FORBIDDEN", Category::AuthFail),
    ("ACCESS_DENIED", Category::AuthFail),
    ("PERMISSION", Category::AuthFail),
    ("API_KEY", Category::AuthFail),
    ("TOKEN", Category::AuthFail),
    ("NOT_FOUND", Category::ClientError),
    ("NO_SUCH", Category::ClientError),
    ("ALREADY", Category::ClientError),
    ("CONFLICT", Category::ClientError),
    ("BAD_REQUEST", Category::ClientError),
    ("BAD_USER_INPUT", Category::Validation),
    ("INVALID", Category::Validation),
    ("VALIDATION", Category::Validation),
    ("MALFORMED", Category::Validation),
    ("MISSING", Category::Validation),
];

/// The category that the words of a code imply, if one of them is known.
pub fn category_of_words(code: &str) -> Option<Category> {
    WORDS
        .iter()
        .find(|(part, _)| code.contains(part))
        .map(|(_, category)| *category)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_common_codes_imply_a_category() {
        for (code, category) in [
            ("RATE_LIMIT_EXCEEDED", Some(Category::RateLimit)),
            ("USER_RATE_LIMIT_EXCEEDED", Some(Category::RateLimit)),
            ("TOO_MANY_REQUESTS", Some(Category::RateLimit)),
            ("LOCK_TIMEOUT", Some(Category::Transient)),
            ("GATEWAY_TIMEOUT", Some(Category::Timeout)),
            ("INVALID_API_KEY", Some(Category::AuthFail)),
            ("INVALID_REQUEST_ERROR", Some(Category::Validation)),
            ("NO_SUCH_BUCKET", Some(Category::ClientError)),
            ("CARD_DECLINED", None),
        ] {
            assert_eq!(category_of_words(code), category, "{code}");
        }
    }
}
