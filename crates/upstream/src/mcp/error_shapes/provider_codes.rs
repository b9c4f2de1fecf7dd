//! Codes of cloud services, gRPC and Kubernetes in texts, in the formats of their clients.

use std::sync::LazyLock;

use panpan_failure::catalogue::{Entry, code_from_name};
use panpan_failure::classify::{
    Condition, InputMembers, category_of_words, http_status, statements,
};
use panpan_failure::{Category, Effect, Failure, Inferred, Kind, Upstream, codes};
use regex::Regex;

use super::clauses::clauses;
use super::effect_in_text;
use crate::classify::stated_kind;
use crate::mcp::tool_error::bounded;

/// The places of a code at the beginning of a clause.
const PLACES: [Place; 5] = [
    // The AWS SDK for Python.
    Place(
        r"An error occurred \((?P<code>\w+)\) when calling the ",
        Codes::All,
    ),
    // gRPC in Go.
    Place(r"rpc error: code = (?P<code>\w+) desc = ", Codes::All),
    // gRPC in Node.js, with the number of the code.
    Place(r"(?:[1-9]|1[0-6]) (?P<code>[A-Z_]{5,}): ", Codes::Known),
    // kubectl.
    Place(r"Error from server \((?P<code>\w+)\)", Codes::All),
    // The AWS SDK for JavaScript, and the Azure SDK for Python.
    Place(
        r"(?:(?P<code>[A-Z][a-z]\w+): |\((?P<azure>[A-Z][a-z]\w+)\) [A-Z])",
        Codes::Known,
    ),
];

struct Place(&'static str, Codes);

/// Which codes count in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codes {
    /// Any, because only a service writes there.
    All,
    /// Those with a known meaning.
    Known,
}

/// Codes by their meaning, in addition to those of `stated_code`.
const MEANINGS: [(&str, &Entry); 10] = [
    (
        "BadRequest INVALID_ARGUMENT Invalid InvalidArgument InvalidParameterValue MissingParameter \
         OUT_OF_RANGE OutOfRange ValidationError ValidationException",
        codes::INVALID_INPUT_ERROR,
    ),
    (
        "EntityNotFoundException NOT_FOUND NoSuchBucket NoSuchEntity NoSuchKey NotFound ResourceNotFound \
         ResourceNotFoundException",
        codes::ARTIFACT_NOT_FOUND,
    ),
    (
        "ALREADY_EXISTS AlreadyExists BucketAlreadyExists EntityAlreadyExists \
         ResourceAlreadyExistsException",
        codes::ALREADY_EXISTS,
    ),
    (
        "ConditionalCheckFailedException Conflict FAILED_PRECONDITION FailedPrecondition ResourceInUse \
         ResourceInUseException",
        codes::ERR_HTTP_409_CONFLICT,
    ),
    (
        "RESOURCE_EXHAUSTED ResourceExhausted",
        codes::ERR_HTTP_429_RATE_LIMITED,
    ),
    (
        "DEADLINE_EXCEEDED DeadlineExceeded RequestTimeout ServerTimeout Timeout",
        codes::ERR_TIMEOUT,
    ),
    (
        "ServiceUnavailable ServiceUnavailableException UNAVAILABLE Unavailable",
        codes::ERR_HTTP_503_UNAVAILABLE,
    ),
    ("ABORTED Aborted", codes::ERR_TRY_LATER),
    (
        "INTERNAL Internal InternalError InternalFailure InternalServerError InternalServerException",
        codes::ERR_HTTP_500_SERVER_ERROR,
    ),
    ("CANCELLED Canceled Cancelled", codes::ERR_CANCELLED),
];

/// Codes that mean something else with these words in the text, by the status for that.
const EXCEPTIONS: [(&str, &str, u16); 3] = [
    ("RESOURCE_EXHAUSTED", "larger than max", 413),
    ("ResourceExhausted", "larger than max", 413),
    ("Forbidden", "exceeded quota", 507),
];

