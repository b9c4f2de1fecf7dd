//! The settings of an MCP server: its location, its secrets, its timeouts and its sessions.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::SuccessBodies;
use panpan_redact::Secret;
use panpan_runtime::Credentials;
use panpan_runtime::retry::CircuitRule;
use url::Url;

/// Headers that the protocol sets.
const RESERVED_HEADERS: [&str; 6] = [
    "accept",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "host",
];

/// The settings of one MCP server.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The first segment of the names of its operations: letters, digits, `_`, `-` and `.`.
    pub namespace: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// Its timeouts.
    pub timeouts: McpTimeouts,
    /// The scopes that a caller needs for this server, all of them.
    pub scopes: Vec<String>,
    /// Whether to open a session even if the server supports the stateless version. Some servers
    /// can elicit only in sessions.
    pub sessions: bool,
    /// The names of its tools and prompts.
    pub names: McpNames,
    /// Which callers share a session, if the server keeps state.
    pub sessions_of_callers: McpSessions,
    /// How to treat results that contain a failure but do not have `isError`.
    pub success_bodies: SuccessBodies,
    /// When to refuse all its operations because it cannot be connected to.
    pub circuit: CircuitRule,
}

/// The names under which MCP clients see the tools and prompts of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpNames {
    /// The names that the server gives them.
    Own,
    /// Those names with the namespace as a prefix, as in `files__read`.
    #[default]
    Prefixed,
}

/// Which callers share a session with a server, and how many sessions there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSessions {
    /// Whether all callers share one session, even if the server keeps state for its clients.
    pub shared: bool,
    /// Whether there is only one client, which gets all notifications of the shared session.
    pub alone: bool,
    /// The limit of sessions.
    pub limit: usize,
    /// How long a session may stay idle.
    pub idle: Duration,
}

impl McpSessions {
    /// The default limit of sessions with a server over HTTP.
    pub const LIMIT: usize = 256;

    /// The default limit of processes of a server over stdio.
    pub const PROCESSES_LIMIT: usize = 16;

    /// The default time that a session may stay idle.
    pub const IDLE: Duration = Duration::from_secs(10 * 60);

    fn for_transport(transport: &McpTransport) -> Self {
        Self {
            shared: false,
            alone: false,
            limit: match transport {
                McpTransport::Http(_) => Self::LIMIT,
                McpTransport::Stdio(_) => Self::PROCESSES_LIMIT,
            },
            idle: Self::IDLE,
        }
    }
}

/// How an MCP server is reached.
#[derive(Clone, Debug)]
pub enum McpTransport {
    /// At an address, over Streamable HTTP.
    Http(McpAddress),
    /// As a child process, over stdio.
    Stdio(McpCommand),
}

/// An MCP server at an address.
#[derive(Clone, Debug)]
pub struct McpAddress {
    /// Its address, such as `https://mcp.example.com/mcp`.
    pub url: String,
    /// The headers of every request, such as `Authorization`.
    pub headers: Vec<(String, Secret<String>)>,
    /// Certificates to trust in addition to those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
}

/// An MCP server that panpan starts.
#[derive(Clone, Debug)]
pub struct McpCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, in addition to the few variables that every program needs. No other
    /// variables are inherited.
    pub environment: Vec<(String, Secret<String>)>,
    /// Its working directory; by default that of this process.
    pub directory: Option<PathBuf>,
    /// The command line of a guard program, which gets the id of this process and the command line
    /// of the server as arguments. It runs the server and kills what the server left behind: when
    /// the server exits, on SIGTERM, or when this process is gone. Without a guard only the process
    /// group of the server is killed, and not if this process is killed.
    pub guard: Option<Vec<String>>,
}

/// The timeouts of requests to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTimeouts {
    /// Of the handshake. Servers that are installed on first start take long.
    pub start: Duration,
    /// Of lists and other short requests.
    pub list: Duration,
    /// Of one attempt of a call; the default of the runtime if not set.
    pub call: Option<Duration>,
}

impl Default for McpTimeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            list: Duration::from_secs(30),
            call: None,
        }
    }
}

