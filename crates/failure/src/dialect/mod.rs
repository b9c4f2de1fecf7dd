//! The eight dialects: how an outcome is written and read.
//!
//! Each dialect writes its native members first and all other facts into one residual object named `panpan`,
//! so that reading it gives the same failure. Without the residual, the native members are still read.
//! Only a [`Redacted`] failure can be written.

mod agent;
mod bot;
mod call;
mod detect;
mod disguised;
mod flat;
mod foreign;
mod grpc;
mod jsonrpc;
mod mcp;
mod outcome;
mod problem;

use std::fmt;

use panpan_catalogue::Known;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::failure::{Failure, Redacted};
use crate::read::{self, ReadError};

pub use agent::{AGENT_VIEW_BYTES_LIMIT, agent_value, agent_view};
pub use detect::detect;
pub use disguised::{declares_flags, declares_flags_of, disguised_failure, stated_problem};
pub use foreign::read_foreign;

/// Name of the residual member.
pub const RESIDUAL: &str = "panpan";
/// Key of the whole failure in MCP's `_meta`.
pub const MCP_META_KEY: &str = "dev.panpan/failure";

/// A format of successes and failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `{success: false, error, code, category, retriable, details?}`
    Flat,
    /// `{error: {code, category, source, message, context, recovery, debug}}`
    Bot,
    /// `{ok: false, error: {code, message, category, retryable, …}}`
    Outcome,
    /// A JSON-RPC 2.0 response.
    JsonRpc,
    /// `{code, message, retryable, details?}`
    Call,
    /// Problem details of RFC 9457.
    Problem,
    /// A CallToolResult of the Model Context Protocol.
    Mcp,
    /// A google.rpc.Status as JSON.
    Grpc,
}

/// Values around an outcome that are not part of the failure.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The id of the request, for the dialects that repeat it.
    pub request_id: Option<&'a Value>,
    /// The prefix of the code in the `type` of a problem; relative to the server, or an absolute URL.
    pub errors_base: &'a str,
    /// The status of a problem, if it differs from the status of its code.
    pub http_status: Option<u16>,
}

