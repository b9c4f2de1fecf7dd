//! Calls without a key through all stages, in paused time. Calls with a key are tested in the store crate.

use std::sync::Mutex;

use jiff::Timestamp;
use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::{
    Category, Code, Effect, ErrorDefinition, Facts, Failure, Kind, Upstream, codes,
};
use serde_json::{Value, json};
use uuid::Uuid;

mod circuits;
mod compose;
mod patience;
mod questions;
mod retry;
mod secrets;
mod services;
mod streams;

use super::*;
use crate::context::Context;
use crate::handler::{Handler, untyped};
use crate::identity::Identity;
use crate::ports::Outcomes as _;
use crate::registry::{Builder, Registration};
use crate::settings::Record;
use crate::testing::{Notes, RecordingStore, TestClock, TestPorts};

struct Fixture {
    dispatcher: Dispatcher,
    store: Arc<RecordingStore>,
    notes: Arc<Notes>,
}

impl Fixture {
    fn of(spec: OperationSpec, handler: impl Handler) -> Self {
        Self::over(
            Registry::builder().register(spec, handler),
            Settings::default(),
        )
    }

    fn over(builder: Builder, settings: Settings) -> Self {
        let store = Arc::new(RecordingStore::default());
        let TestPorts { ports, notes } =
            TestPorts::around(store.clone(), Arc::new(TestClock::start()));
        let registry = builder.build().unwrap();
        let settings = Settings {
            record: Record::Failures,
            ..settings
        };
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        Self {
            dispatcher,
            store,
            notes,
        }
    }

    async fn fails(&self, input: Value) -> Redacted {
        self.call("test/run", input).await.unwrap_err()
    }

    async fn call(&self, name: &str, input: Value) -> Result<Value, Redacted> {
        let request = CallRequest::from_wire(name, input);
        self.dispatcher.dispatch(request).await.into_value()
    }

    fn private(&self) -> Vec<String> {
        self.notes.causes()
    }
}

fn spec(op_type: OperationType) -> OperationSpec {
    OperationSpec::new("test/run".parse().unwrap(), op_type)
}

fn query() -> OperationSpec {
    spec(OperationType::Query)
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(Value::clone(&input))
}

fn failing(failure: Failure) -> impl Handler {
    move |_: Context, _: Arc<Value>| std::future::ready(Err::<Value, _>(failure.clone()))
}

fn definition(code: &str) -> ErrorDefinition {
    ErrorDefinition {
        category: Some(Category::Resource),
        schema: json!({"type": "object", "required": ["free"], "properties": {"free": {"type": "integer"}}}),
        ..ErrorDefinition::new(Code::new(code.to_owned()).unwrap(), "when it happens")
    }
}

fn original_code(failure: &Failure) -> Option<&str> {
    failure.details()?.get("original_code")?.as_str()
}

