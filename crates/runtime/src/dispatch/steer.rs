//! What the input of a call says about the call itself: under which key it runs, how it is retried.
//!
//! Only for operations registered so. Nothing is refused here: what cannot be followed is a violation
//! that the room `validate` tells with all others.

use std::sync::Arc;

use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use serde::Deserialize;
use serde_json::Value;

use super::request::CallRequest;
use crate::idempotency::IdempotencyKey;
use crate::registry::Operation;
use crate::schema::shown;

/// The member that is the idempotency key. It is taken out, so that the same work is the same input
/// wherever its key stands.
const KEY: &str = "idempotency_key";
/// The member with the headers of a request, and the one among them that is an idempotency key, too. It
/// is not removed: a header in the input is meant to be sent.
const HEADERS: &str = "headers";
const KEY_HEADER: &str = "idempotency-key";
/// The member with retry settings, and with a seed for its delays.
const RETRY: &str = "retry";
const SEED: &str = "seed";

/// What an input says about its call.
#[derive(Debug, Default)]
pub(crate) struct Steering {
    pub(crate) policy: Option<RetryPolicy>,
    pub(crate) violations: Vec<Violation>,
}

pub(super) fn steer(operation: Option<&Operation>, request: &mut CallRequest) -> Steering {
    let mut steering = Steering::default();
    if !operation.is_some_and(|operation| operation.is_steered_by_input()) {
        return steering;
    }
    steering.violations.extend(take_key(request));
    steering.violations.extend(read_key_header(request));
    let retry = request.input.get(RETRY).filter(|retry| retry.is_object());
    if let Some(retry) = retry {
        match policy(retry) {
            Ok(policy) => steering.policy = Some(policy),
            // What has another shape is found by the schema.
            Err(violation) => steering.violations.extend(violation),
        }
        request.retry_seed = request
            .retry_seed
            .or_else(|| retry.get(SEED).and_then(Value::as_i64));
    }
    steering
}

fn take_key(request: &mut CallRequest) -> Option<Violation> {
    request.input.get(KEY)?;
    let input = Arc::make_mut(&mut request.input).as_object_mut()?;
    let stated = input.remove(KEY)?;
    let pointer = format!("/{KEY}");
    let key = match stated.as_str().map(IdempotencyKey::new) {
        Some(Ok(key)) => key,
        Some(Err(error)) => return Some(unusable(&pointer, &error.to_string(), &stated)),
        None => {
            let reason = "the idempotency key is not a string";
            return Some(unusable(&pointer, reason, &stated));
        }
    };
    agree(request, key, &pointer, &stated)
}

fn read_key_header(request: &mut CallRequest) -> Option<Violation> {
    let headers = request.input.get(HEADERS)?.as_object()?;
    let is_key = |(name, _): &(&String, &Value)| name.eq_ignore_ascii_case(KEY_HEADER);
    let (name, stated) = headers.iter().find(is_key)?;
    let pointer = joined(&format!("/{HEADERS}"), name);
    let stated = stated.clone();
    match IdempotencyKey::new(stated.as_str()?) {
        Ok(key) => agree(request, key, &pointer, &stated),
        Err(error) => Some(unusable(&pointer, &error.to_string(), &stated)),
    }
}

/// The key of the call, which may be stated in several places as long as it is the same.
fn agree(
    request: &mut CallRequest,
    key: IdempotencyKey,
    pointer: &str,
    stated: &Value,
) -> Option<Violation> {
    match &request.key {
        Some(other) if *other != key => {
            let reason = "the call carries another idempotency key";
            Some(Violation {
                actual: shown(stated),
                ..Violation::value(pointer, reason)
                    .expected("the idempotency key the call carries, or nothing")
            })
        }
        Some(_) => None,
        None => {
            request.key = Some(key);
            None
        }
    }
}

fn unusable(pointer: &str, reason: &str, stated: &Value) -> Violation {
    Violation {
        actual: shown(stated),
        ..Violation::value(pointer, reason).expected(IdempotencyKey::form())
    }
}