impl Default for Envelope<'_> {
    fn default() -> Self {
        Self {
            request_id: None,
            errors_base: "/errors/",
            http_status: None,
        }
    }
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The id of the request, if the dialect repeats it.
    pub request_id: Option<Value>,
    /// The output, or the failure.
    pub outcome: Result<Value, Failure>,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 8] = [
        Dialect::Flat,
        Dialect::Bot,
        Dialect::Outcome,
        Dialect::JsonRpc,
        Dialect::Call,
        Dialect::Problem,
        Dialect::Mcp,
        Dialect::Grpc,
    ];

    /// The name in command lines and `Accept` headers.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Flat => "flat",
            Dialect::Bot => "bot",
            Dialect::Outcome => "outcome",
            Dialect::JsonRpc => "jsonrpc",
            Dialect::Call => "call",
            Dialect::Problem => "problem",
            Dialect::Mcp => "mcp",
            Dialect::Grpc => "grpc",
        }
    }

    /// The dialect of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// A failure in this dialect, to be serialised; members are in the order of the dialect.
    pub fn failure<'a>(self, failure: &'a Redacted, envelope: Envelope<'a>) -> FailureView<'a> {
        FailureView {
            dialect: self,
            failure,
            envelope,
        }
    }

    /// A failure as bytes.
    pub fn write_failure(self, failure: &Redacted, envelope: Envelope<'_>) -> Vec<u8> {
        serde_json::to_vec(&self.failure(failure, envelope))
            .expect("names are strings, and writing to memory does not fail")
    }

    /// A failure as a JSON value.
    pub fn render_failure(self, failure: &Redacted, envelope: Envelope<'_>) -> Value {
        serde_json::to_value(self.failure(failure, envelope))
            .expect("names are strings, and building a value does not fail")
    }

    /// A success in this dialect, to be serialised without copying the output.
    pub fn success<'a, T: Serialize>(
        self,
        output: &'a T,
        envelope: Envelope<'a>,
    ) -> SuccessView<'a, T> {
        SuccessView {
            dialect: self,
            output,
            envelope,
        }
    }

    /// A success as a JSON value.
    pub fn render_success(self, output: &Value, envelope: Envelope<'_>) -> Value {
        serde_json::to_value(self.success(output, envelope))
            .expect("names are strings, and building a value does not fail")
    }

    /// Reads a document in this dialect, from us or from a third party.
    ///
    /// In the dialects without an envelope for a success (bot, problem), an output with the shape of a failure
    /// is read as a failure.
    pub fn parse(self, bytes: &[u8]) -> Result<Reply, ReadError> {
        self.read(read::document(bytes)?)
    }

    /// Reads a JSON value in this dialect.
    pub fn read(self, document: Value) -> Result<Reply, ReadError> {
        match self {
            Dialect::Flat => flat::read(document),
            Dialect::Bot => bot::read(document),
            Dialect::Outcome => outcome::read(document),
            Dialect::JsonRpc => jsonrpc::read(document),
            Dialect::Call => call::read(document),
            Dialect::Problem => problem::read(document),
            Dialect::Mcp => mcp::read(document),
            Dialect::Grpc => grpc::read(document),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Reply {
    fn success(output: Value) -> Self {
        Self {
            request_id: None,
            outcome: Ok(output),
        }
    }

    fn failure(failure: Failure) -> Self {
        Self {
            request_id: None,
            outcome: Err(failure),
        }
    }

    fn answering(mut self, request_id: Option<Value>) -> Self {
        self.request_id = request_id;
        self
    }
}

/// An object with the single member `error`.
#[derive(Serialize)]
struct InError<T> {
    error: T,
}

/// A failure in a dialect; see [`Dialect::failure`].
#[derive(Clone, Copy, Debug)]
pub struct FailureView<'a> {
    dialect: Dialect,
    failure: &'a Redacted,
    envelope: Envelope<'a>,
}

impl Serialize for FailureView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            failure, envelope, ..
        } = self;
        match self.dialect {
            Dialect::Flat => flat::write(failure, serializer),
            Dialect::Bot => InError {
                error: bot::BotError(failure),
            }
            .serialize(serializer),
            Dialect::Outcome => outcome::Failed(failure, envelope).serialize(serializer),
            Dialect::JsonRpc => jsonrpc::Failed(failure, envelope).serialize(serializer),
            Dialect::Call => call::CallError(failure).serialize(serializer),
            Dialect::Problem => problem::Problem(failure, envelope).serialize(serializer),
            Dialect::Mcp => mcp::FailedResult(failure).serialize(serializer),
            Dialect::Grpc => grpc::Status(failure).serialize(serializer),
        }
    }
}

/// A success in a dialect; see [`Dialect::success`].
#[derive(Clone, Copy, Debug)]
pub struct SuccessView<'a, T> {
    dialect: Dialect,
    output: &'a T,
    envelope: Envelope<'a>,
}

impl<T: Serialize> Serialize for SuccessView<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            output, envelope, ..
        } = self;
        // These three depend on the type of the output.
        let value = || serde_json::to_value(output).map_err(S::Error::custom);
        match self.dialect {
            Dialect::Flat => flat::success(value()?).serialize(serializer),
            Dialect::Mcp => mcp::success(value()?).serialize(serializer),
            Dialect::Grpc => grpc::success(&value()?).serialize(serializer),
            Dialect::Bot | Dialect::Problem => output.serialize(serializer),
            Dialect::Outcome => outcome::success(output, *envelope, serializer),
            Dialect::JsonRpc => jsonrpc::success(output, *envelope, serializer),
            Dialect::Call => call::success(output, *envelope, serializer),
        }
    }
}

/// Whether a value of another protocol maps back to the code of this failure.
fn maps_back(found: Option<Known>, failure: &Failure) -> bool {
    found.is_some_and(|known| known.code() == failure.code().as_str())
}
