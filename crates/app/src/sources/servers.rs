//! The configuration of MCP servers, in a flag or in a table `[[mcp_servers]]`, and their clients.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Outputs, Redaction};
use panpan_contract::retry::RetryRule;
use panpan_runtime::Registration;
use panpan_upstream::Url;
use panpan_upstream::mcp::{
    McpAddress, McpCommand, McpNames, McpSettings, McpTransport, McpUpstream,
};
use serde::Deserialize;

use super::error::LoadError;
use super::shorthand::{is_namespace, is_service_url, namespace_of};
use super::tables::{Scopes, SecretValue, resolved};
use super::{SecretSource, SourceCalls, secret};

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSource {
    /// The namespace of its operations.
    pub(crate) namespace: String,
    transport: Transport,
    /// The call settings.
    pub(crate) calls: SourceCalls,
    /// The scopes that its tools, resources and prompts require.
    scopes: Vec<String>,
    sessions: bool,
    /// Whether all callers share one session.
    pub(crate) shared: bool,
    /// Whether there is only one client.
    pub(crate) one_client: bool,
    sessions_limit: Option<NonZeroUsize>,
    session_idle: Option<Duration>,
    /// Whether names of tools and prompts have a prefix; unset for the default.
    names: Option<McpNames>,
    success_bodies: SuccessBodies,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Transport {
    Http {
        url: Url,
        headers: BTreeMap<String, SecretSource>,
    },
    Stdio {
        words: Vec<String>,
        environment: BTreeMap<String, SecretSource>,
        directory: Option<PathBuf>,
    },
}

/// A table `[[mcp_servers]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerTable {
    namespace: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, SecretValue>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, SecretValue>,
    directory: Option<PathBuf>,
    call_timeout_seconds: Option<u64>,
    #[serde(default)]
    scopes: Scopes,
    #[serde(default)]
    sessions: bool,
    #[serde(default)]
    shared: bool,
    sessions_limit: Option<NonZeroUsize>,
    session_idle_seconds: Option<NonZeroU64>,
    names: Option<McpNames>,
    #[serde(default)]
    success_bodies: SuccessBodies,
    timeout_ms: Option<NonZeroU64>,
    retry: Option<RetryRule>,
    patience_ms: Option<u64>,
    circuit: Option<CircuitRule>,
    outputs: Option<Outputs>,
    redaction: Option<Redaction>,
    key_argument: Option<bool>,
    #[serde(default)]
    operations: BTreeMap<String, CallSettings>,
}

impl ServerTable {
    /// The server, or why the table is invalid; paths are relative to the folder of the configuration file.
    pub(crate) fn resolve(self, folder: &Path) -> Result<ServerSource, String> {
        let (default_namespace, transport) = match (self.url, self.command.is_empty()) {
            (Some(_), true) if !self.env.is_empty() || self.directory.is_some() => {
                return Err("env and directory are for a server with a command".to_owned());
            }
            (None, false) if !self.headers.is_empty() => {
                return Err("headers are for a server with a url".to_owned());
            }
            (Some(url), true) => {
                let url = parse_url(&url).ok_or("url: expected an http:// or https:// URL without credentials, which belong in headers")?;
                let headers = resolved(self.headers, folder);
                (namespace_of_host(&url), Transport::Http { url, headers })
            }
            (None, false) => {
                let directory = self.directory.map(|it| folder.join(it));
                let transport = Transport::Stdio {
                    environment: resolved(self.env, folder),
                    words: self.command,
                    directory,
                };
                (None, transport)
            }
            _ => return Err("expected either url or command".to_owned()),
        };
        let namespace = self.namespace.or(default_namespace);
        let namespace = namespace.ok_or("expected a namespace for the operations")?;
        if !is_namespace(&namespace) {
            return Err(format!(
                "{namespace:?} is not a valid namespace; use letters, digits, _ and -"
            ));
        }
        let timeout_ms = match (self.timeout_ms, self.call_timeout_seconds) {
            (Some(_), Some(_)) => {
                let reason = "timeout_ms and call_timeout_seconds are the same setting; keep one";
                return Err(reason.to_owned());
            }
            (None, Some(seconds)) => {
                let milliseconds = NonZeroU64::new(seconds.saturating_mul(1000));
                Some(milliseconds.ok_or("call_timeout_seconds: expected at least 1")?)
            }
            (stated, None) => stated,
        };
        let calls = CallSettings {
            timeout_ms,
            retry: self.retry,
            patience_ms: self.patience_ms,
            circuit: self.circuit,
            outputs: self.outputs,
            redaction: self.redaction,
            key_argument: self.key_argument,
        };
        Ok(ServerSource {
            calls: SourceCalls::of(&namespace, calls, self.operations),
            namespace,
            transport,
            scopes: self.scopes.0,
            sessions: self.sessions,
            shared: self.shared,
            one_client: false,
            sessions_limit: self.sessions_limit,
            session_idle: self
                .session_idle_seconds
                .map(|it| Duration::from_secs(it.get())),
            names: self.names,
            success_bodies: self.success_bodies,
        })
    }
}

/// Whether a text is `[NAMESPACE=]URL`.
pub(crate) fn is_server_url(text: &str) -> bool {
    parse_server_url(text).is_some()
}

/// The server at `[NAMESPACE=]URL`.
pub(crate) fn parse_server_url(text: &str) -> Option<ServerSource> {
    let (namespace, url) = split_namespace(text);
    let url = parse_url(url)?;
    let namespace = namespace.map(str::to_owned);
    let namespace = namespace.or_else(|| namespace_of_host(&url))?;
    let headers = BTreeMap::new();
    Some(ServerSource::new(
        namespace,
        Transport::Http { url, headers },
    ))
}

