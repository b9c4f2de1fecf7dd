//! What the end of an attempt tells about the service behind an operation.
//!
//! A host that cannot be connected to keeps every operation behind it from working. A connection that is
//! there and an answer that is a 5xx, or does not come, is the failure of one operation: others of the
//! same service may be well.

use panpan_failure::{Category, Code, Failure, Inferred, Upstream as Answered, codes};
use serde_json::Value;

/// What is known about one circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing.
    Nothing,
    /// It answered, whatever the answer was.
    Answered,
    /// It failed.
    Failed,
}

/// What is known about both circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) host: Told,
    pub(crate) operation: Told,
}

/// Codes of a connection that was never made.
const NOT_CONNECTED: [&str; 3] = [
    codes::ERR_CONNECTION_REFUSED.code,
    codes::ERR_DNS_FAILURE.code,
    codes::ERR_SSL_ERROR.code,
];

/// Reasons in the details that say the same where the code does not.
const NOT_CONNECTED_REASONS: [&str; 2] = ["connect_timeout", "unreachable"];

/// Codes of what was stopped on this side, before anything was sent.
const NOT_SENT: [&str; 3] = [
    codes::ERR_CIRCUIT_OPEN.code,
    codes::ERR_BLOCKED_HOST.code,
    codes::ERR_OVERLOADED.code,
];

impl Verdict {
    /// It was stopped on purpose, or by a defect on this side.
    pub(crate) const NOTHING: Self = Self {
        host: Told::Nothing,
        operation: Told::Nothing,
    };
    /// It gave an answer.
    pub(crate) const ANSWERED: Self = Self {
        host: Told::Answered,
        operation: Told::Answered,
    };
    /// Its time ran out.
    pub(crate) const SILENT: Self = Self {
        host: Told::Nothing,
        operation: Told::Failed,
    };
    const NOT_CONNECTED: Self = Self {
        host: Told::Failed,
        operation: Told::Nothing,
    };
    const OPERATION_FAILED: Self = Self {
        host: Told::Answered,
        operation: Told::Failed,
    };

    /// What a failure tells about a service at this host.
    pub(crate) fn of(failure: &Failure, host: Option<&str>) -> Self {
        // A gateway that says how often something was tried has answered; what is broken lies behind it.
        if failure.attempts().is_some() {
            return Self::ANSWERED;
        }
        // A code that was read from the words of an answer: there was an answer.
        let has_status = failure.upstream().is_some_and(|it| it.status.is_some());
        if failure.inferred().contains(&Inferred::Code) && !has_status {
            return Self::ANSWERED;
        }
        if NOT_SENT.contains(&failure.code().as_str()) {
            return Self::NOTHING;
        }
        if !was_connected(failure) {
            return match is_elsewhere(failure, host) {
                // A redirect led away from the host.
                true => Self::OPERATION_FAILED,
                false => Self::NOT_CONNECTED,
            };
        }
        match is_its_fault(failure) {
            true => Self::OPERATION_FAILED,
            false => Self::ANSWERED,
        }
    }
}

fn was_connected(failure: &Failure) -> bool {
    let answered = failure.upstream().is_some_and(|it| it.status.is_some());
    let reason = failure.details().and_then(|it| it.get("reason"));
    let reason = reason.and_then(Value::as_str).unwrap_or_default();
    // A write after which nothing is known had left.
    let is_lost = is(failure.code(), codes::ERR_OUTCOME_UNKNOWN.code);
    let is_refused = NOT_CONNECTED.contains(&failure.code().as_str());
    answered || is_lost || !(is_refused || NOT_CONNECTED_REASONS.contains(&reason))
}

fn is_elsewhere(failure: &Failure, host: Option<&str>) -> bool {
    let asked = failure.upstream().and_then(|it| it.provider.as_deref());
    asked.zip(host).is_some_and(|(asked, host)| asked != host)
}

/// Whether the operation failed, rather than refused this call. A service that limits rates is well.
fn is_its_fault(failure: &Failure) -> bool {
    let is_refusal = failure.upstream().is_some_and(is_client_error);
    let is_lost = is(failure.code(), codes::ERR_OUTCOME_UNKNOWN.code);
    let is_trouble = matches!(
        failure.category(),
        Category::Transient | Category::ServerError | Category::Network | Category::Timeout
    );
    !is_refusal && (is_lost || is_trouble)
}

