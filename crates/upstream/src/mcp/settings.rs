//! Where an MCP server is, what it is given, and how long it is waited for.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::SuccessBodies;
use panpan_redact::Secret;
use panpan_runtime::Credentials;
use panpan_runtime::retry::CircuitRule;
use url::Url;

/// Headers the protocol sets itself.
const RESERVED_HEADERS: [&str; 6] = [
    "accept",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "host",
];

/// One MCP server.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The first step of the names of its operations: letters, digits, `_`, `-` and `.`.
    pub namespace: String,
    /// Where it is.
    pub place: McpPlace,
    /// How long it is waited for.
    pub patience: McpPatience,
    /// Scopes a caller needs for anything of it, all of them.
    pub scopes: Vec<String>,
    /// Whether it is spoken to in a session, though it may know the version without. Some servers can ask
    /// people only there.
    pub sessions: bool,
    /// What its tools and prompts are called.
    pub names: McpNames,
    /// Which callers share a session, where the server keeps state.
    pub sessions_of_callers: McpSessions,
    /// What becomes of results that are failures by their content, though the server calls them successes.
    pub success_bodies: SuccessBodies,
    /// When all its operations are refused because it cannot be connected to.
    pub circuit: CircuitRule,
}

/// What MCP clients know the tools and prompts of a server by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpNames {
    /// By the names the server gives them.
    Own,
    /// By those names with the namespace before them, as in `files__read`.
    #[default]
    Prefixed,
}

/// Which callers of a server share a session with it, and how many sessions there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSessions {
    /// Whether all callers share one session, also of a server that keeps state for its clients.
    pub shared: bool,
    /// Whether there is only one client, so that everything the shared session says is for it.
    pub alone: bool,
    /// The most sessions of callers at once.
    pub limit: usize,
    /// How long a session lasts that is not used.
    pub idle: Duration,
}

impl McpSessions {
    /// The most sessions with a server that listens, if nothing is said.
    pub const LIMIT: usize = 256;

    /// The most processes of a server that is started, if nothing is said.
    pub const PROCESSES_LIMIT: usize = 16;

    /// How long a session lasts that is not used, if nothing is said.
    pub const IDLE: Duration = Duration::from_secs(10 * 60);

    fn at(place: &McpPlace) -> Self {
        Self {
            shared: false,
            alone: false,
            limit: match place {
                McpPlace::Http(_) => Self::LIMIT,
                McpPlace::Stdio(_) => Self::PROCESSES_LIMIT,
            },
            idle: Self::IDLE,
        }
    }
}

/// Where an MCP server is.
#[derive(Clone, Debug)]
pub enum McpPlace {
    /// At an address, over Streamable HTTP.
    Http(McpAddress),
    /// In a process of its own, over its standard input and output.
    Stdio(McpCommand),
}

/// An MCP server that listens.
#[derive(Clone, Debug)]
pub struct McpAddress {
    /// Its address, such as `https://mcp.example.com/mcp`.
    pub url: String,
    /// Headers of every request, such as `Authorization`.
    pub headers: Vec<(String, Secret<String>)>,
    /// Certificates to trust besides those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
}

/// An MCP server that is started.
#[derive(Clone, Debug)]
pub struct McpCommand {
    /// The program.
    pub program: String,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// Its environment, beside the few variables every program needs. Nothing else is passed on.
    pub environment: Vec<(String, Secret<String>)>,
    /// Where it is started; the folder of this process if nothing is said.
    pub directory: Option<PathBuf>,
    /// The words of a program that is given the id of this process and the words of the server. It runs the
    /// server, and ends everything the server left when that ends, when it is asked to (SIGTERM), or when this
    /// process is gone. Without one only the process
    /// group of the server ends, and only if this process is not killed.
    pub guard: Option<Vec<String>>,
}

/// How long a server is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpPatience {
    /// Until it is ready. Servers that are installed when they are first started take long.
    pub start: Duration,
    /// Until a list is there, and everything else that is quick.
    pub list: Duration,
    /// Until a call is answered, each attempt on its own; as long as the runtime usually waits if
    /// nothing is said.
    pub call: Option<Duration>,
}

