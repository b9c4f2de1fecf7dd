//! Why a source cannot be loaded, with a hint.

use std::io;
use std::path::PathBuf;

use panpan_openapi::{ImportError, ParseError};
use panpan_upstream::mcp::McpSettingsError;
use panpan_upstream::{AllowedError, SetupError};

use super::{OVERLAY_HINT, OverlayFileError};

/// Why a source cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("cannot read {0}")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("cannot parse {0}")]
    Unparsed(PathBuf, #[source] ParseError),
    #[error("cannot import {0}")]
    Unimported(PathBuf, #[source] ImportError),
    #[error("{0} is not a valid contract file:{1}")]
    Contract(PathBuf, Lines),
    #[error("{0} is not a valid overlay file")]
    Overlay(PathBuf, #[source] OverlayFileError),
    #[error("overlay {0} does not match the operations:{1}")]
    Unmatched(PathBuf, Lines),
    #[error("there are settings for operations that {0} does not have:{1}")]
    NoOperation(String, Lines),
    #[error("cannot serve {0}:{1}")]
    Unbound(PathBuf, Lines),
    #[error("cannot read the secret {name:?} of {namespace}: {reason}")]
    Secret {
        name: String,
        namespace: String,
        reason: String,
    },
    #[error("the header {name:?} of {namespace} is invalid")]
    Header { name: String, namespace: String },
    #[error("invalid allowed_hosts")]
    Allowed(#[from] AllowedError),
    #[error("cannot initialise the HTTP client")]
    Client(#[from] SetupError),
    #[error("invalid settings of MCP server {namespace}")]
    Server {
        namespace: String,
        #[source]
        source: McpSettingsError,
    },
    #[error("unknown operation {0:?} in enable; the only one is http/call")]
    Enabled(String),
}

impl LoadError {
    /// The hint for the operator.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(..) => {
                "name a file that you may read; paths in panpan.toml are relative to its folder"
            }
            Self::Unparsed(..) | Self::Unimported(..) => {
                "`panpan import openapi FILE` reports the problems of a document"
            }
            Self::Contract(..) => "fix the listed problems, or import the document again",
            Self::Overlay(..) => OVERLAY_HINT,
            Self::NoOperation(..) => {
                "`panpan import openapi FILE` lists the operations; * matches any text"
            }
            Self::Unmatched(..) => "`panpan import openapi FILE` lists the operations",
            Self::Unbound(..) => {
                "set the URL of the service: --openapi NAME=FILE@URL, or url in panpan.toml"
            }
            Self::Secret { .. } => {
                "set the variable or create the file for the user that runs panpan, or name another in \
                 panpan.toml"
            }
            Self::Header { .. } => "a header needs a name without spaces and a value of one line",
            Self::Allowed(_) => {
                "write hosts or networks, such as billing.internal:8080 or 10.0.0.0/8"
            }
            Self::Client(_) => "check that panpan can read the certificates of this system",
            Self::Server { .. } => "set a server with --mcp NAME=URL or --mcp-stdio NAME=COMMAND",
            Self::Enabled(_) => "write --enable http/call",
        }
    }
}

/// Problems, one per line.
#[derive(Debug)]
pub(crate) struct Lines(Vec<String>);

impl Lines {
    pub(crate) fn of<T: std::fmt::Display>(problems: impl IntoIterator<Item = T>) -> Self {
        Self(problems.into_iter().map(|it| it.to_string()).collect())
    }
}

impl std::fmt::Display for Lines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = self.0.iter();
        lines.try_for_each(|line| write!(formatter, "\n  {line}"))
    }
}
