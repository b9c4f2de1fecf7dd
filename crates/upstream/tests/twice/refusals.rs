//! What a panpan says itself, and what its own operations say in every member of a failure.

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
use crate::panpan::{By, Pace, Panpan, in_front_of};

const QUICK: Pace = Pace { times: 20 };
/// How long `shop/sleep` may take.
const NAP_MS: u64 = 100;

fn spec(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

/// Operations that are refused, fail or work.
fn specs() -> [OperationSpec; 5] {
    let mut order = spec("shop/order", OperationType::Mutation);
    order.input_schema = json!({
        "type": "object", "required": ["item", "count"],
        "properties": {"item": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    });
    let mut guarded = spec("shop/guarded", OperationType::Query);
    guarded.access_control.required_scopes = vec!["shop:read".to_owned()];
    let mut sleep = spec("shop/sleep", OperationType::Query);
    sleep.timeout_ms = Some(NAP_MS);
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

/// The same where nothing is guarded any more.
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

/// A failure that says everything a failure can say.
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

/// What a caller is told, apart from which occurrence it was and how often who tried.
fn told(failure: &Failure) -> Value {
    let mut told = crate::seen(failure);
    let members = told.as_object_mut().unwrap();
    for name in ["id", "at", "attempts"] {
        members.remove(name);
    }
    told
}

/// What the inner one says when it is asked, and what the outer one says it said.
async fn check(inner: &Panpan, outer: &Panpan, operation: &str, input: Value, code: &str) {
    for by in [By::Call, By::Mcp] {
        let inside = inner.ask(by, operation, &input, None).await.unwrap_err();
        let outer_name = format!("inner/{operation}");
        let outside = outer.ask(by, &outer_name, &input, None).await.unwrap_err();
        assert_eq!(outside.code().as_str(), code, "{operation} by {by:?}");
        assert_eq!(told(&outside), told(&inside), "{operation} by {by:?}");
        let source = inside.source().map(|it| format!("inner/{it}"));
        assert_eq!(outside.source(), source.as_deref(), "{operation} by {by:?}");
        assert_eq!(outside.operation(), Some(outer_name.as_str()));
    }
}

/// One in front of another that takes any input, so that it is the inner one that refuses it.
async fn unguarded(inner: &Panpan, url_of: &Panpan) -> Panpan {
    let mut specs = inner.described().await;
    for spec in &mut specs {
        spec.input_schema = json!({});
    }
    Panpan::start(in_front_of(&url_of.url(), specs), Limits::default(), QUICK).await
}

#[tokio::test]
async fn what_the_inner_gateway_refuses_is_told_as_it_says_it() {
    let described = Panpan::start(open_shop(), Limits::default(), QUICK).await;
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let outer = unguarded(&described, &inner).await;
    for (operation, input, code) in [
        ("shop/order", json!({"count": 0}), "INVALID_INPUT"),
        ("shop/guarded", json!({}), "FORBIDDEN"),
        ("shop/sleep", json!({}), "TIMEOUT"),
    ] {
        check(&inner, &outer, operation, input, code).await;
    }
}

#[tokio::test]
async fn what_both_can_see_the_outer_one_refuses_in_the_same_words() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let outer = inner.behind(QUICK).await;
    let input = json!({"item": 1});
    for by in [By::Call, By::Mcp] {
        let inside = inner.ask(by, "shop/order", &input, None).await.unwrap_err();
        let outside = outer.ask(by, "inner/shop/order", &input, None).await;
        let outside = outside.unwrap_err();
        assert_eq!(told(&outside), told(&inside));
        assert_eq!(outside.violations().len(), 2);
        assert_eq!(outside.source(), Some("gateway"));
    }
    let asked: Vec<_> = inner.failures().await;
    assert_eq!(
        asked.len(),
        2,
        "only those that were asked of the inner one"
    );
}

#[tokio::test]
async fn an_operation_that_the_inner_one_lost_is_not_found() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let emptied = Panpan::start(Vec::new(), Limits::default(), QUICK).await;
    let outer = unguarded(&inner, &emptied).await;
    let inside = emptied.ask(By::Call, "shop/order", &json!({}), None).await;
    let inside = inside.unwrap_err();
    let outside = outer
        .ask(By::Call, "inner/shop/order", &json!({}), None)
        .await;
    let outside = outside.unwrap_err();
    assert_eq!(outside.code().as_str(), "NOT_FOUND");
    assert_eq!(told(&outside), told(&inside));
    assert_eq!(outside.source(), Some("inner/gateway"));
}

#[tokio::test]
async fn an_inner_one_without_room_is_asked_again_and_then_told_of() {
    let described = Panpan::start(shop(), Limits::default(), QUICK).await;
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
        let inner = Panpan::start(shop(), limits, QUICK).await;
        let outer = unguarded(&described, &inner).await;
        let inside = inner.ask(By::Call, "shop/order", &json!({}), None).await;
        let outside = outer
            .ask(By::Call, "inner/shop/order", &json!({}), None)
            .await;
        let (inside, outside) = (inside.unwrap_err(), outside.unwrap_err());
        assert_eq!(outside.code().as_str(), code);
        assert_eq!(told(&outside), told(&inside));
        assert_eq!(inside.attempts(), None, "nobody tried it");
        assert_eq!(outside.attempts(), Some(retries + 1));
    }
}

