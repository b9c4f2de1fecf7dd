//! What can go wrong between us and an MCP server, told by cause.
//!
//! What each means to a caller is said in `trouble`.

use std::fmt;
use std::sync::Arc;

use panpan_contract::classify::NetworkFailure;
use serde_json::Value;

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
    /// It answered with an error of the protocol.
    #[error("it refused the request (error {})", .0.code)]
    Refused(Refusal),
    /// It answered with an HTTP status instead of the protocol.
    #[error("it answered HTTP {}", .0.status)]
    Status(HttpAnswer),
    /// The network failed.
    #[error("the network failed")]
    Network {
        /// In which way.
        way: NetworkFailure,
        /// Whether the request had left by then.
        sent: bool,
        /// What the network said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The session is over; the request was not looked at.
    #[error("the session has expired")]
    SessionExpired,
}

impl McpError {
    /// The same once more, for somebody else. Of what led to it only the text is left.
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
            Self::Refused(refusal) => Self::Refused(refusal.clone()),
            Self::Status(answer) => Self::Status(answer.clone()),
            Self::Network { way, sent, source } => Self::Network {
                way: *way,
                sent: *sent,
                source: source.to_string().into(),
            },
            Self::SessionExpired => Self::SessionExpired,
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
    /// The headers that say when to come back, and what kind of answer it is.
    pub headers: Vec<(String, String)>,
    /// The beginning of the body.
    pub body: String,
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