#[tokio::test(start_paused = true)]
async fn a_successful_call_returns_the_output_and_is_not_recorded() {
    let fixture = Fixture::of(query(), echo);
    assert_eq!(
        fixture.call("/test/run", json!({"a": 1})).await.unwrap(),
        json!({"a": 1})
    );
    assert!(fixture.store.recordings().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_an_unknown_operation_names_the_nearest_one() {
    let fixture = Fixture::of(query(), echo);
    let failure = fixture.call("test/rum", json!({})).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "NOT_FOUND");
    assert_eq!(failure.details().unwrap()["nearest"], json!(["test/run"]));
    assert_eq!(failure.source(), Some(GATEWAY));
}

#[tokio::test(start_paused = true)]
async fn an_internal_operation_looks_unknown_to_clients() {
    let mut hidden = query();
    hidden.visibility = Visibility::Internal;
    let fixture = Fixture::of(hidden, echo);
    let failure = fixture.fails(json!({})).await;
    assert_eq!(failure.code().as_str(), "NOT_FOUND");
    assert!(failure.details().unwrap().get("nearest").is_none());
    let inside = CallRequest {
        origin: Origin::Internal,
        ..CallRequest::from_wire("test/run", json!(1))
    };
    let answer = fixture.dispatcher.dispatch(inside).await;
    assert_eq!(answer.into_value().unwrap(), json!(1));
}

#[tokio::test(start_paused = true)]
async fn calls_that_anyone_can_make_up_are_counted_but_not_recorded() {
    let mut restricted = query();
    restricted.access_control.required_scopes = vec!["files:read".to_owned()];
    restricted.input_schema = json!({"type": "object"});
    let open = OperationSpec {
        name: "test/open".parse().unwrap(),
        access_control: Default::default(),
        ..restricted.clone()
    };
    let builder = Registry::builder()
        .register(restricted, echo)
        .register(open, echo);
    let fixture = Fixture::over(builder, Settings::default());
    let ada = Identity::new("ada").with_scope("files:read");
    for (name, caller, code, is_recorded) in [
        ("test/run", None, "FORBIDDEN", false),
        ("made/up", None, "NOT_FOUND", false),
        ("test/open", None, "INVALID_INPUT", true),
        ("made/up", Some(&ada), "NOT_FOUND", true),
        ("test/run", Some(&ada), "INVALID_INPUT", true),
    ] {
        let before = fixture.store.recordings().len();
        let mut request = CallRequest::from_wire(name, json!([]));
        request.caller = caller.map(|it| Arc::new(it.clone()));
        let failure = fixture.dispatcher.dispatch(request).await.into_value();
        assert_eq!(failure.unwrap_err().code().as_str(), code);
        let recorded = fixture.store.recordings().len() - before;
        assert_eq!(recorded == 1, is_recorded, "{name} {code}");
    }
    let _ = fixture.dispatcher.maintain().await;
    let counted = fixture.store.counts(Timestamp::MIN).await.unwrap();
    assert_eq!(counted.iter().map(|it| it.calls).sum::<u64>(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_restricted_operation_is_forbidden_without_an_identity() {
    let mut restricted = query();
    restricted.access_control.required_scopes = vec!["files:read".to_owned()];
    let failure = Fixture::of(restricted, echo).fails(json!({})).await;
    assert_eq!(failure.code().as_str(), "FORBIDDEN");
    assert_eq!(
        failure.details().unwrap()["required_scopes"],
        json!(["files:read"])
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_the_access_that_the_caller_lacks() {
    let mut restricted = query();
    restricted.access_control.required_scopes = vec!["a".to_owned()];
    restricted.access_control.required_scopes_any = Some(vec!["b".to_owned(), "c".to_owned()]);
    restricted.access_control.resource_type = Some("file".to_owned());
    restricted.access_control.resource_action = Some("read".to_owned());
    let fixture = Fixture::of(restricted, echo);
    let bare = Identity::new("ann");
    let scoped = bare.clone().with_scope("a");
    let any = scoped.clone().with_scope("c");
    let writing = any.clone().with_resource("file", "write");
    let reading = any.clone().with_resource("file", "read");
    for (caller, lacks) in [
        (None, Some("needs an identity")),
        (Some(bare), Some("needs the scope a")),
        (Some(scoped), Some("one of the scopes b, c")),
        (Some(any), Some("a grant for read on file")),
        (Some(writing), Some("a grant for read on file")),
        (Some(reading), None),
    ] {
        let known = caller.is_some();
        let request = CallRequest {
            caller: caller.map(Arc::new),
            ..CallRequest::from_wire("test/run", json!({}))
        };
        let answer = fixture.dispatcher.dispatch(request).await.into_value();
        let Some(lacks) = lacks else {
            assert_eq!(answer.unwrap(), json!({}));
            continue;
        };
        let failure = answer.unwrap_err();
        assert_eq!(failure.code().as_str(), "FORBIDDEN");
        assert!(failure.message().contains(lacks), "{}", failure.message());
        assert_eq!(failure.details().unwrap()["authenticated"], json!(known));
    }
}

#[tokio::test]
async fn the_action_names_an_object_that_allows_no_members() {
    let mut strict = query();
    strict.input_schema = json!({"properties": {"body": {"additionalProperties": false}}});
    let echo = |_: Context, input: Arc<Value>| async { Ok::<_, Failure>(input) };
    let failure = Fixture::of(strict, echo)
        .fails(json!({"body": {"a": 1}}))
        .await;
    let actions = &failure.recovery().required_actions;
    let action = "body must be an object without members. Correct body, then call again";
    assert_eq!(actions[0], action);
}

#[tokio::test]
async fn a_member_with_a_very_long_name_is_reported_at_its_parent() {
    let long = "x".repeat(5000);
    let required = json!({"type": "object", "required": [long]});
    let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
    for (schema, body) in [(required, json!({})), (closed, json!({&long: 1}))] {
        let mut strict = query();
        strict.input_schema = json!({"properties": {"body": schema}});
        let echo = |_: Context, input: Arc<Value>| async { Ok::<_, Failure>(input) };
        let failure = Fixture::of(strict, echo).fails(json!({"body": body})).await;
        assert_eq!(failure.violations()[0].pointer, "/body");
        let actions = &failure.recovery().required_actions;
        assert_eq!(actions[0], "Correct body, then call again");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_input_never_reaches_the_handler_and_all_violations_are_listed() {
    let mut strict = query();
    strict.input_schema = json!({
        "type": "object",
        "required": ["name"],
        "properties": {"priority": {"type": "integer"}},
    });
    let panics = |_: Context, _: Arc<Value>| async { panic!("reached") as Result<Value, Failure> };
    let failure = Fixture::of(strict, panics)
        .fails(json!({"priority": "high"}))
        .await;
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let mut pointers: Vec<&str> = failure
        .violations()
        .iter()
        .map(|it| it.pointer.as_str())
        .collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/name", "/priority"]);
    assert_eq!(failure.operation(), Some("test/run"));
    assert_eq!(failure.parameters().unwrap()["priority"], json!("high"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_becomes_internal_and_its_message_is_only_logged() {
    let panics =
        |_: Context, _: Arc<Value>| async { panic!("disk {}", 7) as Result<Value, Failure> };
    let fixture = Fixture::of(query(), panics);
    let failure = fixture.fails(json!({})).await;
    assert_eq!(failure.code().as_str(), "INTERNAL");
    assert!(!serde_json::to_string(&failure).unwrap().contains("disk 7"));
    assert_eq!(fixture.private(), ["panic: disk 7"]);
    assert_eq!(fixture.notes.all()[0].0, failure.id().unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_code_of_a_timeout_depends_on_whether_repeating_is_harmless() {
    let idempotent = {
        let mut spec = spec(OperationType::Mutation);
        spec.idempotency.idempotent = true;
        spec
    };
    let harmful = spec(OperationType::Mutation);
    // The patience ends long before the timeout, so there is no retry.
    for (spec, code, effect, attempts) in [
        (query(), "TIMEOUT", Effect::None, 1),
        (idempotent, "TIMEOUT", Effect::Unknown, 1),
        (harmful, "ERR_OUTCOME_UNKNOWN", Effect::Unknown, 1),
    ] {
        let never = |_: Context, _: Arc<Value>| std::future::pending::<Result<Value, Failure>>();
        let fixture = Fixture::of(spec, never);
        let failure = fixture.fails(json!({})).await;
        assert_eq!((failure.code().as_str(), failure.effect()), (code, effect));
        let recording = &fixture.store.recordings()[0];
        assert_eq!(recording.steps.len(), attempts, "{code}");
        let first = &recording.steps[0];
        let took_ms = first.ended_at.duration_since(first.started_at).as_millis();
        assert_eq!(took_ms, i128::from(DEFAULT_TIMEOUT_MS));
    }
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_destructor_does_not_lose_the_answer() {
    let never = |_: Context, _: Arc<Value>| async {
        let _guard = PanicsOnDrop;
        std::future::pending::<Result<Value, Failure>>().await
    };
    let failure = Fixture::of(query(), never).fails(json!({})).await;
    assert_eq!(failure.code().as_str(), "TIMEOUT");
}

#[tokio::test(start_paused = true)]
async fn codes_that_a_handler_may_not_return_become_internal() {
    let undeclared = definition("DISK_ON_FIRE").kind().unwrap();
    for failure in [
        Failure::new(undeclared).with_message("in rack 7"),
        Failure::new(codes::NOT_FOUND),
        Failure::new(codes::TIMEOUT),
        untyped(&std::io::Error::other("in rack 7")),
    ] {
        let code = failure.code().to_string();
        let fixture = Fixture::of(query(), failing(failure));
        let answered = fixture.fails(json!({})).await;
        assert_eq!(answered.code().as_str(), "INTERNAL", "{code}");
        let named = (code != "INTERNAL").then_some(code.as_str());
        assert_eq!(original_code(&answered), named);
        assert!(!serde_json::to_string(&answered).unwrap().contains("rack 7"));
        assert!(fixture.private()[0].starts_with(&code));
    }
}

#[tokio::test(start_paused = true)]
async fn protocol_codes_are_passed_on_by_relaying_operations() {
    for (code, relayed) in [
        (Failure::new(codes::NOT_FOUND), "NOT_FOUND"),
        (Failure::new(codes::FORBIDDEN), "FORBIDDEN"),
        (
            Failure::new(definition("DISK_ON_FIRE").kind().unwrap()),
            "INTERNAL",
        ),
    ] {
        let registration = Registration::new(query(), failing(code)).relaying();
        let builder = Registry::builder().add(registration);
        let fixture = Fixture::over(builder, Settings::default());
        assert_eq!(fixture.fails(json!({})).await.code().as_str(), relayed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_catalogue_code_may_be_returned_and_its_details_are_not_checked() {
    let failure = Failure::new(codes::ERR_TIMEOUT)
        .with_detail("host", "api.example.com")
        .redacted()
        .with_details_checked()
        .into_failure();
    let answered = Fixture::of(query(), failing(failure))
        .fails(json!({}))
        .await;
    assert_eq!(answered.code().as_str(), "ERR_TIMEOUT");
    assert!(!answered.is_defined());
    assert_eq!(answered.source(), Some("test/run"));
}

#[tokio::test(start_paused = true)]
async fn try_later_keeps_the_status_and_the_details_that_are_declared_for_it() {
    let mut declaring = query();
    let status = json!({"code": "HTTP_409", "description": "an export is running", "http_status": 409,
        "schema": {"required": ["since"], "properties": {"pin": {"x-sensitive": true}}}});
    declaring.error_schemas = vec![serde_json::from_value(status).unwrap()];
    let facts = Facts {
        http_status: Some(409),
        ..Facts::default()
    };
    let code = Kind::from(codes::ERR_TRY_LATER).code().clone();
    let failure = Failure::new(Kind::declared(code, facts).unwrap())
        .with_upstream(Upstream::status(409))
        .with_detail("since", 3)
        .with_detail("pin", "4711-zx");
    let fixture = Fixture::of(declaring, failing(failure));
    let answered = fixture.fails(json!({})).await;
    assert_eq!(answered.code().as_str(), "ERR_TRY_LATER");
    assert_eq!(answered.kind().http_status(), 409);
    assert!(answered.is_defined());
    assert_eq!(answered.details().unwrap()["pin"], "[REDACTED]");
}

#[tokio::test(start_paused = true)]
async fn details_count_as_defined_only_if_they_match_their_schema() {
    let mut declaring = query();
    declaring.error_schemas = vec![definition("DISK_FULL")];
    let kind = definition("DISK_FULL").kind().unwrap();
    for (free, defined) in [(json!(7), true), (json!("seven"), false)] {
        let failure = Failure::new(kind.clone()).with_detail("free", free);
        let fixture = Fixture::of(declaring.clone(), failing(failure));
        let answered = fixture.fails(json!({})).await;
        assert_eq!(answered.code().as_str(), "DISK_FULL");
        assert_eq!(answered.is_defined(), defined);
        assert_eq!(fixture.private().is_empty(), defined);
    }
}

#[tokio::test(start_paused = true)]
async fn the_declaration_fixes_the_facts_of_a_code() {
    let mut declaring = query();
    declaring.error_schemas = vec![ErrorDefinition {
        category: Some(Category::Transient),
        ..definition("DISK_FULL")
    }];
    let failure = Failure::new(definition("DISK_FULL").kind().unwrap())
        .with_message("no room")
        .with_detail("free", 7);
    assert!(!failure.retryable());
    let answered = Fixture::of(declaring, failing(failure))
        .fails(json!({}))
        .await;
    assert!(answered.retryable());
    assert_eq!(answered.message(), "no room");
    assert_eq!(answered.recovery().retry_after_ms, Some(100));
    assert!(answered.is_defined());
}

#[tokio::test(start_paused = true)]
async fn every_failure_is_stamped_and_recorded() {
    let fixture = Fixture::of(query(), failing(Failure::new(codes::ERR_SSL_ERROR)));
    let failure = fixture.fails(json!({"a": 1})).await;
    assert_eq!(failure.id(), Some(Uuid::from_u64_pair(0, 2)));
    assert_eq!(failure.at(), Some(Timestamp::UNIX_EPOCH));
    let recordings = fixture.store.recordings();
    assert_eq!(recordings[0].outcome, RecordedOutcome::Failed(failure));
}

#[tokio::test(start_paused = true)]
async fn a_failure_shows_the_input_up_to_its_limit() {
    let text = |bytes: usize| json!({"t": "x".repeat(bytes - r#"{"t":""}"#.len())});
    let fixture = Fixture::of(query(), failing(Failure::new(codes::ERR_TIMEOUT)));
    let at = fixture.fails(text(PARAMETERS_BYTES_LIMIT)).await;
    assert!(at.parameters().is_some());
    let beyond = fixture.fails(text(PARAMETERS_BYTES_LIMIT + 1)).await;
    assert!(beyond.parameters().is_none());
}
