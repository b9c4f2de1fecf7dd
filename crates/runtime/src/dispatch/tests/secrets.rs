//! Values that a schema marks as sensitive appear in no failure, recording, log or progress message.

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

/// A failure whose message quotes the pin, with these parameters.
fn quoting(parameters: Option<&Value>) -> Failure {
    let failure = Failure::new(codes::INVALID_INPUT_ERROR).with_message(format!("bad pin {PIN}"));
    match parameters.and_then(Value::as_object) {
        Some(parameters) => failure.with_parameters(parameters.clone()),
        None => failure,
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_value_is_redacted_in_the_message_whatever_the_parameters_are() {
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

/// Schemas that mark the room only behind a reference.
fn referring_schemas() -> Vec<Value> {
    let member = |room: Value| json!({"room": room});
    let secret = json!({"x-sensitive": true});
    let with = |member: &str, value: &str| {
        let mut secret = secret.clone();
        secret[member] = json!(value);
        json!({"room": secret})
    };
    vec![
        json!({"properties": member(json!({"$ref": "#room"})), "$defs": with("$anchor", "room")}),
        json!({"$id": "https://example.com/a/input.json",
            "properties": member(json!({"$ref": "room.json"})), "$defs": with("$id", "room.json")}),
        json!({"$id": "https://example.com/a/input.json",
            "properties": member(json!({"$ref": "/b/room.json#/$defs/inner"})),
            "$defs": {"room": {"$id": "../b/room.json", "$defs": {"inner": secret}}}}),
        json!({"$id": "https://example.com/a/input.json",
            "properties": member(json!({"$ref": "input.json#/$defs/room"})), "$defs": {"room": secret}}),
        json!({"properties": member(json!({"$ref": "urn:example:room#deep"})),
            "$defs": {"room": {"$id": "urn:example:room", "$defs": with("$anchor", "deep")}}}),
        json!({"properties": member(json!({"$dynamicRef": "#room"})),
            "$defs": with("$dynamicAnchor", "room")}),
        // The outermost resource with the anchor decides.
        json!({"$id": "urn:example:outer", "$ref": "urn:example:inner", "$defs": {
            "inner": {"$id": "urn:example:inner", "properties": member(json!({"$dynamicRef": "#room"})),
                "$defs": {"room": {"$dynamicAnchor": "room"}}},
            "room": {"$dynamicAnchor": "room", "x-sensitive": true}}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema",
            "properties": member(json!({"$ref": "#/$defs/room/items"})), "$defs": {"room":
                {"$id": "urn:example:room", "items": {"$recursiveRef": "#"}, "x-sensitive": true}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "properties": member(json!({"$ref": "#room"})), "definitions": with("$id", "#room")}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#",
            "properties": member(json!({"$ref": "urn:example:room"})),
            "definitions": with("id", "urn:example:room")}),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_marked_behind_a_reference_appears_nowhere() {
    let mut leaks = Vec::new();
    for schema in referring_schemas() {
        let mut marking = spec(OperationType::Query);
        marking.input_schema = schema.clone();
        let input = json!({"room": PIN});
        let failure = quoting(Some(&input)).with_detail("seen", format!("in {PIN}"));
        let fixture = Fixture::of(marking.clone(), failing(failure));
        let failure = fixture.fails(input.clone()).await;
        let shown = serde_json::to_string(&failure).unwrap();
        let recorded = serde_json::to_string(&fixture.store.recordings()).unwrap();
        let panics = |_: Context, input: Arc<Value>| async move {
            panic!("cannot read {}", input["room"].as_str().unwrap()) as Result<Value, Failure>
        };
        let fixture = Fixture::of(marking, panics);
        fixture.fails(input).await;
        let logged = fixture.private().concat();
        leaks.extend(
            [shown, recorded, logged]
                .into_iter()
                .filter(|it| it.contains(PIN))
                .map(|it| (schema.clone(), it)),
        );
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_marked_value_of_a_large_input_is_redacted_in_the_log() {
    let panics = |_: Context, input: Arc<Value>| async move {
        panic!("cannot read {}", input["pin"].as_str().unwrap()) as Result<Value, Failure>
    };
    let fixture = Fixture::of(marking(OperationType::Query), panics);
    fixture.fails(large()).await;
    assert_eq!(fixture.private(), ["panic: cannot read [REDACTED]"]);
}

#[tokio::test(start_paused = true)]
async fn debug_forms_do_not_show_inputs_or_outputs() {
    let fixture = Fixture::of(spec(OperationType::Query), echo);
    let request = CallRequest::from_wire("test/run", json!({"said": PIN}));
    let requested = format!("{request:?}");
    assert!(requested.contains("test/run"), "{requested}");
    let answer = fixture.dispatcher.dispatch(request).await;
    let happened = Reconciled::Happened(json!(PIN));
    for shown in [requested, format!("{answer:?} {happened:?}")] {
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
async fn a_marked_value_is_redacted_in_progress_messages() {
    let reporting = |context: Context, input: Arc<Value>| async move {
        let message = Some(format!("checking {}", input["pin"].as_str().unwrap()));
        context.report(Progress {
            message,
            ..Progress::default()
        });
        Ok::<_, Failure>(json!(1))
    };
    for input in [json!({"pin": PIN}), large()] {
        let fixture = Fixture::of(marking(OperationType::Mutation), reporting);
        let messages = Arc::new(Messages::default());
        let request = CallRequest {
            progress: Some(messages.clone()),
            ..CallRequest::from_wire("test/run", input)
        };
        fixture.dispatcher.dispatch(request).await.outcome.unwrap();
        assert_eq!(*messages.0.lock().unwrap(), ["checking [REDACTED]"]);
    }
}
