//! All of panpan, configured as its own command does it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::ports::{Documents, Outcomes};
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Builder, Context, Dispatcher, Ports, Registration, Registry};
use panpan_store::{MemoryStore, SqliteStore};
use panpan_surfaces::http::{HttpSettings, router};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::{Anonymous, CancellationToken, Gateway, listen};
use serde_json::{Value, json};

use crate::request::ECHO;

/// How often counts are written to the store.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(2);

/// Serves this many operations besides the built-in ones; the first returns its input.
pub(super) async fn serve(operations: usize, store: Option<PathBuf>) -> anyhow::Result<()> {
    let gateway = match store {
        None => gateway(
            operations,
            Arc::new(MemoryStore::new(Arc::new(SystemClock))),
        )?,
        Some(path) => {
            let store = SqliteStore::open(&path, Arc::new(SystemClock))?;
            gateway(operations, Arc::new(store))?
        }
    };
    serve_gateway(gateway).await
}

/// Serves imported operations besides the built-in ones.
pub(super) async fn serve_imported(imported: Vec<Registration>) -> anyhow::Result<()> {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let outcomes: Arc<dyn Outcomes> = store.clone();
    let builder = imported.into_iter().fold(Registry::builder(), Builder::add);
    serve_gateway(build_gateway(builder, outcomes, store)?).await
}

async fn serve_gateway(gateway: Gateway) -> anyhow::Result<()> {
    let stopping = CancellationToken::new();
    let router = router(gateway.clone(), HttpSettings::default(), stopping.clone());
    tokio::spawn(maintain(gateway.dispatcher().clone()));
    let listener = super::listen().await?;
    listen::serve(listener, None, router, &gateway, stopping, Duration::ZERO).await;
    Ok(())
}

fn gateway<S: Outcomes + Documents + 'static>(
    operations: usize,
    store: Arc<S>,
) -> anyhow::Result<Gateway> {
    let outcomes: Arc<dyn Outcomes> = store.clone();
    let registry = (0..operations).try_fold(Registry::builder(), |builder, number| {
        anyhow::Ok(builder.register(spec(number)?, echo))
    })?;
    build_gateway(registry, outcomes, store)
}

/// Adds the built-in operations.
fn build_gateway<S: Documents + 'static>(
    builder: Builder,
    outcomes: Arc<dyn Outcomes>,
    store: Arc<S>,
) -> anyhow::Result<Gateway> {
    let builder = panpan_operations::demo(builder).with_services();
    let builder = panpan_operations::calls(builder, &outcomes);
    let dispatcher = Dispatcher::new(builder.build()?, Ports::system(outcomes));
    let tokens = Tokens::new(store, Arc::new(SystemClock));
    Ok(Gateway::new(
        dispatcher,
        tokens,
        Anonymous::Served,
        limits(),
    ))
}

/// The default limits, except that all connections may come from one address.
fn limits() -> Limits {
    let limits = Limits::default();
    Limits {
        connections_per_address: limits.connections,
        ..limits
    }
}

async fn maintain(dispatcher: Dispatcher) {
    loop {
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
        // If the store is unavailable, the next round tries again.
        let _ = dispatcher.maintain().await;
    }
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
    Ok(input)
}

fn spec(number: usize) -> anyhow::Result<OperationSpec> {
    let name = match number {
        0 => ECHO.to_owned(),
        number => format!("{ECHO}_{number}"),
    };
    let mut spec = OperationSpec::new(name.parse()?, OperationType::Query);
    spec.description = Some(format!("Gives back its input, number {number}."));
    spec.input_schema = json!({
        "type": "object",
        "required": ["owner", "repository"],
        "properties": {
            "owner": {"type": "string", "description": "Whose it is."},
            "repository": {"type": "string", "description": "What it is called."},
            "title": {"type": "string"},
            "page": {"type": "integer", "minimum": 1},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "state": {"enum": ["open", "closed", "all"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "sort": {"type": "string"},
            "draft": {"type": "boolean"},
        },
    });
    Ok(spec)
}
