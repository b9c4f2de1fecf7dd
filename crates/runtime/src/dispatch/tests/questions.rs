//! Questions to the client of a call: paused timeouts, limits, and redaction.

use super::*;
use crate::EXTENDED_ATTEMPT_LIMIT_MS;
use crate::handler::{AskClient, BoxFuture, QUESTIONS_WAIT_LIMIT_MS, Question, QuestionReply};
use crate::handler::{AskError, QUESTION_BYTES_LIMIT, QuestionKind};
use crate::retry::UpstreamHealth;

const MINUTE_MS: u64 = 60_000;
const QUESTION: &str = "which of the two is meant";
const REPLY: &str = "the second of them";

/// A client that takes some time to reply.
#[derive(Debug, Default)]
struct SlowClient {
    takes_ms: u64,
    read: Mutex<Vec<String>>,
}

impl AskClient for SlowClient {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        self.read.lock().unwrap().push(question.message);
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_millis(self.takes_ms)).await;
            let values = json!({"reply": REPLY}).as_object().cloned();
            Ok(QuestionReply::Accepted(values.unwrap_or_default()))
        })
    }
}

fn question(message: &str) -> Question {
    Question {
        name: None,
        message: message.to_owned(),
        kind: QuestionKind::Form {
            schema: json!({"type": "object"}),
        },
    }
}

/// Asks as often and works for as long as its input says.
async fn asking(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let mut reply = json!(null);
    for _ in 0..input["times"].as_u64().unwrap_or(1) {
        reply = match context.ask(question(QUESTION)).await {
            Ok(QuestionReply::Accepted(values)) => values["reply"].clone(),
            Ok(other) => json!(format!("{other:?}")),
            Err(error) => json!(error.to_string()),
        };
    }
    context.sleep(input["works_ms"].as_u64().unwrap_or(0)).await;
    match input["fails"].as_bool() {
        Some(true) => Err(Failure::new(codes::TOOL_FAILED)),
        _ => Ok(reply),
    }
}

fn fixture() -> Fixture {
    let mut asked = query();
    asked.timeout_ms = Some(1000);
    let relay = |context: Context, input: Arc<Value>| async move {
        let called = context.call("test/run", input).await;
        Ok::<_, Failure>(called.unwrap_or_else(|failure| json!(failure.code().as_str())))
    };
    let mut relaying = OperationSpec::new("test/relay".parse().unwrap(), OperationType::Query);
    relaying.timeout_ms = Some(1000);
    let relaying = Registration::new(relaying, relay).calling(["test/run".parse().unwrap()]);
    let builder = Registry::builder().register(asked, asking).add(relaying);
    Fixture::over(builder, Settings::default())
}

