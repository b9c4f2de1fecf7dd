//! What trouble with a server means to whoever called: its code by what broke, its effect by how far the
//! call had got and by what it may change.

use std::io::ErrorKind;

use jiff::Timestamp;
use panpan_failure::classify::{NetworkFailure, io_failure};
use panpan_failure::{Cause, Effect, Failure, Kind, Upstream, codes};

use super::error::{HttpAnswer, McpError, Unanswered};
use super::lifted;
use crate::classify::{ErrorResponse, classify};

/// What to do where a server asks for something that its client cannot answer.
pub(super) const ASK_A_PERSON: &str = "Give everything it needs as arguments, or use it with an MCP client that shows questions to a person (elicitation)";

/// What is at stake when a call was sent and its answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stake {
    /// Nothing: it only reads.
    Nothing,
    /// It changes something, and doing it again changes nothing more.
    Repeatable,
    /// It changes something.
    Change,
}

impl Stake {
    /// What an answered failure of which nothing else is known may have left behind.
    pub(super) fn left_behind(self, failure: &Failure) -> Effect {
        match self {
            Self::Nothing => Effect::None,
            Self::Repeatable | Self::Change => failure.effect(),
        }
    }
}

/// The failure for a request that was not answered.
pub(super) fn failure(server: &str, lost: &Unanswered, stake: Stake, now: Timestamp) -> Failure {
    let told = if lost.sent {
        after(server, &lost.error, stake, now)
    } else {
        let failure = before(server, &lost.error, now).with_effect(Effect::None);
        match failure.code().as_str() == codes::ERR_TIMEOUT.code {
            // No tool of the server is to blame.
            true => failure.with_detail("reason", "connect_timeout"),
            false => failure,
        }
    };
    told.with_detail("server", server)
}

/// The server cannot have begun.
fn before(server: &str, error: &McpError, now: Timestamp) -> Failure {
    let (code, message): (Kind, _) = match error {
        McpError::Start { source, .. } => (
            not_started(source.kind()),
            format!("the program of the MCP server {server} could not be started"),
        ),
        McpError::Resting { wait_ms, last } => return resting(server, *wait_ms, last, now),
        McpError::Silent { what, waited_ms } => (
            codes::ERR_TIMEOUT.into(),
            format!("the MCP server {server} did not answer {what} within {waited_ms} ms"),
        ),
        McpError::Ended(_) => (
            codes::ERR_CONNECTION_REFUSED.into(),
            format!("the MCP server {server} ended before it was ready"),
        ),
        McpError::SessionExpired => (
            codes::ERR_CONNECTION_REFUSED.into(),
            format!("the MCP server {server} ends every session at once"),
        ),
        McpError::Network { way, .. } => ((*way).into(), unreachable(server, *way)),
        McpError::Full { limit } => (
            codes::ERR_OVERLOADED.into(),
            format!(
                "{limit} callers use the MCP server {server} already, and it takes no more at once"
            ),
        ),
        McpError::Nonsense(_)
        | McpError::Unreadable
        | McpError::Asks(_)
        | McpError::Refused(_)
        | McpError::Status(_) => {
            return answered(server, error, now);
        }
    };
    Failure::new(code).with_message(message)
}

/// The server may have begun.
fn after(server: &str, error: &McpError, stake: Stake, now: Timestamp) -> Failure {
    match error {
        McpError::Silent { waited_ms, .. } => {
            let message = format!("the MCP server {server} did not answer within {waited_ms} ms");
            lost(codes::ERR_TIMEOUT.into(), message, stake)
        }
        McpError::Network { way, .. } => {
            let message =
                format!("the connection to the MCP server {server} broke before its answer");
            lost((*way).into(), message, stake)
        }
        McpError::Refused(_)
        | McpError::Status(_)
        | McpError::Nonsense(_)
        | McpError::Asks(_)
        | McpError::Unreadable => {
            let failure = answered(server, error, now);
            let effect = stake.left_behind(&failure);
            failure.with_effect(effect)
        }
        _ => {
            let message = format!("the MCP server {server} ended before its answer");
            lost(codes::ERR_SOCKET_ERROR.into(), message, stake)
        }
    }
}

