//! The errors of requests to an MCP server, by cause.
//!
//! The failures for callers are in `request_failure`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use panpan_failure::classify::NetworkFailure;
use rmcp::ErrorData;
use serde_json::Value;

use super::tool_error::bounded;

/// Why a request to an MCP server got no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum McpError {
    /// Its program could not be started.
    #[error("{program} could not be started")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// It has been started or called and has not answered yet.
    #[error("it is still starting")]
    Starting,
    /// It failed repeatedly and is in backoff.
    #[error("it failed repeatedly; next attempt in {wait_ms} ms: {last}")]
    Backoff {
        /// The remaining time.
        wait_ms: u64,
        /// The last error.
        last: Arc<McpError>,
    },
    /// There was no response in time.
    #[error("it did not answer {request} within {waited_ms} ms")]
    Timeout {
        /// The method, or what else was waited for.
        request: String,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// The server violated the protocol.
    #[error("it violated the protocol: {0}")]
    ProtocolViolation(String),
    /// The response cannot be parsed.
    #[error("its response cannot be parsed")]
    UnreadableResponse,
    /// The server answered with a JSON-RPC error.
    #[error("it answered with JSON-RPC error {}", .0.code)]
    Rpc(RpcError),
    /// The server answered with an HTTP status instead of a message.
    #[error("it answered HTTP {0}")]
    HttpStatus(HttpResponse),
    /// The network failed.
    #[error("{message}")]
    Network {
        /// The message for people.
        message: String,
        /// The kind of failure.
        kind: NetworkFailure,
        /// Whether the request had been sent.
        sent: bool,
        /// The underlying error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The server requires input and gets no reply.
    #[error("{0}")]
    InputRequired(String),
    /// The session has expired; the request was not processed.
    #[error("the session has expired")]
    SessionExpired,
    /// A limit has been reached.
    #[error("limit of {limit} concurrent {what} reached")]
    LimitReached {
        /// What is limited, such as `sessions`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl McpError {
    pub(super) fn timeout(request: impl Into<String>, waited: Duration) -> Self {
        Self::Timeout {
            request: request.into(),
            waited_ms: milliseconds(waited),
        }
    }
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A JSON-RPC error. Its debug form shows only the code.
#[derive(Clone, PartialEq)]
pub struct RpcError {
    /// The code.
    pub code: i32,
    /// The message.
    pub message: String,
    /// The data.
    pub data: Option<Value>,
}

/// An HTTP response that is not MCP. Its debug form shows only the status.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The headers with delays, the content type and the target of a redirect, without parts that
    /// may be secret.
    pub headers: Vec<(String, String)>,
    /// The beginning of the body.
    pub body: String,
}

impl HttpResponse {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }
}

/// The status, and why the response is not MCP.
impl fmt::Display for HttpResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.status)?;
        if let (300..400, Some(address)) = (self.status, self.header("location")) {
            let address = bounded(address);
            return write!(
                formatter,
                ", a redirect to {address}, which is not followed"
            );
        }
        match (self.status, self.header("content-type")) {
            (200..300, Some(kind)) => {
                let kind = bounded(kind.split(';').next().unwrap_or_default().trim());
                write!(formatter, " with {kind}, which is not an MCP message")
            }
            (200..300, None) => formatter.write_str(" without an MCP message"),
            _ => Ok(()),
        }
    }
}

impl From<ErrorData> for RpcError {
    fn from(error: ErrorData) -> Self {
        Self {
            code: error.code.0,
            message: error.message.into_owned(),
            data: error.data,
        }
    }
}

impl fmt::Debug for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RpcError({})", self.code)
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpResponse({})", self.status)
    }
}

/// A request without a result.
#[derive(Debug)]
pub(super) struct FailedRequest {
    pub(super) error: McpError,
    /// Whether the server may have started on it.
    pub(super) sent: bool,
}

impl FailedRequest {
    /// The server certainly has not seen it.
    pub(super) fn not_sent(error: McpError) -> Self {
        Self { error, sent: false }
    }

    /// The server may have seen it.
    pub(super) fn after_send(error: McpError) -> Self {
        let sent = match &error {
            McpError::SessionExpired => false,
            McpError::Network { sent, .. } => *sent,
            _ => true,
        };
        Self { error, sent }
    }

    /// Whether the connection can no longer be used.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self.error, McpError::SessionExpired | McpError::Ended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_is_not_mcp_is_described() {
        for (status, header, shown) in [
            (404, None, "404"),
            (404, Some(("content-type", "text/html")), "404"),
            (200, None, "200 without an MCP message"),
            (
                200,
                Some(("content-type", "text/html; charset=utf-8")),
                "200 with text/html, which is not an MCP message",
            ),
            (307, None, "307"),
            (
                307,
                Some(("location", "https://a.test/mcp")),
                "307, a redirect to https://a.test/mcp, which is not followed",
            ),
            (
                201,
                Some(("location", "https://a.test/1")),
                "201 without an MCP message",
            ),
        ] {
            let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let response = HttpResponse {
                status,
                headers: headers.into_iter().collect(),
                body: String::new(),
            };
            let error = McpError::HttpStatus(response);
            assert_eq!(error.to_string(), format!("it answered HTTP {shown}"));
        }
    }
}
