//! Calling an operation at a server.

use anyhow::Context;
use panpan_contract::operation::OperationType;
use panpan_failure::{Failure, codes};
use panpan_upstream::remote::{Remote, RemoteCall, RemoteSettings};

use super::super::error::Hinted;
use super::{Asked, End, OnItem, cleaned, interrupt, unless};

/// Calls the operation, for its items if it is a subscription.
pub(super) async fn ask(
    settings: &RemoteSettings,
    asked: Asked<'_>,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let remote = Remote::new(settings).with_context(|| {
        let hint = "see --server, --token-file and --ca in `panpan call --help`";
        Hinted::new("cannot ask a server", hint)
    })?;
    let end = unless(interrupt(), answered(&remote, settings, asked, on_item)).await;
    end.unwrap_or(Ok(End::Stopped(None)))
}

async fn answered(
    remote: &Remote,
    settings: &RemoteSettings,
    asked: Asked<'_>,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let clean = |failure| cleaned(failure, settings.token.as_ref());
    let mut call = remote_call(asked);
    let answer = match remote.call(&call).await {
        Ok(answer) => answer,
        Err(failure) => return Ok(End::Unanswered(clean(failure))),
    };
    match answer.outcome {
        Ok(value) => Ok(End::Output {
            value,
            call: answer.call,
            replayed: answer.replayed,
        }),
        Err(failure) if is_a_subscription(&failure) => {
            call.op_type = Some(OperationType::Subscription);
            streamed(remote, settings, &call, on_item).await
        }
        Err(failure) => Ok(End::Failed {
            failure: clean(failure),
            replayed: answer.replayed,
        }),
    }
}

async fn streamed(
    remote: &Remote,
    settings: &RemoteSettings,
    call: &RemoteCall,
    on_item: &mut OnItem<'_>,
) -> anyhow::Result<End> {
    let clean = |failure| cleaned(failure, settings.token.as_ref());
    let mut items = match remote.subscribe(call).await {
        Ok(items) => items,
        Err(failure) => return Ok(End::Unanswered(clean(failure))),
    };
    loop {
        match items.next().await {
            Ok(Some(Ok(item))) => on_item(item)?,
            Ok(Some(Err(failure))) => {
                return Ok(End::Failed {
                    failure: clean(failure),
                    replayed: false,
                });
            }
            Ok(None) => return Ok(End::Streamed),
            Err(failure) => return Ok(End::Unanswered(clean(failure))),
        }
    }
}

/// Whether a refusal says that the operation gives items; it was not run then.
fn is_a_subscription(failure: &Failure) -> bool {
    let op_type = failure.details().and_then(|details| details.get("op_type"));
    failure.code().as_str() == codes::INVALID_OPERATION_TYPE.code
        && op_type.is_some_and(|op_type| op_type == "subscription")
}

fn remote_call(asked: Asked<'_>) -> RemoteCall {
    RemoteCall {
        operation: asked.operation.to_owned(),
        input: asked.input,
        key: asked.args.key.as_ref().map(ToString::to_string),
        retry_seed: asked.args.seed,
        timeout_ms: asked.args.timeout,
        op_type: None,
    }
}
