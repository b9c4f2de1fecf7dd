//! Chooses the code of an error response: by the status, unless the codes or sentences of the service say more.

use panpan_failure::catalogue::for_status;
use panpan_failure::classify::{Condition, LlmFailure, ProviderAnswer};
use panpan_failure::{Facts, Kind, codes};

use super::{ErrorBody, ErrorResponse, credential, limits, misused, stated_code};

pub(super) fn kind(
    response: &ErrorResponse<'_>,
    body: &ErrorBody,
    condition: Option<Condition>,
    asks_to_wait: bool,
) -> Kind {
    let status = response.status;
    let stated_codes: Vec<&str> = body.codes.iter().map(String::as_str).collect();
    let answer = ProviderAnswer {
        status: Some(status),
        words: &stated_codes,
        message: body.message.as_deref().unwrap_or_default(),
    };
    let llm_failure = LlmFailure::of_words(&stated_codes);
    if llm_failure == Some(LlmFailure::QuotaSpent) {
        return LlmFailure::QuotaSpent.into();
    }
    if limits::is_request_too_large(status, &stated_codes, answer.message) {
        return of_status(413);
    }
    // A quota that is renewed after a stated delay is a rate limit, whatever the service calls it.
    let is_quota_spent = stated_code::is_quota_spent(&stated_codes, status)
        || limits::says_quota_spent(answer.message, status);
    if is_quota_spent && !asks_to_wait {
        return codes::ERR_RESOURCE_EXHAUSTED.into();
    }
    if body.is_model_provider || response.provider.is_some_and(is_model_provider) {
        let failure = LlmFailure::of(answer);
        let is_specific = matches!(
            failure,
            LlmFailure::ContextTooLong | LlmFailure::InvalidModel
        ) || (failure == LlmFailure::QuotaSpent && status == 400);
        if llm_failure.is_some() || is_specific {
            return failure.into();
        }
    }
    if limits::is_locked_out(status, answer.message) && !asks_to_wait {
        return of_status(403);
    }
    let is_throttled =
        status == 503 && stated_code::condition(&stated_codes) == Some(Condition::RateLimit);
    let says_rate_limit =
        is_throttled || (condition == Some(Condition::RateLimit) && is_ambiguous(status));
    if says_rate_limit || limits::is_rate_limit(response, &stated_codes, answer.message) {
        return codes::ERR_HTTP_429_RATE_LIMITED.into();
    }
    let is_own = status != 500 || credential::is_of_caller(&stated_codes, answer.message);
    let may_mean_sign_in = is_ambiguous(status) && status != 409 && is_own;
    if condition == Some(Condition::SignIn) && may_mean_sign_in {
        return codes::ERR_HTTP_401_UNAUTHORIZED.into();
    }
    let is_about_input = !body.violations.is_empty();
    let by_code = stated_code::meant_status(&stated_codes, status).filter(|_| !is_about_input);
    of_status(
        by_code
            .or_else(|| misused::meant_status(response, answer.message).filter(|_| !is_about_input))
            .unwrap_or(status),
    )
}

/// A number above 599 is not an HTTP status: a server in between garbled the response.
fn of_status(status: u16) -> Kind {
    for_status(status).map_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into(), Kind::from)
}

/// The code of a response that is final by its status but says that the condition passes.
pub(super) fn try_later(status: u16) -> Kind {
    let kind = Kind::from(codes::ERR_TRY_LATER);
    let facts = Facts {
        http_status: Some(status),
        ..Facts::default()
    };
    Kind::declared(kind.code().clone(), facts).unwrap_or(kind)
}

/// Whether only the status makes a kind final. Waiting never fixes a credential.
pub(super) fn is_final_by_status(kind: &Kind, status: u16) -> bool {
    let is_credential = kind.code().as_str() == codes::ERR_HTTP_401_UNAUTHORIZED.code;
    status != 401
        && !is_credential
        && !kind.retryable()
        && kind.code().as_str().starts_with("ERR_HTTP_")
}

/// Whether services also use a status for conditions that have a status of their own.
pub(super) fn is_ambiguous(status: u16) -> bool {
    matches!(status, 400 | 403 | 409 | 422 | 500)
}

/// Whether a condition with this status can pass by itself.
pub(super) fn can_pass(status: u16, condition: Condition) -> bool {
    let is_in_progress = matches!(condition, Condition::Contention | Condition::Unfinished);
    let is_declined = status == 402 && condition == Condition::Unavailable;
    let may_pass = is_ambiguous(status)
        || is_declined
        || (is_in_progress && matches!(status, 402 | 404 | 405 | 412 | 423));
    may_pass && condition.passes()
}

/// Hosts of language-model providers; subdomains count too.
const MODEL_PROVIDERS: &str = "\
    api.anthropic.com api.cohere.com api.deepseek.com api.groq.com api.mistral.ai api.openai.com \
    api.x.ai generativelanguage.googleapis.com openai.azure.com openrouter.ai";

fn is_model_provider(host: &str) -> bool {
    MODEL_PROVIDERS.split(' ').any(|known| {
        let before = host.strip_suffix(known);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}
