//! What can go wrong between us and an MCP server, told by cause.
//!
//! What each means to a caller is said in `trouble`.

use std::fmt;
use std::sync::Arc;

use panpan_failure::classify::NetworkFailure;
use serde_json::Value;

use super::lifted::bounded;

/// Why an MCP server did not answer, or refused to.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Its program could not be started.
    #[error("{program} could not be started")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It failed several times in a row and is left alone for now.
    #[error("it failed repeatedly and is left alone for {wait_ms} ms: {last}")]
    Resting {
        /// For how much longer.
        wait_ms: u64,
        /// What happened the last time.
        last: Arc<McpError>,
    },
    /// Nothing came in time.
    #[error("it did not answer {what} within {waited_ms} ms")]
    Silent {
        /// What was asked.
        what: &'static str,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// What it said is not what the protocol lets it say there.
    #[error("it broke the protocol: {0}")]
    Nonsense(String),
    /// It answered with what cannot be read.
    #[error("its answer cannot be read")]
    Unreadable,
    /// It answered with an error of the protocol.
    #[error("it refused the request (error {})", .0.code)]
    Refused(Refusal),
    /// It answered with an HTTP status instead of the protocol.
    #[error("it answered HTTP {0}")]
    Status(HttpAnswer),
    /// The network failed.
    #[error("{told}")]
    Network {
        /// What happened, for people.
        told: String,
        /// In which way.
        way: NetworkFailure,
        /// Whether the request had left by then.
        sent: bool,
        /// What the network said.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// It asks for something before it answers, and gets no reply.
    #[error("{0}")]
    Asks(String),
    /// The session is over; the request was not looked at.
    #[error("the session has expired")]
    SessionExpired,
    /// As many callers use it as may at once.
    #[error("{limit} callers use it already, each in a session of its own")]
    Full {
        /// How many may.
        limit: usize,
    },
}

impl McpError {
    /// The same once more, for somebody else.
    pub(super) fn retold(&self) -> Self {
        match self {
            Self::Start { program, source } => Self::Start {
                program: program.clone(),
                source: std::io::Error::new(source.kind(), source.to_string()),
            },
            Self::Resting { wait_ms, last } => Self::Resting {
                wait_ms: *wait_ms,
                last: last.clone(),
            },
            Self::Silent { what, waited_ms } => Self::Silent {
                what,
                waited_ms: *waited_ms,
            },
            Self::Ended(why) => Self::Ended(why.clone()),
            Self::Nonsense(why) => Self::Nonsense(why.clone()),
            Self::Unreadable => Self::Unreadable,
            Self::Refused(refusal) => Self::Refused(refusal.clone()),
            Self::Status(answer) => Self::Status(answer.clone()),
            Self::Network {
                told,
                way,
                sent,
                source,
            } => Self::Network {
                told: told.clone(),
                way: *way,
                sent: *sent,
                source: source.clone(),
            },
            Self::Asks(why) => Self::Asks(why.clone()),
            Self::SessionExpired => Self::SessionExpired,
            Self::Full { limit } => Self::Full { limit: *limit },
        }
    }
}

/// An error of JSON-RPC. Its debug form shows only the number.
#[derive(Clone, PartialEq)]
pub struct Refusal {
    /// The number.
    pub code: i64,
    /// What it says.
    pub message: String,
    /// What else it says.
    pub data: Option<Value>,
}

/// An HTTP answer that is none of MCP. Its debug form shows only the status.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The headers that say when to come back, what kind of answer it is, and where else to ask; of that
    /// address nothing that may be secret.
    pub headers: Vec<(String, String)>,
    /// The beginning of the body.
    pub body: String,
}

impl HttpAnswer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }
}

/// The status, and what else tells why it is none of MCP.
impl fmt::Display for HttpAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.status)?;
        if let (300..400, Some(address)) = (self.status, self.header("location")) {
            let address = bounded(address);
            return write!(formatter, ", which leads to {address} and is not followed");
        }
        match (self.status, self.header("content-type")) {
            (200..300, Some(kind)) => {
                let kind = bounded(kind.split(';').next().unwrap_or_default().trim());
                write!(formatter, " with {kind}, which is no message of MCP")
            }
            (200..300, None) => formatter.write_str(" with what is no message of MCP"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Refusal({})", self.code)
    }
}

impl fmt::Debug for HttpAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpAnswer({})", self.status)
    }
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) error: McpError,
    /// Whether the server may have begun to work on it.
    pub(super) sent: bool,
}

impl Unanswered {
    /// The server certainly has not seen it.
    pub(super) fn before(error: McpError) -> Self {
        Self { error, sent: false }
    }

    /// The server may have seen it.
    pub(super) fn after(error: McpError) -> Self {
        let sent = match &error {
            McpError::SessionExpired => false,
            McpError::Network { sent, .. } => *sent,
            _ => true,
        };
        Self { error, sent }
    }

    /// Whether the connection is of no use any more.
    pub(super) fn is_the_end(&self) -> bool {
        matches!(self.error, McpError::SessionExpired | McpError::Ended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_of_mcp_says_what_it_is_instead() {
        for (status, header, told) in [
            (404, None, "404"),
            (404, Some(("content-type", "text/html")), "404"),
            (200, None, "200 with what is no message of MCP"),
            (
                200,
                Some(("content-type", "text/html; charset=utf-8")),
                "200 with text/html, which is no message of MCP",
            ),
            (307, None, "307"),
            (
                307,
                Some(("location", "https://a.test/mcp")),
                "307, which leads to https://a.test/mcp and is not followed",
            ),
            (
                201,
                Some(("location", "https://a.test/1")),
                "201 with what is no message of MCP",
            ),
        ] {
            let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let answer = HttpAnswer {
                status,
                headers: headers.into_iter().collect(),
                body: String::new(),
            };
            let error = McpError::Status(answer);
            assert_eq!(error.to_string(), format!("it answered HTTP {told}"));
        }
    }
}