/// No answer to something that was sent.
fn lost(kind: Kind, message: String, stake: Stake) -> Failure {
    let failure = Failure::new(kind).with_message(message);
    match stake {
        Stake::Nothing => failure.with_effect(Effect::None),
        Stake::Repeatable => failure.with_effect(Effect::Unknown),
        Stake::Change => {
            let cause = Cause {
                code: Some(failure.code().clone()),
                message: failure.message().to_owned(),
            };
            failure
                .restated(codes::ERR_OUTCOME_UNKNOWN.into())
                .with_effect(Effect::Unknown)
                .with_cause(cause)
        }
    }
}

/// It answered, and not with a result.
fn answered(server: &str, error: &McpError, now: Timestamp) -> Failure {
    match error {
        McpError::Refused(refusal) => lifted::refusal(server, refusal, now),
        McpError::Status(answer) => of_status(server, answer, now),
        McpError::Asks(why) => Failure::new(codes::TOOL_FAILED)
            .with_message(why)
            .with_actions([ASK_A_PERSON]),
        other => Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
            .with_message(match other {
                McpError::Unreadable => {
                    format!(
                        "the MCP server {server} answered, and its answer is not readable JSON-RPC"
                    )
                }
                _ => format!("the MCP server {server} broke the protocol"),
            })
            .with_upstream(Upstream::default().provider(server)),
    }
}

fn of_status(server: &str, answer: &HttpAnswer, now: Timestamp) -> Failure {
    let headers: Vec<(&str, &str)> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let told = ErrorResponse {
        status: answer.status,
        headers: &headers,
        body: &answer.body,
        provider: Some(server),
    };
    let message = format!("the MCP server {server} answered HTTP {}", answer.status);
    classify(&told, now)
        .unwrap_or_else(|| {
            let upstream = Upstream::status(answer.status).provider(server);
            Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
                .with_upstream(upstream.excerpt(&answer.body))
                .with_actions(["Check the address: what answers there does not speak MCP"])
        })
        .with_message(message)
}

/// Not connected to again for a while. What can never be mended by waiting is told as it was.
fn resting(server: &str, wait_ms: u64, last: &McpError, now: Timestamp) -> Failure {
    let before = before(server, last, now);
    if !before.retryable() {
        return before;
    }
    let cause = Cause {
        code: Some(before.code().clone()),
        message: before.message().to_owned(),
    };
    Failure::new(codes::ERR_CIRCUIT_OPEN)
        .with_message(format!(
            "the MCP server {server} could not be connected to; next attempt in {wait_ms} ms"
        ))
        .with_detail("circuit", "host")
        .with_detail("upstream", server)
        .with_retry_after_ms(wait_ms)
        .with_cause(cause)
}

/// A program that is not there, or may not be run, is a matter of configuration.
fn not_started(kind: ErrorKind) -> Kind {
    match kind {
        ErrorKind::OutOfMemory | ErrorKind::WouldBlock | ErrorKind::ExecutableFileBusy => {
            io_failure(kind).into()
        }
        _ => codes::NOT_CONFIGURED.into(),
    }
}

