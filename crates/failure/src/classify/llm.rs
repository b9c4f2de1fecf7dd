//! Failures of language-model providers, by the words their APIs use.

use panpan_catalogue::{Entry, codes};

use crate::kind::Kind;

/// In which way a provider failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LlmFailure {
    /// Too many requests or tokens for now.
    RateLimited,
    /// The account has nothing left to spend.
    QuotaSpent,
    /// The input is longer than the model takes.
    ContextTooLong,
    /// No such model, or not for this account.
    InvalidModel,
    /// A safety filter rejected the content.
    ContentFiltered,
    /// The provider failed or is overloaded.
    ApiError,
    /// The provider refused the credential.
    AuthFailure,
    /// The provider refused the request for another reason.
    BadRequest,
}

/// What a provider said, as far as it said it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProviderAnswer<'a> {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's words for the failure, most specific first: its code, type or status name.
    pub words: &'a [&'a str],
    /// The sentence it sent along.
    pub message: &'a str,
}

/// Words of providers' APIs. A word stands for the same failure wherever it is used.
const WORDS: &[(&str, LlmFailure)] = &[
    ("rate_limit_error", LlmFailure::RateLimited),
    ("rate_limit_exceeded", LlmFailure::RateLimited),
    ("rate_limited", LlmFailure::RateLimited),
    ("throttlingexception", LlmFailure::RateLimited),
    ("resource_exhausted", LlmFailure::RateLimited),
    ("insufficient_quota", LlmFailure::QuotaSpent),
    ("billing_error", LlmFailure::QuotaSpent),
    ("billing_hard_limit_reached", LlmFailure::QuotaSpent),
    ("context_length_exceeded", LlmFailure::ContextTooLong),
    ("string_above_max_length", LlmFailure::ContextTooLong),
    ("request_too_large", LlmFailure::ContextTooLong),
    ("model_not_found", LlmFailure::InvalidModel),
    ("invalid_model", LlmFailure::InvalidModel),
    ("model_not_available", LlmFailure::InvalidModel),
    ("content_filter", LlmFailure::ContentFiltered),
    ("content_policy_violation", LlmFailure::ContentFiltered),
    ("responsibleaipolicyviolation", LlmFailure::ContentFiltered),
    ("safety", LlmFailure::ContentFiltered),
    ("authentication_error", LlmFailure::AuthFailure),
    ("invalid_api_key", LlmFailure::AuthFailure),
    ("permission_error", LlmFailure::AuthFailure),
    ("permission_denied", LlmFailure::AuthFailure),
    ("unauthenticated", LlmFailure::AuthFailure),
    ("api_error", LlmFailure::ApiError),
    ("server_error", LlmFailure::ApiError),
    ("overloaded_error", LlmFailure::ApiError),
    ("timeout_error", LlmFailure::ApiError),
    ("internal", LlmFailure::ApiError),
    ("unavailable", LlmFailure::ApiError),
];

/// Phrases with which providers say "too long" under a general code.
const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "prompt is too long",
    "input token count",
    "too many tokens",
];

impl LlmFailure {
    /// Every way.
    pub const ALL: [LlmFailure; 8] = [
        LlmFailure::RateLimited,
        LlmFailure::QuotaSpent,
        LlmFailure::ContextTooLong,
        LlmFailure::InvalidModel,
        LlmFailure::ContentFiltered,
        LlmFailure::ApiError,
        LlmFailure::AuthFailure,
        LlmFailure::BadRequest,
    ];

