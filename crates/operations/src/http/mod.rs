//! `http/call`: sends an HTTP request to any public service.
//!
//! The guard of the client decides which hosts are allowed, the runtime whether to retry.

mod request;
mod response;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use panpan_contract::operation::{ByInput, Idempotency, KeyRule, OperationSpec, OperationType};
use panpan_failure::catalogue::{Entry, is_protocol_code};
use panpan_failure::classify::http_status;
use panpan_failure::{
    Code, EXCERPT_CHARACTERS_LIMIT, Effect, ErrorDefinition, Failure, Kind, codes,
};
use panpan_runtime::{Builder, Context, Registration};
use panpan_upstream::{Client, Incoming};
use serde_json::{Value, json};

use crate::operation;
use request::{
    BODY_TYPES, HEADERS_LIMIT, IDEMPOTENT_METHODS, METHODS, REDIRECTS_LIMIT, TIMEOUT_MS,
    TIMEOUT_MS_LIMITS, URL_LENGTH_LIMIT,
};

/// How much longer than the longest timeout of a request an attempt may take, so that the client reports the
/// timeout with its details.
const TIMEOUT_MARGIN_MS: u64 = 5000;
/// The maximum number of retries that a call may set.
const RETRIES_LIMIT: u32 = 10;
/// The longest delay between retries that a call may set.
const DELAY_MS_LIMIT: u64 = 60_000;

/// Adds `http/call` with this client.
pub fn http_call(builder: Builder, client: Client) -> Builder {
    let run = move |context: Context, input: Arc<Value>| run(client.clone(), context, input);
    builder.add(Registration::new(spec(), run).options_in_input())
}

async fn run(client: Client, context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let outgoing = request::outgoing(&input, context.downstream_key())?;
    let method = outgoing.method.clone();
    let timeout = outgoing.timeout;
    let started_at = context.now();
    let incoming = client.send(outgoing).await;
    let incoming = incoming.map_err(|failure| {
        let failure = failure.with_detail("method", method.as_str());
        with_timeout(failure, timeout)
    })?;
    let ended_at = context.now();
    if let Some(failure) = incoming.failure(method.is_safe(), ended_at) {
        let failure = described(failure, &incoming, &input);
        // A safe request has no effect, even if it failed.
        let failure = match method.is_safe() {
            true => failure.with_effect(Effect::None),
            false => failure,
        };
        return Err(failure.with_detail("method", method.as_str()));
    }
    let latency = ended_at.duration_since(started_at);
    let latency_ms = u64::try_from(latency.as_millis()).unwrap_or_default();
    Ok(response::output(
        &incoming,
        latency_ms,
        context.attempt() - 1,
    ))
}

/// Adds the timeout to a failure that was caused by one.
fn with_timeout(failure: Failure, timeout: Duration) -> Failure {
    let reason = failure.details().and_then(|it| it.get("reason")?.as_str());
    let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    match reason.is_some_and(|it| it.ends_with("_timeout")) {
        true => failure.with_detail("timeout_ms", timeout_ms),
        false => failure,
    }
}

/// Adds the details of the response. Codes of another panpan that are not in the catalogue, and protocol codes,
/// are replaced by the code of the status.
fn described(failure: Failure, incoming: &Incoming, input: &Value) -> Failure {
    let mut url = incoming.url.clone();
    url.set_query(None);
    let failure = failure
        .with_detail("url", url.as_str())
        .with_detail("upstream_status", incoming.status);
    let failure = match incoming.excerpt(EXCERPT_CHARACTERS_LIMIT, input) {
        Some(body) => failure.with_detail("upstream_body", body),
        None => failure,
    };
    let code = failure.code().as_str();
    if Kind::of(code).is_some() && !is_protocol_code(code) {
        return failure;
    }
    let kind = http_status(incoming.status);
    let kind = kind.unwrap_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into());
    let mut upstream = failure.upstream().cloned().unwrap_or_default();
    upstream.status = Some(incoming.status);
    upstream.code.get_or_insert_with(|| code.to_owned());
    failure.restated(kind).with_upstream(upstream)
}

fn spec() -> OperationSpec {
    let mut spec = operation(
        "http/call",
        OperationType::Mutation,
        "Sends an HTTP request to a public address and returns the response. POST, PATCH and DELETE require an \
         idempotency key, either of the call or as `idempotency_key` in the input.",
    );
    spec.title = Some("Call a web service".to_owned());
    spec.input_schema = input_schema();
    spec.output_schema = output_schema();
    spec.error_schemas = ERRORS.iter().map(|entry| definition(entry)).collect();
    spec.timeout_ms = Some(TIMEOUT_MS_LIMITS.1 + TIMEOUT_MARGIN_MS);
    spec.idempotency = Idempotency {
        key: KeyRule::Required,
        // By sending a key, the caller states that the service recognises it.
        honours_key: true,
        by_input: Some(ByInput {
            pointer: "/method".to_owned(),
            // Without a method the request is a GET.
            idempotent_values: IDEMPOTENT_METHODS
                .iter()
                .map(|it| json!(it))
                .chain([Value::Null])
                .collect(),
        }),
        ..Idempotency::default()
    };
    spec
}

