//! Patience: how long the gateway keeps retrying, and the progress messages in between.

use panpan_contract::retry::{Decision, RetryPolicy, RetrySettings, StopReason};

use super::*;
use crate::handler::{Progress, ReportProgress};

/// The failure of a call, its duration and its progress messages.
struct Ended {
    failure: Redacted,
    took_ms: i64,
    why: StopReason,
    messages: Vec<String>,
}

#[derive(Debug, Default)]
struct Messages(Mutex<Vec<String>>);

impl ReportProgress for Messages {
    fn report(&self, _: Progress) {}

    fn note(&self, message: String) {
        self.0.lock().unwrap().push(message);
    }
}

async fn ended(spec: OperationSpec, handler: impl Handler) -> Ended {
    let fixture = Fixture::of(spec, handler);
    let messages = Arc::new(Messages::default());
    let request = CallRequest {
        progress: Some(messages.clone()),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let failure = fixture.dispatcher.dispatch(request).await;
    let failure = failure.into_value().unwrap_err();
    let recordings = fixture.store.recordings();
    let decided = recordings[0].steps.last().unwrap().decided.unwrap();
    let Decision::Answer(why) = decided.decision else {
        panic!("{decided:?}")
    };
    crate::replay::redecide(&recordings[0]).unwrap();
    Ended {
        failure,
        took_ms: fixture.dispatcher.ports().clock.now().as_millisecond(),
        why,
        messages: messages.0.lock().unwrap().clone(),
    }
}

fn limited(seconds: u64) -> impl Handler {
    let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    failing(failure.with_retry_after_ms(seconds * 1000))
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_the_patience_is_returned_to_the_caller_at_once() {
    for (seconds, took_ms, attempts) in [(2, 4000, 3), (3, 3000, 2), (7, 0, 1), (25, 0, 1)] {
        let ended = ended(query(), limited(seconds)).await;
        assert_eq!(ended.took_ms, took_ms, "{seconds}");
        assert_eq!(ended.why, StopReason::PatienceSpent, "{seconds}");
        let failure = ended.failure;
        assert_eq!(failure.recovery().retry_after_ms, Some(seconds * 1000));
        assert_eq!(failure.attempts(), Some(attempts), "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_can_set_its_patience() {
    for (patience_ms, took_ms) in [(0, 0), (6_999, 0), (7_000, 7_000), (30_000, 21_000)] {
        let mut spec = query();
        spec.patience_ms = Some(patience_ms);
        let ended = ended(spec, limited(7)).await;
        assert_eq!(ended.took_ms, took_ms, "{patience_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_duration_of_attempts_counts_too() {
    let slow = |context: Context, _: Arc<Value>| async move {
        context.sleep(3_950).await;
        Err::<Value, _>(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE))
    };
    let ended = ended(query(), slow).await;
    assert_eq!(
        (ended.took_ms, ended.why),
        (3_950, StopReason::PatienceSpent)
    );
}

#[tokio::test(start_paused = true)]
async fn there_is_a_retry_only_if_it_would_end_within_the_patience() {
    for (attempt_ms, took_ms) in [(1_200, 3_876), (2_200, 2_200), (3_300, 3_300)] {
        let slow = move |context: Context, _: Arc<Value>| async move {
            context.sleep(attempt_ms).await;
            Err::<Value, _>(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE))
        };
        let ended = ended(query(), slow).await;
        assert_eq!(
            (ended.took_ms, ended.why),
            (took_ms, StopReason::PatienceSpent)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_hangs_ends_with_the_patience() {
    let hangs = |context: Context, _: Arc<Value>| async move {
        if context.attempt() > 1 {
            std::future::pending::<()>().await;
        }
        Err::<Value, _>(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE))
    };
    let ended = ended(query(), hangs).await;
    assert_eq!(ended.took_ms, 4_000);
    assert_eq!(ended.failure.attempts(), Some(2));
    assert!(ended.failure.may_repeat());
}

#[tokio::test(start_paused = true)]
async fn a_read_that_times_out_after_the_patience_is_not_retried() {
    let never = |_: Context, _: Arc<Value>| std::future::pending::<Result<Value, Failure>>();
    let mut quick = query();
    quick.timeout_ms = Some(1_000);
    for (spec, took_ms, attempts) in [(query(), 30_000, 1), (quick, 3_000, 3)] {
        let ended = ended(spec, never).await;
        assert_eq!(ended.failure.code().as_str(), "TIMEOUT");
        assert_eq!(ended.failure.attempts(), Some(attempts));
        assert!(ended.took_ms >= took_ms && ended.took_ms < took_ms + 600);
    }
}

#[tokio::test(start_paused = true)]
async fn delays_are_reported_as_progress() {
    let ended = ended(
        query(),
        failing(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)),
    )
    .await;
    let expected = [
        "attempt 2 in 96 ms after ERR_HTTP_503_UNAVAILABLE",
        "attempt 3 in 180 ms after ERR_HTTP_503_UNAVAILABLE",
        "attempt 4 in 424 ms after ERR_HTTP_503_UNAVAILABLE",
    ];
    assert_eq!(ended.messages, expected);
}

#[tokio::test(start_paused = true)]
async fn a_retry_policy_of_the_caller_replaces_the_patience() {
    let slowly = RetryPolicy::try_from(RetrySettings {
        max_retries: 2,
        initial_delay_ms: 5_000,
        ..RetrySettings::default()
    });
    let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE);
    let registration = Registration::new(query(), failing(failure)).options_in_input();
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    let retry = json!({"retry": RetrySettings::from(slowly.unwrap())});
    assert_eq!(fixture.fails(retry).await.attempts(), Some(3));
    assert!(fixture.dispatcher.ports().clock.now().as_millisecond() > 8_000);
}

#[tokio::test(start_paused = true)]
async fn patience_does_not_limit_a_task() {
    let fixture = Fixture::of(query(), limited(25));
    let request = CallRequest::from_wire("test/run", json!({}));
    let attempt = fixture
        .dispatcher
        .dispatch_task(request, TaskState::default())
        .await;
    assert_eq!(attempt.retry_after_ms, Some(25_000));
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_switched_off_or_limited_to_categories() {
    use panpan_contract::operation::CallSettings;
    for (written, network, unavailable) in [
        (json!({}), 4, 4),
        (json!({"retry": "off"}), 1, 1),
        (json!({"retry": {"max_retries": 1}}), 2, 2),
        (json!({"retry": {"categories": ["NETWORK"]}}), 4, 1),
    ] {
        let settings: CallSettings = serde_json::from_value(written.clone()).unwrap();
        for (entry, attempts) in [
            (codes::ERR_SOCKET_ERROR, network),
            (codes::ERR_HTTP_503_UNAVAILABLE, unavailable),
        ] {
            let mut spec = query();
            settings.apply(&mut spec);
            let ended = ended(spec, failing(Failure::new(entry))).await;
            assert_eq!(ended.failure.attempts(), Some(attempts), "{written}");
        }
    }
}