    /// The row of the catalogue.
    pub const fn entry(self) -> &'static Entry {
        match self {
            LlmFailure::RateLimited => codes::ERR_LLM_RATE_LIMITED,
            LlmFailure::QuotaSpent => codes::ERR_BUDGET_EXCEEDED,
            LlmFailure::ContextTooLong => codes::ERR_LLM_CONTEXT_LENGTH,
            LlmFailure::InvalidModel => codes::ERR_LLM_INVALID_MODEL,
            LlmFailure::ContentFiltered => codes::ERR_LLM_CONTENT_FILTER,
            LlmFailure::ApiError => codes::ERR_LLM_API_ERROR,
            LlmFailure::AuthFailure => codes::ERR_LLM_AUTH_FAILURE,
            LlmFailure::BadRequest => codes::ERR_LLM_BAD_REQUEST,
        }
    }

    /// The failure a provider means: by its own words, by phrases where its words are too general,
    /// then by the status.
    pub fn of(error: ProviderAnswer<'_>) -> Self {
        if let Some(failure) = Self::of_words(error.words) {
            return failure;
        }
        let message = error.message.to_ascii_lowercase();
        if error.status != Some(429) && TOO_LONG.iter().any(|phrase| message.contains(phrase)) {
            return LlmFailure::ContextTooLong;
        }
        Self::of_status(error.status, &message)
    }

    /// The failure a provider means by its own words alone, if one of them is known.
    pub fn of_words(words: &[&str]) -> Option<Self> {
        words.iter().find_map(|word| {
            let word = word.to_ascii_lowercase();
            WORDS
                .iter()
                .find(|(known, _)| *known == word)
                .map(|(_, failure)| *failure)
        })
    }

    fn of_status(status: Option<u16>, message: &str) -> Self {
        match status {
            Some(401 | 403) => LlmFailure::AuthFailure,
            Some(402) => LlmFailure::QuotaSpent,
            Some(404) if message.contains("model") => LlmFailure::InvalidModel,
            Some(413) => LlmFailure::ContextTooLong,
            Some(429) => LlmFailure::RateLimited,
            Some(400..=499) => LlmFailure::BadRequest,
            _ => LlmFailure::ApiError,
        }
    }
}

impl From<LlmFailure> for Kind {
    fn from(failure: LlmFailure) -> Self {
        failure.entry().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_understood_by_their_own_words_before_their_status() {
        for (status, words, message, code) in [
            (429, &["rate_limit_error"][..], "", "ERR_LLM_RATE_LIMITED"),
            (
                429,
                &["insufficient_quota"],
                "You exceeded your current quota",
                "ERR_BUDGET_EXCEEDED",
            ),
            (
                400,
                &["context_length_exceeded", "invalid_request_error"],
                "",
                "ERR_LLM_CONTEXT_LENGTH",
            ),
            (
                400,
                &["invalid_request_error"],
                "prompt is too long: 210000 tokens",
                "ERR_LLM_CONTEXT_LENGTH",
            ),
            (
                400,
                &["invalid_request_error"],
                "max_tokens: must be positive",
                "ERR_LLM_BAD_REQUEST",
            ),
            (
                404,
                &["not_found_error"],
                "model: claude-9",
                "ERR_LLM_INVALID_MODEL",
            ),
            (404, &["model_not_found"], "", "ERR_LLM_INVALID_MODEL"),
            (400, &["content_filter"], "", "ERR_LLM_CONTENT_FILTER"),
            (401, &["authentication_error"], "", "ERR_LLM_AUTH_FAILURE"),
            (403, &["PERMISSION_DENIED"], "", "ERR_LLM_AUTH_FAILURE"),
            (
                529,
                &["overloaded_error"],
                "Overloaded",
                "ERR_LLM_API_ERROR",
            ),
            (500, &[], "", "ERR_LLM_API_ERROR"),
            (429, &["RESOURCE_EXHAUSTED"], "", "ERR_LLM_RATE_LIMITED"),
            (
                429,
                &[],
                "too many tokens per minute",
                "ERR_LLM_RATE_LIMITED",
            ),
            (422, &[], "", "ERR_LLM_BAD_REQUEST"),
        ] {
            let failure = LlmFailure::of(ProviderAnswer {
                status: Some(status),
                words,
                message,
            });
            assert_eq!(failure.entry().code, code, "{status} {words:?} {message}");
        }
    }

    #[test]
    fn a_word_stands_once() {
        for (index, (word, _)) in WORDS.iter().enumerate() {
            assert!(
                WORDS[index + 1..].iter().all(|(other, _)| other != word),
                "{word}"
            );
            assert_eq!(word.to_ascii_lowercase(), *word);
        }
    }
}
