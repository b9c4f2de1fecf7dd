//! Refusals of the inner panpan, and failures of its operations, through the outer panpan.

use std::sync::Arc;

use futures_util::stream;
use panpan_contract::operation::{AccessControl, OperationSpec, OperationType};
use panpan_failure::dialect::Dialect;
use panpan_failure::{
    Alternative, Category, Code, Effect, ErrorDefinition, Failure, Upstream, Violation, codes,
};
use panpan_runtime::{Context, Registration};
use panpan_surfaces::limits::Limits;
use serde_json::{Value, json};

use crate::differences;
use crate::panpan::{FastClock, Panpan, Protocol, forwarded_to};

const FAST: FastClock = FastClock { speed: 20 };
/// The timeout of `shop/sleep`.
const SLEEP_TIMEOUT_MS: u64 = 100;

fn spec(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

/// Operations that are refused, fail or succeed.
fn specs() -> [OperationSpec; 5] {
    let mut order = spec("shop/order", OperationType::Mutation);
    order.input_schema = json!({
        "type": "object", "required": ["item", "count"],
        "properties": {"item": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    });
    let mut guarded = spec("shop/guarded", OperationType::Query);
    guarded.access_control.required_scopes = vec!["shop:read".to_owned()];
    let mut sleep = spec("shop/sleep", OperationType::Query);
    sleep.timeout_ms = Some(SLEEP_TIMEOUT_MS);
    let mut sold = spec("shop/sold", OperationType::Mutation);
    sold.idempotency.idempotent = true;
    sold.error_schemas = vec![sold_out_declared()];
    let watch = spec("shop/watch", OperationType::Subscription);
    [order, guarded, sleep, sold, watch]
}

fn shop() -> Vec<Registration> {
    let [order, guarded, sleep, sold, watch] = specs();
    vec![
        Registration::new(order, echo),
        Registration::new(guarded, echo),
        Registration::new(sleep, |context: Context, input: Arc<Value>| async move {
            context.sleep(u64::MAX).await;
            Ok::<_, Failure>(input)
        }),
        Registration::new(sold, sold_out),
        Registration::streaming(watch, |_: Context, _: Arc<Value>| {
            let failure = Failure::new(codes::ERR_TIMEOUT).with_message("the shop fell silent");
            stream::iter([Ok(json!({"sold": 1})), Ok(json!("closed")), Err(failure)])
        }),
    ]
}

/// The shop without access control.
fn open_shop() -> Vec<Registration> {
    let open = |spec: &mut OperationSpec| spec.access_control = AccessControl::default();
    shop().into_iter().map(|it| it.with(open)).collect()
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
    Ok(input)
}

fn sold_out_declared() -> ErrorDefinition {
    let left = json!({"type": "object", "required": ["left"], "properties": {"left": {"type": "integer"}}});
    ErrorDefinition {
        schema: left,
        category: Some(Category::Transient),
        ..ErrorDefinition::new(Code::new("SOLD_OUT").unwrap(), "Nothing is left.")
    }
}

/// A failure with every member that a failure can have.
async fn sold_out(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let upstream = Upstream::status(409)
        .provider("stock")
        .code("none")
        .excerpt("{}");
    Err(sold_out_declared()
        .failure()
        .unwrap()
        .with_message("there are no widgets left")
        .with_detail("left", 0)
        .with_detail("key", context.downstream_key())
        .with_violation(Violation::value("/item", "is sold out").expected("anything else"))
        .with_retry_after_ms(1_234)
        .with_adjustment("item", "gadget")
        .with_actions(["Wait until there are new ones"])
        .with_alternatives([Alternative::from("Order a gadget")])
        .with_effect(Effect::Applied)
        .with_upstream(upstream)
        .caused_by(&std::io::Error::other("the shelf is empty")))
}

/// A failure without its id, its time and its attempts.
fn without_occurrence(failure: &Failure) -> Value {
    let mut failure = crate::comparable(failure);
    let members = failure.as_object_mut().unwrap();
    for name in ["id", "at", "attempts"] {
        members.remove(name);
    }
    failure
}

/// Compares the failure of a call to the inner panpan with that of the same call through the outer one.
async fn check(inner: &Panpan, outer: &Panpan, operation: &str, input: Value, code: &str) {
    for protocol in [Protocol::Call, Protocol::Mcp] {
        let inner_failure = inner
            .call(protocol, operation, &input, None)
            .await
            .unwrap_err();
        let outer_name = format!("inner/{operation}");
        let outer_failure = outer
            .call(protocol, &outer_name, &input, None)
            .await
            .unwrap_err();
        assert_eq!(
            outer_failure.code().as_str(),
            code,
            "{operation} by {protocol:?}"
        );
        assert_eq!(
            without_occurrence(&outer_failure),
            without_occurrence(&inner_failure),
            "{operation} by {protocol:?}"
        );
        let source = inner_failure.source().map(|it| format!("inner/{it}"));
        assert_eq!(
            outer_failure.source(),
            source.as_deref(),
            "{operation} by {protocol:?}"
        );
        assert_eq!(outer_failure.operation(), Some(outer_name.as_str()));
    }
}

/// An outer panpan that accepts any input, so that the inner one refuses it. Its operations are those of `described`,
/// and its calls go to `inner`.
async fn outer_without_schemas(described: &Panpan, inner: &Panpan) -> Panpan {
    let mut specs = described.imported().await;
    for spec in &mut specs {
        spec.input_schema = json!({});
    }
    Panpan::start(forwarded_to(&inner.url(), specs), Limits::default(), FAST).await
}

#[tokio::test]
async fn a_refusal_of_the_inner_gateway_is_relayed() {
    let described = Panpan::start(open_shop(), Limits::default(), FAST).await;
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let outer = outer_without_schemas(&described, &inner).await;
    for (operation, input, code) in [
        ("shop/order", json!({"count": 0}), "INVALID_INPUT"),
        ("shop/guarded", json!({}), "FORBIDDEN"),
        ("shop/sleep", json!({}), "TIMEOUT"),
    ] {
        check(&inner, &outer, operation, input, code).await;
    }
}

#[tokio::test]
async fn the_outer_gateway_refuses_invalid_input_with_the_same_failure() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let outer = inner.start_outer(FAST).await;
    let input = json!({"item": 1});
    for protocol in [Protocol::Call, Protocol::Mcp] {
        let inner_failure = inner
            .call(protocol, "shop/order", &input, None)
            .await
            .unwrap_err();
        let outer_failure = outer.call(protocol, "inner/shop/order", &input, None).await;
        let outer_failure = outer_failure.unwrap_err();
        assert_eq!(
            without_occurrence(&outer_failure),
            without_occurrence(&inner_failure)
        );
        assert_eq!(outer_failure.violations().len(), 2);
        assert_eq!(outer_failure.source(), Some("gateway"));
    }
    let failures = inner.failures().await;
    assert_eq!(failures.len(), 2, "only the calls to the inner panpan");
}

#[tokio::test]
async fn an_operation_that_the_inner_panpan_no_longer_has_is_not_found() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let emptied = Panpan::start(Vec::new(), Limits::default(), FAST).await;
    let outer = outer_without_schemas(&inner, &emptied).await;
    let inner_failure = emptied
        .call(Protocol::Call, "shop/order", &json!({}), None)
        .await;
    let inner_failure = inner_failure.unwrap_err();
    let outer_failure = outer
        .call(Protocol::Call, "inner/shop/order", &json!({}), None)
        .await;
    let outer_failure = outer_failure.unwrap_err();
    assert_eq!(outer_failure.code().as_str(), "NOT_FOUND");
    assert_eq!(
        without_occurrence(&outer_failure),
        without_occurrence(&inner_failure)
    );
    assert_eq!(outer_failure.source(), Some("inner/gateway"));
}