async fn answer(takes_ms: u64, timeout_ms: Option<u64>, name: &str, input: Value) -> String {
    let client = SlowClient {
        takes_ms,
        ..SlowClient::default()
    };
    let request = CallRequest {
        client: Some(Arc::new(client)),
        timeout_ms,
        ..CallRequest::from_wire(name, input)
    };
    match fixture().dispatcher.dispatch(request).await.into_value() {
        Ok(said) => said.as_str().unwrap_or_default().to_owned(),
        Err(failure) => failure.code().as_str().to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_an_attempt_pauses_while_a_question_is_open() {
    let timed_out = AskError::TimedOut.to_string();
    let limit = QUESTIONS_WAIT_LIMIT_MS;
    let (once, twice) = (json!({}), json!({"times": 2}));
    let (working, hanging) = (json!({"works_ms": 900}), json!({"works_ms": 1100}));
    for (takes_ms, timeout_ms, input, expected) in [
        (0, None, &once, REPLY),
        (5 * MINUTE_MS, None, &once, REPLY),
        (limit - 1, None, &once, REPLY),
        (limit + 1, None, &once, &timed_out),
        (limit / 2 - 1, None, &twice, REPLY),
        (limit / 2 + 1, None, &twice, &timed_out),
        // The handler itself has no more time than before.
        (5 * MINUTE_MS, None, &working, REPLY),
        (5 * MINUTE_MS, None, &hanging, "TIMEOUT"),
        (0, None, &hanging, "TIMEOUT"),
        // The timeout of the caller is never extended.
        (MINUTE_MS, Some(2 * MINUTE_MS), &once, REPLY),
        (MINUTE_MS, Some(MINUTE_MS / 2), &once, "TIMEOUT"),
        (MINUTE_MS, Some(MINUTE_MS + 500), &working, "TIMEOUT"),
    ] {
        for name in ["test/run", "test/relay"] {
            let found = answer(takes_ms, timeout_ms, name, input.clone()).await;
            assert_eq!(found, expected, "{name} {takes_ms} {timeout_ms:?} {input}");
        }
    }
}

/// Resets its timeout at intervals, then works without resets for as long as its input says.
async fn working(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    for _ in 0..input["resets"].as_u64().unwrap_or(0) {
        context
            .sleep(input["each_ms"].as_u64().unwrap_or(900))
            .await;
        context.reset_timeout();
    }
    context
        .sleep(input["silent_ms"].as_u64().unwrap_or(0))
        .await;
    Ok(json!("done"))
}

#[tokio::test(start_paused = true)]
async fn the_timeout_starts_over_after_each_reset() {
    let hour_ms = EXTENDED_ATTEMPT_LIMIT_MS;
    for (resets, each_ms, silent_ms, timeout_ms, expected) in [
        (0, 900, 900, None, Some("done")),
        (0, 900, 1100, None, None),
        (10, 900, 900, None, Some("done")),
        (10, 900, 1100, None, None),
        (10, 1100, 0, None, None),
        // Up to the limit, and not beyond the timeout of the caller.
        (hour_ms / 900 - 2, 900, 0, None, Some("done")),
        (hour_ms / 900 + 2, 900, 0, None, None),
        (10, 900, 0, Some(5000), None),
        (10, 900, 0, Some(9500), Some("done")),
    ] {
        let mut spec = query();
        spec.timeout_ms = Some(1000);
        let builder = Registry::builder().register(spec, working);
        let input = json!({"resets": resets, "each_ms": each_ms, "silent_ms": silent_ms});
        let request = CallRequest {
            timeout_ms,
            ..CallRequest::from_wire("test/run", input.clone())
        };
        let fixture = Fixture::over(builder, Settings::default());
        let answer = fixture.dispatcher.dispatch(request).await.into_value();
        let found = answer.as_ref().ok().and_then(Value::as_str);
        assert_eq!(found, expected, "{input} {timeout_ms:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_during_a_question_says_that_the_reply_was_missing() {
    for (takes_ms, expected) in [
        (
            MINUTE_MS,
            "operation test/run did not answer within 30000 ms: it was waiting for a reply from \
             the client",
        ),
        (0, "operation test/run did not answer within 1000 ms"),
    ] {
        let client = SlowClient {
            takes_ms,
            ..SlowClient::default()
        };
        let request = CallRequest {
            client: Some(Arc::new(client)),
            timeout_ms: Some(MINUTE_MS / 2),
            ..CallRequest::from_wire("test/run", json!({"works_ms": MINUTE_MS}))
        };
        let answer = fixture().dispatcher.dispatch(request).await;
        assert_eq!(answer.outcome.unwrap_err().message(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reply_does_not_count_against_the_upstream() {
    let upstream = Arc::new(UpstreamHealth::named("api"));
    let registration = Registration::new(query(), asking).behind(upstream);
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    for _ in 0..20 {
        let client = SlowClient {
            takes_ms: MINUTE_MS,
            ..SlowClient::default()
        };
        let request = CallRequest {
            client: Some(Arc::new(client)),
            timeout_ms: Some(1000),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let failure = fixture
            .dispatcher
            .dispatch(request)
            .await
            .outcome
            .unwrap_err();
        assert_eq!(failure.code().as_str(), "TIMEOUT");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_client_there_is_no_question() {
    let said = fixture().call("test/run", json!({})).await.unwrap();
    assert_eq!(said, json!(AskError::Unsupported.to_string()));
}

#[tokio::test(start_paused = true)]
async fn the_size_of_a_question_is_limited() {
    let of = |count: usize| "x".repeat(count);
    let limit = QUESTION_BYTES_LIMIT;
    let empty = json!({"type": "object", "title": ""});
    let frame = empty.to_string().len();
    let form = |message: usize, title: usize| Question {
        name: None,
        message: of(message),
        kind: QuestionKind::Form {
            schema: json!({"type": "object", "title": of(title)}),
        },
    };
    let visit = |message: usize, url: usize, id: usize| Question {
        name: None,
        message: of(message),
        kind: QuestionKind::Url {
            url: of(url),
            id: of(id),
        },
    };
    for (asked, expected) in [
        (form(0, limit - frame), true),
        (form(0, limit - frame + 1), false),
        (form(limit - frame, 0), true),
        (form(limit - frame + 1, 0), false),
        (form(limit + 1, 0), false),
        (visit(1, limit - 2, 1), true),
        (visit(2, limit - 2, 1), false),
        (visit(1, limit - 1, 1), false),
        (visit(1, limit - 2, 2), false),
    ] {
        let asks = move |context: Context, _: Arc<Value>| {
            let asked = asked.clone();
            async move {
                Ok::<_, Failure>(json!(
                    context.ask(asked).await.err().map(|it| it.to_string())
                ))
            }
        };
        let request = CallRequest {
            client: Some(Arc::new(SlowClient::default())),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let answer = Fixture::of(query(), asks)
            .dispatcher
            .dispatch(request)
            .await;
        let refused = (!expected).then(|| AskError::TooLarge.to_string());
        assert_eq!(answer.into_value().unwrap(), json!(refused));
    }
}

#[tokio::test(start_paused = true)]
async fn questions_are_redacted_and_not_recorded() {
    let key = "sk-live-abcdefghijklmnopqrstuvwxyz012345";
    let telling = |context: Context, input: Arc<Value>| async move {
        let asked = context.ask(question(input["says"].as_str().unwrap_or_default()));
        let _ = asked.await;
        Err::<Value, _>(Failure::new(codes::TOOL_FAILED))
    };
    let fixture = Fixture::of(query(), telling);
    let client = Arc::new(SlowClient::default());
    for says in [format!("is {key} yours"), QUESTION.to_owned()] {
        let request = CallRequest {
            client: Some(client.clone()),
            ..CallRequest::from_wire("test/run", json!({"says": says}))
        };
        fixture
            .dispatcher
            .dispatch(request)
            .await
            .outcome
            .unwrap_err();
    }
    assert_eq!(
        *client.read.lock().unwrap(),
        ["is [REDACTED] yours", QUESTION]
    );
    let kept = format!("{:?}", fixture.store.recordings());
    assert!(!kept.is_empty() && !kept.contains(REPLY), "{kept}");
    let shown = format!("{:?} {:?}", question(QUESTION), QuestionReply::Declined);
    assert_eq!(shown, "Question(Form) Declined");
}
