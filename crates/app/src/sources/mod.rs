//! Where operations come from besides the program itself: descriptions of services, and MCP servers.
//!
//! Here is what can be said about them; `load` makes operations of them, `written` reads the long form in
//! the file.

mod bounded;
mod calls;
mod error;
mod load;
mod overlay;
mod servers;
mod short;
mod written;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use panpan_openapi::Filters;
use panpan_redact::Secret;
use panpan_upstream::Url;
use panpan_upstream::header::HeaderName;
use panpan_upstream::mcp::McpUpstream;

use crate::builtin::BuiltIn;

pub(crate) use calls::SourceCalls;
pub(crate) use error::LoadError;
pub(crate) use load::Loaded;
pub(crate) use overlay::{OverlayFileError, read_overlay};
pub(crate) use servers::{ServerSource, WrittenServer, at, is_at, is_started, started};
pub(crate) use short::{is_openapi, openapi};
pub(crate) use written::{SECRET_VARIABLE_PREFIX, WrittenService};

/// All sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sources {
    /// Services described by OpenAPI documents or contract files.
    pub(crate) services: Vec<ServiceSource>,
    /// MCP servers that listen.
    pub(crate) servers: Vec<ServerSource>,
    /// MCP servers that are started.
    pub(crate) commands: Vec<ServerSource>,
    /// Overlays applied to every import.
    pub(crate) overlays: Vec<PathBuf>,
    /// Hosts and networks that may be asked although they are not public.
    pub(crate) allowed_hosts: Vec<String>,
    /// Built-in operations that reach out, switched on by name.
    pub(crate) enabled: Vec<String>,
    /// Which other built-in operations are served.
    pub(crate) built_in: BuiltIn,
}

/// A service and its description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServiceSource {
    /// The first step of its operations' names.
    pub(crate) namespace: String,
    /// Whether the operator chose that name: the operations of a contract keep theirs otherwise.
    pub(crate) is_named: bool,
    /// Its description: an OpenAPI document, or a contract file.
    pub(crate) file: PathBuf,
    /// Where it is, if not where the description says.
    pub(crate) url: Option<Url>,
    /// Overlays of its own.
    pub(crate) overlays: Vec<PathBuf>,
    /// Scopes callers need for its operations, beside those the description asks for.
    pub(crate) scopes: Vec<String>,
    /// Which of its operations are imported.
    pub(crate) filters: Filters,
    /// What it is asked with, by the names of its security schemes.
    pub(crate) credentials: BTreeMap<String, SecretSource>,
    /// Headers that go with every request.
    pub(crate) headers: BTreeMap<String, SecretSource>,
    /// Headers of callers, and the headers their values are sent in.
    pub(crate) pass_headers: Vec<(HeaderName, HeaderName)>,
    /// How calls to it are made.
    pub(crate) calls: SourceCalls,
}

/// Where a secret is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretSource {
    /// In a variable of the environment.
    Variable(String),
    /// In a file, without the line break at its end.
    File(PathBuf),
    /// In the configuration itself.
    Said(Hidden),
}

/// A text that is not printed.
#[derive(Clone, Debug)]
pub(crate) struct Hidden(Secret<String>);

impl PartialEq for Hidden {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose() == other.0.expose()
    }
}

impl Eq for Hidden {}

impl Sources {
    /// Whether an operator named a service or a server.
    pub(crate) fn has_any(&self) -> bool {
        !(self.services.is_empty() && self.servers.is_empty() && self.commands.is_empty())
    }

    /// The MCP servers, made ready to be asked.
    pub(crate) fn upstreams(&self) -> Result<Vec<McpUpstream>, LoadError> {
        let servers = self.servers.iter().chain(&self.commands);
        let sources = self.services.len() + self.servers.len() + self.commands.len();
        servers.map(|it| it.upstream(sources == 1)).collect()
    }

    /// Has all callers share one session with each MCP server: for a program with one client.
    pub(crate) fn share_sessions(&mut self) {
        for server in self.servers.iter_mut().chain(&mut self.commands) {
            server.shared = true;
            server.one_client = true;
        }
    }

    /// How calls to each MCP server are made, in the same order.
    pub(crate) fn server_calls(&self) -> Vec<SourceCalls> {
        let servers = self.servers.iter().chain(&self.commands);
        servers.map(|server| server.calls.clone()).collect()
    }

    /// The headers of callers that hold secrets for a service.
    pub(crate) fn passed_headers(&self) -> Vec<HeaderName> {
        let passed = self.services.iter().flat_map(|it| &it.pass_headers);
        passed.map(|(from, _)| from.clone()).collect()
    }

    /// The files a change of which changes the operations.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let of_services = self.services.iter().flat_map(|it| {
            let own = std::iter::once(&it.file);
            own.chain(&it.overlays)
        });
        of_services.chain(&self.overlays).map(PathBuf::as_path)
    }
}

impl ServiceSource {
    fn at(namespace: String, file: PathBuf, url: Option<Url>) -> Self {
        Self {
            namespace,
            is_named: false,
            file,
            url,
            overlays: Vec::new(),
            scopes: Vec::new(),
            filters: Filters::default(),
            credentials: BTreeMap::new(),
            headers: BTreeMap::new(),
            pass_headers: Vec::new(),
            calls: SourceCalls::default(),
        }
    }
}

/// The secret a namespace knows by a name.
fn secret(namespace: &str, name: &str, source: &SecretSource) -> Result<Secret<String>, LoadError> {
    let missing = |why: String| LoadError::Secret {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        why,
    };
    match source {
        SecretSource::Said(hidden) => Ok(Secret::new(hidden.0.expose().clone())),
        SecretSource::Variable(variable) => match std::env::var(variable) {
            Ok(secret) if !secret.is_empty() => Ok(Secret::new(secret)),
            _ => Err(missing(format!("the variable {variable} is not set"))),
        },
        SecretSource::File(path) => match std::fs::read_to_string(path) {
            Ok(secret) => Ok(Secret::new(
                secret.trim_end_matches(['\r', '\n']).to_owned(),
            )),
            Err(error) => Err(missing(format!("{}: {error}", path.display()))),
        },
    }
}
