//! Which calls an open circuit refuses, and their failures.

use std::sync::atomic::{AtomicU32, Ordering};

use panpan_contract::retry::RetryRule;
use panpan_failure::Upstream as Answered;

use super::*;
use crate::retry::{CircuitLevel, CircuitRule, CircuitState, UpstreamHealth};

/// Long enough after a failed call that the next one is retried again.
const PAUSE_MS: u64 = 31_000;

/// How an operation fails.
#[derive(Clone, Copy, Debug)]
enum Fault {
    ServerError,
    Hangs,
    CutWhileReading,
    CutWhileWriting,
}

impl Fault {
    const ALL: [Self; 4] = [
        Self::ServerError,
        Self::Hangs,
        Self::CutWhileReading,
        Self::CutWhileWriting,
    ];

    fn op_type(self) -> OperationType {
        match self {
            Self::CutWhileWriting => OperationType::Mutation,
            _ => OperationType::Query,
        }
    }

    /// The code that a caller gets.
    fn code(self) -> &'static str {
        match self {
            Self::ServerError => "HTTP_500",
            Self::Hangs => "TIMEOUT",
            Self::CutWhileReading => "ERR_SOCKET_ERROR",
            Self::CutWhileWriting => "ERR_OUTCOME_UNKNOWN",
        }
    }

    async fn happen(self) -> Failure {
        match self {
            Self::ServerError => {
                let kind = panpan_failure::Kind::of("HTTP_500").unwrap();
                Failure::new(kind).with_upstream(Answered::status(500))
            }
            Self::Hangs => std::future::pending().await,
            Self::CutWhileReading => {
                Failure::new(codes::ERR_SOCKET_ERROR).with_detail("reason", "cut")
            }
            Self::CutWhileWriting => {
                Failure::new(codes::ERR_OUTCOME_UNKNOWN).with_detail("reason", "cut")
            }
        }
    }
}

