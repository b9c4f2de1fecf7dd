//! What a server says when it has started: where everything is, and one thing to try.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use panpan_surfaces::Anonymous;

use crate::config::Config;
use crate::terminal::{self, LogFormat, warn};

/// A server that has started.
#[derive(Debug)]
pub(super) struct Greeting<'a> {
    pub(super) config: &'a Config,
    /// Where it listens, also where the system chose the port.
    pub(super) address: SocketAddr,
    pub(super) anonymous: Anonymous,
    pub(super) operations: usize,
    /// Whether the demonstration is among them.
    pub(super) has_demo: bool,
    /// What is said about the sources of the operations.
    pub(super) about_sources: &'a [String],
}

impl Greeting<'_> {
    /// Says it on stderr; in a log for programs, as one event.
    pub(super) fn say(&self) {
        match self.config.log.format {
            LogFormat::Text => terminal::say(&self.lines().join("\n")),
            LogFormat::Json => tracing::info!(
                url = self.url(self.address),
                operations = self.operations,
                store = %self.config.store,
                "listening"
            ),
        }
        if self.config.tls.is_none() && !self.address.ip().is_loopback() {
            warn(
                "tokens and answers travel unencrypted; give --tls-certificate and --tls-key, or put a proxy with TLS in front",
            );
        }
        let is_open = self.anonymous == Anonymous::Served && !self.address.ip().is_loopback();
        if is_open && self.config.hosts.is_empty() {
            warn(
                "any page in a browser nearby can call this server under a name of its own; say with --host which names it goes by",
            );
        }
    }

    fn lines(&self) -> Vec<String> {
        let Self { operations, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        let url = self.url(self.address);
        let (callers, condition) = match self.anonymous {
            Anonymous::Served => (
                "anyone who can reach it; `panpan token new NAME` makes callers known",
                "",
            ),
            Anonymous::Refused => (
                "those with a token; `panpan token new NAME` makes one",
                ", with a token in PANPAN_TOKEN",
            ),
        };
        let mut lines = vec![
            format!("panpan {version} serves {operations} operations at {url}"),
            format!("  MCP        {url}/mcp"),
            format!(
                "  HTTP       POST {url}/call, /batch, /subscribe, /operations/NAME; GET /search, /schema"
            ),
            format!("  JSON-RPC   POST {url}/rpc"),
            format!("  WebSocket  {}/ws", url.replacen("http", "ws", 1)),
            format!(
                "  about      GET {url}/errors, /openapi.json, /contract.json, /healthz, /readyz, /metrics"
            ),
            format!("  store      {}", self.config.store),
            format!("  callers    {callers}"),
        ];
        let about = self.about_sources.iter();
        lines.extend(about.map(|it| format!("  from       {it}")));
        lines.extend([
            format!("try{condition}:"),
            format!("  {}", self.example()),
            "stop with Ctrl-C".to_owned(),
        ]);
        lines
    }

    /// A command that works from this machine.
    fn example(&self) -> String {
        let url = self.url(from_here(self.address));
        // The name in the certificate is seldom the one this machine knows itself by.
        let unproved = match self.config.tls {
            Some(_) => " --insecure",
            None => "",
        };
        let token = match self.anonymous {
            Anonymous::Served => "",
            Anonymous::Refused => " -H \"authorization: Bearer $PANPAN_TOKEN\"",
        };
        if !self.has_demo {
            return format!("curl{unproved} {url}/search{token}");
        }
        let body = r#"{"operation": "demo/divide", "input": {"dividend": 1, "divisor": 0}}"#;
        format!("curl{unproved} {url}/call{token} -H 'content-type: application/json' -d '{body}'")
    }

    fn url(&self, address: SocketAddr) -> String {
        let scheme = match self.config.tls {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{address}")
    }
}

/// The address to use on this machine for a server that listens on all it has.
fn from_here(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}
