//! Whose a key is, what it looks like, and what it is held against (behaviours 1 to 4 and 11).

use std::sync::Arc;

use panpan_contract::operation::{ByInput, KeyRule};
use panpan_contract::retry::RetryPolicy;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{CallRequest, Identity, KEY_LENGTH_LIMIT, Origin};
use serde_json::json;

use crate::support::{
    Act, Bench, OTHER, Work, asked, failure, harmful, key, order, retried, settings, told,
};

fn callers_and_operations() -> [CallRequest; 5] {
    let by = |caller: Option<&str>| CallRequest {
        caller: caller.map(|id| Arc::new(Identity::new(id))),
        ..order("k")
    };
    let elsewhere = CallRequest {
        operation: OTHER.to_owned(),
        ..order("k")
    };
    [
        by(Some("ann")),
        by(Some("bob")),
        by(None),
        elsewhere,
        order("l"),
    ]
}

pub(crate) async fn a_key_belongs_to_its_caller_and_its_operation(bench: Bench) {
    let work = Work::plain();
    let other = harmful(work.clone()).with(|spec| spec.name = OTHER.parse().unwrap());
    let fixture = bench.house_with([harmful(work.clone()), other], settings());
    for replayed in [false, true] {
        for (index, request) in callers_and_operations().into_iter().enumerate() {
            let answer = fixture.ask(request).await;
            let expected = json!({"run": index + 1}).to_string();
            assert_eq!((told(&answer), answer.replayed), (expected, replayed));
        }
    }
}

pub(crate) async fn a_key_in_quotes_is_the_same_key(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    let longest = "k".repeat(KEY_LENGTH_LIMIT);
    for bare in ["order-1", "a\"b", &longest] {
        fixture.call(bare).await;
        let replayed = fixture.call(&format!("\"{bare}\"")).await.replayed;
        assert!(replayed, "{bare}");
    }
    assert_eq!(work.runs(), 3);
}

pub(crate) async fn a_call_that_may_do_harm_needs_its_key(bench: Bench) {
    let by_method = ByInput {
        pointer: "/method".to_owned(),
        idempotent_values: vec![json!("GET"), json!("PUT")],
    };
    for (method, has_key, runs) in [
        ("GET", false, true),
        ("PUT", false, true),
        ("POST", false, false),
        ("post", false, false),
        ("POST", true, true),
    ] {
        let work = Work::plain();
        let fixture = bench.fixture(harmful(work.clone()).with(|spec| {
            spec.idempotency.key = KeyRule::Required;
            spec.idempotency.by_input = Some(by_method.clone());
        }));
        let request = asked(crate::support::PLACE, json!({"method": method}));
        let request = if has_key {
            request.keyed(key("k"))
        } else {
            request
        };
        let answer = fixture.ask(request).await;
        assert_eq!(work.runs() == 1, runs, "{method}");
        if !runs {
            let refused = failure(answer);
            assert_eq!(refused.code().as_str(), "ERR_MISSING_IDEMPOTENCY_KEY");
            assert!(!refused.retryable());
            assert_eq!(refused.effect(), Effect::None);
        }
    }
}

