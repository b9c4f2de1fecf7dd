//! The operations that tasks of these tests call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Context, Progress, Registration};
use serde_json::{Value, json};

use crate::support::Observed;

/// The operations that tasks call.
pub(crate) fn handlers(world: &Arc<Observed>) -> Vec<Registration> {
    let spec = |name: &str, op_type| OperationSpec::new(name.parse().unwrap(), op_type);
    let (run, hold, flaky) = (world.clone(), world.clone(), world.clone());
    let (half, send) = (world.clone(), world.clone());
    let note = |world: &Observed, input: &Value| {
        let name = input["name"].as_str().unwrap_or_default().to_owned();
        world.runs.lock().unwrap().push(name);
    };
    vec![
        Registration::new(
            spec("test/run", OperationType::Query),
            move |_: Context, input: Arc<Value>| {
                note(&run, &input);
                async move { Ok::<_, Failure>(json!({"echo": *input})) }
            },
        ),
        Registration::new(
            spec("test/hold", OperationType::Mutation),
            move |_: Context, input: Arc<Value>| {
                let world = hold.clone();
                note(&world, &input);
                async move {
                    let mut stopped = CountOnDrop(Some(world.clone()));
                    world.go.notified().await;
                    stopped.0 = None;
                    Ok::<_, Failure>(json!({"held": true}))
                }
            },
        ),
        Registration::new(
            recognising_keys(spec("http/call", OperationType::Mutation)),
            move |context: Context, input: Arc<Value>| {
                let key = context.downstream_key();
                send.keys.lock().unwrap().extend(key);
                send.requests.lock().unwrap().push(Value::clone(&input));
                let answer = send.answers.lock().unwrap().pop();
                async move {
                    match answer {
                        None => Ok(json!({"status_code": 204, "body": "not read"})),
                        Some(Some(failure)) => Err(failure),
                        Some(None) => std::future::pending().await,
                    }
                }
            },
        )
        .options_in_input(),
        Registration::new(
            accepting(
                spec("test/strict", OperationType::Query),
                json!({
                    "type": "object",
                    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
                    "required": ["amount", "to"],
                }),
            ),
            |_: Context, _: Arc<Value>| async { Ok::<_, Failure>(json!({})) },
        ),
        Registration::new(spec("test/who", OperationType::Query), who),
        Registration::new(restricted(spec("test/vault", OperationType::Query)), who),
        Registration::new(
            spec("test/number", OperationType::Query),
            |_: Context, _: Arc<Value>| async { Ok::<_, Failure>(json!(7)) },
        ),
        Registration::new(
            spec("test/half", OperationType::Mutation),
            move |context: Context, input: Arc<Value>| {
                let world = half.clone();
                let progress = Progress {
                    done: 1.0,
                    total: Some(2.0),
                    message: None,
                };
                context.report(progress);
                note(&world, &input);
                async move {
                    world.go.notified().await;
                    Ok::<_, Failure>(json!({}))
                }
            },
        ),
        Registration::new(
            spec("test/refuse", OperationType::Mutation),
            |_: Context, _: Arc<Value>| async {
                let failure = Failure::new(codes::INSUFFICIENT_FUNDS);
                Err::<Value, _>(failure.with_message("the account is empty"))
            },
        ),
        Registration::new(
            spec("test/flaky", OperationType::Query),
            move |context: Context, input: Arc<Value>| {
                note(&flaky, &input);
                async move {
                    let needed = input["succeeds_at"].as_u64().unwrap_or(3);
                    match u64::from(context.attempt()) >= needed {
                        true => Ok(json!({"attempt": context.attempt()})),
                        false => Err(Failure::new(codes::NETWORK_ERROR)),
                    }
                }
            },
        ),
    ]
}

fn recognising_keys(mut spec: OperationSpec) -> OperationSpec {
    spec.idempotency.honours_key = true;
    spec
}

fn accepting(mut spec: OperationSpec, schema: Value) -> OperationSpec {
    spec.input_schema = schema;
    spec
}

/// Counts a handler as stopped if it is dropped before it ends.
struct CountOnDrop(Option<Arc<Observed>>);

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        if let Some(world) = &self.0 {
            world.stops.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn restricted(mut spec: OperationSpec) -> OperationSpec {
    spec.access_control.required_scopes = vec!["vault".to_owned()];
    spec
}

/// Returns who called.
async fn who(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let caller = context.caller();
    Ok(json!({
        "id": caller.map(|it| it.id.clone()),
        "scopes": caller.map(|it| it.scopes.clone()),
    }))
}
