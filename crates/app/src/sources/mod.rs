//! The sources of operations: described services and MCP servers.
//!
//! Here is their configuration. `load` turns it into operations, `shorthand` and `servers` parse flags, `tables` and
//! `servers` parse the tables of the file.

mod calls;
mod error;
mod load;
mod output_schema;
mod overlay;
mod servers;
mod shorthand;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use panpan_redact::Secret;
use panpan_upstream::header::HeaderName;
use panpan_upstream::mcp::McpUpstream;

use crate::builtin::BuiltInSettings;
use crate::files::read_text_file;

pub(crate) use calls::SourceCalls;
pub(crate) use error::{Lines, LoadError};
pub(crate) use load::Loaded;
pub(crate) use overlay::{OVERLAY_HINT, OverlayFileError, read_overlay};
pub(crate) use servers::{ServerSource, parse_server_command, parse_server_url};
pub(crate) use shorthand::parse_service;
pub(crate) use tables::{SECRET_VARIABLE_PREFIX, SecretSource, ServiceSource, secret_variable};

/// All sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sources {
    /// Services described by OpenAPI documents or contract files.
    pub(crate) services: Vec<ServiceSource>,
    /// MCP servers with a URL.
    pub(crate) servers: Vec<ServerSource>,
    /// MCP servers that panpan starts.
    pub(crate) commands: Vec<ServerSource>,
    /// Overlays for all operations.
    pub(crate) overlays: Vec<PathBuf>,
    /// Private hosts and networks that panpan may connect to.
    pub(crate) allowed_hosts: Vec<String>,
    /// Built-in operations that are off by default, enabled by name.
    pub(crate) enabled: Vec<String>,
    /// Whether tasks send webhooks, with `http/call`.
    pub(crate) sends_webhooks: bool,
    pub(crate) built_in: BuiltInSettings,
}

impl Sources {
    /// Whether a service or an MCP server is configured.
    pub(crate) fn has_any(&self) -> bool {
        !(self.services.is_empty() && self.servers.is_empty() && self.commands.is_empty())
    }

    /// The clients of the MCP servers; none of them is connected yet.
    pub(crate) fn upstreams(&self) -> Result<Vec<McpUpstream>, LoadError> {
        let servers = self.servers.iter().chain(&self.commands);
        let sources = self.services.len() + self.servers.len() + self.commands.len();
        servers.map(|it| it.upstream(sources == 1)).collect()
    }

    /// Makes all callers share one session with each MCP server: for a process with one client.
    pub(crate) fn share_sessions(&mut self) {
        for server in self.servers.iter_mut().chain(&mut self.commands) {
            server.shared = true;
            server.one_client = true;
        }
    }

    /// The call settings of each MCP server, in the order of [`Self::upstreams`].
    pub(crate) fn server_calls(&self) -> Vec<SourceCalls> {
        let servers = self.servers.iter().chain(&self.commands);
        servers.map(|server| server.calls.clone()).collect()
    }

    /// The headers of callers that are forwarded to services and may contain secrets.
    pub(crate) fn passed_headers(&self) -> Vec<HeaderName> {
        let passed = self.services.iter().flat_map(|it| &it.pass_headers.0);
        passed.map(|(from, _)| from.clone()).collect()
    }

    /// The files that describe operations.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let services = self.services.iter();
        let of_services = services.flat_map(|it| [&it.file].into_iter().chain(&it.overlays));
        of_services.chain(&self.overlays).map(PathBuf::as_path)
    }
}

/// The largest file that is read for a secret.
const SECRET_BYTES_LIMIT: usize = 64 * 1024;

/// Reads the secrets of a source.
fn secrets(
    namespace: &str,
    sources: &BTreeMap<String, SecretSource>,
) -> Result<Vec<(String, Secret<String>)>, LoadError> {
    let read = |(name, source): (&String, _)| Ok((name.clone(), secret(namespace, name, source)?));
    sources.iter().map(read).collect()
}

fn secret(namespace: &str, name: &str, source: &SecretSource) -> Result<Secret<String>, LoadError> {
    let missing = |reason: String| LoadError::Secret {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        reason,
    };
    match source {
        SecretSource::Inline(hidden) => Ok(Secret::new(hidden.0.expose().clone())),
        SecretSource::Variable { env } => match std::env::var(env) {
            Ok(secret) if !secret.is_empty() => Ok(Secret::new(secret)),
            _ => Err(missing(format!("the variable {env} is not set"))),
        },
        SecretSource::File { file } => match read_text_file(file, SECRET_BYTES_LIMIT) {
            Ok(secret) => Ok(Secret::new(
                secret.trim_end_matches(['\r', '\n']).to_owned(),
            )),
            Err(error) => Err(missing(format!("{}: {error}", file.display()))),
        },
    }
}
