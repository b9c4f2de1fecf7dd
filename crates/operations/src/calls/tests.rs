//! The operations `calls/*`, called through a dispatcher.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::ports::Outcomes;
use panpan_runtime::retry::UpstreamHealth;
use panpan_runtime::testing::{TestClock, TestPorts};
use panpan_runtime::{
    Answer, Builder, CallRequest, Context, Dispatcher, IdempotencyKey, Identity, Record,
    Registration, Registry, Settings,
};
use panpan_store::MemoryStore;
use serde_json::{Value, json};

use super::{OPERATE_SCOPE, WATCH_SCOPE};

fn dispatcher() -> Dispatcher {
    dispatcher_with(|builder| builder)
}

fn dispatcher_with(add: impl FnOnce(Builder) -> Builder) -> Dispatcher {
    let clock = Arc::new(TestClock::start());
    let store: Arc<dyn Outcomes> = Arc::new(MemoryStore::new(clock.clone()));
    let ports = TestPorts::around(store.clone(), clock).ports;
    let builder = add(crate::demo(Registry::builder()));
    let registry = super::calls(builder, &store).build().unwrap();
    assert_eq!(registry.schema_problems(), []);
    let settings = Settings {
        record: Record::All,
        ..Settings::default()
    };
    Dispatcher::with_settings(registry, ports, settings)
}

async fn call(dispatcher: &Dispatcher, name: &str, input: Value) -> Answer {
    dispatcher
        .dispatch(CallRequest::from_wire(name, input))
        .await
}

async fn operate(dispatcher: &Dispatcher, name: &str, input: Value) -> Result<Value, Redacted> {
    let operator = Identity::new("olga")
        .with_scope(WATCH_SCOPE)
        .with_scope(OPERATE_SCOPE);
    let request = CallRequest {
        caller: Some(Arc::new(operator)),
        ..CallRequest::from_wire(name, input)
    };
    dispatcher.dispatch(request).await.into_value()
}

