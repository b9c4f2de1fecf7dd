//! Takes call options from the input: the idempotency key and the retry settings.
//!
//! Only for operations registered with `options_in_input`. Nothing is refused here: the stage `validate`
//! reports invalid options together with all other violations.

use std::sync::Arc;

use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use serde::Deserialize;
use serde_json::Value;

use super::request::{CallRequest, Origin};
use crate::idempotency::IdempotencyKey;
use crate::registry::Operation;
use crate::schema::shown;

/// The member with the idempotency key. It is removed, so that the input is the same wherever the caller
/// writes the key.
const KEY: &str = "idempotency_key";
/// The member with the headers of a request, and the header with the idempotency key. It is not removed,
/// because the request has to send it.
const HEADERS: &str = "headers";
const KEY_HEADER: &str = "idempotency-key";
/// The member with the retry settings, and its member with the seed of the delays.
const RETRY: &str = "retry";
const SEED: &str = "seed";

/// The options found in an input.
#[derive(Debug, Default)]
pub(crate) struct InputOptions {
    pub(crate) policy: Option<RetryPolicy>,
    pub(crate) violations: Vec<Violation>,
}

pub(super) fn take_input_options(
    operation: Option<&Operation>,
    request: &mut CallRequest,
) -> InputOptions {
    let mut options = InputOptions::default();
    if !operation.is_some_and(|operation| operation.registration.options_in_input) {
        return options;
    }
    options.violations.extend(take_key(request));
    options.violations.extend(read_key_header(request));
    let retry = request.input.get(RETRY).filter(|retry| retry.is_object());
    if let Some(retry) = retry {
        match policy(retry) {
            Ok(policy) => options.policy = Some(policy),
            // The schema reports settings of a wrong type.
            Err(violation) => options.violations.extend(violation),
        }
        let seed = retry.get(SEED).and_then(Value::as_i64);
        options.violations.extend(set_seed(request, seed));
    }
    options
}

/// Sets the seed of the delays. A caller may give it twice, as long as it is the same; a call by another operation
/// inherits the seed of the first call.
fn set_seed(request: &mut CallRequest, seed: Option<i64>) -> Option<Violation> {
    let seed = seed?;
    let is_nested = matches!(request.origin, Origin::Operation { .. });
    match *request.retry_seed.get_or_insert(seed) {
        other if other != seed && !is_nested => Some(
            Violation::value(
                format!("/{RETRY}/{SEED}"),
                "the call already has a different seed",
            )
            .expected(format!("{other}, the seed of the call, or none"))
            .actual(seed),
        ),
        _ => None,
    }
}

impl Operation {
    /// What a call with this input would be refused for. A schema that does not compile refuses nothing here: the call
    /// reports it.
    pub fn input_violations(&self, input: impl Into<Arc<Value>>) -> Vec<Violation> {
        let mut request = CallRequest::from_wire(self.name().as_str(), input);
        let options = take_input_options(Some(self), &mut request);
        let Ok(schema) = self.input_schema() else {
            return Vec::new();
        };
        let checked = schema.check_input(&self.spec().input_schema, &request.input);
        let violations = checked.violations.into_iter();
        violations.chain(options.violations).collect()
    }
}

fn take_key(request: &mut CallRequest) -> Option<Violation> {
    request.input.get(KEY)?;
    let input = Arc::make_mut(&mut request.input).as_object_mut()?;
    let value = input.remove(KEY)?;
    let pointer = format!("/{KEY}");
    let key = match value.as_str().map(IdempotencyKey::new) {
        Some(Ok(key)) => key,
        Some(Err(error)) => return Some(invalid_key(&pointer, &error.to_string(), &value)),
        None => {
            let reason = "the idempotency key is not a string";
            return Some(invalid_key(&pointer, reason, &value));
        }
    };
    set_key(request, key, &pointer, &value)
}

fn read_key_header(request: &mut CallRequest) -> Option<Violation> {
    let headers = request.input.get(HEADERS)?.as_object()?;
    let is_key = |(name, _): &(&String, &Value)| name.eq_ignore_ascii_case(KEY_HEADER);
    let (name, value) = headers.iter().find(is_key)?;
    let pointer = joined(&format!("/{HEADERS}"), name);
    let value = value.clone();
    match IdempotencyKey::new(value.as_str()?) {
        Ok(key) => set_key(request, key, &pointer, &value),
        Err(error) => Some(invalid_key(&pointer, &error.to_string(), &value)),
    }
}

