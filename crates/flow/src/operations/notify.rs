//! `tasks/notify`: sends a signed message about a flow to its webhook, through `http/call`.
//!
//! Of the response only the status is kept: a webhook reads nothing for the caller who set it.

use std::sync::Arc;

use panpan_contract::operation::OperationName;
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::{Context, IdempotencyKey, Registration, untyped};
use serde_json::{Value, json};

use super::{operation, specs};
use crate::flows::Flows;
use crate::task::read_task_id;
use crate::webhooks::Webhook;

/// The operation that sends the messages of webhooks, with its rules for addresses.
pub const WEBHOOK_SENDER: &str = "http/call";

/// How long the receiver may take.
const TIMEOUT_MS: u64 = 15_000;

/// The operation, if there are webhooks. [`WEBHOOK_SENDER`] has to exist then.
pub(super) fn registration(flows: &Flows) -> Option<Registration> {
    flows.webhook_key()?;
    let sender = OperationName::new(WEBHOOK_SENDER).expect("the name is well formed");
    let registration = operation(flows, specs::notify(), notify);
    Some(registration.not_offered_to_models().calling([sender]))
}

async fn notify(flows: Flows, context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let message = input.get("message").unwrap_or(&Value::Null);
    let data = message.get("data").unwrap_or(&Value::Null);
    let root = read_task_id(data, "root_task_id")?;
    let webhook = flows.webhook_of(root).await?;
    let (Some(webhook), Some(key)) = (webhook, flows.webhook_key()) else {
        let message = format!("flow {root} has no webhook any more");
        return Err(Failure::new(codes::TASK_NOT_FOUND).with_message(message));
    };
    let id = input.get("webhook_id").and_then(Value::as_str);
    let id = id.unwrap_or_default();
    // Receivers refuse old times, so each attempt has its own and is another request.
    let sent_at = context.now().as_second();
    let body = message.to_string();
    let request = json!({
        "method": "POST",
        "url": webhook.url(),
        "headers": {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": sent_at.to_string(),
            "webhook-signature": key.sign(id, sent_at, &body),
        },
        "body": body,
        "body_type": "text",
        "timeout_ms": TIMEOUT_MS,
        "max_redirects": 0,
        "retry": {"max_retries": 0},
    });
    let generation = context.downstream_key().unwrap_or_default();
    let key = IdempotencyKey::new(&format!("{generation}-{sent_at}"));
    let key = key.map_err(|error| untyped(&error))?;
    // The address may contain a secret, and the body is for its receiver only.
    let sent = context.call_unrecorded(WEBHOOK_SENDER, request, key).await;
    let sent = sent.map_err(|failed| undelivered(&webhook, failed))?;
    Ok(json!({"status_code": sent.get("status_code")}))
}

/// The failure of the request without what the receiver wrote, and without its message: that may have the whole address.
fn undelivered(webhook: &Webhook, failed: Redacted) -> Failure {
    let failed = failed.into_failure();
    let status = failed.upstream().and_then(|it| it.status);
    let failure = Failure::new(failed.kind().clone()).with_effect(failed.effect());
    let failure = match status {
        Some(status) => failure
            .with_message(format!("the webhook answered with status {status}"))
            .with_detail("upstream_status", status),
        None => failure.with_message(format!("the webhook {} was not reached", webhook.shown())),
    };
    match failed.stated_retry_after_ms() {
        Some(delay_ms) => failure.with_retry_after_ms(delay_ms),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::Upstream;

    use super::*;

    #[test]
    fn only_the_host_of_a_webhook_is_in_its_failures() {
        let url = "https://hooks.example/services/T/B/SECRET";
        let webhook = Webhook::new(url).unwrap();
        for (code, status) in [
            (codes::ERR_CONNECTION_REFUSED, None),
            (codes::ERR_DNS_FAILURE, None),
            (codes::ERR_SSL_ERROR, None),
            (codes::ERR_BLOCKED_HOST, None),
            (codes::TIMEOUT, None),
            (codes::ERR_HTTP_404_NOT_FOUND, Some(404)),
        ] {
            let failed = Failure::new(code)
                .with_message(format!("POST {url}: not possible"))
                .with_detail("url", url)
                .with_actions([format!("Check {url}")])
                .with_upstream(Upstream {
                    status,
                    ..Upstream::default()
                });
            let failure = undelivered(&webhook, failed.redacted()).redacted();
            let written = serde_json::to_string(&failure).unwrap();
            assert!(!written.contains("services"), "{written}");
            assert_eq!(failure.code().as_str(), code.code);
            let named = match status {
                Some(status) => status.to_string(),
                None => "https://hooks.example/".to_owned(),
            };
            assert!(failure.message().contains(&named), "{written}");
        }
    }
}