/// Why the settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum McpSettingsError {
    /// The namespace cannot be the first segment of a name.
    #[error(
        "{0:?} is not a valid namespace; use 1 to {NAMESPACE_LENGTH_LIMIT} letters, digits, _, - and ."
    )]
    Namespace(String),
    /// The text is not a URL. It is not repeated, because it may contain a password.
    #[error("the address of the MCP server is not an http:// or https:// URL ({0})")]
    Url(String),
    /// A header that cannot be sent.
    #[error("invalid header {name:?} for an MCP server: {problem}")]
    Header {
        /// Its name.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// The HTTP client cannot be initialised.
    #[error("cannot initialise the HTTP client for the MCP server")]
    Client(#[source] crate::SetupError),
    /// The program is missing.
    #[error("the command of the MCP server is empty")]
    NoProgram,
}

/// The longest namespace, in bytes; leaves room for the names of tools.
pub const NAMESPACE_LENGTH_LIMIT: usize = 64;

impl McpSettings {
    /// The settings of a server, with defaults.
    pub fn new(namespace: impl Into<String>, transport: McpTransport) -> Self {
        Self {
            namespace: namespace.into(),
            names: McpNames::default(),
            sessions_of_callers: McpSessions::for_transport(&transport),
            transport,
            timeouts: McpTimeouts::default(),
            scopes: Vec::new(),
            sessions: false,
            success_bodies: SuccessBodies::default(),
            circuit: CircuitRule::default(),
        }
    }

    /// The secrets that the server is given, by name.
    pub(super) fn secrets(&self) -> Credentials {
        let given = match &self.transport {
            McpTransport::Http(address) => &address.headers,
            McpTransport::Stdio(command) => &command.environment,
        };
        given.iter().cloned().collect()
    }

    pub(super) fn check_namespace(&self) -> Result<(), McpSettingsError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let length = self.namespace.len();
        let fits = (1..=NAMESPACE_LENGTH_LIMIT).contains(&length);
        if fits && self.namespace.bytes().all(is_word) {
            return Ok(());
        }
        Err(McpSettingsError::Namespace(self.namespace.clone()))
    }
}

impl McpAddress {
    /// An address without headers.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            ca: None,
        }
    }

    pub(super) fn parsed(&self) -> Result<Url, McpSettingsError> {
        let url =
            Url::parse(&self.url).map_err(|error| McpSettingsError::Url(error.to_string()))?;
        if matches!(url.scheme(), "http" | "https") {
            return Ok(url);
        }
        Err(McpSettingsError::Url("other scheme".to_owned()))
    }

    /// The headers as they are sent, marked as sensitive.
    pub(super) fn header_map(&self) -> Result<HeaderMap, McpSettingsError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let problem = |problem| McpSettingsError::Header {
                name: name.clone(),
                problem,
            };
            let header: HeaderName = name
                .parse()
                .map_err(|_| problem("not a valid header name"))?;
            if RESERVED_HEADERS.contains(&header.as_str()) {
                return Err(problem("the protocol sets it"));
            }
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| problem("its value contains characters that headers do not allow"))?;
            value.set_sensitive(true);
            map.append(header, value);
        }
        Ok(map)
    }
}

impl McpCommand {
    /// A program without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            guard: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_one_short_segment_of_a_name() {
        let longest = "n".repeat(NAMESPACE_LENGTH_LIMIT);
        let too_long = "n".repeat(NAMESPACE_LENGTH_LIMIT + 1);
        for (namespace, accepted) in [
            ("files", true),
            ("my-files_2.x", true),
            (longest.as_str(), true),
            (too_long.as_str(), false),
            ("", false),
            ("a/b", false),
            ("a b", false),
            ("dé", false),
        ] {
            let transport = McpTransport::Stdio(McpCommand::new("server"));
            let checked = McpSettings::new(namespace, transport).check_namespace();
            assert_eq!(checked.is_ok(), accepted, "{namespace}");
        }
    }

    #[test]
    fn reserved_and_invalid_headers_are_refused_without_showing_their_values() {
        for (name, value, accepted) in [
            ("Authorization", "Bearer sk-live-1", true),
            ("X-Tenant", "a", true),
            ("Mcp-Session-Id", "a", false),
            ("accept", "a", false),
            ("bad name", "a", false),
            ("X-Key", "sk-live\nmore", false),
        ] {
            let mut address = McpAddress::new("http://127.0.0.1/mcp");
            address
                .headers
                .push((name.to_owned(), Secret::new(value.to_owned())));
            let made = address.header_map();
            assert_eq!(made.is_ok(), accepted, "{name}");
            if let Err(error) = made {
                assert!(!error.to_string().contains("sk-live"), "{error}");
            }
        }
    }

    #[test]
    fn only_http_urls_are_accepted() {
        for (url, accepted) in [
            ("https://mcp.example.com/mcp", true),
            ("http://127.0.0.1:1/mcp?a=b", true),
            ("ftp://example.com", false),
            ("mcp.example.com", false),
            ("", false),
        ] {
            assert_eq!(McpAddress::new(url).parsed().is_ok(), accepted, "{url}");
        }
    }
}
