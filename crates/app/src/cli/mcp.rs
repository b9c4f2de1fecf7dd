//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use std::sync::Arc;

use anyhow::Context;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::serve_stdio;
use panpan_surfaces::{Anonymous, Caller, Desk};

use super::error::{Hinted, hinted};
use super::{Done, leave_at_once};
use crate::config::{self, PipeFlags};
use crate::house::{DRAIN, House, Whom};
use crate::world::{self, Signals};
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
    world::log_causes_to_stderr();
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
    let house = House::open_with(&config).map_err(nothing)?;
    let house = Arc::new(house);
    // Before a server is started that would have to be ended.
    let signals = Signals::heard().context("cannot hear when it is asked to stop")?;
    runtime.spawn(on_signal(signals, house.clone()));
    drop(entered);
    let asked = runtime.block_on(house.ask_servers(Whom::All));
    asked.map_err(nothing)?;
    let desk = desk(&house);
    let caller = runtime.block_on(caller(&desk))?;
    let entered = runtime.enter();
    library::lend(&desk, &house);
    runtime.spawn(reload::keep_up(house.clone(), config.sources));
    drop(entered);
    let served = runtime.block_on(house.kept_while(serve_stdio(desk, caller), || DRAIN));
    // A read of stdin that is still waiting must not keep the process alive.
    runtime.shutdown_background();
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))?;
    Ok(Done::Yes)
}

/// A client that is done closes the pipe; one that sends a signal does not wait.
async fn on_signal(mut signals: Signals, house: Arc<House>) {
    signals.next().await;
    leave_at_once(&house);
}

fn desk(house: &House) -> Desk {
    let dispatcher = house.dispatcher().clone();
    Desk::new(
        dispatcher,
        house.tokens(),
        Anonymous::Served,
        Limits::default(),
    )
}

/// Whoever the token in the environment stands for, else nobody in particular.
async fn caller(desk: &Desk) -> anyhow::Result<Caller> {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let token = token.filter(|token| !token.is_empty());
    let caller = desk.identify(token.as_deref(), None).await;
    caller.map_err(|failure| {
        let hint = "make another one with panpan token, or unset the variable";
        let problem = format!("cannot tell whose token is in {TOKEN_VARIABLE}");
        let why = anyhow::Error::msg(failure.redacted().message().to_owned());
        why.context(Hinted::new(problem, hint))
    })
}
