//! Which failures are retried, after which delay, and what stops the retries.

use std::sync::atomic::{AtomicU32, Ordering};

use panpan_contract::retry::{Decision, StopReason};
use panpan_failure::catalogue::Entry;

use super::*;
use crate::registry::Registration;
use crate::retry::{BudgetSettings, CircuitRule, UpstreamHealth};
use tokio_util::sync::CancellationToken;

/// Fails this many times, then succeeds.
fn flaky(failures: u32, entry: &'static Entry) -> impl Handler {
    let calls = AtomicU32::new(0);
    move |context: Context, _: Arc<Value>| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        let fails = call < failures;
        std::future::ready(if fails {
            Err(Failure::new(entry))
        } else {
            Ok(json!({"attempt": context.attempt()}))
        })
    }
}

fn decisions(fixture: &Fixture) -> Vec<Decision> {
    let recordings = fixture.store.recordings();
    let steps = recordings.iter().flat_map(|it| it.steps.clone());
    steps
        .filter_map(|step| Some(step.decided?.decision))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_not_seen_by_the_caller() {
    let fixture = Fixture::over(
        Registry::builder().register(query(), flaky(3, codes::ERR_HTTP_503_UNAVAILABLE)),
        Settings::default(),
    );
    let request = CallRequest::from_wire("test/run", json!({}));
    let before = fixture.dispatcher.ports().clock.now();
    let answer = fixture.dispatcher.dispatch(request).await;
    assert_eq!(answer.attempts, 4);
    assert_eq!(answer.into_value().unwrap(), json!({"attempt": 4}));
    // The published delays for seed 42.
    let waited = fixture
        .dispatcher
        .ports()
        .clock
        .now()
        .duration_since(before);
    assert_eq!(waited.as_millis(), 96 + 180 + 424);
}

#[tokio::test(start_paused = true)]
async fn retries_depend_on_the_code_and_the_operation() {
    let mutation = spec(OperationType::Mutation);
    let mut idempotent = mutation.clone();
    idempotent.idempotency.idempotent = true;
    for (spec, entry, attempts, why) in [
        (
            query(),
            codes::ERR_HTTP_404_NOT_FOUND,
            1,
            StopReason::NotRetryable,
        ),
        (query(), codes::ERR_SSL_ERROR, 1, StopReason::NotRetryable),
        (
            query(),
            codes::ERR_HTTP_503_UNAVAILABLE,
            4,
            StopReason::AttemptsSpent,
        ),
        (
            query(),
            codes::ERR_HTTP_500_SERVER_ERROR,
            3,
            StopReason::AttemptsSpent,
        ),
        (
            mutation.clone(),
            codes::ERR_HTTP_500_SERVER_ERROR,
            1,
            StopReason::MayHaveHappened,
        ),
        (
            mutation.clone(),
            codes::ERR_HTTP_429_RATE_LIMITED,
            3,
            StopReason::PatienceSpent,
        ),
        (
            idempotent,
            codes::ERR_HTTP_500_SERVER_ERROR,
            3,
            StopReason::AttemptsSpent,
        ),
    ] {
        let fixture = Fixture::of(spec, flaky(9, entry));
        assert_eq!(fixture.fails(json!({})).await.code().as_str(), entry.code);
        let decisions = decisions(&fixture);
        assert_eq!(decisions.len(), attempts, "{}", entry.code);
        assert_eq!(
            decisions.last(),
            Some(&Decision::Answer(why)),
            "{}",
            entry.code
        );
    }
}

/// Fails with each of these in turn.
fn failing_with(failures: impl Into<Vec<Failure>>) -> impl Handler {
    let failures = Mutex::new(failures.into().into_iter());
    move |_: Context, _: Arc<Value>| {
        let failure = failures.lock().unwrap().next();
        std::future::ready(Err::<Value, _>(failure.unwrap()))
    }
}

#[tokio::test(start_paused = true)]
async fn the_effect_of_an_earlier_attempt_is_kept() {
    let mut idempotent = spec(OperationType::Mutation);
    idempotent.idempotency.idempotent = true;
    let (none, unknown, applied) = (Effect::None, Effect::Unknown, Effect::Applied);
    for (first, last, expected) in [
        (none, none, none),
        (unknown, none, unknown),
        (none, unknown, unknown),
        (applied, none, applied),
        (applied, unknown, applied),
    ] {
        let passing = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE).with_effect(first);
        let lasting = Failure::new(codes::ERR_HTTP_404_NOT_FOUND).with_effect(last);
        let fixture = Fixture::of(idempotent.clone(), failing_with([passing, lasting]));
        let failure = fixture.fails(json!({})).await;
        assert_eq!(failure.effect(), expected, "{first:?}, {last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_told_as_the_caller_set_it() {
    let at_first_busy = |context: Context, _: Arc<Value>| async move {
        if context.attempt() == 1 {
            return Err::<Value, _>(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE));
        }
        std::future::pending().await
    };
    let fixture = Fixture::of(query(), at_first_busy);
    let request = CallRequest {
        timeout_ms: Some(300),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let failure = fixture.dispatcher.dispatch(request).await;
    let failure = failure.into_value().unwrap_err();
    assert_eq!(
        failure.message(),
        "operation test/run did not answer within 300 ms"
    );
    assert_eq!(failure.details().unwrap()["timeout_ms"], 300);
}

#[tokio::test(start_paused = true)]
async fn a_short_deadline_gets_the_failure_instead_of_a_late_success() {
    let fixture = Fixture::of(query(), flaky(2, codes::ERR_HTTP_503_UNAVAILABLE));
    let request = CallRequest {
        timeout_ms: Some(150),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let failure = fixture
        .dispatcher
        .dispatch(request)
        .await
        .into_value()
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
    let too_near = Decision::Answer(StopReason::DeadlineTooNear);
    assert_eq!(
        decisions(&fixture),
        [Decision::Again { delay_ms: 96 }, too_near]
    );
}

#[tokio::test(start_paused = true)]
async fn there_is_no_attempt_without_time() {
    let panics = |_: Context, _: Arc<Value>| async { panic!("reached") as Result<Value, Failure> };
    let fixture = Fixture::of(spec(OperationType::Mutation), panics);
    let request = CallRequest {
        timeout_ms: Some(0),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let failure = fixture
        .dispatcher
        .dispatch(request)
        .await
        .into_value()
        .unwrap_err();
    assert_eq!(
        (failure.code().as_str(), failure.effect()),
        ("TIMEOUT", Effect::None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_seed_of_the_call_overrides_that_of_a_deterministic_operation() {
    let delay = |seed: Option<i64>, deterministic: bool| async move {
        let mut spec = query();
        spec.deterministic = deterministic;
        let fixture = Fixture::of(spec, flaky(9, codes::ERR_HTTP_503_UNAVAILABLE));
        let request = CallRequest {
            retry_seed: seed,
            ..CallRequest::from_wire("test/run", json!({}))
        };
        fixture
            .dispatcher
            .dispatch(request)
            .await
            .into_value()
            .unwrap_err();
        decisions(&fixture)[0]
    };
    assert_eq!(
        delay(Some(0), false).await,
        Decision::Again { delay_ms: 103 }
    );
    assert_eq!(
        delay(Some(0), true).await,
        Decision::Again { delay_ms: 103 }
    );
    assert_eq!(delay(None, false).await, Decision::Again { delay_ms: 96 });
    let own = delay(None, true).await;
    assert_eq!(delay(None, true).await, own);
    assert_ne!(own, Decision::Again { delay_ms: 96 });
}

fn behind(upstream: &Arc<UpstreamHealth>, handler: impl Handler) -> Fixture {
    let registration = Registration::new(query(), handler).behind(upstream.clone());
    Fixture::over(Registry::builder().add(registration), Settings::default())
}

#[tokio::test(start_paused = true)]
async fn all_calls_to_an_upstream_share_a_budget() {
    let none = BudgetSettings {
        per_thousand_calls: 0,
        per_second: 0,
        saved_max: 0,
    };
    let upstream = Arc::new(UpstreamHealth::new("api", CircuitRule::default(), none));
    let fixture = behind(&upstream, flaky(9, codes::ERR_HTTP_503_UNAVAILABLE));
    fixture.fails(json!({})).await;
    assert_eq!(
        decisions(&fixture),
        [Decision::Answer(StopReason::BudgetSpent)]
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_stops_the_handler_and_the_wait_between_attempts() {
    let never = |_: Context, _: Arc<Value>| std::future::pending::<Result<Value, Failure>>();
    for (fixture, effect) in [
        (Fixture::of(query(), never), Effect::None),
        (
            Fixture::of(spec(OperationType::Mutation), never),
            Effect::Unknown,
        ),
        (
            Fixture::of(query(), flaky(9, codes::ERR_HTTP_503_UNAVAILABLE)),
            Effect::None,
        ),
    ] {
        let abort = CancellationToken::new();
        let request = CallRequest {
            abort: Some(abort.clone()),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let aborting = async {
            fixture.dispatcher.ports().clock.sleep(50).await;
            abort.cancel();
        };
        let (answer, ()) = tokio::join!(fixture.dispatcher.dispatch(request), aborting);
        let failure = answer.into_value().unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_CANCELLED");
        if effect == Effect::Unknown {
            assert_eq!(failure.effect(), effect);
        }
        assert_eq!(
            fixture.dispatcher.ports().clock.now().as_millisecond() % 50,
            0
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_makes_one_attempt_and_gets_the_time_of_the_next() {
    let fixture = Fixture::of(query(), flaky(1, codes::ERR_HTTP_503_UNAVAILABLE));
    let request = || CallRequest {
        timeout_ms: Some(10),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let first = fixture
        .dispatcher
        .dispatch_task(request(), TaskState::default())
        .await;
    assert_eq!(first.retry_after_ms, Some(96));
    let task = TaskState {
        history: first.attempt.into_iter().collect(),
        scope: None,
        ..TaskState::default()
    };
    let second = fixture.dispatcher.dispatch_task(request(), task).await;
    assert_eq!(second.retry_after_ms, None);
    assert_eq!(second.answer.into_value().unwrap(), json!({"attempt": 2}));
}

#[tokio::test(start_paused = true)]
async fn strict_dispatchers_refuse_invalid_outputs_and_details() {
    let mut declaring = query();
    declaring.output_schema = json!({"type": "object", "required": ["a"]});
    declaring.error_schemas = vec![definition("DISK_FULL")];
    let kind = definition("DISK_FULL").kind().unwrap();
    let invalid_details = Failure::new(kind).with_detail("free", "seven");
    for strict in [false, true] {
        let settings = Settings {
            strict,
            ..Settings::default()
        };
        let fixture = Fixture::over(
            Registry::builder().register(declaring.clone(), echo),
            settings,
        );
        let answer = fixture
            .dispatcher
            .dispatch(CallRequest::from_wire("test/run", json!({})))
            .await;
        assert_eq!(answer.outcome.is_err(), strict);
        assert_eq!(
            fixture.private(),
            ["the output does not match its declared schema at /a: required value is missing"]
        );
        assert_eq!(answer.schema_violation.is_some(), !strict);

        let failing = failing(invalid_details.clone());
        let fixture = Fixture::over(
            Registry::builder().register(declaring.clone(), failing),
            settings,
        );
        let failure = fixture.fails(json!({})).await;
        let code = if strict { "INTERNAL" } else { "DISK_FULL" };
        assert_eq!(failure.code().as_str(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_can_override_strictness_for_its_outputs() {
    use panpan_contract::operation::Outputs;
    for (strict, outputs, fails) in [
        (false, None, false),
        (false, Some(Outputs::Strict), true),
        (true, None, true),
        (true, Some(Outputs::Deliver), false),
    ] {
        for op_type in [OperationType::Query, OperationType::Mutation] {
            let mut declaring = spec(op_type);
            declaring.output_schema = json!({"type": "object", "required": ["a"]});
            declaring.outputs = outputs;
            let settings = Settings {
                strict,
                ..Settings::default()
            };
            let fixture = Fixture::over(Registry::builder().register(declaring, echo), settings);
            let answer = fixture.call("test/run", json!({"b": "private"})).await;
            let Err(failure) = answer else {
                assert!(!fails, "{strict} {outputs:?}");
                continue;
            };
            assert!(fails, "{strict} {outputs:?}");
            assert_eq!(failure.code().as_str(), "ERR_OUTPUT_INVALID");
            assert_eq!(
                failure.message(),
                "the output does not match its declared schema at /a: required value is missing"
            );
            assert_eq!(failure.attempts(), Some(1));
            let reads = op_type == OperationType::Query;
            assert_eq!(failure.effect() == Effect::None, reads);
        }
    }
}