#[tokio::test(start_paused = true)]
async fn every_operation_requires_its_scope() {
    let dispatcher = dispatcher();
    for (name, input) in [
        (
            "calls/get",
            json!({"id": "00000000-0000-0000-0000-000000000001"}),
        ),
        ("calls/recent", json!({})),
        ("calls/circuits", json!({})),
        ("calls/statistics", json!({})),
        (
            "calls/reopen",
            json!({"operation": "a/b", "idempotency_key": "k", "reason": "r"}),
        ),
    ] {
        let failure = call(&dispatcher, name, input)
            .await
            .into_value()
            .unwrap_err();
        assert_eq!(failure.code().as_str(), "FORBIDDEN", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_found_by_its_id_with_every_attempt() {
    let dispatcher = dispatcher();
    let answer = call(&dispatcher, "demo/flaky", json!({"failures": 2})).await;
    let id = json!({"id": answer.call});
    let recording = operate(&dispatcher, "calls/get", id).await.unwrap();
    assert_eq!(recording["steps"].as_array().unwrap().len(), 3);
    let code = &recording["steps"][0]["failed"]["code"];
    assert_eq!(*code, json!("ERR_HTTP_503_UNAVAILABLE"));
    let unknown = json!({"id": "00000000-0000-0000-0000-00000000ffff"});
    let failure = operate(&dispatcher, "calls/get", unknown)
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "CALL_NOT_RECORDED");
    assert!(failure.is_defined());
}

#[tokio::test(start_paused = true)]
async fn statistics_count_calls_by_outcome() {
    let dispatcher = dispatcher();
    call(&dispatcher, "demo/echo", json!({})).await;
    call(&dispatcher, "demo/flaky", json!({"failures": 1})).await;
    call(&dispatcher, "demo/flaky", json!({"failures": 9})).await;
    call(&dispatcher, "demo/flaky", json!({"failures": "no"})).await;
    call(&dispatcher, "demo/none", json!({})).await;
    dispatcher.maintain().await.unwrap();
    let found = operate(&dispatcher, "calls/statistics", json!({}))
        .await
        .unwrap();
    assert_eq!(
        found["operations"]["demo/flaky"],
        json!({
            "calls": 3, "succeeded": 1, "failed": 2, "replayed": 0,
            "retried": 2, "retried_with_success": 1,
            "codes": {"ERR_HTTP_503_UNAVAILABLE": 1, "INVALID_INPUT": 1},
        })
    );
    assert_eq!(found["operations"]["demo/echo"]["succeeded"], json!(1));
    assert_eq!(
        found["operations"]["(unknown)"]["codes"]["NOT_FOUND"],
        json!(1)
    );
    let one = operate(
        &dispatcher,
        "calls/statistics",
        json!({"operation": "demo/echo"}),
    )
    .await;
    assert_eq!(one.unwrap()["operations"].as_object().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn open_circuits_are_listed_with_their_last_failure() {
    let upstream = Arc::new(UpstreamHealth::named("svc"));
    let failing = |_: Context, _: Arc<Value>| async {
        let failure = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR);
        Err::<Value, _>(failure.with_message("disk full"))
    };
    let spec = OperationSpec::new("svc/list".parse().unwrap(), OperationType::Query);
    let registration = Registration::new(spec, failing).behind(upstream);
    let dispatcher = dispatcher_with(|builder| builder.add(registration));
    let circuits = || operate(&dispatcher, "calls/circuits", json!({}));
    assert_eq!(circuits().await.unwrap(), json!({"circuits": []}));
    for pause_ms in [3_000, 3_000, 3_000, 3_000, 500] {
        call(&dispatcher, "svc/list", json!({})).await;
        tokio::time::sleep(std::time::Duration::from_millis(pause_ms)).await;
    }
    let mut found = circuits().await.unwrap();
    let last = found["circuits"][0]["last_failure"].take();
    assert_eq!(last["code"], json!("ERR_HTTP_500_SERVER_ERROR"));
    assert_eq!(last["message"], json!("disk full"));
    assert_eq!(
        found,
        json!({"circuits": [{
            "circuit": "operation", "upstream": "svc", "operation": "svc/list", "state": "open",
            "retry_after_ms": 1500, "failed_calls": 5, "last_failure": null,
        }]})
    );
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let found = circuits().await.unwrap();
    assert_eq!(found["circuits"][0]["state"], json!("half_open"));
}

#[tokio::test(start_paused = true)]
async fn the_newest_calls_come_first() {
    let dispatcher = dispatcher();
    call(&dispatcher, "demo/fail", json!({"code": "ERR_TIMEOUT"})).await;
    call(&dispatcher, "demo/echo", json!({"password": "hunter22"})).await;
    let input = json!({"limit": 2});
    let recent = operate(&dispatcher, "calls/recent", input).await.unwrap();
    assert_eq!(
        recent["calls"][0]["input"],
        json!({"password": "[REDACTED]"})
    );
    let failed = json!({"failed_only": true});
    let failed = operate(&dispatcher, "calls/recent", failed).await.unwrap();
    assert_eq!(failed["calls"][0]["operation"], json!("demo/fail"));
}

#[tokio::test(start_paused = true)]
async fn a_reopened_key_runs_once_more() {
    let dispatcher = dispatcher();
    let order = || {
        let key = IdempotencyKey::new("order-1").unwrap();
        let request = CallRequest::from_wire("demo/order", json!({"item": "widget"}));
        dispatcher.dispatch(request.keyed(key))
    };
    let first = order().await;
    assert!(order().await.replayed);
    let key = json!({"operation": "demo/order", "idempotency_key": "order-1", "reason": "lost in the post"});
    let reopened = operate(&dispatcher, "calls/reopen", key.clone()).await;
    assert_eq!(reopened.unwrap(), json!({"generation": 2}));
    let again = order().await;
    assert!(!again.replayed);
    assert_ne!(again.call, first.call);
    assert!(order().await.replayed);
    let other = json!({"operation": "demo/echo", "idempotency_key": "order-1", "reason": "r"});
    let failure = operate(&dispatcher, "calls/reopen", other)
        .await
        .unwrap_err();
    assert_eq!(failure.violations()[0].pointer, "/idempotency_key");
}
