//! From an HTTP error response to a failure.
//!
//! The pipeline is in [`classify_for`]: parse the body (`error_body`) and the headers (`challenge`), read the
//! sentences (`statements`), choose the code (`kind`) by the status that the response means (`meant_status`), find
//! the delay (`delay`) and build the failure (`evidence`). What the contract declares about the response is in `declarations`.
//! Reads no clock: the time is an argument.

mod advice;
mod challenge;
mod counts;
mod credential;
mod declarations;
mod delay;
mod entities;
mod error_body;
mod evidence;
mod in_success;
mod kind;
mod limits;
mod meant_status;
mod misused;
mod page;
mod refusal;
mod stated_code;
mod statements;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;
#[cfg(test)]
mod writes_and_reads_tests;
mod xml_error;

use jiff::Timestamp;
use panpan_failure::Failure;
use panpan_failure::classify::InputMembers;
use serde_json::Value;

pub(crate) use counts::report_work;
pub(crate) use declarations::{Declarations, DeclaredFailure, RequestContext, is_declared_output};
pub(crate) use error_body::{ErrorBody, panpan_failure};
use evidence::Evidence;
pub(crate) use in_success::with_body;
pub(crate) use stated_code::stated_kind;
pub(crate) use statements::CombinedStatements;

/// A response as [`classify`] reads it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorResponse<'a> {
    /// The status.
    pub status: u16,
    /// The headers, by name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body as text.
    pub body: &'a str,
    /// The host or server that answered.
    pub provider: Option<&'a str>,
}

/// The failure that a response means; `None` below status 400.
///
/// ```
/// use panpan_upstream::{ErrorResponse, classify};
///
/// let response = ErrorResponse { status: 429, headers: &[("Retry-After", "7")], body: "slow down", provider: None };
/// let failure = classify(&response, jiff::Timestamp::UNIX_EPOCH).unwrap();
/// assert_eq!(failure.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
/// assert_eq!(failure.recovery().retry_after_ms, Some(7_000));
/// ```
pub fn classify(response: &ErrorResponse<'_>, now: Timestamp) -> Option<Failure> {
    classify_unknown(response, false, now)
}

/// As [`classify`]; `reads` says that the request only reads.
pub(crate) fn classify_unknown(
    response: &ErrorResponse<'_>,
    reads: bool,
    now: Timestamp,
) -> Option<Failure> {
    if response.status < 400 {
        return None;
    }
    let request = RequestContext {
        members: &InputMembers::default(),
        declared: None,
        input: &Value::Null,
        kind_by_rule: None,
        reads,
    };
    classify_for(response, request, now)
}

/// The failure that the response to a known request means; `None` if it is none.
pub(crate) fn classify_for(
    response: &ErrorResponse<'_>,
    request: RequestContext<'_>,
    now: Timestamp,
) -> Option<Failure> {
    if response.status < 300 {
        return None;
    }
    let document = error_body::parse_json(response.body);
    let complete = document.as_ref().filter(|_| response.status >= 400);
    if let Some(failure) = complete.and_then(panpan_failure) {
        return Some(failure);
    }
    let received_status = response.status;
    let response = &ErrorResponse {
        status: meant_status::meant_status(response, document.as_ref())?,
        ..*response
    };
    let mut evidence = Evidence::read(response, request, document.as_ref(), now);
    evidence.received_status = received_status;
    let verdict = evidence.judge();
    Some(evidence.into_failure(verdict))
}

impl ErrorResponse<'_> {
    /// The content encoding of a compressed body, which is empty here because it cannot be read.
    fn compression(&self) -> Option<&str> {
        let named = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("content-encoding");
        let stated = self
            .headers
            .iter()
            .find(named)
            .map(|(_, value)| value.trim());
        let is_compressed = |it: &&str| !it.is_empty() && !it.eq_ignore_ascii_case("identity");
        stated
            .filter(is_compressed)
            .filter(|_| self.body.is_empty())
    }
}
