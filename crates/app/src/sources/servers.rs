//! MCP servers: what is said about one, in a flag or a table, and what it is started or asked with.

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
use super::short::{is_namespace, is_service, named_after};
use super::written::{Scopes, WrittenSecret};
use super::{SecretSource, SourceCalls, secret};

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSource {
    /// The first step of its operations' names.
    pub(crate) namespace: String,
    place: Place,
    /// How calls to it are made.
    pub(crate) calls: SourceCalls,
    /// Scopes callers need for anything of it.
    scopes: Vec<String>,
    sessions: bool,
    /// Whether all callers share one session with it.
    pub(crate) shared: bool,
    /// Whether there is only one client.
    pub(crate) one_client: bool,
    sessions_limit: Option<NonZeroUsize>,
    session_idle: Option<Duration>,
    /// What its tools and prompts are called, if that is said.
    names: Option<McpNames>,
    success_bodies: SuccessBodies,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Address {
        url: Url,
        headers: BTreeMap<String, SecretSource>,
    },
    Command {
        words: Vec<String>,
        environment: BTreeMap<String, SecretSource>,
        directory: Option<PathBuf>,
    },
}

/// A table `[[mcp_servers]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenServer {
    namespace: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, WrittenSecret>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, WrittenSecret>,
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

impl WrittenServer {
    /// The server, its folder seen from that of the file it stands in; or what is wrong.
    pub(crate) fn seen_from(self, folder: &Path) -> Result<ServerSource, String> {
        let secrets = |written: BTreeMap<String, WrittenSecret>| {
            let written = written.into_iter();
            let seen = written.map(|(name, it)| (name, it.seen_from(folder)));
            seen.collect::<BTreeMap<_, _>>()
        };
        let (usual, place) = match (self.url, self.command.is_empty()) {
            (Some(_), true) if !self.env.is_empty() || self.directory.is_some() => {
                let why = "env and directory are for a server that is started by its command";
                return Err(why.to_owned());
            }
            (None, false) if !self.headers.is_empty() => {
                return Err("headers are for a server that has a url".to_owned());
            }
            (Some(url), true) => {
                let url = address(&url).ok_or("url: expected an http:// or https:// address without a name or password, which belong in headers")?;
                let headers = secrets(self.headers);
                (named_after_host(&url), Place::Address { url, headers })
            }
            (None, false) => {
                let directory = self.directory.map(|it| folder.join(it));
                let place = Place::Command {
                    environment: secrets(self.env),
                    words: self.command,
                    directory,
                };
                (None, place)
            }
            _ => return Err("expected either url or command".to_owned()),
        };
        let named = self.namespace.or(usual);
        let namespace = named.ok_or("expected a namespace for its operations")?;
        if !is_namespace(&namespace) {
            return Err(format!(
                "{namespace:?} is no namespace: letters, digits, _ and -"
            ));
        }
        let timeout_ms = match (self.timeout_ms, self.call_timeout_seconds) {
            (Some(_), Some(_)) => {
                let why = "timeout_ms and call_timeout_seconds are the same setting; keep one";
                return Err(why.to_owned());
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
            place,
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

/// Whether a text names an address, and perhaps what its operations are called.
pub(crate) fn is_at(text: &str) -> bool {
    at(text).is_some()
}

/// The server at `[NAMESPACE=]URL`.
pub(crate) fn at(text: &str) -> Option<ServerSource> {
    let (namespace, url) = named(text);
    let url = address(url)?;
    let namespace = namespace.map(str::to_owned);
    Some(ServerSource {
        namespace: namespace.or_else(|| named_after_host(&url))?,
        place: Place::Address {
            url,
            headers: BTreeMap::new(),
        },
        calls: SourceCalls::default(),
        scopes: Vec::new(),
        sessions: false,
        shared: false,
        one_client: false,
        sessions_limit: None,
        session_idle: None,
        names: None,
        success_bodies: SuccessBodies::default(),
    })
}

/// Whether a text names a command, and perhaps what its operations are called.
pub(crate) fn is_started(text: &str) -> bool {
    started(text).is_some()
}

/// The server started by `[NAMESPACE=]COMMAND`.
pub(crate) fn started(text: &str) -> Option<ServerSource> {
    let (namespace, command) = named(text);
    let words = words(command)?;
    let usual = || named_after(Path::new(words.first().map_or("", String::as_str)));
    Some(ServerSource {
        namespace: namespace.map_or_else(usual, str::to_owned),
        place: Place::Command {
            words,
            environment: BTreeMap::new(),
            directory: None,
        },
        calls: SourceCalls::default(),
        scopes: Vec::new(),
        sessions: false,
        shared: false,
        one_client: false,
        sessions_limit: None,
        session_idle: None,
        names: None,
        success_bodies: SuccessBodies::default(),
    })
}

fn named(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((before, rest)) if is_namespace(before) => (Some(before), rest),
        _ => (None, text),
    }
}

fn address(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(is_service)
}

/// What the operations of a server are called that nobody gave a name: its host without what most have.
fn named_after_host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let name = host
        .split('.')
        .find(|it| !matches!(*it, "www" | "api" | "mcp"));
    name.map(|name| named_after(Path::new(name)))
}

/// The words of a command, as a shell would part them: quotes hold words together.
fn words(command: &str) -> Option<Vec<String>> {
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
    /// Has an operation called as is said here.
    pub(crate) fn applied_to(&self, registration: Registration) -> Registration {
        registration.with(|spec| {
            self.apply_to_all(spec);
            self.apply_by_name(spec);
        })
    }
}

/// What ends a server with everything it started, also when this process is killed: this program itself, by the
/// name under which it can be started also when its file was replaced.
fn guard() -> Option<Vec<String>> {
    const OWN: [&str; 2] = ["/proc/self/exe", "guard"];
    cfg!(target_os = "linux").then(|| OWN.map(str::to_owned).to_vec())
}

impl ServerSource {
    /// Makes ready to ask it. `is_alone` says that operations come from nowhere else.
    pub(crate) fn upstream(&self, is_alone: bool) -> Result<McpUpstream, LoadError> {
        let secrets = |named: &BTreeMap<String, SecretSource>| {
            let named = named.iter();
            let read =
                named.map(|(name, it)| Ok((name.clone(), secret(&self.namespace, name, it)?)));
            read.collect::<Result<Vec<_>, LoadError>>()
        };
        let place = match &self.place {
            Place::Address { url, headers } => McpTransport::Http(McpAddress {
                headers: secrets(headers)?,
                ..McpAddress::new(url.as_str())
            }),
            Place::Command {
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
            names: self.names.unwrap_or(match is_alone {
                true => McpNames::Own,
                false => McpNames::Prefixed,
            }),
            scopes: self.scopes.clone(),
            sessions: self.sessions,
            success_bodies: self.success_bodies,
            ..McpSettings::new(&self.namespace, place)
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
    fn a_server_is_an_address_or_a_command_perhaps_with_a_name() {
        for (text, expected) in [
            ("https://mcp.example.com/mcp", Some("example")),
            ("files=http://127.0.0.1:7077/mcp", Some("files")),
            ("ftp://example.com", None),
            ("files=", None),
        ] {
            let found = at(text).map(|it| it.namespace);
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
            let found = started(text).map(|it| match it.place {
                Place::Command { words, .. } => (it.namespace, words),
                Place::Address { .. } => panic!("{text}"),
            });
            let expected = expected.map(|(namespace, words)| {
                let words = words.into_iter().map(str::to_owned);
                (namespace.to_owned(), words.collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
