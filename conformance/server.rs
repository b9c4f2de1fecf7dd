//! Serves the tools that the official MCP conformance suite calls as operations over HTTP. Prints its URL on
//! stdout and runs until it is killed.
//!
//! The tools are in `tools`; the expected result of each scenario is in `expected.yml`.
#![expect(clippy::print_stdout, reason = "the caller reads its URL from stdout")]

mod tools;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use panpan_runtime::Ports;
use panpan_runtime::system::SystemClock;
use panpan_store::MemoryStore;
use panpan_surfaces::http::{HttpSettings, router};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::{Anonymous, CancellationToken, Gateway, listen};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let dispatcher = tools::dispatcher(Ports::system(store.clone()))?;
    let tokens = Tokens::new(store, Arc::new(SystemClock));
    let gateway = Gateway::new(dispatcher, tokens, Anonymous::Served, Limits::default());
    let listener = listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let never = CancellationToken::new();
    let router = router(gateway.clone(), HttpSettings::default(), never.clone());
    listen::serve(listener, None, router, &gateway, never, Duration::ZERO).await;
    Ok(())
}
