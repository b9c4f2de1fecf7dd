//! `panpan mcp`: operations as MCP tools on stdin and stdout.

use anyhow::Context;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::serve_stdio;
use panpan_surfaces::{Anonymous, Caller, Desk};

use super::Done;
use super::error::Hinted;
use crate::house::{DRAIN, House};
use crate::place;
use crate::world;

/// The variable that holds the caller's token.
const TOKEN_VARIABLE: &str = "PANPAN_TOKEN";

/// Serves the demonstration.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where outcomes of calls with an idempotency key are kept, so that they are not done twice:
    /// sqlite:PATH for a file that several servers may share, memory: for this process only. Without it,
    /// the file of this person that `panpan serve` uses, too.
    // Read here and not by the parser, which would repeat an address it refuses, password and all.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PANPAN_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    world::log_causes_to_stderr();
    let house = House::open(&place::store_at(args.store.as_deref())?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve calls")?;
    let desk = desk(&house);
    let caller = runtime.block_on(caller(&desk))?;
    let served = runtime.block_on(house.kept_while(serve_stdio(desk, caller), || DRAIN));
    // A read of stdin that is still waiting must not keep the process alive.
    runtime.shutdown_background();
    let hint = "panpan mcp is started by an MCP client; add it to the client's list of servers";
    served.with_context(|| Hinted::new("cannot serve MCP on stdin and stdout", hint))?;
    Ok(Done::Yes)
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
