//! From an HTTP answer to a failure.
//!
//! Looks at status, headers and body as they came, and at what the contract declares about them; reads no
//! clock: the time is an argument. What a body says is found in `lift`, what follows from sentences in
//! `heard`.

use jiff::Timestamp;
use panpan_failure::catalogue::{Remedy, for_status};
use panpan_failure::classify::{
    Condition, InputMembers, LlmFailure, ProviderAnswer, category_of_words, statements,
};
use panpan_failure::{Category, Effect, Failure, Kind, Repeat, Upstream, codes, hint};
use serde_json::Value;

use crate::asked::Asked;
use crate::bounded::{MORE, bounded};
use crate::heard::{Heard, try_later};
use crate::lift::{self, Lifted};

/// How much of what a service says is a message, or the reason of a violation, in characters.
pub(crate) const SAID_CHARACTERS_LIMIT: usize = 1_000;

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
    let asked = Asked {
        members: &InputMembers::default(),
        declared: None,
        input: &Value::Null,
        ruled: None,
    };
    classify_for(answer, asked, now)
}

/// The failure an answer to a question stands for, with what the contract declares about it.
pub(crate) fn classify_for(
    answer: &Answer<'_>,
    asked: Asked<'_>,
    now: Timestamp,
) -> Option<Failure> {
    if answer.status < 400 {
        return None;
    }
    let document = lift::parsed(answer.body);
    if let Some(failure) = document.as_ref().and_then(lift::panpan_failure) {
        return Some(failure);
    }
    let mut lifted = match &document {
        Some(document) => lift::lift(document),
        None => lift::lift_text(answer.body),
    };
    // Read whole: what is cut off could take back what is left.
    let text = lifted.message.as_deref().unwrap_or_default();
    let mut heard = Heard {
        received: statements(text, asked.members),
        declared: asked.declared.map(|it| &it.statements),
    };
    // What is stated in a member of its own counts for more than any sentence.
    heard.received.nothing_happened &= lifted.effect.is_none();
    lifted.shorten(asked.input);
    let clues = Clues {
        answer,
        document: document.as_ref(),
        now,
    };
    let is_refused =
        hint::forbids_retry(answer.headers.iter().copied()) || lifted.retryable == Some(false);
    let is_asked_to_wait = clues.wait(false).is_some() || heard.invited_ms().is_some();
    // An answer that says what is wrong with the input is about that.
    let is_about_input = !lifted.violations.is_empty() || !heard.received.demands.is_empty();
    let condition = heard.received.condition.filter(|_| !is_about_input);
    let mut kind = kind(answer, &lifted, condition, is_asked_to_wait);
    let is_asked_to_repeat = is_asked_to_wait || lifted.retryable == Some(true);
    let passes = is_vague(answer.status) && condition.is_some_and(Condition::passes);
    let is_final = is_refused || !is_final_by_status(&kind, answer.status);
    if !is_final && (is_asked_to_repeat || passes) {
        kind = try_later(answer.status);
    }
    // What failed inside the service, or was cut short there, may have begun.
    let is_cut_short = passes && !is_asked_to_repeat && condition != Some(Condition::RateLimit);
    let may_have_begun = is_cut_short || answer.status == 500;
    // Only of what other input cures is it told what is wrong with this one.
    let remedies = asked.ruled.unwrap_or(&kind).remedies();
    if !remedies.contains(Remedy::ChangeInput) {
        lifted.violations.clear();
    }
    lifted
        .violations
        .retain_mut(|it| match asked.located(&it.pointer) {
            Some(pointer) => {
                it.pointer = pointer;
                true
            }
            None => false,
        });
    let mut failure = Failure::new(kind)
        .with_message(message(answer, &lifted))
        .with_upstream(upstream(answer, &lifted))
        .with_violations(std::mem::take(&mut lifted.violations));
    if may_have_begun {
        failure = failure.with_effect(Effect::Unknown);
    }
    if let Some(said) = &lifted.message {
        failure = failure.with_detail("upstream_message", said.as_str());
    }
    if let Some(code) = lifted.words.first() {
        failure = failure.with_detail("code", code.as_str());
    }
    if let Some(meaning) = asked.declared.and_then(|it| it.meaning.as_deref()) {
        failure = failure.with_meaning(meaning);
    }
    failure = clues.timed(failure, heard.received.something_happened);
    failure = heard.told(failure, asked.input, remedies);
    if heard.received.done_in_part && failure.effect() == Effect::None {
        failure = failure.with_effect(Effect::Unknown);
    }
    if let Some(effect) = lifted.effect {
        failure = failure.with_effect(effect);
    }
    if is_refused && failure.retryable() {
        failure = failure.with_max_retries(0).with_repeat(Repeat::Refused);
    }
    Some(match lifted.message {
        Some(_) => failure,
        None => unexplained(failure, answer),
    })
}

