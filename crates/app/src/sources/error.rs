//! Why sources give no operations, and what to do about it.

use std::io;
use std::path::PathBuf;

use panpan_openapi::{ImportError, ParseError};
use panpan_upstream::mcp::McpSettingsError;
use panpan_upstream::{AllowedError, SetupError};

use super::OverlayFileError;

/// Why a source gives no operations.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("{0}: cannot be read")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{0}: is neither JSON nor YAML")]
    Unparsed(PathBuf, #[source] ParseError),
    #[error("{0}: cannot be imported")]
    Unimported(PathBuf, #[source] ImportError),
    #[error("{0}: is no contract that can be used:{1}")]
    Contract(PathBuf, Listed),
    #[error("{0}: is no overlay that can be used")]
    Overlay(PathBuf, #[source] OverlayFileError),
    #[error("{0}: does not fit the operations it is for:{1}")]
    Misfit(PathBuf, Listed),
    #[error("settings for operations that {0} does not have:{1}")]
    NoOperation(String, Listed),
    #[error("{0}: cannot be served:{1}")]
    Unbound(PathBuf, Listed),
    #[error("the secret {name:?} of {namespace} is not there: {why}")]
    Secret {
        name: String,
        namespace: String,
        why: String,
    },
    #[error("the header {name:?} of {namespace} cannot be sent")]
    Header { name: String, namespace: String },
    #[error("allowed_hosts")]
    Allowed(#[from] AllowedError),
    #[error("cannot make ready to ask other services")]
    Client(#[from] SetupError),
    #[error("the MCP server {namespace} cannot be asked")]
    Server {
        namespace: String,
        #[source]
        source: McpSettingsError,
    },
    #[error("there is no built-in operation {0:?} to enable; there is http/call")]
    Enabled(String),
}

impl LoadError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(..) => {
                "name a file you may read; files named in panpan.toml are looked for beside it"
            }
            Self::Unparsed(..) | Self::Unimported(..) => {
                "`panpan import openapi FILE` says more about a description"
            }
            Self::Contract(..) => "mend what is listed, or import the description again",
            Self::Overlay(..) => {
                "an overlay is a list \"operations\", each with \"match\" and what is to change; JSON, \
                 YAML, or TOML in a file whose name ends in .toml"
            }
            Self::NoOperation(..) => {
                "`panpan import openapi FILE` shows which operations there are; * stands for any text"
            }
            Self::Misfit(..) => "`panpan import openapi FILE` shows which operations there are",
            Self::Unbound(..) => {
                "say where the service is: --openapi NAME=FILE@URL, or url in panpan.toml"
            }
            Self::Secret { .. } => {
                "set the variable or write the file for the user who starts panpan, or name another \
                 place in panpan.toml"
            }
            Self::Header { .. } => "a header has a name without spaces, and a value of one line",
            Self::Allowed(_) => {
                "name hosts and networks, as in billing.internal:8080 or 10.0.0.0/8"
            }
            Self::Client(_) => "check that the certificates of this system can be read",
            Self::Server { .. } => "--mcp NAME=URL and --mcp-stdio NAME=COMMAND name servers",
            Self::Enabled(_) => "say --enable http/call",
        }
    }
}

/// Several problems, a line each.
#[derive(Debug)]
pub(crate) struct Listed(Vec<String>);

impl Listed {
    pub(super) fn of<T: std::fmt::Display>(problems: impl IntoIterator<Item = T>) -> Self {
        Self(problems.into_iter().map(|it| it.to_string()).collect())
    }
}

impl std::fmt::Display for Listed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = self.0.iter();
        lines.try_for_each(|line| write!(formatter, "\n  {line}"))
    }
}
