//! A running panpan, asked over HTTP: for one answer, or for the items of a subscription.
//!
//! Nothing is ever asked twice here: whoever calls decides about that, by the failure. What an answer
//! means is in `answer`.

mod answer;
mod client;
mod items;

use std::fmt;
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure};
use panpan_redact::{Opaque, Secret};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;
use uuid::Uuid;

pub use crate::events::EVENT_BYTES_LIMIT;
use crate::trouble::{Sent, Stake, Trouble};
use crate::wire::{Payload, Reply, Wire};
pub use answer::ANSWER_BYTES_LIMIT;
use answer::Heard;
pub use client::RemoteError;
pub(crate) use client::wire;
pub use items::RemoteItems;

/// How much longer than a call's own time its answer is waited for: a server that runs out of time
/// says so itself, and knows more about it.
pub const PATIENCE: Duration = Duration::from_secs(3);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Where a panpan runs, and what to present there.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// Its address, such as `http://127.0.0.1:7077`.
    pub url: String,
    /// The token that says who calls.
    pub token: Option<Secret<String>>,
    /// Certificates to trust besides those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
    /// How long an answer is waited for when the call does not say.
    pub timeout: Duration,
}

/// What to ask for. Its debug form does not show the input.
#[derive(Clone)]
pub struct RemoteCall {
    /// The name of the operation.
    pub operation: String,
    /// The input.
    pub input: Value,
    /// The idempotency key.
    pub key: Option<String>,
    /// What to jitter delays with.
    pub retry_seed: Option<i64>,
    /// How long the call may take.
    pub timeout_ms: Option<u64>,
    /// What kind of operation it is, if that is known: a lost answer means something else for each.
    pub op_type: Option<OperationType>,
}

/// What a panpan answered.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteAnswer {
    /// The call that brought the outcome about, where the answer names it.
    pub call: Option<Uuid>,
    /// The output, or the failure.
    pub outcome: Result<Value, Failure>,
    /// Whether the outcome was there already.
    pub replayed: bool,
}

/// A running panpan.
#[derive(Clone, Debug)]
pub struct Remote {
    wire: Wire,
    url: Url,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

impl Remote {
    /// Makes ready to ask; nothing is sent yet.
    pub fn new(settings: &RemoteSettings) -> Result<Self, RemoteError> {
        let url = client::base(&settings.url)?;
        let authorization = settings.token.as_ref().map(client::bearer).transpose()?;
        Ok(Self {
            wire: client::wire(&url, settings.ca.as_deref(), settings.timeout)?,
            url,
            authorization,
            timeout: settings.timeout,
        })
    }

    /// Asks for one answer.
    ///
    /// The failure of the operation is an outcome. The outer failure says that there is no answer: what
    /// happened on the way, and what is known about side effects.
    pub async fn call(&self, call: &RemoteCall) -> Result<RemoteAnswer, Failure> {
        let answered = self.answered(call).await;
        answered.map_err(|failure| with_key(failure, call))
    }

    async fn answered(&self, call: &RemoteCall) -> Result<RemoteAnswer, Failure> {
        let patience = self.patience(call);
        let trouble = self.trouble(call, patience);
        let deadline = Instant::now() + patience;
        let reply = self.send("call", call, JSON, &trouble, deadline).await?;
        let heard = timeout_at(deadline, Heard::of(reply)).await;
        let heard = heard.map_err(|_| trouble.stall())?;
        heard.map_err(|error| trouble.of(&error))?.read(&self.url)
    }

    /// Asks for the items of a subscription. That it is refused is told by the first item.
    pub async fn subscribe(&self, call: &RemoteCall) -> Result<RemoteItems, Failure> {
        let patience = self.patience(call);
        let trouble = Trouble {
            // Items only tell.
            stake: Stake::Nothing,
            ..self.trouble(call, patience)
        };
        // The items take as long as they take; only that they begin is waited for.
        let deadline = Instant::now() + patience;
        let reply = self.send("subscribe", call, EVENTS, &trouble, deadline);
        RemoteItems::of(reply.await?, trouble, deadline).await
    }

    fn trouble(&self, call: &RemoteCall, patience: Duration) -> Trouble {
        Trouble {
            url: self.url.clone(),
            url_detail: "server",
            operation: Some(call.operation.clone()),
            stake: stake(call),
            patience,
            sent: Sent::assumed(),
            earlier: false,
        }
    }

    fn patience(&self, call: &RemoteCall) -> Duration {
        call.timeout_ms.map_or(self.timeout, |timeout_ms| {
            Duration::from_millis(timeout_ms).saturating_add(PATIENCE)
        })
    }

    async fn send(
        &self,
        path: &str,
        call: &RemoteCall,
        accept: HeaderValue,
        trouble: &Trouble,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let url = client::below(&self.url, path);
        let body = serde_json::to_vec(&Body::of(call))
            .expect("names are strings, and writing to memory does not fail");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, accept)]);
        headers.extend(self.authorization.clone().map(|it| (AUTHORIZATION, it)));
        let payload = Payload::new(Some(body.into()), None);
        let sending = self.wire.send(Method::POST, &url, headers, payload);
        let sent = timeout_at(deadline, sending).await;
        sent.map_err(|_| trouble.silence())?
            .map_err(|error| trouble.of(&error))
    }
}

/// A lost answer with the way to find the outcome again: the server keeps it under the key.
fn with_key(failure: Failure, call: &RemoteCall) -> Failure {
    match &call.key {
        Some(key) if failure.effect() == Effect::Unknown => failure.with_actions([format!(
            "Call again with the key {key}: the outcome of this call is kept under it, and nothing is done twice"
        )]),
        _ => failure,
    }
}

/// What is at stake when the answer to a call is lost.
fn stake(call: &RemoteCall) -> Stake {
    match (call.op_type, &call.key) {
        (Some(OperationType::Query | OperationType::Subscription), _) => Stake::Nothing,
        (_, Some(_)) => Stake::Keyed,
        // What is not known to read may change something.
        (Some(OperationType::Mutation) | None, None) => Stake::Change,
    }
}

impl fmt::Debug for RemoteCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteCall")
            .field("operation", &self.operation)
            .field("input", &Opaque(&self.input))
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    operation: &'a str,
    input: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl<'a> Body<'a> {
    fn of(call: &'a RemoteCall) -> Self {
        Self {
            operation: &call.operation,
            input: &call.input,
            idempotency_key: call.key.as_deref(),
            retry_seed: call.retry_seed,
            timeout_ms: call.timeout_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_at_stake_depends_on_what_is_asked() {
        use OperationType::{Mutation, Query, Subscription};
        for (op_type, key, expected) in [
            (Some(Query), None, Stake::Nothing),
            (Some(Subscription), Some("k"), Stake::Nothing),
            (Some(Mutation), Some("k"), Stake::Keyed),
            (Some(Mutation), None, Stake::Change),
            (None, Some("k"), Stake::Keyed),
            (None, None, Stake::Change),
        ] {
            let call = RemoteCall {
                operation: "demo/order".to_owned(),
                input: json!({}),
                key: key.map(str::to_owned),
                retry_seed: None,
                timeout_ms: None,
                op_type,
            };
            assert_eq!(stake(&call), expected, "{op_type:?} {key:?}");
        }
    }
}