/// Ends of codes for a limit that waiting does not lift.
const LIMITS: [&str; 3] = ["LimitExceeded", "LimitExceededException", "QuotaExceeded"];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compiled = PLACES.iter().map(|Place(pattern, _)| {
        Regex::new(&format!("^{pattern}")).expect("a fixed pattern compiles")
    });
    compiled.collect()
});

/// The failure for the code of a service in a text.
pub(super) fn in_text(text: &str) -> Option<Failure> {
    clauses(text).into_iter().find_map(|clause| {
        let (code, codes) = code_of(clause.text)?;
        let kind = match codes {
            Codes::All => kind_of(code, text).or_else(|| kind_of_words(code))?,
            Codes::Known => kind_of(code, text).filter(|_| clause.is_opening())?,
        };
        let kind = unless_it_passes(kind, text);
        let failure = Failure::new(kind)
            .with_message(bounded(text))
            .with_upstream(Upstream::default().code(code))
            .with_detail("code", code)
            .mark_inferred(Inferred::Code);
        // Only a rate limit proves that nothing was begun.
        let effect = match failure.retryable() && failure.category() != Category::RateLimit {
            true => Effect::Unknown,
            false => effect_in_text(&failure, clause, text),
        };
        Some(failure.with_effect(effect))
    })
}

fn code_of(clause: &str) -> Option<(&str, Codes)> {
    PLACES
        .iter()
        .zip(PATTERNS.iter())
        .find_map(|(place, pattern)| {
            let found = pattern.captures(clause)?;
            let code = found.name("code").or(found.name("azure"))?;
            Some((code.as_str(), place.1))
        })
}

/// The kind for a code whose meaning is known.
fn kind_of(code: &str, text: &str) -> Option<Kind> {
    let exception = EXCEPTIONS
        .iter()
        .find(|(known, words, _)| *known == code && text.contains(words));
    if let Some((_, _, status)) = exception {
        return match status {
            507 => Some(codes::ERR_RESOURCE_EXHAUSTED.into()),
            status => http_status(*status),
        };
    }
    let is_listed = |names: &str| names.split_ascii_whitespace().any(|name| name == code);
    let listed = MEANINGS.iter().find(|(names, _)| is_listed(names));
    let stated = || stated_kind(code);
    let is_limit = || LIMITS.iter().any(|end| code.ends_with(end));
    let limit = || is_limit().then(|| codes::ERR_RESOURCE_EXHAUSTED.into());
    listed
        .map(|(_, entry)| Kind::from(*entry))
        .or_else(stated)
        .or_else(limit)
}

/// A conflict with work in progress ends with that work.
fn unless_it_passes(kind: Kind, text: &str) -> Kind {
    let is_conflict = kind.code().as_str() == codes::ERR_HTTP_409_CONFLICT.code;
    let condition = || statements(text, &InputMembers::default()).condition;
    match is_conflict && condition() == Some(Condition::Contention) {
        true => codes::ERR_TRY_LATER.into(),
        false => kind,
    }
}

/// The kind that the words of an unknown code imply.
fn kind_of_words(code: &str) -> Option<Kind> {
    let entry = match category_of_words(&code_from_name(code))? {
        Category::RateLimit => codes::ERR_HTTP_429_RATE_LIMITED,
        Category::AuthFail => codes::ERR_HTTP_401_UNAUTHORIZED,
        Category::Validation => codes::INVALID_INPUT_ERROR,
        Category::Resource => codes::ERR_RESOURCE_EXHAUSTED,
        Category::Timeout => codes::ERR_TIMEOUT,
        Category::Transient | Category::Network => codes::ERR_HTTP_503_UNAVAILABLE,
        Category::ClientError if code.contains("NotFound") || code.starts_with("NoSuch") => {
            codes::ARTIFACT_NOT_FOUND
        }
        Category::ClientError => codes::ERR_HTTP_409_CONFLICT,
        Category::ServerError | Category::Permanent => return None,
    };
    Some(entry.into())
}

#[cfg(test)]
mod tests;
