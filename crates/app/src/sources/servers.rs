//! The configuration of MCP servers, in a flag or in a table `[[mcp_servers]]`, and their clients.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Outputs, Redaction, TaskUse};
use panpan_contract::retry::RetryRule;
use panpan_upstream::Url;
use panpan_upstream::mcp::{
    McpAddress, McpCommand, McpNames, McpSettings, McpTransport, McpUpstream,
};
use serde::Deserialize;

use super::error::LoadError;
use super::shorthand::{is_namespace, namespace_of, parse_url, split_namespace};
use super::tables::{Scopes, resolve_files, source_calls};
use super::{SecretSource, SourceCalls, secrets};

/// An MCP server: a table `[[mcp_servers]]`, or its short form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSource {
    /// The namespace of its operations.
    #[serde(default)]
    pub(crate) namespace: String,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, SecretSource>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, SecretSource>,
    directory: Option<PathBuf>,
    call_timeout_seconds: Option<u64>,
    /// The scopes that its tools, resources and prompts require.
    #[serde(default)]
    scopes: Scopes,
    #[serde(default)]
    sessions: bool,
    /// Whether all callers share one session.
    #[serde(default)]
    pub(crate) shared: bool,
    /// Whether there is only one client.
    #[serde(skip)]
    pub(crate) one_client: bool,
    sessions_limit: Option<NonZeroUsize>,
    session_idle_seconds: Option<NonZeroU64>,
    /// Whether names of tools and prompts have a prefix; unset for the default.
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
    task: Option<TaskUse>,
    #[serde(default)]
    operations: BTreeMap<String, CallSettings>,
    /// The call settings in the members before.
    #[serde(skip)]
    pub(crate) calls: SourceCalls,
}

impl ServerSource {
    /// Completes the source, or says why it is invalid; paths are relative to the folder.
    pub(crate) fn resolve(mut self, folder: &Path) -> Result<Self, String> {
        match (&self.url, self.command.is_empty()) {
            (Some(_), true) if !self.env.is_empty() || self.directory.is_some() => {
                return Err("env and directory are for a server with a command".to_owned());
            }
            (None, false) if !self.headers.is_empty() => {
                return Err("headers are for a server with a url".to_owned());
            }
            (Some(url), true) => {
                let url = parse_url(url).ok_or("url: expected an http:// or https:// URL without credentials, which belong in headers")?;
                if self.namespace.is_empty() {
                    self.namespace = namespace_of_host(&url).unwrap_or_default();
                }
                self.url = Some(url.into());
            }
            (None, false) => {}
            _ => return Err("expected either url or command".to_owned()),
        }
        if self.namespace.is_empty() {
            return Err("expected a namespace for the operations".to_owned());
        }
        if !is_namespace(&self.namespace) {
            return Err(format!(
                "{:?} is not a valid namespace; use letters, digits, _ and -",
                self.namespace
            ));
        }
        self.timeout_ms = match (self.timeout_ms, self.call_timeout_seconds) {
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
        self.calls = source_calls!(self);
        self.directory = self.directory.map(|it| folder.join(it));
        resolve_files(&mut self.headers, folder);
        resolve_files(&mut self.env, folder);
        Ok(self)
    }
}

/// The server at `[NAMESPACE=]URL`.
pub(crate) fn parse_server_url(text: &str) -> Option<ServerSource> {
    let (namespace, url) = split_namespace(text);
    let source = ServerSource {
        namespace: namespace.unwrap_or_default().to_owned(),
        url: Some(url.to_owned()),
        ..ServerSource::default()
    };
    source.resolve(Path::new("")).ok()
}

/// The server started by `[NAMESPACE=]COMMAND`.
pub(crate) fn parse_server_command(text: &str) -> Option<ServerSource> {
    let (namespace, command) = split_namespace(text);
    let command = split_words(command)?;
    let default = || namespace_of(Path::new(&command[0]));
    let source = ServerSource {
        namespace: namespace.map_or_else(default, str::to_owned),
        command,
        ..ServerSource::default()
    };
    source.resolve(Path::new("")).ok()
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

/// The command that kills a server together with everything it started, even if this process is killed: `panpan
/// guard`, under a path that works even if the executable file was replaced.
fn guard() -> Option<Vec<String>> {
    const GUARD: [&str; 2] = ["/proc/self/exe", "guard"];
    cfg!(target_os = "linux").then(|| GUARD.map(str::to_owned).to_vec())
}

impl ServerSource {
    /// The client of the server, not connected yet. `is_only_source` decides the default for names.
    pub(crate) fn upstream(&self, is_only_source: bool) -> Result<McpUpstream, LoadError> {
        let transport = match &self.url {
            Some(url) => McpTransport::Http(McpAddress {
                headers: secrets(&self.namespace, &self.headers)?,
                ..McpAddress::new(url)
            }),
            None => McpTransport::Stdio(McpCommand {
                arguments: self.command[1..].to_vec(),
                environment: secrets(&self.namespace, &self.env)?,
                directory: self.directory.clone(),
                guard: guard(),
                ..McpCommand::new(&self.command[0])
            }),
        };
        let mut settings = McpSettings {
            circuit: self.calls.circuit(),
            names: self.names.unwrap_or(match is_only_source {
                true => McpNames::Own,
                false => McpNames::Prefixed,
            }),
            scopes: self.scopes.0.clone(),
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
        let idle = self.session_idle_seconds;
        sessions.idle = idle.map_or(sessions.idle, |it| Duration::from_secs(it.get()));
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
            let found = parse_server_command(text).map(|it| (it.namespace, it.command));
            let expected = expected.map(|(namespace, words)| {
                let words = words.into_iter().map(str::to_owned);
                (namespace.to_owned(), words.collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
