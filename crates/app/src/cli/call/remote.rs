//! Calls an operation on a server.

use anyhow::Context;
use panpan_contract::operation::OperationType;
use panpan_failure::{Failure, codes};
use panpan_upstream::remote::{Remote, RemoteCall, RemoteSettings};

use super::super::error::Hinted;
use super::{Call, End, OnItem, interrupt, redact, unless_interrupted};

/// Calls the operation, or subscribes to it.
pub(super) async fn run(
    settings: &RemoteSettings,
    call: Call<'_>,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let remote = connect(settings)?;
    let work = call_or_subscribe(&remote, settings, call, on_item);
    let end = unless_interrupted(interrupt(), work).await;
    end.unwrap_or(Ok(End::Interrupted(None)))
}

/// A client for the server; nothing is sent yet.
pub(in crate::cli) fn connect(settings: &RemoteSettings) -> anyhow::Result<Remote> {
    Remote::new(settings).with_context(|| {
        let hint = "check --server, --token-file and --ca; `panpan call --help` describes them";
        Hinted::new("cannot call the server", hint)
    })
}

/// Calls the operation, or subscribes to it if it is a subscription.
pub(in crate::cli) async fn call_or_subscribe(
    remote: &Remote,
    settings: &RemoteSettings,
    call: Call<'_>,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let redact = |failure| redact(failure, settings.token.as_ref());
    let mut call = remote_call(call);
    let answer = match remote.call(&call).await {
        Ok(answer) => answer,
        Err(failure) => return Ok(End::NoResponse(redact(failure))),
    };
    match answer.outcome {
        Ok(value) => Ok(End::Output {
            value,
            call: answer.call,
            replayed: answer.replayed,
        }),
        Err(failure) if is_subscription(&failure) => {
            call.op_type = Some(OperationType::Subscription);
            subscribe(remote, settings, &call, on_item).await
        }
        Err(failure) => Ok(End::Failed {
            failure: redact(failure),
            replayed: answer.replayed,
        }),
    }
}

async fn subscribe(
    remote: &Remote,
    settings: &RemoteSettings,
    call: &RemoteCall,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let redact = |failure| redact(failure, settings.token.as_ref());
    let mut items = match remote.subscribe(call).await {
        Ok(items) => items,
        Err(failure) => return Ok(End::NoResponse(redact(failure))),
    };
    loop {
        match items.next().await {
            Ok(Some(Ok(item))) => on_item(item)?,
            Ok(Some(Err(failure))) => {
                return Ok(End::Failed {
                    failure: redact(failure),
                    replayed: false,
                });
            }
            Ok(None) => return Ok(End::Streamed),
            Err(failure) => return Ok(End::NoResponse(redact(failure))),
        }
    }
}

/// Whether a call was refused because the operation is a subscription.
fn is_subscription(failure: &Failure) -> bool {
    let op_type = failure.details().and_then(|details| details.get("op_type"));
    failure.code().as_str() == codes::INVALID_OPERATION_TYPE.code
        && op_type.is_some_and(|op_type| op_type == "subscription")
}

pub(in crate::cli) fn remote_call(call: Call<'_>) -> RemoteCall {
    RemoteCall {
        operation: call.operation.to_owned(),
        input: call.input,
        key: call.key.as_ref().map(ToString::to_string),
        retry_seed: call.seed,
        timeout_ms: call.timeout_ms,
        op_type: None,
    }
}
