//! A client for a running panpan: calls an operation over HTTP, or subscribes to its items.
//!
//! Nothing is retried here: the caller decides that by the failure. `response` parses the responses.

mod items;
mod response;
mod setup;

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure};
use panpan_redact::{Opaque, Secret};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;
use uuid::Uuid;

use crate::client::Incoming;
pub use crate::events::EVENT_BYTES_LIMIT;
use crate::exchange::{Exchange, RepeatSafety, SentFlag};
use crate::transport::{ConnectionPool, Payload, RawResponse};
pub use items::RemoteItems;
pub use response::RESPONSE_BYTES_LIMIT;
pub use setup::RemoteError;
pub(crate) use setup::connection_pool;

/// How much longer than the timeout of a call its response is awaited: a server that runs into the timeout reports it
/// itself, with more detail.
pub const TIMEOUT_MARGIN: Duration = Duration::from_secs(3);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The address of a panpan, and how to connect to it.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// The address, such as `http://127.0.0.1:7077`.
    pub url: String,
    /// The token of the caller.
    pub token: Option<Secret<String>>,
    /// Certificates to trust in addition to those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
    /// The longest wait for a response, unless the call has a timeout.
    pub timeout: Duration,
}

/// A call to send, as the body of a request to `/call` and `/subscribe`. Its debug form does not show the input.
#[derive(Clone, Serialize)]
pub struct RemoteCall {
    /// The name of the operation.
    pub operation: String,
    /// The input.
    pub input: Value,
    /// The idempotency key.
    #[serde(rename = "idempotency_key", skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The seed for the jitter of retry delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_seed: Option<i64>,
    /// The timeout of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The type of the operation, if known: it decides what a lost response means.
    #[serde(skip)]
    pub op_type: Option<OperationType>,
}

/// The response of a panpan.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteResponse {
    /// The id of the call that produced the outcome, if the response has it.
    pub call: Option<Uuid>,
    /// The output, or the failure.
    pub outcome: Result<Value, Failure>,
    /// Whether a recorded outcome was replayed.
    pub replayed: bool,
}

/// A client for a running panpan.
#[derive(Clone, Debug)]
pub struct Remote {
    pool: ConnectionPool,
    url: Url,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

impl Remote {
    /// Checks the settings; nothing is sent yet.
    pub fn new(settings: &RemoteSettings) -> Result<Self, RemoteError> {
        let url = setup::base(&settings.url)?;
        let authorization = settings.token.as_ref().map(setup::bearer).transpose()?;
        Ok(Self {
            pool: setup::connection_pool(&url, settings.ca.as_deref(), settings.timeout)?,
            url,
            authorization,
            timeout: settings.timeout,
        })
    }

    /// Calls an operation.
    ///
    /// A failure of the operation is an outcome. The outer failure means that there is no usable response, and states
    /// what is known about effects.
    pub async fn call(&self, call: &RemoteCall) -> Result<RemoteResponse, Failure> {
        let response = self.try_call(call).await;
        response.map_err(|failure| with_key_advice(failure, call))
    }

    async fn try_call(&self, call: &RemoteCall) -> Result<RemoteResponse, Failure> {
        let timeout = self.timeout(call);
        let exchange = self.exchange(call, timeout);
        let deadline = Instant::now() + timeout;
        let response = self.send("call", call, JSON, &exchange, deadline).await?;
        RemoteResponse::parse(&read(response, &exchange, deadline).await?)
    }

    /// Subscribes to the items of an operation. A refusal is the first item.
    pub async fn subscribe(&self, call: &RemoteCall) -> Result<RemoteItems, Failure> {
        let timeout = self.timeout(call);
        let exchange = Exchange {
            repeat_safety: RepeatSafety::ReadOnly,
            ..self.exchange(call, timeout)
        };
        // The deadline is for the start of the stream only.
        let deadline = Instant::now() + timeout;
        let response = self.send("subscribe", call, EVENTS, &exchange, deadline);
        RemoteItems::of(response.await?, exchange, deadline).await
    }

    fn exchange(&self, call: &RemoteCall, timeout: Duration) -> Exchange {
        Exchange {
            url: self.url.clone(),
            url_detail: "server",
            operation: Some(call.operation.clone()),
            repeat_safety: repeat_safety(call),
            timeout,
            sent: SentFlag::assumed(),
            follows_effect: false,
        }
    }

    fn timeout(&self, call: &RemoteCall) -> Duration {
        call.timeout_ms.map_or(self.timeout, |timeout_ms| {
            Duration::from_millis(timeout_ms).saturating_add(TIMEOUT_MARGIN)
        })
    }

    async fn send(
        &self,
        path: &str,
        call: &RemoteCall,
        accept: HeaderValue,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<RawResponse, Failure> {
        let url = setup::below(&self.url, path);
        let body = serde_json::to_vec(call)
            .expect("names are strings, and writing to memory does not fail");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, accept)]);
        headers.extend(self.authorization.clone().map(|it| (AUTHORIZATION, it)));
        let payload = Payload::new(Some(body.into()), None);
        let response = self.pool.send(Method::POST, &url, headers, payload);
        exchange.head(deadline, response).await
    }
}

/// Reads the whole response, up to the limit.
async fn read(
    mut response: RawResponse,
    exchange: &Exchange,
    deadline: Instant,
) -> Result<Incoming, Failure> {
    let mut body = BytesMut::new();
    let limit = RESPONSE_BYTES_LIMIT;
    let is_complete = exchange.read_body(deadline, &mut response, &mut body, limit);
    Ok(Incoming {
        is_cut: !is_complete.await?,
        status: response.status().as_u16(),
        headers: response.take_headers(),
        body: body.freeze(),
        url: exchange.url.clone(),
        redirects: 0,
        after_write: false,
    })
}

/// Adds how to get the outcome after a lost response: the server records it under the key.
fn with_key_advice(failure: Failure, call: &RemoteCall) -> Failure {
    match &call.key {
        Some(key) if failure.effect() == Effect::Unknown => failure.with_actions([format!(
            "Call again with the key {key}: the outcome of this call is recorded under it, and nothing is done twice"
        )]),
        _ => failure,
    }
}

fn repeat_safety(call: &RemoteCall) -> RepeatSafety {
    match (call.op_type, &call.key) {
        (Some(OperationType::Query | OperationType::Subscription), _) => RepeatSafety::ReadOnly,
        (_, Some(_)) => RepeatSafety::Keyed,
        // An operation of unknown type may write.
        (Some(OperationType::Mutation) | None, None) => RepeatSafety::NotRepeatable,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeat_safety_depends_on_the_type_and_the_key() {
        use OperationType::{Mutation, Query, Subscription};
        for (op_type, key, expected) in [
            (Some(Query), None, RepeatSafety::ReadOnly),
            (Some(Subscription), Some("k"), RepeatSafety::ReadOnly),
            (Some(Mutation), Some("k"), RepeatSafety::Keyed),
            (Some(Mutation), None, RepeatSafety::NotRepeatable),
            (None, Some("k"), RepeatSafety::Keyed),
            (None, None, RepeatSafety::NotRepeatable),
        ] {
            let call = RemoteCall {
                operation: "demo/order".to_owned(),
                input: json!({}),
                key: key.map(str::to_owned),
                retry_seed: None,
                timeout_ms: None,
                op_type,
            };
            assert_eq!(repeat_safety(&call), expected, "{op_type:?} {key:?}");
        }
    }
}
