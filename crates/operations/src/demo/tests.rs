//! The demonstration behaves as its contract says, called as a gateway calls it.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::Redacted;
use panpan_runtime::ports::{Clock, Ids, Outcomes, PrivateLog};
use panpan_runtime::{BoxFuture, CallRequest, Dispatcher, Registry};
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn sleep(&self, _: u64) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl Ids for Still {
    fn new_id(&self) -> Uuid {
        Uuid::nil()
    }
}

impl Outcomes for Still {
    fn record(&self, _: &Redacted) {}

    fn recent(&self, _: usize) -> BoxFuture<'_, Vec<Redacted>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl PrivateLog for Still {
    fn note(&self, id: Uuid, operation: &str, cause: &str) {
        panic!("{operation} has something to hide ({id}): {cause}");
    }
}

async fn call(name: &str, input: Value) -> Result<Value, Redacted> {
    let registry = super::demo(Registry::builder()).build().unwrap();
    assert_eq!(registry.schema_problems(), []);
    let still = Arc::new(Still);
    Dispatcher::new(
        Arc::new(registry),
        still.clone(),
        still.clone(),
        still.clone(),
        still,
    )
    .dispatch(CallRequest::from_wire(name, input))
    .await
}

#[tokio::test]
async fn echo_gives_back_its_input() {
    assert_eq!(
        call("demo/echo", json!({"a": [1]})).await.unwrap(),
        json!({"a": [1]})
    );
}

#[tokio::test]
async fn fail_answers_every_code_of_the_catalogue_that_operations_may_answer() {
    for entry in panpan_contract::catalogue::entries() {
        let failure = call("demo/fail", json!({"code": entry.code}))
            .await
            .unwrap_err();
        if panpan_contract::catalogue::is_protocol_code(entry.code) {
            assert_eq!(
                failure.code().as_str(),
                "INVALID_INPUT_ERROR",
                "{}",
                entry.code
            );
            assert_eq!(failure.violations()[0].pointer, "/code");
        } else {
            assert_eq!(failure.code().as_str(), entry.code);
        }
    }
    let member = call("demo/fail", json!({"code": "HTTP_418"}))
        .await
        .unwrap_err();
    assert_eq!(member.code().as_str(), "HTTP_418");
}

#[tokio::test]
async fn fail_says_what_it_was_told_to_say() {
    let input = json!({"code": "ERR_TIMEOUT", "message": "no answer"});
    let failure = call("demo/fail", input).await.unwrap_err();
    assert_eq!(failure.message(), "no answer");
}

#[tokio::test]
async fn an_unknown_code_is_answered_with_the_nearest_ones() {
    let failure = call("demo/fail", json!({"code": "ERR_TIMEOT"}))
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT_ERROR");
    assert_eq!(
        failure.recovery().parameter_adjustments["code"],
        json!("ERR_TIMEOUT")
    );
    let nothing_alike = call("demo/fail", json!({"code": "ß"})).await.unwrap_err();
    assert_eq!(nothing_alike.details().unwrap()["nearest"], json!([]));
}

#[tokio::test]
async fn division_succeeds_or_fails_with_a_declared_code() {
    let divide = |dividend: f64, divisor: f64| {
        call(
            "demo/divide",
            json!({"dividend": dividend, "divisor": divisor}),
        )
    };
    assert_eq!(divide(6.0, 4.0).await.unwrap(), json!({"quotient": 1.5}));
    for (dividend, divisor, code) in [
        (1.0, 0.0, "DIVISION_BY_ZERO"),
        (0.0, -0.0, "DIVISION_BY_ZERO"),
        (1e308, 1e-10, "QUOTIENT_TOO_LARGE"),
    ] {
        let failure = divide(dividend, divisor).await.unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        assert!(failure.is_defined());
        assert!(!failure.retryable());
        assert!(failure.is_recoverable());
    }
}
