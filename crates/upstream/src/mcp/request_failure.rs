//! The failure for a request that got no result: its code by the cause, its effect by whether the
//! request was sent and what the tool may change.

use std::io::ErrorKind;

use jiff::Timestamp;
use panpan_failure::classify::{NetworkFailure, io_failure};
use panpan_failure::{Cause, Effect, Failure, Kind, Upstream, codes};
use serde_json::Value;

use super::error::{FailedRequest, HttpResponse, McpError};
use super::rpc_error;
use super::tool_error::bounded;
use crate::classify::{ErrorResponse, classify};

/// The action where a server requires input that the client cannot give.
pub(super) const PASS_AS_ARGUMENTS: &str =
    "Pass all required input as arguments, or use an MCP client that supports elicitation";

/// What may be lost when a request was sent and its response is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideEffects {
    /// Nothing: the tool only reads.
    ReadOnly,
    /// A change that can be repeated without further effect.
    Idempotent,
    /// A change.
    Change,
}

impl SideEffects {
    /// The effect of an error response that states nothing else.
    pub(super) fn effect_of(self, failure: &Failure) -> Effect {
        match self {
            Self::ReadOnly => Effect::None,
            Self::Idempotent | Self::Change => failure.effect(),
        }
    }
}

/// The failure for a request that got no result.
pub(super) fn failure(
    server: &str,
    failed: &FailedRequest,
    side_effects: SideEffects,
    now: Timestamp,
) -> Failure {
    let failure = if failed.sent {
        after_send(server, &failed.error, side_effects, now)
    } else {
        let failure = before_send(server, &failed.error, now).with_effect(Effect::None);
        match failure.code().as_str() == codes::ERR_TIMEOUT.code {
            // No tool is to blame for it.
            true => failure.with_detail("reason", "connect_timeout"),
            false => failure,
        }
    };
    failure.with_detail("server", server)
}

/// The server cannot have started on it.
fn before_send(server: &str, error: &McpError, now: Timestamp) -> Failure {
    let (code, message): (Kind, _) = match error {
        McpError::Start { source, .. } => (
            not_started(source.kind()),
            format!("the program of the MCP server {server} could not be started"),
        ),
        McpError::Backoff { wait_ms, last } => return backoff(server, *wait_ms, last, now),
        McpError::Starting => (
            codes::ERR_TRY_LATER.into(),
            format!("the MCP server {server} is still starting"),
        ),
        McpError::Timeout { request, waited_ms } => (
            codes::ERR_TIMEOUT.into(),
            format!("the MCP server {server} did not answer {request} within {waited_ms} ms"),
        ),
        McpError::Ended(reason) => (
            codes::ERR_CONNECTION_REFUSED.into(),
            format!("the MCP server {server} closed the connection before it was ready: {reason}"),
        ),
        McpError::SessionExpired => (
            codes::ERR_CONNECTION_REFUSED.into(),
            format!("the MCP server {server} expires every session immediately"),
        ),
        McpError::Network { kind, .. } => ((*kind).into(), unreachable(server, *kind)),
        McpError::LimitReached { what, limit } => (
            codes::ERR_OVERLOADED.into(),
            format!("limit of {limit} concurrent {what} with the MCP server {server} reached"),
        ),
        McpError::ProtocolViolation(_)
        | McpError::UnreadableResponse
        | McpError::InputRequired(_)
        | McpError::Rpc(_)
        | McpError::HttpStatus(_) => {
            let failure = from_response(server, error, now);
            return match error {
                McpError::HttpStatus(response) if response.status < 400 => {
                    failure.with_actions(["Check the address: the server there does not speak MCP"])
                }
                _ => failure,
            };
        }
    };
    Failure::new(code).with_message(message)
}

/// The server may have started on it.
fn after_send(
    server: &str,
    error: &McpError,
    side_effects: SideEffects,
    now: Timestamp,
) -> Failure {
    match error {
        McpError::Timeout { waited_ms, .. } => {
            let message = format!("the MCP server {server} did not answer within {waited_ms} ms");
            no_response(codes::ERR_TIMEOUT.into(), message, side_effects)
        }
        McpError::Network { kind, .. } => {
            let message =
                format!("the connection to the MCP server {server} broke before the response");
            no_response((*kind).into(), message, side_effects)
        }
        McpError::Rpc(_)
        | McpError::HttpStatus(_)
        | McpError::ProtocolViolation(_)
        | McpError::InputRequired(_)
        | McpError::UnreadableResponse => {
            let failure = from_response(server, error, now);
            let effect = side_effects.effect_of(&failure);
            failure.with_effect(effect)
        }
        _ => {
            let message =
                format!("the MCP server {server} closed the connection before the response");
            no_response(codes::ERR_SOCKET_ERROR.into(), message, side_effects)
        }
    }
}