/// A failure without a word of the service's own: nobody is sent to read what is not there.
fn unexplained(failure: Failure, answer: &Answer<'_>) -> Failure {
    let usual = failure.kind().default_recovery().required_actions;
    let refers = usual.iter().any(|action| action.contains("the message"));
    let is_told = failure.meaning().is_some() || !failure.violations().is_empty();
    let is_input = failure.remedies().contains(Remedy::ChangeInput);
    let why = match answer.packing() {
        Some(_) => "packed why, so that it could not be read",
        None => "did not say why",
    };
    match refers && is_input && !is_told {
        true => failure.with_actions([format!(
            "Compare the input with what the operation takes: the service refused it and {why}"
        )]),
        false => failure,
    }
}

impl Answer<'_> {
    /// How its body is packed, if it is: then nothing of it was handed on.
    fn packing(&self) -> Option<&str> {
        let named = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("content-encoding");
        let how = self
            .headers
            .iter()
            .find(named)
            .map(|(_, value)| value.trim());
        let is_packed = |it: &&str| !it.is_empty() && !it.eq_ignore_ascii_case("identity");
        how.filter(is_packed).filter(|_| self.body.is_empty())
    }
}

impl Lifted {
    fn shorten(&mut self, input: &Value) {
        let shown = |text: String| bounded(&text, SAID_CHARACTERS_LIMIT, input);
        self.message = self.message.take().map(shown).filter(|it| it != MORE);
        for violation in &mut self.violations {
            violation.reason = shown(std::mem::take(&mut violation.reason));
        }
    }
}

/// Whether only the status says that waiting is in vain. A credential is never a matter of waiting.
fn is_final_by_status(kind: &Kind, status: u16) -> bool {
    let is_of_credential = kind.code().as_str() == codes::ERR_HTTP_401_UNAUTHORIZED.code;
    status != 401
        && !is_of_credential
        && !kind.retryable()
        && kind.code().as_str().starts_with("ERR_HTTP_")
}

