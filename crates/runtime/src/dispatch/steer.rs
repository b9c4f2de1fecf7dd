//! What the input of a call says about the call itself: under which key it runs, how it is retried.
//!
//! Only for operations registered so. Nothing is refused here: what cannot be followed is a violation
//! that the room `validate` tells with all others.

use std::sync::Arc;

use panpan_contract::failure::Violation;
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use serde::Deserialize;
use serde_json::Value;

use super::request::CallRequest;
use crate::idempotency::{IdempotencyKey, KEY_LENGTH_LIMIT};
use crate::registry::Operation;
use crate::schema::shown;

/// The member that is the idempotency key. It is taken out, so that the same work is the same input
/// wherever its key stands.
const KEY: &str = "idempotency_key";
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
    let key = match stated.as_str().map(IdempotencyKey::new) {
        Some(Ok(key)) => key,
        Some(Err(error)) => return Some(unusable(&error.to_string(), &stated)),
        None => return Some(unusable("the idempotency key is not a string", &stated)),
    };
    match &request.key {
        Some(other) if *other != key => {
            let reason = "the call carries another idempotency key";
            Some(Violation {
                actual: shown(&stated),
                ..Violation::value(format!("/{KEY}"), reason)
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

fn unusable(reason: &str, stated: &Value) -> Violation {
    Violation {
        actual: shown(stated),
        ..Violation::value(format!("/{KEY}"), reason)
            .expected(format!("1 to {KEY_LENGTH_LIMIT} visible characters"))
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
    use panpan_contract::Failure;
    use panpan_contract::operation::{OperationSpec, OperationType};
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
