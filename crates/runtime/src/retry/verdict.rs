//! The verdict of an attempt: what its result means for the circuits of the host and the operation.
//!
//! A failed connection is a failure of the host, and affects all its operations. A 5xx response or a timeout
//! is a failure of one operation; others of the same service may work.

use panpan_failure::{Category, Code, Failure, Inferred, Upstream as Answered, codes};
use serde_json::Value;

/// What an attempt means for one circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Nothing.
    Nothing,
    /// There was a response, whatever it was.
    Answered,
    /// It failed.
    Failed,
}

/// What an attempt means for both circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) host: Signal,
    pub(crate) operation: Signal,
}

/// Codes of a connection that was not established.
const NOT_CONNECTED: [&str; 3] = [
    codes::ERR_CONNECTION_REFUSED.code,
    codes::ERR_DNS_FAILURE.code,
    codes::ERR_SSL_ERROR.code,
];

/// Details that say the same if the code does not.
const NOT_CONNECTED_REASONS: [&str; 2] = ["connect_timeout", "unreachable"];

/// Codes of requests that were not sent.
const NOT_SENT: [&str; 3] = [
    codes::ERR_CIRCUIT_OPEN.code,
    codes::ERR_BLOCKED_HOST.code,
    codes::ERR_OVERLOADED.code,
];

impl Verdict {
    /// The attempt was cancelled, or failed on this side.
    pub(crate) const NOTHING: Self = Self {
        host: Signal::Nothing,
        operation: Signal::Nothing,
    };
    /// The service responded.
    pub(crate) const ANSWERED: Self = Self {
        host: Signal::Answered,
        operation: Signal::Answered,
    };
    /// The attempt timed out.
    pub(crate) const TIMED_OUT: Self = Self {
        host: Signal::Nothing,
        operation: Signal::Failed,
    };
    const NOT_CONNECTED: Self = Self {
        host: Signal::Failed,
        operation: Signal::Nothing,
    };
    const OPERATION_FAILED: Self = Self {
        host: Signal::Answered,
        operation: Signal::Failed,
    };

    /// The verdict of a failure of a service at this host.
    pub(crate) fn of(failure: &Failure, host: Option<&str>) -> Self {
        // A gateway that reports attempts has responded; the failure is behind it.
        if failure.attempts().is_some() {
            return Self::ANSWERED;
        }
        // A code inferred from text means that there was a response.
        let has_status = failure.upstream().is_some_and(|it| it.status.is_some());
        if failure.inferred().contains(&Inferred::Code) && !has_status {
            return Self::ANSWERED;
        }
        if NOT_SENT.contains(&failure.code().as_str()) {
            return Self::NOTHING;
        }
        if !was_connected(failure) {
            return match is_elsewhere(failure, host) {
                // A redirect led to another host.
                true => Self::OPERATION_FAILED,
                false => Self::NOT_CONNECTED,
            };
        }
        match is_service_failure(failure) {
            true => Self::OPERATION_FAILED,
            false => Self::ANSWERED,
        }
    }
}

/// Whether a failure says that the host was not reached.
pub(crate) fn is_not_connected(failure: &Failure) -> bool {
    !was_connected(failure)
}

fn was_connected(failure: &Failure) -> bool {
    let answered = failure.upstream().is_some_and(|it| it.status.is_some());
    let reason = failure.details().and_then(|it| it.get("reason"));
    let reason = reason.and_then(Value::as_str).unwrap_or_default();
    // With an unknown outcome, the request was sent.
    let is_lost = is(failure.code(), codes::ERR_OUTCOME_UNKNOWN.code);
    let is_refused = NOT_CONNECTED.contains(&failure.code().as_str());
    answered || is_lost || !(is_refused || NOT_CONNECTED_REASONS.contains(&reason))
}

fn is_elsewhere(failure: &Failure, host: Option<&str>) -> bool {
    let provider = failure.upstream().and_then(|it| it.provider.as_deref());
    provider
        .zip(host)
        .is_some_and(|(provider, host)| provider != host)
}

/// Whether the service failed, rather than refused this call. Rate limits are not failures.
fn is_service_failure(failure: &Failure) -> bool {
    let is_refusal = failure.upstream().is_some_and(is_client_error);
    let is_lost = is(failure.code(), codes::ERR_OUTCOME_UNKNOWN.code);
    let is_server_side = matches!(
        failure.category(),
        Category::Transient | Category::ServerError | Category::Network | Category::Timeout
    );
    !is_refusal && (is_lost || is_server_side)
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
    fn a_code_inferred_from_text_does_not_count_as_a_failure() {
        let inferred = |entry| failed(entry).mark_inferred(Inferred::Code);
        for entry in [
            codes::ERR_CONNECTION_REFUSED,
            codes::ERR_TIMEOUT,
            codes::ERR_SOCKET_ERROR,
            codes::ERR_TRY_LATER,
        ] {
            assert_eq!(Verdict::of(&inferred(entry), None), Verdict::ANSWERED);
            assert_ne!(Verdict::of(&failed(entry), None), Verdict::ANSWERED);
        }
        let full = failed(codes::ERR_OVERLOADED);
        assert_eq!(Verdict::of(&full, None), Verdict::NOTHING);
    }

    #[test]
    fn only_a_failed_connection_counts_against_the_host() {
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
            // The service responded that another one could not be reached.
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
    fn a_failed_connection_after_a_redirect_does_not_count_against_the_host() {
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
