//! A tool with typed input, output and failures: retried on transient failures, replayed on a repeated key.
#![expect(clippy::print_stdout, reason = "an example prints its result")]
use panpan_contract::operation::OperationType::Mutation;
use panpan_failure::Failure;
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
    let registry = Registry::builder().add(Registration::typed("shop/order", Mutation, order)?);
    let dispatcher = Dispatcher::new(registry.build()?, panpan_store::memory_ports());
    let input = serde_json::json!({"item": "widget"});
    let call = CallRequest::from_wire("shop/order", input).keyed(IdempotencyKey::new("order-1")?);
    let first = dispatcher.dispatch(call.clone()).await;
    let again = dispatcher.dispatch(call).await;
    println!("attempts {}, replayed {}", first.attempts, again.replayed);
    println!("{}", again.into_value().map_err(Failure::from)?);
    Ok(())
}