/// The usual failures.
const ERRORS: &[&Entry] = &[
    codes::ERR_HTTP_400_BAD_REQUEST,
    codes::ERR_HTTP_401_UNAUTHORIZED,
    codes::ERR_HTTP_403_FORBIDDEN,
    codes::ERR_HTTP_404_NOT_FOUND,
    codes::ERR_HTTP_408_TIMEOUT,
    codes::ERR_HTTP_409_CONFLICT,
    codes::ERR_HTTP_422_UNPROCESSABLE,
    codes::ERR_HTTP_429_RATE_LIMITED,
    codes::ERR_HTTP_500_SERVER_ERROR,
    codes::ERR_HTTP_502_BAD_GATEWAY,
    codes::ERR_HTTP_503_UNAVAILABLE,
    codes::ERR_HTTP_504_GATEWAY_TIMEOUT,
    codes::ERR_CONNECTION_REFUSED,
    codes::ERR_TIMEOUT,
    codes::ERR_DNS_FAILURE,
    codes::ERR_SSL_ERROR,
    codes::ERR_SOCKET_ERROR,
    codes::ERR_BLOCKED_HOST,
    codes::ERR_OUTCOME_UNKNOWN,
    codes::ERR_VALIDATION_FAILED,
];

fn definition(entry: &Entry) -> ErrorDefinition {
    let code = Code::new(entry.code).expect("the codes of the catalogue are well formed");
    ErrorDefinition::new(code, entry.title)
}

fn input_schema() -> Value {
    let (least_ms, most_ms) = TIMEOUT_MS_LIMITS;
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let parameter = json!({"anyOf": [scalar, {"type": "array", "items": scalar}]});
    json!({
        "type": "object",
        "required": ["url"],
        "additionalProperties": false,
        "properties": {
            "method": {"enum": METHODS, "default": METHODS[0]},
            "url": {
                "type": "string",
                "minLength": 1,
                "maxLength": URL_LENGTH_LIMIT,
                "description": "An http or https URL. Private addresses are refused.",
            },
            "headers": {
                "type": "object",
                "maxProperties": HEADERS_LIMIT,
                "additionalProperties": {"type": "string"},
            },
            "query": {
                "type": "object",
                "additionalProperties": parameter,
                "description": "Added to the query of the URL.",
            },
            "body": {"description": "Encoded according to `body_type`; by default a string is sent as text, any other value as JSON."},
            "body_type": {"enum": BODY_TYPES},
            "timeout_ms": {"type": "integer", "minimum": least_ms, "maximum": most_ms, "default": TIMEOUT_MS},
            "max_redirects": {"type": "integer", "minimum": 0, "maximum": REDIRECTS_LIMIT},
            "retry": retry_schema(),
        },
    })
}

fn retry_schema() -> Value {
    let delay = json!({"type": "integer", "minimum": 0, "maximum": DELAY_MS_LIMIT});
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "How retryable failures are retried, whatever their category; what is left out has the values of the default policy. Without `retry`, each category has its own policy.",
        "properties": {
            "max_retries": {"type": "integer", "minimum": 0, "maximum": RETRIES_LIMIT},
            "initial_delay_ms": delay,
            "max_delay_ms": delay,
            "backoff_multiplier": {"type": "number", "minimum": 1, "maximum": 10},
            "jitter_enabled": {"type": "boolean"},
            "jitter_range": {"type": "number", "minimum": 0, "maximum": 1},
            "seed": {"type": "integer", "description": "Makes the delays reproducible."},
        },
    })
}

fn output_schema() -> Value {
    let hash = json!({"type": "string", "pattern": "^[0-9a-f]{64}$"});
    json!({
        "type": "object",
        "required": [
            "status_code", "headers", "body", "body_type", "headers_hash", "body_hash", "latency_ms", "retries",
        ],
        "properties": {
            "status_code": {"type": "integer"},
            "url": {"type": "string", "description": "The final URL, after redirects."},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {"description": "The JSON value, the text, or base64 of any other body."},
            "body_type": {"enum": ["json", "text", "base64", "none"]},
            "headers_hash": hash,
            "body_hash": hash,
            "latency_ms": {"type": "integer", "minimum": 0},
            "retries": {"type": "integer", "minimum": 0},
        },
    })
}