#[tokio::test]
async fn what_an_operation_says_comes_through_whole() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let outer = inner.behind(QUICK).await;
    for by in [By::Call, By::Mcp] {
        let outside = outer
            .ask(by, "inner/shop/sold", &json!({}), Some("once"))
            .await;
        let outside = outside.unwrap_err();
        let inside = inner.failures().await;
        let inside = inside.iter().find(|it| it.id() == outside.id()).unwrap();
        assert_eq!(differences(inside, &outside), [""; 0]);
        assert!(outside.is_defined(), "its details are declared outside too");
        assert!(outside.was_repeated(), "inside, as its operation allows");
        assert_eq!(outside.source(), Some("inner/shop/sold"));
        assert_eq!(outside.message(), "there are no widgets left");
        assert!(outside.details().unwrap()["key"].is_string());
    }
}

#[tokio::test]
async fn what_goes_in_and_comes_out_is_what_the_inner_one_takes_and_gives() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let outer = inner.behind(QUICK).await;
    let input = json!({"item": "widget", "count": 2});
    let output = outer
        .ask(By::Call, "inner/shop/order", &input, Some("two"))
        .await;
    assert_eq!(output.unwrap(), input);
    let input = json!({"item": "x", "count": 1});
    let again = outer
        .ask(By::Call, "inner/shop/order", &input, Some("two"))
        .await;
    let reused = again.unwrap_err();
    assert_eq!(
        reused.code().as_str(),
        codes::ERR_IDEMPOTENCY_KEY_REUSED.code
    );
}

#[tokio::test]
async fn operations_come_back_as_they_were() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let described = inner.described().await;
    let names: Vec<_> = described.iter().map(|it| it.name.as_str()).collect();
    let expected = ["order", "sleep", "sold", "watch"].map(|it| format!("inner/shop/{it}"));
    assert_eq!(names, expected);
    let [order, _, sleep, sold, watch] = specs();
    let specs = [order, sleep, sold, watch];
    for (spec, registered) in described.iter().zip(&specs) {
        assert_eq!(spec.input_schema, registered.input_schema);
        assert_eq!(spec.output_schema, registered.output_schema);
        assert_eq!(spec.error_schemas, registered.error_schemas);
        assert_eq!(spec.idempotency, registered.idempotency);
        assert_eq!(spec.op_type, registered.op_type);
    }
}

#[tokio::test]
async fn a_stream_comes_through_item_by_item_and_ends_with_what_ended_it() {
    let inner = Panpan::start(shop(), Limits::default(), QUICK).await;
    let outer = inner.behind(QUICK).await;
    let events = outer.subscribe("inner/shop/watch").await;
    let (items, end) = events.split_once("event: error\ndata: ").unwrap();
    assert_eq!(items, "data: {\"sold\":1}\n\ndata: \"closed\"\n\n");
    let end = Dialect::Call.parse(end.trim().as_bytes()).unwrap();
    let end = end.outcome.unwrap_err();
    assert_eq!(end.code().as_str(), "ERR_TIMEOUT");
    assert_eq!(end.message(), "the shop fell silent");
    assert_eq!(end.source(), Some("inner/shop/watch"));
}
