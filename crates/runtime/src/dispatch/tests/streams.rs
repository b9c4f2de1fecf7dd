//! Subscriptions: their items, their ends, and their recordings.

use futures_util::{StreamExt as _, stream};
use panpan_contract::recording::RecordedOutcome;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::registry::Registration;

type Item = Result<Value, Failure>;

fn fixture(items: impl Fn() -> Vec<Item> + Send + Sync + 'static) -> Fixture {
    let open = move |_: Context, _: Arc<Value>| stream::iter(items());
    over(Registration::streaming(
        spec(OperationType::Subscription),
        open,
    ))
}

fn over(registration: Registration) -> Fixture {
    Fixture::over(Registry::builder().add(registration), Settings::default())
}

async fn all(fixture: &Fixture) -> Vec<Result<Value, String>> {
    let request = CallRequest::from_wire("test/run", json!({}));
    let items = fixture.dispatcher.subscribe(request).unwrap();
    let results = items.map(|item| item.map_err(|failure| failure.code().to_string()));
    results.collect().await
}

#[tokio::test(start_paused = true)]
async fn only_the_number_of_items_is_recorded() {
    let fixture = fixture(|| vec![Ok(json!(1)), Ok(json!("password=hunter22"))]);
    assert_eq!(
        all(&fixture).await,
        [Ok(json!(1)), Ok(json!("password=hunter22"))]
    );
    let recordings = fixture.store.recordings();
    assert_eq!(recordings[0].items, Some(2));
    assert_eq!(recordings[0].code(), None);
    assert!(
        !serde_json::to_string(&recordings[0])
            .unwrap()
            .contains("hunter22")
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_a_stream_and_is_settled() {
    let undeclared = definition("DISK_ON_FIRE").kind().unwrap();
    for (failure, code) in [
        (Failure::new(codes::ERR_TIMEOUT), "ERR_TIMEOUT"),
        (Failure::new(codes::NOT_FOUND), "INTERNAL"),
        (Failure::new(undeclared), "INTERNAL"),
    ] {
        let fixture = fixture(move || vec![Ok(json!(1)), Err(failure.clone()), Ok(json!(2))]);
        assert_eq!(all(&fixture).await, [Ok(json!(1)), Err(code.to_owned())]);
        let recording = &fixture.store.recordings()[0];
        assert_eq!(recording.items, Some(1));
        assert_eq!(recording.code().unwrap().as_str(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_becomes_internal_on_open_and_between_items() {
    let in_between = |_: Context, _: Arc<Value>| {
        stream::iter(0..2).map(|number| {
            assert!(number < 1, "torn");
            Ok::<_, Failure>(json!(number))
        })
    };
    let at_the_start = |context: Context, _: Arc<Value>| {
        assert!(context.attempt() > 1, "torn");
        stream::empty::<Item>()
    };
    let subscription = || spec(OperationType::Subscription);
    let internal = || Err("INTERNAL".to_owned());
    let fixture = over(Registration::streaming(subscription(), in_between));
    assert_eq!(all(&fixture).await, [Ok(json!(0)), internal()]);
    assert_eq!(fixture.private(), ["panic: torn"]);
    let fixture = over(Registration::streaming(subscription(), at_the_start));
    assert_eq!(all(&fixture).await, [internal()]);
    assert_eq!(fixture.private(), ["panic: torn"]);
}

#[tokio::test(start_paused = true)]
async fn an_aborted_or_dropped_stream_is_recorded_as_cancelled() {
    let open = |_: Context, _: Arc<Value>| {
        stream::iter([Ok::<_, Failure>(json!(1))]).chain(stream::pending())
    };
    for leaves in [true, false] {
        let fixture = over(Registration::streaming(
            spec(OperationType::Subscription),
            open,
        ));
        let abort = CancellationToken::new();
        let request = CallRequest {
            abort: Some(abort.clone()),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let mut items = fixture.dispatcher.subscribe(request).unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), json!(1));
        if leaves {
            drop(items);
        } else {
            abort.cancel();
            let failure = items.next().await.unwrap().unwrap_err();
            assert_eq!(failure.code().as_str(), "ERR_CANCELLED");
            assert!(items.next().await.is_none());
        }
        let recordings = fixture.store.recordings();
        assert_eq!(recordings.len(), 1);
        assert!(matches!(&recordings[0].outcome, RecordedOutcome::Failed(_)));
        assert_eq!(recordings[0].items, Some(1));
    }
}

#[tokio::test(start_paused = true)]
async fn queries_cannot_be_subscribed_to_and_subscriptions_cannot_be_called() {
    let fixture = fixture(Vec::new);
    let failure = fixture.fails(json!({})).await;
    assert_eq!(failure.code().as_str(), "INVALID_OPERATION_TYPE");
    let fixture = Fixture::of(query(), echo);
    let request = CallRequest::from_wire("test/run", json!({}));
    let failure = fixture.dispatcher.subscribe(request).unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_OPERATION_TYPE");
    assert_eq!(failure.details().unwrap()["op_type"], json!("query"));
}

#[tokio::test(start_paused = true)]
async fn the_input_of_a_stream_is_recorded_redacted_and_up_to_its_limit() {
    let text = |bytes: usize| json!({"t": "x".repeat(bytes - r#"{"t":""}"#.len())});
    let redacted = json!({"password": "[REDACTED]"});
    for (input, expected) in [
        (json!({"password": "hunter22"}), Some(redacted.clone())),
        (json!([{"password": "hunter22"}]), Some(json!([redacted]))),
        (
            text(PARAMETERS_BYTES_LIMIT),
            Some(text(PARAMETERS_BYTES_LIMIT)),
        ),
        (text(PARAMETERS_BYTES_LIMIT + 1), None),
    ] {
        for leaves in [true, false] {
            let fixture = fixture(Vec::new);
            let request = CallRequest::from_wire("test/run", input.clone());
            let mut items = fixture.dispatcher.subscribe(request).unwrap();
            if !leaves {
                assert!(items.next().await.is_none());
            }
            drop(items);
            let recording = &fixture.store.recordings()[0];
            assert_eq!(recording.shown_input().as_deref(), expected.as_ref());
        }
    }
}