fn unreachable(server: &str, way: NetworkFailure) -> String {
    match way {
        NetworkFailure::Connection => format!("no MCP server answers at the address of {server}"),
        NetworkFailure::Timeout => {
            format!("no connection to the MCP server {server} came about in time")
        }
        NetworkFailure::Dns => format!("the host of the MCP server {server} has no address"),
        NetworkFailure::Tls => {
            format!("no secure connection to the MCP server {server} came about")
        }
        NetworkFailure::Socket => format!("the MCP server {server} cannot be reached"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mcp::error::Refusal;

    fn ended() -> McpError {
        McpError::Ended("exit status: 3".to_owned())
    }

    fn silent() -> McpError {
        McpError::Silent {
            what: "a call",
            waited_ms: 5,
        }
    }

    fn status(status: u16) -> McpError {
        McpError::Status(HttpAnswer {
            status,
            headers: vec![("retry-after".to_owned(), "7".to_owned())],
            body: "no".to_owned(),
        })
    }

    fn refused(code: i64) -> McpError {
        McpError::Refused(Refusal {
            code,
            message: "no".to_owned(),
            data: None,
        })
    }

    fn network(way: NetworkFailure, sent: bool) -> McpError {
        McpError::Network {
            told: "text".to_owned(),
            way,
            sent,
            source: Arc::new(std::io::Error::other("text")),
        }
    }

    fn start(kind: ErrorKind) -> McpError {
        McpError::Start {
            program: "server".to_owned(),
            source: kind.into(),
        }
    }

    #[test]
    fn what_never_reached_the_server_had_no_effect() {
        for (error, code, retryable) in [
            (start(ErrorKind::NotFound), "NOT_CONFIGURED", false),
            (start(ErrorKind::PermissionDenied), "NOT_CONFIGURED", false),
            (start(ErrorKind::WouldBlock), "ERR_RESOURCE_BUSY", true),
            (silent(), "ERR_TIMEOUT", true),
            (ended(), "ERR_CONNECTION_REFUSED", true),
            (McpError::SessionExpired, "ERR_CONNECTION_REFUSED", true),
            (network(NetworkFailure::Dns, false), "ERR_DNS_FAILURE", true),
            (status(401), "ERR_HTTP_401_UNAUTHORIZED", false),
            // It says when to come back, and so is a limit and no denial.
            (status(403), "ERR_HTTP_429_RATE_LIMITED", true),
            (status(503), "ERR_HTTP_503_UNAVAILABLE", true),
            (status(200), "ERR_HTTP_502_BAD_GATEWAY", true),
            (status(302), "ERR_HTTP_502_BAD_GATEWAY", true),
            (
                McpError::Nonsense("?".to_owned()),
                "ERR_HTTP_502_BAD_GATEWAY",
                true,
            ),
        ] {
            let lost = Unanswered::before(error);
            let failure = failure("files", &lost, Stake::Change, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.retryable());
            assert_eq!(found, (code, retryable), "{:?}", lost.error);
            assert_eq!(failure.effect(), Effect::None, "{:?}", lost.error);
        }
    }

    #[test]
    fn what_a_lost_answer_means_depends_on_what_was_asked() {
        use Stake::{Change, Nothing, Repeatable};
        for (error, stake, code, effect) in [
            (ended(), Nothing, "ERR_SOCKET_ERROR", Effect::None),
            (ended(), Repeatable, "ERR_SOCKET_ERROR", Effect::Unknown),
            (ended(), Change, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (silent(), Nothing, "ERR_TIMEOUT", Effect::None),
            (silent(), Change, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (
                network(NetworkFailure::Socket, true),
                Change,
                "ERR_OUTCOME_UNKNOWN",
                Effect::Unknown,
            ),
            // An answer is an answer.
            (
                status(500),
                Change,
                "ERR_HTTP_500_SERVER_ERROR",
                Effect::Unknown,
            ),
            (
                status(500),
                Nothing,
                "ERR_HTTP_500_SERVER_ERROR",
                Effect::None,
            ),
            (
                status(429),
                Change,
                "ERR_HTTP_429_RATE_LIMITED",
                Effect::None,
            ),
            (refused(-32603), Change, "TOOL_FAILED", Effect::Unknown),
        ] {
            let lost = Unanswered::after(error);
            let failure = failure("files", &lost, stake, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{:?} {stake:?}", lost.error);
        }
    }

    #[test]
    fn a_server_at_rest_says_for_how_long_unless_waiting_is_of_no_use() {
        for (last, code, delay_ms) in [
            (ended(), "ERR_CIRCUIT_OPEN", Some(400)),
            (status(401), "ERR_HTTP_401_UNAUTHORIZED", None),
            (start(ErrorKind::NotFound), "NOT_CONFIGURED", None),
        ] {
            let error = McpError::Resting {
                wait_ms: 400,
                last: Arc::new(last),
            };
            let lost = Unanswered::before(error);
            let failure = failure("files", &lost, Stake::Change, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.stated_retry_after_ms());
            assert_eq!(found, (code, delay_ms));
        }
    }

    #[test]
    fn a_wait_in_a_header_is_kept() {
        let lost = Unanswered::after(status(429));
        let failure = failure("files", &lost, Stake::Nothing, Timestamp::UNIX_EPOCH);
        assert_eq!(failure.recovery().retry_after_ms, Some(7_000));
    }
}