fn policy(retry: &Value) -> Result<RetryPolicy, Option<Violation>> {
    let mut settings = retry.clone();
    if let Some(members) = settings.as_object_mut() {
        members.remove(SEED);
    }
    let settings = RetrySettings::deserialize(settings).map_err(|_| None)?;
    RetryPolicy::try_from(settings)
        .map_err(|error| Some(Violation::value(format!("/{RETRY}"), error.to_string())))
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::{OperationSpec, OperationType};
    use panpan_failure::Failure;
    use serde_json::json;

    use super::*;
    use crate::context::Context;
    use crate::registry::{Registration, Registry};

    async fn nothing(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
        Ok(Value::Null)
    }

    fn registry() -> Registry {
        let operation = |name: &str| {
            let spec = OperationSpec::new(name.parse().unwrap(), OperationType::Mutation);
            Registration::new(spec, nothing)
        };
        Registry::builder()
            .add(operation("a/steered").steered_by_input())
            .add(operation("a/plain"))
            .build()
            .unwrap()
    }

    fn steered(request: &mut CallRequest) -> Steering {
        let registry = registry();
        let operation = registry.get(&request.operation);
        steer(operation.map(|it| &**it), request)
    }

    #[test]
    fn only_operations_registered_so_are_steered() {
        let input = json!({"idempotency_key": "k", "retry": {"max_retries": 1, "seed": 7}, "a": 1});
        let mut plain = CallRequest::from_wire("a/plain", input.clone());
        assert!(steered(&mut plain).policy.is_none());
        assert_eq!((plain.key.is_none(), &*plain.input), (true, &input));
        let mut asked = CallRequest::from_wire("a/steered", input);
        let policy = steered(&mut asked).policy.unwrap();
        assert_eq!(policy.max_retries(), 1);
        assert_eq!(asked.key.unwrap().as_str(), "k");
        assert_eq!(asked.retry_seed, Some(7));
        assert_eq!(asked.input["a"], 1);
        assert!(asked.input.get(KEY).is_none());
    }

    #[test]
    fn a_key_among_the_headers_is_the_key_of_the_call() {
        for (input, key, pointer) in [
            (
                json!({"headers": {"Idempotency-Key": "h"}}),
                Some("h"),
                None,
            ),
            (
                json!({"headers": {"idempotency-key": "\"h\""}}),
                Some("h"),
                None,
            ),
            (
                json!({"idempotency_key": "h", "headers": {"Idempotency-Key": "h"}}),
                Some("h"),
                None,
            ),
            (
                json!({"idempotency_key": "k", "headers": {"Idempotency-Key": "h"}}),
                Some("k"),
                Some("/headers/Idempotency-Key"),
            ),
            (
                json!({"headers": {"Idempotency-Key": ""}}),
                None,
                Some("/headers/Idempotency-Key"),
            ),
            (json!({"headers": {"X-Idempotency-Key": "h"}}), None, None),
            (json!({"headers": "Idempotency-Key: h"}), None, None),
        ] {
            let headers = input.get(HEADERS).cloned();
            let mut request = CallRequest::from_wire("a/steered", input.clone());
            let violations = steered(&mut request).violations;
            let found = request.key.as_ref().map(IdempotencyKey::as_str);
            assert_eq!(found, key, "{input}");
            let found = violations.first().map(|it| it.pointer.as_str());
            assert_eq!(found, pointer, "{input}");
            assert_eq!(request.input.get(HEADERS).cloned(), headers, "{input}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_told_and_changes_nothing() {
        for (input, pointer) in [
            (json!({"idempotency_key": "a b"}), Some("/idempotency_key")),
            (json!({"idempotency_key": 7}), Some("/idempotency_key")),
            (
                json!({"retry": {"backoff_multiplier": 0.5}}),
                Some("/retry"),
            ),
            // The schema finds these.
            (json!({"retry": {"max_retries": "a"}}), None),
            (json!({"retry": 7}), None),
            (json!([{"idempotency_key": "k"}]), None),
            (json!("idempotency_key"), None),
        ] {
            let mut request = CallRequest::from_wire("a/steered", input.clone());
            let steering = steered(&mut request);
            let violation = steering.violations.first();
            let found = violation.map(|violation| violation.pointer.as_str());
            assert_eq!(found, pointer, "{input}");
            assert!(
                request.key.is_none() && steering.policy.is_none(),
                "{input}"
            );
        }
    }

    #[test]
    fn the_seed_of_the_call_comes_before_that_of_the_input() {
        let mut request = CallRequest::from_wire("a/steered", json!({"retry": {"seed": 7}}));
        request.retry_seed = Some(1);
        steered(&mut request);
        assert_eq!(request.retry_seed, Some(1));
    }
}
