//! From an HTTP answer to a failure.
//!
//! Looks at status, headers and body as they came; reads no clock: the time is an argument. What a body
//! says is found in `lift`.

use jiff::Timestamp;
use panpan_contract::catalogue::for_status;
use panpan_contract::classify::{LlmFailure, ProviderAnswer, category_of_words};
use panpan_contract::failure::{Repeat, Upstream};
use panpan_contract::{Category, Effect, Failure, Kind, codes, retry};
use serde_json::Value;

use crate::lift::{self, Lifted};

/// What an upstream answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The headers, by name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body as text.
    pub body: &'a str,
    /// Who answered.
    pub provider: Option<&'a str>,
}

/// The failure an answer stands for; `None` when it is none, below 400.
///
/// ```
/// use panpan_upstream::{Answer, classify};
///
/// let answer = Answer { status: 429, headers: &[("Retry-After", "7")], body: "slow down", provider: None };
/// let failure = classify(&answer, jiff::Timestamp::UNIX_EPOCH).unwrap();
/// assert_eq!(failure.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
/// assert_eq!(failure.recovery().retry_after_ms, Some(7_000));
/// ```
pub fn classify(answer: &Answer<'_>, now: Timestamp) -> Option<Failure> {
    if answer.status < 400 {
        return None;
    }
    let document = lift::parsed(answer.body);
    if let Some(failure) = document.as_ref().and_then(lift::panpan_failure) {
        return Some(failure);
    }
    let lifted = document.as_ref().map(lift::lift).unwrap_or_default();
    let failure = Failure::new(kind(answer, &lifted))
        .with_message(message(answer, &lifted))
        .with_upstream(upstream(answer, &lifted))
        .with_violations(lifted.violations);
    let failure = match lifted.message {
        Some(said) => failure.with_detail("upstream_message", said),
        None => failure,
    };
    Some(hinted(failure, answer, document.as_ref(), now))
}

/// The code: by the service's own words where they are known to say more than the status.
fn kind(answer: &Answer<'_>, lifted: &Lifted) -> Kind {
    let words: Vec<&str> = lifted.words.iter().map(String::as_str).collect();
    let said = ProviderAnswer {
        status: Some(answer.status),
        words: &words,
        message: lifted.message.as_deref().unwrap_or_default(),
    };
    let known = LlmFailure::of_words(&words);
    if known == Some(LlmFailure::QuotaSpent) {
        return LlmFailure::QuotaSpent.into();
    }
    if is_spent(&words) {
        return codes::ERR_RESOURCE_EXHAUSTED.into();
    }
    if lifted.is_model_provider || answer.provider.is_some_and(is_model_provider) {
        let failure = LlmFailure::of(said);
        let is_telling = matches!(
            failure,
            LlmFailure::ContextTooLong | LlmFailure::InvalidModel
        );
        if known.is_some() || is_telling {
            return failure.into();
        }
    }
    if answer.status == 403 && is_rate_limit(answer, &words) {
        return codes::ERR_HTTP_429_RATE_LIMITED.into();
    }
    // Beyond 599 there is no HTTP: whoever answered garbled what stands behind.
    for_status(answer.status).map_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into(), Kind::from)
}

/// Words for a quota that is used up for longer than anyone waits.
const SPENT: &[&str] = &["dailylimitexceeded", "quotaexceeded", "quota_exceeded"];

fn is_spent(words: &[&str]) -> bool {
    let mut words = words.iter().map(|word| word.to_ascii_lowercase());
    words.any(|word| SPENT.contains(&word.as_str()))
}

/// Hosts of providers of language models, by their ends.
const MODEL_PROVIDERS: &[&str] = &[
    "api.anthropic.com",
    "api.cohere.com",
    "api.deepseek.com",
    "api.groq.com",
    "api.mistral.ai",
    "api.openai.com",
    "api.x.ai",
    "generativelanguage.googleapis.com",
    "openai.azure.com",
    "openrouter.ai",
];

