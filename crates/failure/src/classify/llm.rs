//! Codes for failures of model providers, by the codes of their APIs.

use super::rows;

rows! {
    /// A failure of a model provider.
    LlmFailure {
        /// Too many requests or tokens.
        RateLimited => ERR_LLM_RATE_LIMITED,
        /// The quota or budget of the account is exhausted.
        QuotaSpent => ERR_BUDGET_EXCEEDED,
        /// The input is longer than the context of the model.
        ContextTooLong => ERR_LLM_CONTEXT_LENGTH,
        /// The model does not exist, or is not available to this account.
        InvalidModel => ERR_LLM_INVALID_MODEL,
        /// A safety filter rejected the content.
        ContentFiltered => ERR_LLM_CONTENT_FILTER,
        /// The provider failed or is overloaded.
        ApiError => ERR_LLM_API_ERROR,
        /// The provider refused the credential.
        AuthFailure => ERR_LLM_AUTH_FAILURE,
        /// The provider refused the request for another reason.
        BadRequest => ERR_LLM_BAD_REQUEST,
    }
}

/// The error response of a provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProviderAnswer<'a> {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's codes for the failure, most specific first: code, type or status name.
    pub words: &'a [&'a str],
    /// The message.
    pub message: &'a str,
}

/// Codes of provider APIs. A code means the same failure for all providers.
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

/// Phrases in messages with a general code that mean "too long".
const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "prompt is too long",
    "input token count",
    "too many tokens",
];

/// Phrases in messages with a general code that mean "no money left".
const UNPAID: &[&str] = &["credit balance is too low", "insufficient balance"];

impl LlmFailure {
    /// Classifies a response: by its codes, by phrases in the message if the codes are too general, and then by
    /// the status.
    pub fn of(error: ProviderAnswer<'_>) -> Self {
        if let Some(failure) = Self::of_words(error.words) {
            return failure;
        }
        let message = error.message.to_ascii_lowercase();
        if error.status != Some(429) && TOO_LONG.iter().any(|phrase| message.contains(phrase)) {
            return LlmFailure::ContextTooLong;
        }
        if UNPAID.iter().any(|phrase| message.contains(phrase)) {
            return LlmFailure::QuotaSpent;
        }
        Self::of_status(error.status, &message)
    }

    /// Classifies by the codes alone, if one of them is known.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_providers_take_precedence_over_the_status() {
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
    fn every_code_is_listed_once() {
        for (index, (word, _)) in WORDS.iter().enumerate() {
            assert!(
                WORDS[index + 1..].iter().all(|(other, _)| other != word),
                "{word}"
            );
            assert_eq!(word.to_ascii_lowercase(), *word);
        }
    }
}