/// Sets the key of the call. It may be given more than once, as long as it is the same.
fn set_key(
    request: &mut CallRequest,
    key: IdempotencyKey,
    pointer: &str,
    value: &Value,
) -> Option<Violation> {
    match &request.key {
        Some(other) if *other != key => {
            let reason = "the call already has a different idempotency key";
            Some(Violation {
                actual: shown(value),
                ..Violation::value(pointer, reason)
                    .expected("the idempotency key of the call, or none")
            })
        }
        Some(_) => None,
        None => {
            request.key = Some(key);
            None
        }
    }
}

fn invalid_key(pointer: &str, reason: &str, value: &Value) -> Violation {
    Violation {
        actual: shown(value),
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
            .add(operation("a/options").options_in_input())
            .add(operation("a/plain"))
            .build()
            .unwrap()
    }

    fn taken(request: &mut CallRequest) -> InputOptions {
        let registry = registry();
        let operation = registry.get(&request.operation);
        take_input_options(operation.map(|it| &**it), request)
    }

    #[test]
    fn only_registered_operations_take_options_from_their_input() {
        let input = json!({"idempotency_key": "k", "retry": {"max_retries": 1, "seed": 7}, "a": 1});
        let mut plain = CallRequest::from_wire("a/plain", input.clone());
        assert!(taken(&mut plain).policy.is_none());
        assert_eq!((plain.key.is_none(), &*plain.input), (true, &input));
        let mut request = CallRequest::from_wire("a/options", input);
        let policy = taken(&mut request).policy.unwrap();
        assert_eq!(policy.max_retries(), 1);
        assert_eq!(request.key.unwrap().as_str(), "k");
        assert_eq!(request.retry_seed, Some(7));
        assert_eq!(request.input["a"], 1);
        assert!(request.input.get(KEY).is_none());
    }

    #[test]
    fn a_key_header_in_the_input_is_the_key_of_the_call() {
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
            let mut request = CallRequest::from_wire("a/options", input.clone());
            let violations = taken(&mut request).violations;
            let found = request.key.as_ref().map(IdempotencyKey::as_str);
            assert_eq!(found, key, "{input}");
            let found = violations.first().map(|it| it.pointer.as_str());
            assert_eq!(found, pointer, "{input}");
            assert_eq!(request.input.get(HEADERS).cloned(), headers, "{input}");
        }
    }

    #[test]
    fn invalid_options_are_reported_and_not_applied() {
        for (input, pointer) in [
            (json!({"idempotency_key": "a b"}), Some("/idempotency_key")),
            (json!({"idempotency_key": 7}), Some("/idempotency_key")),
            (
                json!({"retry": {"backoff_multiplier": 0.5}}),
                Some("/retry"),
            ),
            // The schema reports these.
            (json!({"retry": {"max_retries": "a"}}), None),
            (json!({"retry": 7}), None),
            (json!([{"idempotency_key": "k"}]), None),
            (json!("idempotency_key"), None),
        ] {
            let mut request = CallRequest::from_wire("a/options", input.clone());
            let options = taken(&mut request);
            let violation = options.violations.first();
            let found = violation.map(|violation| violation.pointer.as_str());
            assert_eq!(found, pointer, "{input}");
            assert!(request.key.is_none() && options.policy.is_none(), "{input}");
        }
    }

    #[test]
    fn two_seeds_have_to_be_the_same() {
        for (seed, is_refused) in [(7, false), (1, true)] {
            let mut request = CallRequest::from_wire("a/options", json!({"retry": {"seed": 7}}));
            request.retry_seed = Some(seed);
            let options = taken(&mut request);
            let pointers = options.violations.iter().map(|it| it.pointer.as_str());
            let expected: &[&str] = if is_refused { &["/retry/seed"] } else { &[] };
            assert_eq!(pointers.collect::<Vec<_>>(), expected);
            assert_eq!(request.retry_seed, Some(seed));
            // A call by another operation inherits the seed of the first call.
            request.origin = Origin::Operation {
                reach: Arc::default(),
                depth: 1,
            };
            assert!(taken(&mut request).violations.is_empty());
        }
    }
}
