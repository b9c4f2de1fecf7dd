//! A tool with typed input, output and failures: retried where that helps, replayed when asked again.
#![expect(clippy::print_stdout, reason = "an example shows its result")]
use panpan_contract::{Failure, operation::OperationType::Mutation};
use panpan_runtime::{CallRequest, Context, Dispatcher, IdempotencyKey, Registration, Registry};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    item: String,
}
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Placed {
    shelf: u32,
}
#[derive(Debug, Failure)]
enum OrderError {
    /// The warehouse is busy; nothing was ordered.
    #[failure(code = "WAREHOUSE_BUSY", category = TRANSIENT, effect = none, message = "no {item} now")]
    Busy { item: String },
}

async fn order(context: Context, order: Order) -> Result<Placed, OrderError> {
    match context.attempt() {
        1 | 2 => Err(OrderError::Busy { item: order.item }),
        attempt => Ok(Placed { shelf: attempt }),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let operation = Registration::typed("shop/order", Mutation, order)?;
    let registry = Registry::builder().add(operation).build()?;
    let dispatcher = Dispatcher::new(registry, panpan_store::memory_world());
    let input = serde_json::json!({"item": "widget"});
    let call = CallRequest::from_wire("shop/order", input).keyed(IdempotencyKey::new("order-1")?);
    println!("{:#?}", dispatcher.dispatch(call.clone()).await);
    println!("{:#?}", dispatcher.dispatch(call).await);
    Ok(())
}
