//! Calls an operation in this process, with the same backend as a server.

use std::pin::pin;

use futures_util::StreamExt;
use panpan_contract::operation::OperationType;
use panpan_failure::{Redacted, codes};
use panpan_redact::Secret;
use panpan_runtime::{Answer, CallRequest, CancellationToken, Dispatcher, Origin};

use super::{Call, End, OnItem, interrupt, unless_interrupted};
use crate::backend::{Backend, DRAIN};
use crate::store::StoreAddress;

/// Calls the operation, or subscribes to it.
pub(super) async fn run(
    store: &StoreAddress,
    token: Option<Secret<String>>,
    call: Call<'_>,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let backend = Backend::open(store)?;
    let abort = CancellationToken::new();
    let request = request(call, abort.clone());
    let work = backend.run_and_drain(
        None,
        identify_and_call(&backend, token, request, on_item),
        || DRAIN,
    );
    interruptible(work, &abort, interrupt).await
}

/// Does the work. The first interrupt cancels the call and waits for its recorded outcome; the second does not wait.
async fn interruptible<I: Future<Output = ()>>(
    work: impl Future<Output = anyhow::Result<End>>,
    abort: &CancellationToken,
    interrupt: impl Fn() -> I,
) -> anyhow::Result<End> {
    let mut work = pin!(work);
    if let Some(end) = unless_interrupted(interrupt(), work.as_mut()).await {
        return end;
    }
    abort.cancel();
    match unless_interrupted(interrupt(), work).await {
        Some(Ok(End::Failed { failure, .. })) if is_cancelled(&failure) => {
            Ok(End::Interrupted(Some(failure.effect())))
        }
        Some(Ok(End::Streamed)) | None => Ok(End::Interrupted(None)),
        Some(end) => end,
    }
}

fn is_cancelled(failure: &Redacted) -> bool {
    failure.code().as_str() == codes::ERR_CANCELLED.code
}

pub(in crate::cli) fn request(call: Call<'_>, abort: CancellationToken) -> CallRequest {
    CallRequest {
        origin: Origin::Internal,
        key: call.key,
        retry_seed: call.seed,
        timeout_ms: call.timeout_ms,
        abort: Some(abort),
        ..CallRequest::from_wire(call.operation, call.input)
    }
}

pub(in crate::cli) async fn identify_and_call(
    backend: &Backend,
    token: Option<Secret<String>>,
    mut request: CallRequest,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    if let Some(token) = token {
        match backend.tokens().identify(token.expose()).await {
            Ok(identity) => request.caller = Some(identity),
            Err(refusal) => return end_of(backend.dispatcher().reject(request, refusal)),
        }
    }
    call_or_subscribe(backend.dispatcher(), request, on_item).await
}

async fn call_or_subscribe(
    dispatcher: &Dispatcher,
    request: CallRequest,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let registry = dispatcher.registry();
    let operation = registry.get(&request.operation);
    let is_subscription =
        operation.is_some_and(|operation| operation.spec().op_type == OperationType::Subscription);
    if !is_subscription {
        return end_of(dispatcher.dispatch(request).await);
    }
    let failed = |failure| End::Failed {
        failure,
        replayed: false,
    };
    let mut items = match dispatcher.subscribe(request) {
        Ok(items) => items,
        Err(failure) => return Ok(failed(failure)),
    };
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => on_item(item)?,
            Err(failure) => return Ok(failed(failure)),
        }
    }
    Ok(End::Streamed)
}

fn end_of(answer: Answer) -> anyhow::Result<End> {
    let (call, replayed) = (answer.call, answer.replayed);
    Ok(match answer.into_value() {
        Ok(value) => End::Output {
            value,
            call: Some(call),
            replayed,
        },
        Err(failure) => End::Failed { failure, replayed },
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use futures_util::stream;
    use panpan_contract::operation::OperationSpec;
    use panpan_failure::Failure;
    use panpan_runtime::system::SystemClock;
    use panpan_runtime::{Context, Ports, Registration, Registry};
    use panpan_store::MemoryStore;
    use serde_json::{Value, json};

    use super::*;

    type Item = Result<Value, Failure>;

    fn dispatcher(items: fn() -> Vec<Item>) -> Dispatcher {
        let name = "test/items".parse().unwrap();
        let spec = OperationSpec::new(name, OperationType::Subscription);
        let open = move |_: Context, _: Arc<Value>| stream::iter(items());
        let builder = Registry::builder().add(Registration::streaming(spec, open));
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        Dispatcher::new(builder.build().unwrap(), Ports::system(store))
    }

    async fn items(of: fn() -> Vec<Item>, input: Value) -> (Vec<Value>, anyhow::Result<End>) {
        let mut printed = Vec::new();
        let mut on_item = |item| {
            printed.push(item);
            Ok(())
        };
        let request = CallRequest::from_wire("test/items", input);
        let end = call_or_subscribe(&dispatcher(of), request, &mut on_item).await;
        (printed, end)
    }

    #[tokio::test]
    async fn all_items_of_a_subscription_are_printed() {
        let (printed, end) = items(|| vec![Ok(json!(1)), Ok(json!(2))], json!({})).await;
        assert_eq!(printed, [1, 2]);
        assert!(matches!(end, Ok(End::Streamed)));
    }

    #[tokio::test]
    async fn the_items_before_a_failure_are_printed() {
        let broken = || vec![Ok(json!(1)), Err(Failure::new(codes::ERR_TIMEOUT))];
        let (printed, end) = items(broken, json!({})).await;
        assert_eq!(printed, [1]);
        let Ok(End::Failed { failure, .. }) = end else {
            panic!("{end:?}");
        };
        assert_eq!(failure.code().as_str(), "ERR_TIMEOUT");
    }

    #[tokio::test]
    async fn the_first_interrupt_cancels_the_call_and_the_second_stops_waiting() {
        let spec = OperationSpec::new("test/wait".parse().unwrap(), OperationType::Query);
        let forever = |_: Context, _: Arc<Value>| std::future::pending::<Item>();
        let builder = Registry::builder().register(spec, forever);
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let dispatcher = Dispatcher::new(builder.build().unwrap(), Ports::system(store));
        for (interrupts, effect_is_known) in [(1_u32, true), (2, false)] {
            let left = Cell::new(interrupts);
            let interrupt = || {
                let comes = left.replace(left.get().saturating_sub(1)) > 0;
                async move {
                    if !comes {
                        std::future::pending::<()>().await;
                    }
                }
            };
            let abort = CancellationToken::new();
            let request = CallRequest {
                abort: Some(abort.clone()),
                ..CallRequest::from_wire("test/wait", json!({}))
            };
            let mut on_item = |_| Ok(());
            let work = call_or_subscribe(&dispatcher, request, &mut on_item);
            let end = interruptible(work, &abort, interrupt).await;
            let Ok(End::Interrupted(effect)) = end else {
                panic!("{end:?}");
            };
            assert_eq!(effect.is_some(), effect_is_known, "{interrupts}");
        }
    }

    #[tokio::test]
    async fn a_closed_stdout_ends_the_subscription() {
        let mut seen = 0;
        let mut on_item = |_| {
            seen += 1;
            Err(std::io::ErrorKind::BrokenPipe.into())
        };
        let dispatcher = dispatcher(|| vec![Ok(json!(1)), Ok(json!(2))]);
        let request = CallRequest::from_wire("test/items", json!({}));
        let end = call_or_subscribe(&dispatcher, request, &mut on_item).await;
        assert!(end.is_err());
        assert_eq!(seen, 1);
    }
}
