//! The banner that a server prints when it has started: its addresses, its sources and a command to try.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use panpan_surfaces::Anonymous;

use crate::backend::OperationCounts;
use crate::config::Config;
use crate::log::{self, LogFormat, amount, warn};

/// A server that has started.
#[derive(Debug)]
pub(super) struct Banner<'a> {
    pub(super) config: &'a Config,
    /// The address it listens on, with the port that the system chose.
    pub(super) address: SocketAddr,
    pub(super) anonymous: Anonymous,
    pub(super) operations: OperationCounts,
    /// Whether the demo operations are served.
    pub(super) has_demo: bool,
    /// One line about each source.
    pub(super) sources: &'a [String],
}

impl Banner<'_> {
    /// Prints the banner on stderr; in a JSON log, as one event.
    pub(super) fn print(&self) {
        let OperationCounts {
            from_sources,
            built_in,
        } = self.operations;
        match self.config.log.format {
            LogFormat::Text => log::print(&self.lines().join("\n")),
            LogFormat::Json => tracing::info!(
                url = self.url(self.address),
                operations = from_sources + built_in,
                built_in,
                store = %self.config.store,
                "listening"
            ),
        }
        if self.config.tls.is_none() && !self.address.ip().is_loopback() {
            warn(
                "tokens and responses travel unencrypted; set --tls-certificate and --tls-key, or use a proxy with TLS",
            );
        }
        let is_open = self.anonymous == Anonymous::Served && !self.address.ip().is_loopback();
        if is_open && self.config.hosts.is_empty() {
            warn(
                "web pages can call this server through DNS rebinding; set the names of the server with --host",
            );
        }
    }

    fn lines(&self) -> Vec<String> {
        let version = env!("CARGO_PKG_VERSION");
        let operations = self.operations();
        let url = self.url(self.address);
        let (callers, condition) = match self.anonymous {
            Anonymous::Served => (
                "everyone who can connect; `panpan token new NAME` creates a token",
                "",
            ),
            Anonymous::Refused => (
                "with a token only; `panpan token new NAME` creates one",
                ", with a token in PANPAN_TOKEN",
            ),
        };
        let mut lines = vec![
            format!("panpan {version} serves {operations} at {url}"),
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
        let sources = self.sources.iter();
        lines.extend(sources.map(|it| format!("  source     {it}")));
        lines.extend([
            format!("try{condition}:"),
            format!("  {}", self.example()),
            "stop with Ctrl-C".to_owned(),
        ]);
        lines
    }

    /// The number of operations, built-in operations apart.
    fn operations(&self) -> String {
        let OperationCounts {
            from_sources,
            built_in,
        } = self.operations;
        let from_sources = amount(from_sources, "operation", "operations");
        let of_panpan = amount(built_in, "built-in operation", "built-in operations");
        match (self.config.sources.has_any(), built_in) {
            (false, _) => of_panpan,
            (true, 0) => from_sources,
            (true, _) => format!("{from_sources} and {of_panpan}"),
        }
    }

    /// A command that works on this machine.
    fn example(&self) -> String {
        let url = self.url(local_address(self.address));
        // The certificate seldom contains the loopback address.
        let insecure = match self.config.tls {
            Some(_) => " --insecure",
            None => "",
        };
        let token = match self.anonymous {
            Anonymous::Served => "",
            Anonymous::Refused => " -H \"authorization: Bearer $PANPAN_TOKEN\"",
        };
        if !self.has_demo {
            return format!("curl{insecure} {url}/search{token}");
        }
        let body = r#"{"operation": "demo/divide", "input": {"dividend": 1, "divisor": 0}}"#;
        format!("curl{insecure} {url}/call{token} -H 'content-type: application/json' -d '{body}'")
    }

    fn url(&self, address: SocketAddr) -> String {
        let scheme = match self.config.tls {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{address}")
    }
}

/// The address to connect to on this machine: loopback for a server that listens on all addresses.
fn local_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}