/// Whether a text is `[NAMESPACE=]COMMAND`.
pub(crate) fn is_server_command(text: &str) -> bool {
    parse_server_command(text).is_some()
}

/// The server started by `[NAMESPACE=]COMMAND`.
pub(crate) fn parse_server_command(text: &str) -> Option<ServerSource> {
    let (namespace, command) = split_namespace(text);
    let words = split_words(command)?;
    let default = || namespace_of(Path::new(words.first().map_or("", String::as_str)));
    let namespace = namespace.map_or_else(default, str::to_owned);
    let transport = Transport::Stdio {
        words,
        environment: BTreeMap::new(),
        directory: None,
    };
    Some(ServerSource::new(namespace, transport))
}

fn split_namespace(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((before, rest)) if is_namespace(before) => (Some(before), rest),
        _ => (None, text),
    }
}

fn parse_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(is_service_url)
}

/// The default namespace of a server with a URL: the first part of its host that is not generic.
fn namespace_of_host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let name = host
        .split('.')
        .find(|it| !matches!(*it, "www" | "api" | "mcp"));
    name.map(|name| namespace_of(Path::new(name)))
}

/// Splits a command into words as a shell does: quotes group characters. `None` if a quote is not closed.
fn split_words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for each in command.chars() {
        match (each, quote) {
            (each, Some(open)) if each == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(each);
                word.get_or_insert_default();
            }
            (each, None) if each.is_whitespace() => words.extend(word.take()),
            (each, _) => word.get_or_insert_default().push(each),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

impl SourceCalls {
    /// Applies the settings to an operation.
    pub(crate) fn applied_to(&self, registration: Registration) -> Registration {
        registration.with(|spec| {
            self.apply_to_all(spec);
            self.apply_by_name(spec);
        })
    }
}

/// The command that kills a server together with everything it started, even if this process is killed: `panpan
/// guard`, under a path that works even if the executable file was replaced.
fn guard() -> Option<Vec<String>> {
    const GUARD: [&str; 2] = ["/proc/self/exe", "guard"];
    cfg!(target_os = "linux").then(|| GUARD.map(str::to_owned).to_vec())
}

impl ServerSource {
    fn new(namespace: String, transport: Transport) -> Self {
        Self {
            namespace,
            transport,
            calls: SourceCalls::default(),
            scopes: Vec::new(),
            sessions: false,
            shared: false,
            one_client: false,
            sessions_limit: None,
            session_idle: None,
            names: None,
            success_bodies: SuccessBodies::default(),
        }
    }

    /// The client of the server, not connected yet. `is_only_source` decides the default for names.
    pub(crate) fn upstream(&self, is_only_source: bool) -> Result<McpUpstream, LoadError> {
        let secrets = |sources: &BTreeMap<String, SecretSource>| {
            let sources = sources.iter();
            let read =
                sources.map(|(name, it)| Ok((name.clone(), secret(&self.namespace, name, it)?)));
            read.collect::<Result<Vec<_>, LoadError>>()
        };
        let transport = match &self.transport {
            Transport::Http { url, headers } => McpTransport::Http(McpAddress {
                headers: secrets(headers)?,
                ..McpAddress::new(url.as_str())
            }),
            Transport::Stdio {
                words,
                environment,
                directory,
            } => McpTransport::Stdio(McpCommand {
                arguments: words[1..].to_vec(),
                environment: secrets(environment)?,
                directory: directory.clone(),
                guard: guard(),
                ..McpCommand::new(&words[0])
            }),
        };
        let mut settings = McpSettings {
            circuit: self.calls.circuit(),
            names: self.names.unwrap_or(match is_only_source {
                true => McpNames::Own,
                false => McpNames::Prefixed,
            }),
            scopes: self.scopes.clone(),
            sessions: self.sessions,
            success_bodies: self.success_bodies,
            ..McpSettings::new(&self.namespace, transport)
        };
        let sessions = &mut settings.sessions_of_callers;
        sessions.shared = self.shared;
        sessions.alone = self.one_client;
        sessions.limit = self
            .sessions_limit
            .map_or(sessions.limit, NonZeroUsize::get);
        sessions.idle = self.session_idle.unwrap_or(sessions.idle);
        McpUpstream::new(settings).map_err(|error| LoadError::Server {
            namespace: self.namespace.clone(),
            source: error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_or_a_command_with_an_optional_namespace() {
        for (text, expected) in [
            ("https://mcp.example.com/mcp", Some("example")),
            ("files=http://127.0.0.1:7077/mcp", Some("files")),
            ("ftp://example.com", None),
            ("files=", None),
        ] {
            let found = parse_server_url(text).map(|it| it.namespace);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("npx -y server", Some(("npx", vec!["npx", "-y", "server"]))),
            (
                "files=npx 'a b' \"c 'd\" e''",
                Some(("files", vec!["npx", "a b", "c 'd", "e"])),
            ),
            (
                "/usr/bin/server.py",
                Some(("server", vec!["/usr/bin/server.py"])),
            ),
            ("npx 'a", None),
            ("  ", None),
            ("files=", None),
        ] {
            let found = parse_server_command(text).map(|it| match it.transport {
                Transport::Stdio { words, .. } => (it.namespace, words),
                Transport::Http { .. } => panic!("{text}"),
            });
            let expected = expected.map(|(namespace, words)| {
                let words = words.into_iter().map(str::to_owned);
                (namespace.to_owned(), words.collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