#[tokio::test]
async fn calls_to_an_overloaded_inner_panpan_are_retried() {
    let described = Panpan::start(shop(), Limits::default(), FAST).await;
    for (limits, code, retries) in [
        (
            Limits {
                calls_in_flight: 0,
                ..Limits::default()
            },
            "ERR_OVERLOADED",
            3,
        ),
        (
            Limits {
                calls_in_flight_per_caller: 0,
                ..Limits::default()
            },
            "ERR_RATE_LIMITED",
            3,
        ),
    ] {
        let inner = Panpan::start(shop(), limits, FAST).await;
        let outer = outer_without_schemas(&described, &inner).await;
        let inner_failure = inner
            .call(Protocol::Call, "shop/order", &json!({}), None)
            .await;
        let outer_failure = outer
            .call(Protocol::Call, "inner/shop/order", &json!({}), None)
            .await;
        let (inner_failure, outer_failure) =
            (inner_failure.unwrap_err(), outer_failure.unwrap_err());
        assert_eq!(outer_failure.code().as_str(), code);
        assert_eq!(
            without_occurrence(&outer_failure),
            without_occurrence(&inner_failure)
        );
        assert_eq!(
            inner_failure.attempts(),
            None,
            "the call was refused before any attempt"
        );
        assert_eq!(outer_failure.attempts(), Some(retries + 1));
    }
}

