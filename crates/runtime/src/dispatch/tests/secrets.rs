//! What an operation's schema marks leaves the fixture nowhere, whatever else the call is like.

use super::*;
use crate::handler::{Progress, Reconciled, ReportProgress};

const PIN: &str = "swordfish99";

/// An operation whose input has a marked member.
fn marking(op_type: OperationType) -> OperationSpec {
    let mut marking = spec(op_type);
    marking.input_schema = json!({"properties": {"pin": {"x-sensitive": true}}});
    marking
}

/// An input that is too large to be shown.
fn large() -> Value {
    json!({"pin": PIN, "pad": "z ".repeat(PARAMETERS_BYTES_LIMIT)})
}

/// A failure that says it cannot take the pin, with what else it shows of the call.
fn quoting(parameters: Option<&Value>) -> Failure {
    let failure = Failure::new(codes::INVALID_INPUT_ERROR).with_message(format!("bad pin {PIN}"));
    match parameters.and_then(Value::as_object) {
        Some(parameters) => failure.with_parameters(parameters.clone()),
        None => failure,
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_value_leaves_the_message_whatever_is_shown_of_the_input() {
    for (input, parameters) in [
        (json!({"pin": PIN}), None),
        (large(), None),
        (json!({"pin": PIN}), Some(json!({"other": 1}))),
    ] {
        let fixture = Fixture::of(
            marking(OperationType::Query),
            failing(quoting(parameters.as_ref())),
        );
        let failure = fixture.fails(input).await;
        assert_eq!(failure.message(), "bad pin [REDACTED]");
        let recorded = serde_json::to_string(&fixture.store.recordings()).unwrap();
        assert!(!recorded.contains(PIN), "{recorded}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_value_of_a_large_input_does_not_reach_the_log() {
    let panics = |_: Context, input: Arc<Value>| async move {
        panic!("cannot read {}", input["pin"].as_str().unwrap()) as Result<Value, Failure>
    };
    let fixture = Fixture::of(marking(OperationType::Query), panics);
    fixture.fails(large()).await;
    assert_eq!(fixture.private(), ["panic: cannot read [REDACTED]"]);
}

#[tokio::test(start_paused = true)]
async fn no_debug_form_shows_what_is_asked_or_given() {
    let fixture = Fixture::of(spec(OperationType::Query), echo);
    let request = CallRequest::from_wire("test/run", json!({"said": PIN}));
    let asked = format!("{request:?}");
    assert!(asked.contains("test/run"), "{asked}");
    let answer = fixture.dispatcher.dispatch(request).await;
    let happened = Reconciled::Happened(json!(PIN));
    for shown in [asked, format!("{answer:?} {happened:?}")] {
        assert!(!shown.contains(PIN), "{shown}");
    }
}

#[derive(Debug, Default)]
struct Messages(Mutex<Vec<String>>);

impl ReportProgress for Messages {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().extend(progress.message);
    }

    fn note(&self, message: String) {
        self.0.lock().unwrap().push(message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_value_leaves_the_messages_of_progress() {
    let telling = |context: Context, input: Arc<Value>| async move {
        let message = Some(format!("checking {}", input["pin"].as_str().unwrap()));
        context.report(Progress {
            message,
            ..Progress::default()
        });
        Ok::<_, Failure>(json!(1))
    };
    for input in [json!({"pin": PIN}), large()] {
        let fixture = Fixture::of(marking(OperationType::Mutation), telling);
        let messages = Arc::new(Messages::default());
        let request = CallRequest {
            progress: Some(messages.clone()),
            ..CallRequest::from_wire("test/run", input)
        };
        fixture.dispatcher.dispatch(request).await.outcome.unwrap();
        assert_eq!(*messages.0.lock().unwrap(), ["checking [REDACTED]"]);
    }
}