impl Default for McpPatience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            list: Duration::from_secs(30),
            call: None,
        }
    }
}

/// Why there can be no such server.
#[derive(Debug, thiserror::Error)]
pub enum McpSettingsError {
    /// The namespace cannot be the first step of a name.
    #[error(
        "{0:?} is no namespace: it is empty, too long, or holds something else than letters, digits, _, - and ."
    )]
    Namespace(String),
    /// The text is no URL. It is not repeated: it may hold a password.
    #[error("the address of the MCP server is no http:// or https:// URL ({0})")]
    Url(String),
    /// A header that cannot be sent.
    #[error("{name:?} is no header for an MCP server: {problem}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The HTTP client cannot be made.
    #[error("the HTTP client of the MCP server cannot be set up")]
    Client(#[source] crate::SetupError),
    /// There is nothing to start.
    #[error("there is no program to start")]
    NoProgram,
}

/// The longest namespace, in bytes: the names of tools have to have room beside it.
pub const NAMESPACE_LENGTH_LIMIT: usize = 64;

impl McpSettings {
    /// A server under the usual patience.
    pub fn new(namespace: impl Into<String>, place: McpPlace) -> Self {
        Self {
            namespace: namespace.into(),
            names: McpNames::default(),
            sessions_of_callers: McpSessions::at(&place),
            place,
            patience: McpPatience::default(),
            scopes: Vec::new(),
            sessions: false,
            success_bodies: SuccessBodies::default(),
            circuit: CircuitRule::default(),
        }
    }

    /// What it is given that nobody is to see, by the names it has there.
    pub(super) fn secrets(&self) -> Credentials {
        let given = match &self.place {
            McpPlace::Http(address) => &address.headers,
            McpPlace::Stdio(command) => &command.environment,
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
    /// An address nothing is presented at.
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
        Err(McpSettingsError::Url("another scheme".to_owned()))
    }

    /// The headers as they are sent; no log shows their values.
    pub(super) fn header_map(&self) -> Result<HeaderMap, McpSettingsError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let problem = |problem| McpSettingsError::Header {
                name: name.clone(),
                problem,
            };
            let header: HeaderName = name.parse().map_err(|_| problem("that is no name"))?;
            if RESERVED_HEADERS.contains(&header.as_str()) {
                return Err(problem("the protocol sets it itself"));
            }
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| problem("its value holds what no header may"))?;
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
    fn a_namespace_is_one_short_step_of_a_name() {
        let longest = "n".repeat(NAMESPACE_LENGTH_LIMIT);
        let too_long = "n".repeat(NAMESPACE_LENGTH_LIMIT + 1);
        for (namespace, taken) in [
            ("files", true),
            ("my-files_2.x", true),
            (longest.as_str(), true),
            (too_long.as_str(), false),
            ("", false),
            ("a/b", false),
            ("a b", false),
            ("dé", false),
        ] {
            let place = McpPlace::Stdio(McpCommand::new("server"));
            let checked = McpSettings::new(namespace, place).check_namespace();
            assert_eq!(checked.is_ok(), taken, "{namespace}");
        }
    }

    #[test]
    fn headers_of_the_protocol_and_broken_ones_are_refused_by_name_only() {
        for (name, value, taken) in [
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
            assert_eq!(made.is_ok(), taken, "{name}");
            if let Err(error) = made {
                assert!(!error.to_string().contains("sk-live"), "{error}");
            }
        }
    }

    #[test]
    fn only_addresses_of_the_web_are_taken() {
        for (url, taken) in [
            ("https://mcp.example.com/mcp", true),
            ("http://127.0.0.1:1/mcp?a=b", true),
            ("ftp://example.com", false),
            ("mcp.example.com", false),
            ("", false),
        ] {
            assert_eq!(McpAddress::new(url).parsed().is_ok(), taken, "{url}");
        }
    }
}
