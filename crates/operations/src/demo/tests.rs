//! The demo operations, called through a dispatcher.

use futures_util::StreamExt as _;
use panpan_failure::Redacted;
use panpan_runtime::{Answer, CallRequest, IdempotencyKey, Registry};
use panpan_testkit::TestDispatcher;
use serde_json::{Value, json};

fn dispatcher() -> TestDispatcher {
    panpan_testkit::dispatcher(super::demo(Registry::builder()))
}

async fn answers(requests: impl IntoIterator<Item = CallRequest>) -> Vec<Answer> {
    let TestDispatcher {
        dispatcher, notes, ..
    } = dispatcher();
    let mut answers = Vec::new();
    for request in requests {
        answers.push(dispatcher.dispatch(request).await);
    }
    assert_eq!(notes.causes(), [""; 0]);
    answers
}

async fn call(name: &str, input: Value) -> Result<Value, Redacted> {
    let answers = answers([CallRequest::from_wire(name, input)]).await;
    answers.into_iter().next().unwrap().into_value()
}

#[tokio::test(start_paused = true)]
async fn echo_returns_its_input() {
    assert_eq!(
        call("demo/echo", json!({"a": [1]})).await.unwrap(),
        json!({"a": [1]})
    );
}

#[tokio::test(start_paused = true)]
async fn fail_returns_every_catalogue_code_except_protocol_codes() {
    for entry in panpan_failure::catalogue::entries() {
        let failure = call("demo/fail", json!({"code": entry.code}))
            .await
            .unwrap_err();
        if panpan_failure::catalogue::is_protocol_code(entry.code) {
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

#[tokio::test(start_paused = true)]
async fn fail_uses_the_requested_message() {
    let input = json!({"code": "ERR_TIMEOUT", "message": "no answer"});
    let failure = call("demo/fail", input).await.unwrap_err();
    assert_eq!(failure.message(), "no answer");
}

#[tokio::test(start_paused = true)]
async fn the_failure_for_an_unknown_code_names_similar_codes() {
    let failure = call("demo/fail", json!({"code": "ERR_TIMEOT"}))
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT_ERROR");
    assert_eq!(
        failure.recovery().parameter_adjustments["code"],
        json!("ERR_TIMEOUT")
    );
    let unlike_any = call("demo/fail", json!({"code": "ß"})).await.unwrap_err();
    assert_eq!(unlike_any.details().unwrap()["nearest"], json!([]));
}

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
async fn flaky_failures_are_retried_up_to_the_limit() {
    for (failures, seen) in [(0, Ok(1)), (3, Ok(4)), (4, Err(4))] {
        let answer = call("demo/flaky", json!({"failures": failures})).await;
        match seen {
            Ok(attempts) => assert_eq!(answer.unwrap(), json!({"attempts": attempts})),
            Err(attempts) => {
                let failure = answer.unwrap_err();
                assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
                assert_eq!(failure.attempts(), Some(attempts));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_key_flaky_continues_to_count_attempts() {
    let key = IdempotencyKey::new("k").unwrap();
    let request = CallRequest::from_wire("demo/flaky", json!({"failures": 5})).keyed(key);
    let mut answers = answers([request.clone(), request]).await;
    assert_eq!(
        answers.remove(1).into_value().unwrap(),
        json!({"attempts": 6})
    );
    answers.remove(0).into_value().unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn an_order_is_placed_once_per_key() {
    let order = || CallRequest::from_wire("demo/order", json!({"item": "widget"}));
    let key = || IdempotencyKey::new("order-1").unwrap();
    let requests = [order(), order(), order().keyed(key()), order().keyed(key())];
    let answers = answers(requests).await;
    let replayed: Vec<bool> = answers.iter().map(|answer| answer.replayed).collect();
    assert_eq!(replayed, [false, false, false, true]);
    let orders: Vec<Value> = answers
        .into_iter()
        .map(|answer| answer.into_value().unwrap()["order"].clone())
        .collect();
    assert_ne!(orders[0], orders[1]);
    assert_eq!(orders[2], orders[3]);
}

#[tokio::test(start_paused = true)]
async fn count_returns_every_number_and_fails_where_requested() {
    for (input, numbers, fails) in [
        (json!({"to": 3}), 3, false),
        (json!({"to": 0}), 0, false),
        (json!({"to": 3, "every_ms": 100}), 3, false),
        (json!({"to": 3, "fail_after": 1}), 1, true),
        (json!({"to": 3, "fail_after": 3}), 3, true),
        (json!({"to": 3, "fail_after": 4}), 3, false),
    ] {
        let request = CallRequest::from_wire("demo/count", input.clone());
        let items = dispatcher().dispatcher.subscribe(request).unwrap();
        let items: Vec<_> = items.collect().await;
        let returned = items.iter().filter(|item| item.is_ok()).count();
        assert_eq!(returned, numbers, "{input}");
        assert_eq!(items.iter().any(Result::is_err), fails, "{input}");
    }
}

#[tokio::test(start_paused = true)]
async fn wait_takes_the_requested_time() {
    let began = tokio::time::Instant::now();
    let answer = call("demo/wait", json!({"ms": 1234})).await;
    assert_eq!(answer.unwrap(), json!({"waited_ms": 1234}));
    assert_eq!(began.elapsed().as_millis(), 1234);
}