fn operation(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

/// Fifty operations of one service; number 7 fails.
fn fifty(fault: Fault) -> Fixture {
    let upstream = Arc::new(UpstreamHealth::named("svc").at_host("svc.example"));
    let mut builder = Registry::builder();
    for number in 0..50 {
        let name = format!("svc/op{number}");
        let registration = match number {
            7 => Registration::new(
                operation(&name, fault.op_type()),
                move |_: Context, _: Arc<Value>| async move { Err::<Value, _>(fault.happen().await) },
            ),
            _ => Registration::new(operation(&name, OperationType::Query), echo),
        };
        builder = builder.add(registration.behind(upstream.clone()));
    }
    Fixture::over(builder, Settings::default())
}

/// A deterministic pseudo-random generator.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state: u64 = 42;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[tokio::test(start_paused = true)]
async fn one_failing_operation_does_not_block_the_other_forty_nine() {
    for fault in Fault::ALL {
        let fixture = fifty(fault);
        let mut number = numbers();
        let (mut refused, mut failed) = (0, 0);
        for _ in 0..3000 {
            // Every third call is of the failing operation, with bursts and pauses in between.
            let name = match number(3) {
                0 => "svc/op7".to_owned(),
                _ => format!("svc/op{}", number(50)),
            };
            match fixture.call(&name, json!({})).await {
                Ok(_) => assert_ne!(name, "svc/op7"),
                Err(failure) => {
                    assert_eq!(name, "svc/op7", "{fault:?}: {}", failure.message());
                    match failure.code().as_str() {
                        "ERR_CIRCUIT_OPEN" => refused += 1,
                        code => {
                            assert_eq!(code, fault.code());
                            failed += 1;
                        }
                    }
                }
            }
            if number(4) == 0 {
                let pause_ms = number(2000);
                fixture.dispatcher.ports().clock.sleep(pause_ms).await;
            }
        }
        assert!(refused > 20, "{fault:?}: {refused} refused");
        assert!(failed > 20, "{fault:?}: {failed} failed");
        // A single call after a pause gets the real failure.
        for _ in 0..20 {
            fixture.dispatcher.ports().clock.sleep(30_000).await;
            let failure = fixture.call("svc/op7", json!({})).await.unwrap_err();
            assert_eq!(failure.code().as_str(), fault.code());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_operations_of_an_unreachable_host_are_refused() {
    let upstream = Arc::new(UpstreamHealth::named("svc"));
    let mut builder = Registry::builder();
    for name in ["svc/a", "svc/b"] {
        let handler = failing(Failure::new(codes::ERR_CONNECTION_REFUSED));
        let registration = Registration::new(operation(name, OperationType::Query), handler);
        builder = builder.add(registration.behind(upstream.clone()));
    }
    let fixture = Fixture::over(builder, Settings::default());
    for (name, pause_ms) in [
        ("svc/a", 3_000),
        ("svc/b", 3_000),
        ("svc/a", 3_000),
        ("svc/b", 3_000),
        ("svc/a", 0),
    ] {
        fixture.call(name, json!({})).await.unwrap_err();
        fixture.dispatcher.ports().clock.sleep(pause_ms).await;
    }
    let failure = fixture.call("svc/b", json!({})).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_CIRCUIT_OPEN");
    let details = failure.details().unwrap();
    assert_eq!(details["circuit"], json!("host"));
    assert_eq!(details["upstream"], json!("svc"));
    assert!(details.get("operation").is_none());
    assert_eq!(
        failure.message(),
        "circuit open for svc after 5 calls that could not connect; next attempt in 2 s; last \
         failure ERR_CONNECTION_REFUSED: Connection refused"
    );
}

/// An operation of a service with this handler.
fn behind(handler: impl Handler) -> Fixture {
    let upstream = Arc::new(UpstreamHealth::named("svc"));
    let registration = Registration::new(query(), handler).behind(upstream);
    Fixture::over(Registry::builder().add(registration), Settings::default())
}

/// Calls five times, three seconds apart.
async fn open(fixture: &Fixture) {
    for _ in 0..5 {
        fixture.fails(json!({})).await;
        fixture.dispatcher.ports().clock.sleep(3_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_the_circuit_the_delay_and_the_last_failure() {
    let failure = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR).with_message("disk full");
    let fixture = behind(failing(failure));
    for _ in 0..4 {
        fixture.fails(json!({})).await;
        fixture.dispatcher.ports().clock.sleep(3_000).await;
    }
    let real = fixture.fails(json!({})).await;
    assert_eq!(real.code().as_str(), "ERR_HTTP_500_SERVER_ERROR");
    fixture.dispatcher.ports().clock.sleep(500).await;
    let before = fixture.dispatcher.ports().clock.now();
    let refused = fixture.fails(json!({})).await;
    assert_eq!(fixture.dispatcher.ports().clock.now(), before);
    assert_eq!(refused.code().as_str(), "ERR_CIRCUIT_OPEN");
    assert_eq!(refused.effect(), Effect::None);
    assert_eq!(refused.attempts(), None);
    assert_eq!(refused.recovery().retry_after_ms, Some(1500));
    assert_eq!(
        refused.message(),
        "circuit open for test/run after 5 failed calls; next attempt in 2 s; last failure \
         ERR_HTTP_500_SERVER_ERROR: disk full"
    );
    let details = Value::Object(refused.details().unwrap().clone());
    assert_eq!(
        details,
        json!({"circuit": "operation", "upstream": "svc", "operation": "test/run"})
    );
    let cause = &refused.causes()[0];
    assert_eq!(
        (
            cause.code.as_ref().unwrap().as_str(),
            cause.message.as_str()
        ),
        ("ERR_HTTP_500_SERVER_ERROR", "disk full")
    );
    let open = fixture.dispatcher.open_circuits(|_| true);
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].level, CircuitLevel::Operation);
    let retry_after_ms = 1500;
    assert_eq!(open[0].state, CircuitState::Open { retry_after_ms });
    assert_eq!(fixture.dispatcher.open_circuits(|_| false), []);
    // The stated delay is right.
    fixture.dispatcher.ports().clock.sleep(1500).await;
    let real = fixture.fails(json!({})).await;
    assert_eq!(real.code().as_str(), "ERR_HTTP_500_SERVER_ERROR");
}

#[tokio::test(start_paused = true)]
async fn another_caller_gets_the_code_of_the_last_failure_but_not_its_message() {
    let failure = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR);
    let fixture = behind(failing(failure.with_message("no ledger for account 17")));
    let call = |caller: &str| CallRequest {
        caller: Some(Arc::new(Identity::new(caller))),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    for pause_ms in [3_000, 3_000, 3_000, 3_000, 0] {
        fixture.dispatcher.dispatch(call("ann")).await;
        fixture.dispatcher.ports().clock.sleep(pause_ms).await;
    }
    for (caller, shows_message) in [("ann", true), ("bob", false)] {
        let answer = fixture.dispatcher.dispatch(call(caller)).await;
        let failure = answer.into_value().unwrap_err();
        let cause = &failure.causes()[0];
        let code = cause.code.as_ref().unwrap().as_str();
        assert_eq!(code, "ERR_HTTP_500_SERVER_ERROR", "{caller}");
        assert_eq!(cause.message.contains("17"), shows_message, "{caller}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_retries_of_a_call_count_once() {
    let fixture = behind(failing(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)));
    // Four calls, sixteen attempts.
    for _ in 0..4 {
        assert_eq!(fixture.fails(json!({})).await.attempts(), Some(4));
        fixture.dispatcher.ports().clock.sleep(PAUSE_MS).await;
    }
    assert_eq!(fixture.dispatcher.open_circuits(|_| true), []);
    fixture.fails(json!({})).await;
    assert_eq!(fixture.dispatcher.open_circuits(|_| true).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_between_two_attempts_does_not_hide_the_failure() {
    let failure = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR).with_message("disk full");
    let fixture = behind(failing(failure));
    for _ in 0..4 {
        fixture.fails(json!({})).await;
        fixture.dispatcher.ports().clock.sleep(PAUSE_MS).await;
    }
    // Both fail; the first one opens the circuit while the other waits for its retry.
    let late = async {
        fixture.dispatcher.ports().clock.sleep(400).await;
        fixture.fails(json!({})).await
    };
    let (first, second) = tokio::join!(fixture.fails(json!({})), late);
    assert_eq!(first.attempts(), Some(3));
    assert_eq!(second.code().as_str(), "ERR_HTTP_500_SERVER_ERROR");
    assert_eq!(second.message(), "disk full");
    assert_eq!(second.attempts(), Some(2), "the third was refused");
    let left_ms = second.recovery().retry_after_ms.unwrap();
    assert!((1_000..=2_000).contains(&left_ms), "{left_ms}");
    let recording = fixture.store.recordings().pop().unwrap();
    assert!(crate::replay::redecide(&recording).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_first_successful_trial_closes_the_circuit() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let handler = move |_: Context, _: Arc<Value>| {
        let works = counted.fetch_add(1, Ordering::Relaxed) >= 5;
        std::future::ready(match works {
            true => Ok(json!("works")),
            false => Err(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)),
        })
    };
    let upstream = Arc::new(UpstreamHealth::named("svc"));
    let mut once = query();
    once.retry = Some(RetryRule::OFF);
    let registration = Registration::new(once, handler).behind(upstream);
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    open(&fixture).await;
    assert_eq!(
        fixture.call("test/run", json!({})).await.unwrap(),
        json!("works")
    );
    assert_eq!(fixture.dispatcher.open_circuits(|_| true), []);
    assert_eq!(calls.load(Ordering::Relaxed), 6);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_is_off_never_refuses() {
    let upstream = Arc::new(UpstreamHealth::named("svc"));
    let mut off = query();
    off.circuit = Some(CircuitRule::Off);
    let handler = failing(Failure::new(codes::ERR_HTTP_500_SERVER_ERROR));
    let registration = Registration::new(off, handler).behind(upstream);
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    for _ in 0..100 {
        let failure = fixture.fails(json!({})).await;
        assert_eq!(failure.code().as_str(), "ERR_HTTP_500_SERVER_ERROR");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_of_a_caller_that_leaves_are_counted() {
    let fixture = behind(failing(Failure::new(codes::ERR_HTTP_500_SERVER_ERROR)));
    for _ in 0..5 {
        let clock = &fixture.dispatcher.ports().clock;
        let leaving = clock.sleep(100);
        tokio::select! {
            () = leaving => {}
            failure = fixture.fails(json!({})) => panic!("{failure:?}"),
        }
        clock.sleep(PAUSE_MS).await;
    }
    assert_eq!(fixture.dispatcher.open_circuits(|_| true).len(), 1);
}

/// Retries multiply the load on a failing service, so only the first of several failing calls is retried.
#[tokio::test(start_paused = true)]
async fn an_operation_that_keeps_failing_gets_one_attempt_per_call() {
    let attempts = Arc::new(AtomicU32::new(0));
    let seen = attempts.clone();
    let run = move |_: Context, input: Arc<Value>| {
        seen.fetch_add(1, Ordering::Relaxed);
        let kind = panpan_failure::Kind::of("HTTP_503").unwrap();
        let works = input["works"] == true;
        async move {
            match works {
                true => Ok(Value::Null),
                false => Err(Failure::new(kind).with_upstream(Answered::status(503))),
            }
        }
    };
    let registration = Registration::new(operation("svc/read", OperationType::Query), run);
    let registration = registration.behind(Arc::new(UpstreamHealth::named("svc")));
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    let attempts_of = async |works: bool| {
        let _ = fixture.call("svc/read", json!({"works": works})).await;
        attempts.swap(0, Ordering::Relaxed)
    };
    assert_eq!(attempts_of(false).await, 4);
    assert_eq!(attempts_of(false).await, 1);
    assert_eq!(attempts_of(true).await, 1);
    assert_eq!(attempts_of(false).await, 4);
}

#[tokio::test(start_paused = true)]
async fn a_short_timeout_of_the_caller_opens_no_circuit_and_is_named_in_the_action() {
    let slow = |context: Context, _: Arc<Value>| async move {
        context.sleep(100).await;
        Ok::<_, Failure>(json!("done"))
    };
    let fixture = behind(slow);
    for _ in 0..40 {
        let request = CallRequest {
            timeout_ms: Some(20),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let failure = fixture.dispatcher.dispatch(request).await;
        let failure = failure.into_value().unwrap_err();
        assert_eq!(failure.code().as_str(), "TIMEOUT");
        let actions = &failure.recovery().required_actions;
        assert_eq!(
            actions[0],
            "Call again with a timeout_ms above 20, or without one"
        );
    }
    assert_eq!(
        fixture.call("test/run", json!({})).await.unwrap(),
        json!("done")
    );
}