/// The failure for a missing response to a request that was sent.
fn no_response(kind: Kind, message: String, side_effects: SideEffects) -> Failure {
    let failure = Failure::new(kind).with_message(message);
    match side_effects {
        SideEffects::ReadOnly => failure.with_effect(Effect::None),
        SideEffects::Idempotent => failure.with_effect(Effect::Unknown),
        SideEffects::Change => {
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

/// The failure for a response that is not a result.
fn from_response(server: &str, error: &McpError, now: Timestamp) -> Failure {
    match error {
        McpError::Rpc(error) => rpc_error::from_rpc_error(server, error, now),
        McpError::HttpStatus(response) => from_status(server, response, now),
        McpError::InputRequired(reason) => Failure::new(codes::TOOL_FAILED)
            .with_message(reason)
            .with_actions([PASS_AS_ARGUMENTS]),
        other => Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
            .with_message(match other {
                McpError::UnreadableResponse => {
                    format!("the response of the MCP server {server} is not valid JSON-RPC")
                }
                _ => format!("the MCP server {server} violated the protocol"),
            })
            .with_upstream(Upstream::default().provider(server)),
    }
}

fn from_status(server: &str, response: &HttpResponse, now: Timestamp) -> Failure {
    let headers: Vec<(&str, &str)> = response
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let answer = ErrorResponse {
        status: response.status,
        headers: &headers,
        body: &response.body,
        provider: Some(server),
    };
    let Some(failure) = classify(&answer, now) else {
        let upstream = Upstream::status(response.status).provider(server);
        return Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
            .with_message(format!("the MCP server {server} answered HTTP {response}"))
            .with_upstream(upstream.excerpt(&response.body));
    };
    let message = format!("the MCP server {server} answered HTTP {}", response.status);
    let scope = failure.details().and_then(|it| it.get("scope"));
    let message = match scope.and_then(Value::as_str) {
        Some(scope) => format!(
            "{message}: the credential lacks the scope {}",
            bounded(scope)
        ),
        None => message,
    };
    failure.with_message(message)
}

/// The server is in backoff. A cause that waiting cannot fix is reported itself.
fn backoff(server: &str, wait_ms: u64, last: &McpError, now: Timestamp) -> Failure {
    let cause = before_send(server, last, now);
    if !cause.retryable() {
        return cause;
    }
    let cause = Cause {
        code: Some(cause.code().clone()),
        message: cause.message().to_owned(),
    };
    Failure::new(codes::ERR_CIRCUIT_OPEN)
        .with_message(format!("{}; next attempt in {wait_ms} ms", cause.message))
        .with_detail("circuit", "host")
        .with_detail("upstream", server)
        .with_retry_after_ms(wait_ms)
        .with_cause(cause)
}

/// A program that is missing or not executable is a configuration error.
fn not_started(kind: ErrorKind) -> Kind {
    match kind {
        ErrorKind::OutOfMemory | ErrorKind::WouldBlock | ErrorKind::ExecutableFileBusy => {
            io_failure(kind).into()
        }
        _ => codes::NOT_CONFIGURED.into(),
    }
}

fn unreachable(server: &str, kind: NetworkFailure) -> String {
    match kind {
        NetworkFailure::Connection => format!("no MCP server answers at the address of {server}"),
        NetworkFailure::Timeout => {
            format!("connecting to the MCP server {server} timed out")
        }
        NetworkFailure::Dns => {
            format!("the host name of the MCP server {server} cannot be resolved")
        }
        NetworkFailure::Tls => {
            format!("the TLS handshake with the MCP server {server} failed")
        }
        NetworkFailure::Socket => format!("the MCP server {server} cannot be reached"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mcp::error::RpcError;

    fn ended() -> McpError {
        McpError::Ended("exit status: 3".to_owned())
    }

    fn timeout() -> McpError {
        McpError::Timeout {
            request: "tools/call".to_owned(),
            waited_ms: 5,
        }
    }

    fn status(status: u16) -> McpError {
        McpError::HttpStatus(HttpResponse {
            status,
            headers: vec![("retry-after".to_owned(), "7".to_owned())],
            body: "no".to_owned(),
        })
    }

    fn rpc_error(code: i32) -> McpError {
        McpError::Rpc(RpcError {
            code,
            message: "no".to_owned(),
            data: None,
        })
    }

    fn network(kind: NetworkFailure, sent: bool) -> McpError {
        McpError::Network {
            message: "text".to_owned(),
            kind,
            sent,
            source: Arc::new(std::io::Error::other("text")),
        }
    }

    fn start(kind: ErrorKind) -> McpError {
        McpError::Start {
            program: "server".to_owned(),
            source: Arc::new(kind.into()),
        }
    }

    #[test]
    fn a_request_that_was_not_sent_had_no_effect() {
        for (error, code, retryable) in [
            (start(ErrorKind::NotFound), "NOT_CONFIGURED", false),
            (start(ErrorKind::PermissionDenied), "NOT_CONFIGURED", false),
            (start(ErrorKind::WouldBlock), "ERR_RESOURCE_BUSY", true),
            (timeout(), "ERR_TIMEOUT", true),
            (ended(), "ERR_CONNECTION_REFUSED", true),
            (McpError::SessionExpired, "ERR_CONNECTION_REFUSED", true),
            (network(NetworkFailure::Dns, false), "ERR_DNS_FAILURE", true),
            (status(401), "ERR_HTTP_401_UNAUTHORIZED", false),
            // It states a delay, so it is a rate limit.
            (status(403), "ERR_HTTP_429_RATE_LIMITED", true),
            (status(503), "ERR_HTTP_503_UNAVAILABLE", true),
            (status(200), "ERR_HTTP_502_BAD_GATEWAY", true),
            (status(302), "ERR_HTTP_502_BAD_GATEWAY", true),
            (
                McpError::ProtocolViolation("?".to_owned()),
                "ERR_HTTP_502_BAD_GATEWAY",
                true,
            ),
        ] {
            let failed = FailedRequest::not_sent(error);
            let failure = failure("files", &failed, SideEffects::Change, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.retryable());
            assert_eq!(found, (code, retryable), "{:?}", failed.error);
            assert_eq!(failure.effect(), Effect::None, "{:?}", failed.error);
        }
    }

    #[test]
    fn a_missing_response_is_classified_by_the_side_effects_of_the_tool() {
        use SideEffects::{Change, Idempotent, ReadOnly};
        for (error, side_effects, code, effect) in [
            (ended(), ReadOnly, "ERR_SOCKET_ERROR", Effect::None),
            (ended(), Idempotent, "ERR_SOCKET_ERROR", Effect::Unknown),
            (ended(), Change, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (timeout(), ReadOnly, "ERR_TIMEOUT", Effect::None),
            (timeout(), Change, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (
                network(NetworkFailure::Socket, true),
                Change,
                "ERR_OUTCOME_UNKNOWN",
                Effect::Unknown,
            ),
            // These are responses.
            (
                status(500),
                Change,
                "ERR_HTTP_500_SERVER_ERROR",
                Effect::Unknown,
            ),
            (
                status(500),
                ReadOnly,
                "ERR_HTTP_500_SERVER_ERROR",
                Effect::None,
            ),
            (
                status(429),
                Change,
                "ERR_HTTP_429_RATE_LIMITED",
                Effect::None,
            ),
            (rpc_error(-32603), Change, "TOOL_FAILED", Effect::Unknown),
        ] {
            let failed = FailedRequest::after_send(error);
            let failure = failure("files", &failed, side_effects, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{:?} {side_effects:?}", failed.error);
        }
    }

    #[test]
    fn backoff_states_its_delay_unless_waiting_cannot_help() {
        for (last, code, delay_ms) in [
            (ended(), "ERR_CIRCUIT_OPEN", Some(400)),
            (status(401), "ERR_HTTP_401_UNAUTHORIZED", None),
            (start(ErrorKind::NotFound), "NOT_CONFIGURED", None),
        ] {
            let error = McpError::Backoff {
                wait_ms: 400,
                last: Arc::new(last),
            };
            let failed = FailedRequest::not_sent(error);
            let failure = failure("files", &failed, SideEffects::Change, Timestamp::UNIX_EPOCH);
            let found = (failure.code().as_str(), failure.stated_retry_after_ms());
            assert_eq!(found, (code, delay_ms));
        }
    }

    #[test]
    fn the_address_is_doubted_only_until_the_handshake() {
        let page = |status| {
            McpError::HttpStatus(HttpResponse {
                status,
                headers: vec![("content-type".to_owned(), "text/html".to_owned())],
                body: "<html>".to_owned(),
            })
        };
        for (failed, message, is_doubted) in [
            (
                FailedRequest::not_sent(page(200)),
                "the MCP server files answered HTTP 200 with text/html, which is not an MCP message",
                true,
            ),
            (
                FailedRequest::after_send(page(200)),
                "the MCP server files answered HTTP 200 with text/html, which is not an MCP message",
                false,
            ),
            (
                FailedRequest::not_sent(page(500)),
                "the MCP server files answered HTTP 500",
                false,
            ),
        ] {
            let now = Timestamp::UNIX_EPOCH;
            let failure = failure("files", &failed, SideEffects::ReadOnly, now);
            assert_eq!(failure.message(), message);
            let actions = &failure.recovery().required_actions;
            let doubts = actions.iter().any(|it| it.starts_with("Check the address"));
            assert_eq!(doubts, is_doubted, "{message}");
        }
    }

    #[test]
    fn the_scope_that_a_credential_lacks_is_named() {
        let challenge = r#"Bearer error="insufficient_scope", scope="files:write""#;
        let error = McpError::HttpStatus(HttpResponse {
            status: 403,
            headers: vec![("www-authenticate".to_owned(), challenge.to_owned())],
            body: String::new(),
        });
        let failed = FailedRequest::after_send(error);
        let failure = failure("files", &failed, SideEffects::Change, Timestamp::UNIX_EPOCH);
        assert_eq!(
            failure.message(),
            "the MCP server files answered HTTP 403: the credential lacks the scope files:write"
        );
    }

    #[test]
    fn a_delay_in_a_header_is_kept() {
        let failed = FailedRequest::after_send(status(429));
        let failure = failure(
            "files",
            &failed,
            SideEffects::ReadOnly,
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(failure.recovery().retry_after_ms, Some(7_000));
    }
}
