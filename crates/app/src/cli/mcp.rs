//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::{StdioClient, serve_stdio};
use panpan_surfaces::{Anonymous, Caller, Gateway};

use super::error::{Hinted, with_hint};
use super::{Status, exit_at_once};
use crate::backend::{Backend, DRAIN, ServerSet};
use crate::config::{self, Config, Flags};
use crate::log::{self, LogFormat};
use crate::reload;
use crate::signals::Signals;

/// How long to wait for the first message of the client before MCP servers are connected to.
const FIRST_MESSAGE_WAIT: Duration = Duration::from_secs(2);

/// The variable that contains the caller's token.
const TOKEN_VARIABLE: &str = "PANPAN_TOKEN";

/// The options of `panpan mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An MCP client starts this command; add it to the client's list of servers.
PANPAN_TOKEN may contain the token of the caller. All settings: docs/configuration.md.

Examples:
  panpan mcp --mcp-stdio \"files=npx -y @modelcontextprotocol/server-filesystem .\"
  panpan mcp --openapi api.yaml@https://api.example.com
  panpan mcp --config /home/ann/billing/panpan.toml")]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags<true>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    log::start(log::filter("warn"), LogFormat::Text);
    let flags = &args.flags;
    let hint = "correct the listed settings; `panpan mcp --help` describes the flags";
    let mut config = config::load(flags.config.as_deref(), std::env::vars_os(), flags)
        .context(Hinted::new("cannot serve MCP", hint))?;
    // There is only one client: the one at the other end of the pipe.
    config.sources.share_sessions();
    let runtime = super::runtime()?;
    let served = runtime.block_on(serve(config));
    // A pending read of stdin must not keep the process alive.
    runtime.shutdown_background();
    served.map(|()| Status::Success)
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let cannot_serve = |error| with_hint("cannot serve MCP", error);
    let backend = Arc::new(Backend::open_with(&config).map_err(cannot_serve)?);
    // Before an MCP server is started, which a signal has to end.
    let signals = Signals::to_stop().context("cannot listen for signals")?;
    tokio::spawn(exit_on_signal(signals, backend.clone()));
    let mut client = StdioClient::new();
    // Servers are told what the client supports when they are connected to.
    if let Some(capabilities) = client.capabilities(FIRST_MESSAGE_WAIT).await {
        for server in backend.servers() {
            server.expect_client(capabilities.clone());
        }
    }
    let refreshed = backend.refresh_tools(ServerSet::All).await;
    refreshed.map_err(cannot_serve)?;
    if backend.can_never_have_tools() {
        let message =
            "cannot serve MCP: no MCP server can be started, and there are no other tools";
        let hint = "correct the command in --mcp-stdio, PANPAN_MCP_COMMANDS or panpan.toml; the lines above give the reason";
        return Err(Hinted::new(message, hint).into());
    }
    let gateway = backend.gateway(Anonymous::Served, Limits::default());
    let caller = caller(&gateway).await?;
    let tools = config.tools;
    tokio::spawn(reload::watch_sources(backend.clone(), config.sources));
    let work = serve_stdio(client, gateway.clone(), caller, tools);
    let served = backend.run_and_drain(Some(&gateway), work, || DRAIN).await;
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))
}

/// A client that is done closes the pipe; a client that sends a signal does not wait.
async fn exit_on_signal(mut signals: Signals, backend: Arc<Backend>) {
    signals.next().await;
    exit_at_once(&backend);
}

/// The caller with the token in the environment; without a token, an anonymous caller.
async fn caller(gateway: &Gateway) -> anyhow::Result<Caller> {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let token = token.filter(|token| !token.is_empty());
    let caller = gateway.identify(token.as_deref(), None).await;
    caller.map_err(|failure| {
        let hint =
            format!("create a token with `panpan token new PRINCIPAL`, or unset {TOKEN_VARIABLE}");
        let message = format!("cannot use the token in {TOKEN_VARIABLE}");
        let reason = anyhow::Error::msg(failure.redacted().message().to_owned());
        reason.context(Hinted::new(message, hint))
    })
}