/// The code: by the service's own words where they are known to say more than the status.
fn kind(
    answer: &Answer<'_>,
    lifted: &Lifted,
    condition: Option<Condition>,
    is_asked_to_wait: bool,
) -> Kind {
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
    // A quota that comes back at a stated time is a rate limit, whatever it is called.
    if (is_spent(&words) || is_spent_for_good(said.message)) && !is_asked_to_wait {
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
    let says_limit = condition == Some(Condition::RateLimit) && is_vague(answer.status);
    if says_limit || (answer.status == 403 && is_rate_limit(answer, &words)) {
        return codes::ERR_HTTP_429_RATE_LIMITED.into();
    }
    let may_want_sign_in = is_vague(answer.status) && answer.status != 409;
    if condition == Some(Condition::SignIn) && may_want_sign_in {
        return codes::ERR_HTTP_401_UNAUTHORIZED.into();
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

/// Whether a sentence says that a quota comes back with a new month or for money.
fn is_spent_for_good(message: &str) -> bool {
    const OVER: &[&str] = &[
        "exhausted",
        "exceeded",
        "reached",
        "used up",
        "spent",
        "ran out",
        "run out",
    ];
    const FOR_GOOD: &[&str] = &[
        "monthly",
        "upgrade your plan",
        "upgrade to ",
        "your plan",
        "billing",
    ];
    let message = message.to_ascii_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| message.contains(word));
    holds(&["quota", "limit", "credits", "allowance"]) && holds(OVER) && holds(FOR_GOOD)
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

/// Whether a status is also used by services that mean another.
fn is_vague(status: u16) -> bool {
    matches!(status, 400 | 403 | 409 | 422 | 500)
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

/// What went wrong in the service's own words; how it arrived is told beside it.
fn message(answer: &Answer<'_>, lifted: &Lifted) -> String {
    let who = answer.provider.unwrap_or("the upstream");
    match &lifted.message {
        Some(said) => said.clone(),
        None if answer.status > 599 => format!(
            "{who} answered with status {}, which HTTP does not have",
            answer.status
        ),
        None => match answer.packing() {
            Some(how) => format!(
                "{who} answered HTTP {} and packed what it said ({how}), so that it could not be read",
                answer.status
            ),
            None => format!("{who} answered HTTP {}", answer.status),
        },
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

/// Where an answer says when to come back, in members and headers made for that.
struct Clues<'a> {
    answer: &'a Answer<'a>,
    document: Option<&'a Value>,
    now: Timestamp,
}

impl Clues<'_> {
    /// How long to wait, and whether a header says so. The end of a quota's window explains a rate limit
    /// and nothing else.
    fn wait(&self, explains_quota: bool) -> Option<(u64, bool)> {
        let counts = |hint: &hint::Hint| explains_quota || !hint.is_quota_reset();
        let in_headers = hint::from_headers(self.answer.headers.iter().copied(), self.now);
        let in_headers = in_headers.filter(counts).map(|hint| (hint.delay_ms, true));
        let in_body = || {
            let hint = hint::from_body(self.document?, self.now);
            hint.filter(counts).map(|hint| (hint.delay_ms, false))
        };
        in_headers.or_else(in_body)
    }

    /// Adds when to come back. `is_affirmed` says that the answer speaks of something that was done.
    fn timed(&self, failure: Failure, is_affirmed: bool) -> Failure {
        let wait = self.wait(failure.category() == Category::RateLimit);
        let Some((delay_ms, is_header)) = wait.filter(|_| failure.retryable()) else {
            return failure;
        };
        let failure = failure.with_retry_after_ms(delay_ms);
        // A server that answers so by the rules of HTTP did not begin the work. A delay in a body is no
        // such evidence: work that was accepted is also polled.
        match self.answer.status {
            429 | 503 if is_header && !is_affirmed => failure.with_effect(Effect::None),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::{EXCERPT_CHARACTERS_LIMIT, Inferred};

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
    fn a_status_that_http_does_not_have_is_not_told_as_one() {
        for (status, message) in [
            (599, "api.example.com answered HTTP 599"),
            (
                600,
                "api.example.com answered with status 600, which HTTP does not have",
            ),
        ] {
            assert_eq!(failure(status, &[]).message(), message);
        }
    }

    #[test]
    fn what_a_sentence_says_about_waiting_quotas_and_effects_counts() {
        let minutes = "Please wait a few minutes before you try again.";
        for (status, said, code, delay_ms, effect) in [
            (
                400,
                "The record is locked by another process. Try again later.".to_owned(),
                "ERR_TRY_LATER",
                Some(30_000),
                Effect::None,
            ),
            (
                409,
                "Another deployment is in progress. Try again in a minute.".to_owned(),
                "ERR_TRY_LATER",
                Some(60_000),
                Effect::None,
            ),
            (
                403,
                format!("You have exceeded a secondary rate limit. {minutes}"),
                "ERR_HTTP_429_RATE_LIMITED",
                Some(180_000),
                Effect::None,
            ),
            (
                429,
                "Monthly quota of your plan exhausted. Upgrade to continue.".to_owned(),
                "ERR_RESOURCE_EXHAUSTED",
                None,
                Effect::None,
            ),
            (
                400,
                "Order was saved but the confirmation mail could not be sent".to_owned(),
                "ERR_HTTP_400_BAD_REQUEST",
                None,
                Effect::Unknown,
            ),
            (
                400,
                "Session expired, please log in again".to_owned(),
                "ERR_HTTP_401_UNAUTHORIZED",
                None,
                Effect::None,
            ),
            (
                400,
                "Too many requests".to_owned(),
                "ERR_HTTP_429_RATE_LIMITED",
                None,
                Effect::None,
            ),
            (
                422,
                "could not connect to the database".to_owned(),
                "ERR_TRY_LATER",
                None,
                Effect::Unknown,
            ),
            (
                404,
                "could not connect to the database".to_owned(),
                "ERR_HTTP_404_NOT_FOUND",
                None,
                Effect::None,
            ),
            (
                400,
                "timeout must be at most 30".to_owned(),
                "ERR_HTTP_400_BAD_REQUEST",
                None,
                Effect::None,
            ),
            (
                500,
                "Unauthorized".to_owned(),
                "ERR_HTTP_401_UNAUTHORIZED",
                None,
                Effect::Unknown,
            ),
            (
                400,
                "The name is wrong. Please correct it and try again.".to_owned(),
                "ERR_HTTP_400_BAD_REQUEST",
                None,
                Effect::None,
            ),
        ] {
            let answer = Answer {
                status,
                headers: &[],
                body: &said,
                provider: None,
            };
            let failure = classify(&answer, Timestamp::UNIX_EPOCH).unwrap();
            let delay = failure.stated_retry_after_ms();
            let found = (failure.code().as_str(), delay, failure.effect());
            assert_eq!(found, (code, delay_ms, effect), "{said}");
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

    fn said(status: u16, body: &str) -> Failure {
        let answer = Answer {
            status,
            headers: &[],
            body,
            provider: Some("api.example.com"),
        };
        classify(&answer, Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_delay_makes_a_final_status_one_to_wait_for() {
        let later = |failure: &Failure, delay_ms: u64| {
            assert_eq!(failure.code().as_str(), "ERR_TRY_LATER");
            assert!(failure.may_repeat());
            assert_eq!(failure.effect(), Effect::None);
            assert_eq!(failure.recovery().retry_after_ms, Some(delay_ms));
        };
        let by_header = failure(404, &[("retry-after", "5")]);
        later(&by_header, 5_000);
        assert_eq!(by_header.kind().http_status(), 404);
        assert_eq!(by_header.upstream().unwrap().status, Some(404));
        later(
            &said(
                409,
                r#"{"error": {"message": "locked", "retry_after_ms": 250}}"#,
            ),
            250,
        );
        later(
            &said(
                409,
                r#"{"message": "an export is running, retry in 2 seconds"}"#,
            ),
            2_000,
        );
        later(&said(400, "Busy. Please try again in 3 seconds.\n"), 3_000);
        later(&said(422, r#"{"code": "X", "retryable": true}"#), 1_000);
        for (failure, code) in [
            (
                failure(401, &[("retry-after", "5")]),
                "ERR_HTTP_401_UNAUTHORIZED",
            ),
            (
                failure(403, &[("retry-after", "5")]),
                "ERR_HTTP_429_RATE_LIMITED",
            ),
            (
                failure(429, &[("retry-after", "5")]),
                "ERR_HTTP_429_RATE_LIMITED",
            ),
            (
                failure(404, &[("x-ratelimit-reset", "5")]),
                "ERR_HTTP_404_NOT_FOUND",
            ),
            (
                failure(404, &[("retry-after", "5"), ("x-should-retry", "false")]),
                "ERR_HTTP_404_NOT_FOUND",
            ),
            (
                said(404, r#"{"retry_after": 5, "retryable": false}"#),
                "ERR_HTTP_404_NOT_FOUND",
            ),
            (
                said(
                    404,
                    r#"{"message": "retry policy was updated 5 seconds ago"}"#,
                ),
                "ERR_HTTP_404_NOT_FOUND",
            ),
        ] {
            assert_eq!(failure.code().as_str(), code);
        }
    }

    #[test]
    fn a_delay_read_from_a_sentence_is_marked_and_one_in_a_member_is_not() {
        let marked = |body| said(429, body).inferred().contains(&Inferred::Delay);
        assert!(marked(r#"{"message": "try again in 5 seconds"}"#));
        assert!(!marked(
            r#"{"message": "try again in 5 seconds", "retry_after": 4}"#
        ));
        let both = said(
            429,
            r#"{"message": "try again in 5 seconds", "retry_after": 4}"#,
        );
        assert_eq!(both.recovery().retry_after_ms, Some(4_000));
    }

    #[test]
    fn only_a_header_a_word_or_a_sentence_says_that_nothing_happened() {
        let accepted = said(
            503,
            r#"{"message": "accepted, still working", "retry_after": 0.2}"#,
        );
        assert_eq!(accepted.effect(), Effect::Unknown);
        assert_eq!(accepted.recovery().retry_after_ms, Some(200));
        let sentence = said(500, r#"{"message": "Deadlock found, nothing was changed"}"#);
        assert_eq!(sentence.effect(), Effect::None);
        assert!(sentence.inferred().contains(&Inferred::Effect));
        let word = said(500, r#"{"error": {"message": "no", "effect": "none"}}"#);
        assert_eq!(word.effect(), Effect::None);
        assert!(!word.inferred().contains(&Inferred::Effect));
        let both = said(
            500,
            r#"{"message": "nothing was changed", "effect": "applied"}"#,
        );
        assert_eq!(both.effect(), Effect::Applied);
        let twice = said(
            500,
            r#"{"message": "nothing was changed", "effect": "none"}"#,
        );
        assert!(!twice.inferred().contains(&Inferred::Effect));
    }

    #[test]
    fn a_sentence_about_a_part_says_nothing_about_the_call() {
        for message in [
            "Order 17 was created, the payment failed. Nothing was charged.",
            "The order was created. No charge was made.",
            "Invoice saved. Nothing was sent.",
            "mail server down: nothing was sent",
            "Order stored, payment gateway timed out, no payment was taken",
            "We charged your card. Sending failed: nothing was sent.",
            "The first batch was imported. The second failed and the transaction was rolled back.",
            "Audit log unavailable, no record was written",
            "Replication failed: nothing has been done",
            "The order was placed – nothing was charged",
        ] {
            let body = serde_json::json!({"message": message}).to_string();
            assert_eq!(said(500, &body).effect(), Effect::Unknown, "{message}");
        }
    }

    #[test]
    fn a_time_in_a_header_does_not_undo_what_the_answer_says_was_done() {
        let effect = |message: &str| {
            let body = serde_json::json!({"message": message}).to_string();
            let answer = Answer {
                status: 503,
                headers: &[("Retry-After", "1")],
                body: &body,
                provider: None,
            };
            classify(&answer, Timestamp::UNIX_EPOCH).unwrap().effect()
        };
        assert_eq!(
            effect("Order 17 was created, the index is down"),
            Effect::Unknown
        );
        assert_eq!(effect("The index is down"), Effect::None);
    }

    #[test]
    fn a_delay_beside_what_was_done_invites_nobody_to_repeat() {
        for (status, message) in [
            (
                409,
                "Your order was received and is being processed, check back in 1 second",
            ),
            (409, "Your order was received, please try again in 1 second"),
            (400, "Your payment was accepted; please wait 1 second"),
        ] {
            let body = serde_json::json!({"message": message}).to_string();
            assert!(!said(status, &body).retryable(), "{message}");
        }
        let limited = said(
            429,
            r#"{"message": "You have sent too many requests, try again in 5 seconds"}"#,
        );
        assert_eq!(limited.recovery().retry_after_ms, Some(5_000));
    }

    #[test]
    fn a_service_that_says_not_to_repeat_is_believed() {
        for failure in [
            failure(503, &[("x-should-retry", "false")]),
            said(503, r#"{"retryable": false}"#),
            said(
                429,
                r#"{"error": {"message": "enough", "retriable": false}}"#,
            ),
        ] {
            assert_eq!(failure.repeat(), Some(Repeat::Refused));
            assert!(!failure.may_repeat());
        }
        assert!(said(503, r#"{"retryable": true}"#).may_repeat());
    }

    #[test]
    fn a_quota_that_comes_back_at_a_stated_time_is_a_rate_limit() {
        let spent = said(
            429,
            r#"{"error": {"code": "quota_exceeded", "message": "no more"}}"#,
        );
        assert_eq!(spent.code().as_str(), "ERR_RESOURCE_EXHAUSTED");
        let minute = said(
            429,
            r#"{"error": {"code": "quota_exceeded", "retry_after_seconds": 2}}"#,
        );
        assert_eq!(minute.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
    }

    #[test]
    fn the_code_of_the_service_is_a_member_of_the_details() {
        let failure = said(
            404,
            r#"{"error": {"type": "ARTICLE_UNKNOWN", "message": "no article W-99"}}"#,
        );
        assert_eq!(failure.details().unwrap()["code"], "ARTICLE_UNKNOWN");
        assert_eq!(
            failure.upstream().unwrap().code.as_deref(),
            Some("ARTICLE_UNKNOWN")
        );
        assert_eq!(failure.message(), "no article W-99");
    }

    #[test]
    fn nobody_is_sent_to_a_message_that_is_not_there() {
        let action = |failure: Failure| failure.recovery().required_actions.join(" ");
        for status in (400..500).filter(|it| *it != 429) {
            for silent in [failure(status, &[]), said(status, r#"{"code": "E-1"}"#)] {
                let action = action(silent);
                assert!(!action.contains("message"), "{status}: {action}");
            }
        }
        assert!(action(said(400, r#"{"message": "no"}"#)).contains("as the message says"));
    }

    #[test]
    fn a_packed_answer_is_called_packed_and_not_silent() {
        let action = |failure: &Failure| failure.recovery().required_actions.join(" ");
        let packed = failure(400, &[("Content-Encoding", "gzip")]);
        assert!(
            packed.message().contains("packed what it said (gzip)"),
            "{packed:?}"
        );
        assert!(action(&packed).contains("packed why"), "{packed:?}");
        let plain = failure(400, &[("Content-Encoding", "identity")]);
        assert!(!plain.message().contains("packed"), "{plain:?}");
        assert!(action(&plain).contains("did not say why"), "{plain:?}");
    }

    #[test]
    fn a_long_message_is_cut_and_not_lost() {
        let long = |length: usize| "word ".repeat(length / 5);
        for length in [
            SAID_CHARACTERS_LIMIT,
            SAID_CHARACTERS_LIMIT + 5,
            60_000,
            70_000,
        ] {
            let text = long(length);
            let entry = serde_json::json!({"field": "a", "message": text});
            let body = serde_json::json!({"message": text, "errors": [entry]}).to_string();
            let failure = said(400, &body);
            let reason = failure.violations()[0].reason.as_str();
            for said in [failure.message(), reason] {
                assert!(said.starts_with("word word") && said.chars().count() <= 1_001);
                assert_eq!(
                    said.ends_with('…'),
                    length > SAID_CHARACTERS_LIMIT,
                    "{length}"
                );
            }
            assert!(failure.details().unwrap()["upstream_message"] == failure.message());
        }
        let secret = "sk-live-0123456789abcdef0123456789abcdef";
        let body = serde_json::json!({"message": format!("{}{secret}", "a".repeat(990) + " ")});
        let failure = said(400, &body.to_string());
        assert!(!failure.message().contains("sk-live"), "{failure:?}");
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