fn is_model_provider(host: &str) -> bool {
    MODEL_PROVIDERS.iter().any(|known| {
        let before = host.strip_suffix(known);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

/// Whether a denial is a rate limit: some services say so with the words, others with the headers of
/// one. A header that counts what is left is on every answer, and tells only when nothing is.
fn is_rate_limit(answer: &Answer<'_>, words: &[&str]) -> bool {
    let by_words = words.iter().any(|word| {
        let word = snake(word);
        category_of_words(&word) == Some(Category::RateLimit)
    });
    by_words
        || answer.headers.iter().any(|(name, value)| {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "retry-after" | "retry-after-ms" => !value.trim().is_empty(),
                "x-ratelimit-remaining" | "ratelimit-remaining" => value.trim() == "0",
                _ => false,
            }
        })
}

/// A word as codes are written: `rateLimitExceeded` is `RATE_LIMIT_EXCEEDED`.
fn snake(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    let mut after_small = false;
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        after_small = letter.is_ascii_lowercase();
        snake.push(if letter == '-' {
            '_'
        } else {
            letter.to_ascii_uppercase()
        });
    }
    snake
}

fn message(answer: &Answer<'_>, lifted: &Lifted) -> String {
    let who = answer.provider.unwrap_or("the upstream");
    let status = answer.status;
    match &lifted.message {
        Some(said) => format!("{who} answered HTTP {status}: {said}"),
        None => format!("{who} answered HTTP {status}"),
    }
}

fn upstream(answer: &Answer<'_>, lifted: &Lifted) -> Upstream {
    let mut upstream = Upstream::status(answer.status);
    if let Some(provider) = answer.provider {
        upstream = upstream.provider(provider);
    }
    if let Some(code) = lifted.words.first() {
        upstream = upstream.code(code.as_str());
    }
    if !answer.body.is_empty() {
        upstream = upstream.excerpt(answer.body);
    }
    upstream
}

/// Adds when to come back. The end of a quota's window explains a rate limit and nothing else.
fn hinted(
    failure: Failure,
    answer: &Answer<'_>,
    document: Option<&Value>,
    now: Timestamp,
) -> Failure {
    let failure = if retry::forbids_retry(answer.headers.iter().copied()) {
        failure.with_repeat(Repeat::Refused)
    } else {
        failure
    };
    let in_headers = retry::from_headers(answer.headers.iter().copied(), now);
    let in_body = || retry::from_body(document?, now);
    let hint = in_headers
        .or_else(in_body)
        .filter(|hint| failure.category() == Category::RateLimit || !hint.is_quota_reset());
    let Some(hint) = hint.filter(|_| failure.retryable()) else {
        return failure;
    };
    let failure = failure.with_retry_after_ms(hint.delay_ms);
    // A server that says when it will be back did not begin the work.
    if answer.status == 503 {
        failure.with_effect(Effect::None)
    } else {
        failure
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::failure::EXCERPT_CHARACTERS_LIMIT;

    use super::*;

    #[test]
    fn a_wait_in_the_body_counts_when_the_headers_are_silent() {
        let asked = |headers| {
            let body = r#"{"error": {"message": "slow down", "retry_after": 2.5}}"#;
            let answer = Answer {
                status: 429,
                headers,
                body,
                provider: None,
            };
            classify(&answer, Timestamp::UNIX_EPOCH)
                .unwrap()
                .recovery()
                .retry_after_ms
        };
        assert_eq!(asked(&[]), Some(2500));
        assert_eq!(asked(&[("retry-after", "7")]), Some(7000));
    }

    fn failure(status: u16, headers: &[(&str, &str)]) -> Failure {
        let answer = Answer {
            status,
            headers,
            body: "",
            provider: Some("api.example.com"),
        };
        classify(&answer, Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn the_status_decides_the_code() {
        for (status, code) in [
            (400, "ERR_HTTP_400_BAD_REQUEST"),
            (404, "ERR_HTTP_404_NOT_FOUND"),
            (418, "ERR_HTTP_418"),
            (503, "ERR_HTTP_503_UNAVAILABLE"),
            (599, "ERR_HTTP_599"),
            (600, "ERR_HTTP_502_BAD_GATEWAY"),
        ] {
            let failure = failure(status, &[]);
            assert_eq!(failure.code().as_str(), code);
            assert_eq!(failure.upstream().unwrap().status, Some(status));
        }
    }

    #[test]
    fn an_answer_below_400_is_no_failure() {
        let answer = |status| Answer {
            status,
            headers: &[],
            body: "",
            provider: None,
        };
        assert!(classify(&answer(399), Timestamp::UNIX_EPOCH).is_none());
        assert!(classify(&answer(400), Timestamp::UNIX_EPOCH).is_some());
    }

    #[test]
    fn a_503_that_names_a_time_had_no_effect() {
        assert_eq!(failure(503, &[]).effect(), Effect::Unknown);
        let told = failure(503, &[("retry-after", "Thu, 01 Jan 1970 00:00:30 GMT")]);
        assert_eq!(told.effect(), Effect::None);
        assert_eq!(told.recovery().retry_after_ms, Some(30_000));
        let quota = failure(503, &[("x-ratelimit-reset", "3600")]);
        assert_eq!(quota.effect(), Effect::Unknown);
    }

    #[test]
    fn a_delay_on_a_code_that_is_never_retried_counts_for_nothing() {
        assert_eq!(
            failure(404, &[("retry-after", "5")])
                .recovery()
                .retry_after_ms,
            None
        );
    }

    #[test]
    fn the_excerpt_ends_at_its_limit() {
        let body = "é".repeat(EXCERPT_CHARACTERS_LIMIT + 1);
        let answer = Answer {
            status: 500,
            headers: &[],
            body: &body,
            provider: None,
        };
        let failure = classify(&answer, Timestamp::UNIX_EPOCH).unwrap().redacted();
        let excerpt = failure.upstream().unwrap().excerpt.clone().unwrap();
        assert_eq!(excerpt.chars().count(), EXCERPT_CHARACTERS_LIMIT);
    }
}