#[tokio::test]
async fn a_failure_of_an_operation_is_relayed_unchanged() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let outer = inner.start_outer(FAST).await;
    for protocol in [Protocol::Call, Protocol::Mcp] {
        let outer_failure = outer
            .call(protocol, "inner/shop/sold", &json!({}), Some("once"))
            .await;
        let outer_failure = outer_failure.unwrap_err();
        let inner_failure = inner.failures().await;
        let inner_failure = inner_failure
            .iter()
            .find(|it| it.id() == outer_failure.id())
            .unwrap();
        assert_eq!(differences(inner_failure, &outer_failure), [""; 0]);
        assert!(
            outer_failure.is_defined(),
            "the outer operation declares its details too"
        );
        assert!(
            outer_failure.was_repeated(),
            "the inner panpan repeated it, as its operation allows"
        );
        assert_eq!(outer_failure.source(), Some("inner/shop/sold"));
        assert_eq!(outer_failure.message(), "there are no widgets left");
        assert!(outer_failure.details().unwrap()["key"].is_string());
    }
}

#[tokio::test]
async fn input_and_output_pass_through_unchanged() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let outer = inner.start_outer(FAST).await;
    let input = json!({"item": "widget", "count": 2});
    let output = outer
        .call(Protocol::Call, "inner/shop/order", &input, Some("two"))
        .await;
    assert_eq!(output.unwrap(), input);
    let input = json!({"item": "x", "count": 1});
    let again = outer
        .call(Protocol::Call, "inner/shop/order", &input, Some("two"))
        .await;
    let reused = again.unwrap_err();
    assert_eq!(
        reused.code().as_str(),
        codes::ERR_IDEMPOTENCY_KEY_REUSED.code
    );
}

#[tokio::test]
async fn imported_operations_equal_the_exported_ones() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let imported = inner.imported().await;
    let names: Vec<_> = imported.iter().map(|it| it.name.as_str()).collect();
    let expected = ["order", "sleep", "sold", "watch"].map(|it| format!("inner/shop/{it}"));
    assert_eq!(names, expected);
    let [order, _, sleep, sold, watch] = specs();
    let specs = [order, sleep, sold, watch];
    for (spec, registered) in imported.iter().zip(&specs) {
        assert_eq!(spec.input_schema, registered.input_schema);
        assert_eq!(spec.output_schema, registered.output_schema);
        assert_eq!(spec.error_schemas, registered.error_schemas);
        assert_eq!(spec.idempotency, registered.idempotency);
        assert_eq!(spec.op_type, registered.op_type);
    }
}

#[tokio::test]
async fn a_stream_passes_items_and_its_final_failure() {
    let inner = Panpan::start(shop(), Limits::default(), FAST).await;
    let outer = inner.start_outer(FAST).await;
    let events = outer.subscribe("inner/shop/watch").await;
    let (items, end) = events.split_once("event: error\ndata: ").unwrap();
    assert_eq!(items, "data: {\"sold\":1}\n\ndata: \"closed\"\n\n");
    let end = Dialect::Call.parse(end.trim().as_bytes()).unwrap();
    let end = end.outcome.unwrap_err();
    assert_eq!(end.code().as_str(), "ERR_TIMEOUT");
    assert_eq!(end.message(), "the shop fell silent");
    assert_eq!(end.source(), Some("inner/shop/watch"));
}
