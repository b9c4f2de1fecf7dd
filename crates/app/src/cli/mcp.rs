//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use std::sync::Arc;

use anyhow::Context;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::serve_stdio;
use panpan_surfaces::{Anonymous, Caller, Gateway};

use super::error::{Hinted, hinted};
use super::{Done, leave_at_once};
use crate::backend::{Backend, DRAIN, Whom};
use crate::config::{self, PipeFlags};
use crate::terminal::{self, Signals};
use crate::{library, reload};

/// The variable that holds the caller's token.
const TOKEN_VARIABLE: &str = "PANPAN_TOKEN";

/// Serves the program's own operations and those of the sources that are named.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: PipeFlags,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    terminal::log_causes_to_stderr();
    let PipeFlags(flags) = &args.flags;
    let hint = "`panpan mcp --help` says what can be set; nothing has to be";
    let mut config = config::load(flags.config.as_deref(), std::env::vars_os(), flags)
        .context(Hinted::new("cannot serve MCP", hint))?;
    // The client at the other end of the pipe is the only one.
    config.sources.share_sessions();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve calls")?;
    let nothing = |error| hinted("cannot serve MCP", error);
    let entered = runtime.enter();
    let backend = Backend::open_with(&config).map_err(nothing)?;
    let backend = Arc::new(backend);
    // Before a server is started that would have to be ended.
    let signals = Signals::heard().context("cannot hear when it is asked to stop")?;
    runtime.spawn(on_signal(signals, backend.clone()));
    drop(entered);
    let asked = runtime.block_on(backend.ask_servers(Whom::All));
    asked.map_err(nothing)?;
    let gateway = gateway(&backend);
    let caller = runtime.block_on(caller(&gateway))?;
    let entered = runtime.enter();
    library::lend(&gateway, &backend);
    runtime.spawn(reload::keep_up(backend.clone(), config.sources));
    drop(entered);
    let served = runtime.block_on(backend.kept_while(serve_stdio(gateway, caller), || DRAIN));
    // A read of stdin that is still waiting must not keep the process alive.
    runtime.shutdown_background();
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))?;
    Ok(Done::Yes)
}

/// A client that is done closes the pipe; one that sends a signal does not wait.
async fn on_signal(mut signals: Signals, backend: Arc<Backend>) {
    signals.next().await;
    leave_at_once(&backend);
}

fn gateway(backend: &Backend) -> Gateway {
    let dispatcher = backend.dispatcher().clone();
    Gateway::new(
        dispatcher,
        backend.tokens(),
        Anonymous::Served,
        Limits::default(),
    )
}

/// Whoever the token in the environment stands for, else nobody in particular.
async fn caller(gateway: &Gateway) -> anyhow::Result<Caller> {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let token = token.filter(|token| !token.is_empty());
    let caller = gateway.identify(token.as_deref(), None).await;
    caller.map_err(|failure| {
        let hint = "make another one with panpan token, or unset the variable";
        let problem = format!("cannot tell whose token is in {TOKEN_VARIABLE}");
        let why = anyhow::Error::msg(failure.redacted().message().to_owned());
        why.context(Hinted::new(problem, hint))
    })
}