fn is_client_error(answered: &Answered) -> bool {
    answered
        .status
        .is_some_and(|status| (400..500).contains(&status))
}

fn is(code: &Code, known: &str) -> bool {
    code.as_str() == known
}

#[cfg(test)]
mod tests {
    use panpan_failure::catalogue::Entry;

    use super::*;

    fn failed(entry: &'static Entry) -> Failure {
        Failure::new(entry)
    }

    #[test]
    fn what_a_tool_says_about_others_is_not_its_own_failure() {
        let said = |entry| failed(entry).mark_inferred(Inferred::Code);
        for entry in [
            codes::ERR_CONNECTION_REFUSED,
            codes::ERR_TIMEOUT,
            codes::ERR_SOCKET_ERROR,
            codes::ERR_TRY_LATER,
        ] {
            assert_eq!(Verdict::of(&said(entry), None), Verdict::ANSWERED);
            assert_ne!(Verdict::of(&failed(entry), None), Verdict::ANSWERED);
        }
        let full = failed(codes::ERR_OVERLOADED);
        assert_eq!(Verdict::of(&full, None), Verdict::NOTHING);
    }

    #[test]
    fn only_a_connection_that_was_not_made_is_the_fault_of_the_host() {
        let reason = |entry, reason: &str| failed(entry).with_detail("reason", reason);
        let status = |entry, status| failed(entry).with_upstream(Answered::status(status));
        let (host, operation) = (Verdict::NOT_CONNECTED, Verdict::OPERATION_FAILED);
        let (answered, nothing) = (Verdict::ANSWERED, Verdict::NOTHING);
        for (failure, verdict) in [
            (failed(codes::ERR_CONNECTION_REFUSED), host),
            (failed(codes::ERR_DNS_FAILURE), host),
            (failed(codes::ERR_SSL_ERROR), host),
            (reason(codes::ERR_TIMEOUT, "connect_timeout"), host),
            (reason(codes::ERR_SOCKET_ERROR, "unreachable"), host),
            (reason(codes::ERR_TIMEOUT, "head_timeout"), operation),
            (reason(codes::ERR_TIMEOUT, "body_timeout"), operation),
            (reason(codes::ERR_SOCKET_ERROR, "cut"), operation),
            (reason(codes::ERR_SOCKET_ERROR, "reset"), operation),
            (failed(codes::ERR_OUTCOME_UNKNOWN), operation),
            (failed(codes::ERR_TIMEOUT), operation),
            (status(codes::ERR_HTTP_500_SERVER_ERROR, 500), operation),
            (status(codes::ERR_HTTP_503_UNAVAILABLE, 503), operation),
            // A service that passes on that another one could not be reached.
            (status(codes::ERR_CONNECTION_REFUSED, 502), operation),
            (status(codes::ERR_HTTP_408_TIMEOUT, 408), answered),
            (failed(codes::ERR_HTTP_429_RATE_LIMITED), answered),
            (failed(codes::ERR_HTTP_404_NOT_FOUND), answered),
            (failed(codes::TOOL_FAILED), answered),
            (failed(codes::ERR_CIRCUIT_OPEN), nothing),
            (failed(codes::ERR_BLOCKED_HOST), nothing),
            (
                failed(codes::ERR_HTTP_503_UNAVAILABLE).with_attempts(1),
                answered,
            ),
        ] {
            assert_eq!(Verdict::of(&failure, None), verdict, "{failure:?}");
        }
    }

    #[test]
    fn a_host_is_not_blamed_for_where_a_redirect_leads() {
        let provider = Answered::default().provider("other.example");
        let failure = failed(codes::ERR_CONNECTION_REFUSED).with_upstream(provider);
        for (host, verdict) in [
            (None, Verdict::NOT_CONNECTED),
            (Some("other.example"), Verdict::NOT_CONNECTED),
            (Some("api.example"), Verdict::OPERATION_FAILED),
        ] {
            assert_eq!(Verdict::of(&failure, host), verdict, "{host:?}");
        }
    }
}