pub(crate) async fn nothing_but_the_operation_and_its_input_counts(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    let written = |text: &str| CallRequest {
        input: Arc::new(serde_json::from_str(text).unwrap()),
        ..order("k")
    };
    fixture
        .ask(written(r#"{"a": {"x": 1, "y": [1, 2]}, "b": 2}"#))
        .await;
    let mut same = written(r#"{"b": 2.0, "a": {"y": [1, 2], "x": 1e0}}"#);
    same.retry_seed = Some(7);
    same.timeout_ms = Some(9000);
    same.origin = Origin::Internal;
    same.operation = "/orders/place".to_owned();
    let answer = fixture.ask(same).await;
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, true)
    );
    for other in [
        r#"{"a": {"x": 1, "y": [2, 1]}, "b": 2}"#,
        r#"{"a": {"x": 1, "y": [1, 2]}, "b": "2"}"#,
        r#"{"a": {"x": 1, "y": [1, 2]}, "b": 2, "c": null}"#,
        r#"{}"#,
        r#"null"#,
    ] {
        let answer = fixture.ask(written(other)).await;
        assert_eq!(told(&answer), "ERR_IDEMPOTENCY_KEY_REUSED", "{other}");
    }
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn other_input_is_refused_first_where_there_may_have_been_an_effect(bench: Bench) {
    let failed = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR).with_effect(Effect::Unknown);
    let work = Work::of([Act::Hold, Act::Number, Act::Fail(failed)]);
    let fixture = bench.fixture(harmful(work.clone()));
    let running = fixture.begin(order("running"));
    work.began(1).await;
    fixture.call("finished").await;
    fixture.call("frozen").await;
    fixture.hold("held").await;
    for key in ["running", "finished", "frozen", "held"] {
        let other = CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        let refused = failure(fixture.ask(other).await);
        assert_eq!(refused.code().as_str(), "ERR_IDEMPOTENCY_KEY_REUSED");
        assert_eq!(refused.kind().http_status(), 422);
        assert!(!refused.retryable());
    }
    work.let_go();
    assert_eq!(told(&running.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(work.runs(), 3);
}

/// A service that recognises keys is asked again after a lost answer. What it says then is about that
/// attempt: the first may have taken effect.
pub(crate) async fn a_key_never_forgets_that_something_may_have_happened(bench: Bench) {
    let lost = Failure::new(codes::ERR_SOCKET_ERROR).with_effect(Effect::Unknown);
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    for (key, then) in [("refused", refused), ("busy", busy)] {
        let work = Work::of([Act::Fail(lost.clone()), Act::Fail(then.clone())]);
        let fixture = bench.fixture(harmful(work.clone()).with(|spec| {
            spec.idempotency.honours_key = true;
            spec.retry = Some(RetryPolicy::NEVER);
        }));
        assert_eq!(failure(fixture.call(key).await).effect(), Effect::Unknown);
        let second = failure(fixture.call(key).await);
        assert_eq!(
            (second.code(), second.effect()),
            (then.code(), Effect::Unknown)
        );
        let other = CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        assert_eq!(
            told(&fixture.ask(other).await),
            "ERR_IDEMPOTENCY_KEY_REUSED"
        );
        assert_eq!(work.runs(), 2);
    }
}

/// An agent that corrects its input after a 400 keeps its key; nothing happened under it.
pub(crate) async fn a_key_survives_a_correction(bench: Bench) {
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    for (key, first) in [("refused", refused), ("busy", busy)] {
        let work = Work::of([Act::Fail(first.clone())]);
        let fixture = bench.fixture(harmful(work.clone()));
        let corrected = || CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        let failed = failure(fixture.call(key).await);
        assert_eq!(failed.code(), first.code());
        let answer = fixture.ask(corrected()).await;
        assert_eq!(
            (told(&answer).as_str(), answer.replayed),
            (r#"{"run":2}"#, false)
        );
        // It took effect for the corrected input, and belongs to that from now on.
        assert!(fixture.ask(corrected()).await.replayed);
        assert_eq!(told(&fixture.call(key).await), "ERR_IDEMPOTENCY_KEY_REUSED");
        let keys: Vec<_> = work
            .seen()
            .into_iter()
            .map(|run| run.downstream_key)
            .collect();
        assert_ne!(
            keys[0], keys[1],
            "other input is other work to the service behind"
        );
    }
}

/// The failure of an input that was refused is replayed to the same input, and to no other.
pub(crate) async fn what_was_refused_is_replayed_to_the_same_input(bench: Bench) {
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let work = Work::of([Act::Fail(refused)]);
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.call("k").await;
    assert!(fixture.call("k").await.replayed);
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn the_key_handed_on_is_constant_and_says_nothing_of_the_callers_own(
    bench: Bench,
) {
    let busy = || Act::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let work = Work::of([busy(), busy(), busy()]);
    let place = retried(harmful(work.clone()), 1);
    let other = harmful(work.clone()).with(|spec| spec.name = OTHER.parse().unwrap());
    let fixture = bench.house_with([place, other], settings());
    // Three attempts in two calls, then one for each caller, operation and key.
    fixture.call("k").await;
    for request in callers_and_operations() {
        fixture.ask(request).await;
    }
    let seen: Vec<String> = work
        .seen()
        .into_iter()
        .filter_map(|run| run.downstream_key)
        .collect();
    assert_eq!(work.attempts(), [1, 2, 3, 4, 1, 1, 1, 1]);
    assert_eq!(seen.len(), 8);
    assert!(seen[..4].iter().all(|key| *key == seen[0]));
    for (index, key) in seen.iter().enumerate().skip(4) {
        assert!(!seen[..index].contains(key), "{index}");
    }
    for key in &seen {
        assert_eq!(key.len(), 32);
        assert!(
            key.bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        );
    }
}
