//! Operations that call operations: their authority, their reach and their deadline.

use super::*;
use crate::credentials::Credentials;
use crate::handler::Progress;
use crate::handler::{Reconcile, Reconciled};
use crate::identity::Identity;
use crate::registry::Registration;
use panpan_contract::operation::OperationName;
use panpan_redact::Secret;
use tokio_util::sync::CancellationToken;

fn name(text: &str) -> OperationName {
    text.parse().unwrap()
}

fn named(text: &str) -> OperationSpec {
    OperationSpec::new(name(text), OperationType::Query)
}

/// Calls the operation that its input names, and returns the output or the code of the failure.
async fn relay(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let callee = input["callee"].as_str().unwrap_or_default();
    match context.call(callee, json!({"from": "relay"})).await {
        Ok(output) => Ok(output),
        Err(failure) => Ok(json!(failure.code().as_str())),
    }
}

fn fixture(authority: Option<Identity>) -> Fixture {
    let mut hidden = named("test/hidden");
    hidden.visibility = Visibility::Internal;
    let mut restricted = named("test/restricted");
    restricted.access_control.required_scopes = vec!["files".to_owned()];
    let mut relaying = Registration::new(named("test/relay"), relay)
        .calling(["test/hidden", "test/restricted"].map(name));
    if let Some(authority) = authority {
        relaying = relaying.acting_as(authority);
    }
    let builder = Registry::builder()
        .add(relaying)
        .register(hidden, echo)
        .register(restricted, echo)
        .register(named("test/other"), echo);
    Fixture::over(builder, Settings::default())
}

#[tokio::test(start_paused = true)]
async fn an_operation_calls_only_registered_operations_with_its_own_authority() {
    let trusted = Identity::new("relay").with_scope("files");
    let reached = json!({"from": "relay"});
    for (authority, callee, expected) in [
        (None, "test/hidden", reached.clone()),
        (None, "test/other", json!("NOT_FOUND")),
        (None, "test/none", json!("NOT_FOUND")),
        (None, "test/restricted", json!("FORBIDDEN")),
        (
            Some(Identity::new("relay")),
            "test/restricted",
            json!("FORBIDDEN"),
        ),
        (Some(trusted), "test/restricted", reached),
    ] {
        let answer = fixture(authority)
            .call("test/relay", json!({"callee": callee}))
            .await;
        assert_eq!(answer.unwrap(), expected, "{callee}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_authority_of_the_caller_is_not_passed_on() {
    let request = CallRequest {
        caller: Some(Arc::new(Identity::new("ann").with_scope("files"))),
        ..CallRequest::from_wire("test/relay", json!({"callee": "test/restricted"}))
    };
    let answer = fixture(None).dispatcher.dispatch(request).await;
    assert_eq!(answer.into_value().unwrap(), json!("FORBIDDEN"));
}

#[tokio::test(start_paused = true)]
async fn the_authority_of_an_operation_is_not_a_direct_caller() {
    async fn who(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
        let id = |caller: Option<&Identity>| caller.map(|caller| caller.id.clone());
        Ok(json!([id(context.caller()), id(context.direct_caller())]))
    }
    let relaying = Registration::new(named("test/relay"), relay)
        .calling(["test/who"].map(name))
        .acting_as(Identity::new("relay"));
    let builder = Registry::builder()
        .add(relaying)
        .register(named("test/who"), who);
    let fixture = Fixture::over(builder, Settings::default());
    for (called, expected) in [
        ("test/who", json!(["ann", "ann"])),
        ("test/relay", json!(["relay", null])),
    ] {
        let request = CallRequest {
            caller: Some(Arc::new(Identity::new("ann"))),
            ..CallRequest::from_wire(called, json!({"callee": "test/who"}))
        };
        let answer = fixture.dispatcher.dispatch(request).await;
        assert_eq!(answer.into_value().unwrap(), expected, "{called}");
    }
}

#[tokio::test(start_paused = true)]
async fn callable_operations_depend_on_the_caller() {
    let fixture = fixture(None);
    let names = |caller: Option<&Identity>| -> Vec<String> {
        let callable = fixture.dispatcher.callable(caller).into_iter();
        callable.map(|it| it.name().to_string()).collect()
    };
    assert_eq!(names(None), ["test/other", "test/relay"]);
    let ann = Identity::new("ann").with_scope("files");
    assert_eq!(
        names(Some(&ann)),
        ["test/other", "test/relay", "test/restricted"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_nested_call_ends_when_the_outer_call_does() {
    let stopped = Arc::new(Mutex::new(Vec::new()));
    let watch = {
        let stopped = stopped.clone();
        move |context: Context, _: Arc<Value>| {
            let (stopped, remaining) = (stopped.clone(), context.remaining_ms());
            async move {
                // Background work gets the cancellation; the handler itself is dropped.
                let token = context.cancellation().clone();
                tokio::spawn(async move {
                    token.cancelled().await;
                    stopped.lock().unwrap().push(remaining);
                });
                std::future::pending::<Result<Value, Failure>>().await
            }
        }
    };
    let mut parent = named("test/parent");
    parent.timeout_ms = Some(1000);
    let calling = |context: Context, _: Arc<Value>| async move {
        context.sleep(400).await;
        Ok::<_, Failure>(context.call("test/child", json!({})).await?)
    };
    let builder = Registry::builder()
        .add(Registration::new(parent, calling).calling([name("test/child")]))
        .register(named("test/child"), watch);
    let fixture = Fixture::over(builder, Settings::default());
    let abort = CancellationToken::new();
    let request = CallRequest {
        abort: Some(abort.clone()),
        ..CallRequest::from_wire("test/parent", json!({}))
    };
    let aborting = async {
        fixture.dispatcher.ports().clock.sleep(500).await;
        abort.cancel();
    };
    let (answer, ()) = tokio::join!(fixture.dispatcher.dispatch(request), aborting);
    assert_eq!(
        answer.into_value().unwrap_err().code().as_str(),
        "ERR_CANCELLED"
    );
    tokio::task::yield_now().await;
    // It had the rest of the timeout of the outer call.
    assert_eq!(*stopped.lock().unwrap(), [600]);
}

#[derive(Debug, Default)]
struct Reports(Mutex<Vec<Progress>>);

impl crate::handler::ReportProgress for Reports {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }

    fn note(&self, _: String) {}
}

#[tokio::test(start_paused = true)]
async fn progress_messages_are_redacted_and_handlers_have_their_own_credentials() {
    let run = |context: Context, _: Arc<Value>| async move {
        let secret = context.credentials().get("api").unwrap().expose().clone();
        context.report(Progress {
            done: 1.0,
            total: Some(2.0),
            message: Some(format!("sent Authorization: Bearer {secret}")),
        });
        Ok::<_, Failure>(json!(secret.len()))
    };
    let secret = Secret::new("sk-live-51H8xQzT0aB".to_owned());
    let registration =
        Registration::new(query(), run).with_credentials(Credentials::from_iter([("api", secret)]));
    let fixture = Fixture::over(Registry::builder().add(registration), Settings::default());
    let reports = Arc::new(Reports::default());
    let request = CallRequest {
        progress: Some(reports.clone()),
        ..CallRequest::from_wire("test/run", json!({}))
    };
    let answer = fixture.dispatcher.dispatch(request).await;
    assert_eq!(answer.into_value().unwrap(), json!(19));
    let reports = reports.0.lock().unwrap();
    let message = reports[0].message.as_ref().unwrap();
    assert!(
        message.contains("[REDACTED]") && !message.contains("51H8"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn operations_can_be_replaced_while_a_call_runs() {
    let slow = |context: Context, _: Arc<Value>| async move {
        context.sleep(100).await;
        Ok::<_, Failure>(json!("old"))
    };
    let fixture = Fixture::of(query(), slow);
    let request = || CallRequest::from_wire("test/run", json!({}));
    let replacing = async {
        fixture.dispatcher.ports().clock.sleep(50).await;
        let new = |_: Context, _: Arc<Value>| async { Ok::<_, Failure>(json!("new")) };
        let registry = Registry::builder().register(query(), new).build().unwrap();
        fixture.dispatcher.replace(registry);
        fixture.dispatcher.dispatch(request()).await.into_value()
    };
    let (old, new) = tokio::join!(fixture.dispatcher.dispatch(request()), replacing);
    assert_eq!(old.into_value().unwrap(), json!("old"));
    assert_eq!(new.unwrap(), json!("new"));
    // Both calls are counted.
    fixture.dispatcher.maintain().await.unwrap();
    let counts = fixture
        .dispatcher
        .ports()
        .outcomes
        .counts(Timestamp::MIN)
        .await
        .unwrap();
    assert_eq!(counts.iter().map(|it| it.calls).sum::<u64>(), 2);
    assert!(fixture.dispatcher.0.retired.lock().unwrap().is_empty());
}

fn mutation(text: &str) -> OperationSpec {
    OperationSpec::new(name(text), OperationType::Mutation)
}

#[tokio::test(start_paused = true)]
async fn the_effect_of_a_nested_call_is_part_of_the_effect() {
    let harmless = {
        let mut spec = mutation("test/charge");
        spec.idempotency.idempotent = true;
        spec
    };
    for (charge, effect) in [
        (mutation("test/charge"), Effect::Applied),
        (harmless, Effect::None),
    ] {
        let order = |context: Context, _: Arc<Value>| async move {
            let charged = context.call("test/charge", json!({})).await;
            charged.map_err(Redacted::into_failure)?;
            Err::<Value, _>(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED))
        };
        let order = Registration::new(mutation("test/order"), order);
        let builder = Registry::builder()
            .add(order.calling([name("test/charge")]))
            .register(charge, echo);
        let fixture = Fixture::over(builder, Settings::default());
        let failure = fixture.call("test/order", json!({})).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
        assert_eq!(failure.effect(), effect);
        // A charge that may have happened is not retried.
        let attempts = fixture.store.recordings()[0].steps.len();
        assert_eq!(attempts, if effect == Effect::None { 3 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn operations_that_call_each_other_in_a_cycle_are_stopped() {
    let again = |context: Context, _: Arc<Value>| async move {
        match context.call("test/run", json!({})).await {
            Ok(depth) => Ok::<_, Failure>(json!(depth.as_u64().unwrap_or_default() + 1)),
            Err(failure) => {
                assert_eq!(failure.code().as_str(), "ERR_RESOURCE_EXHAUSTED");
                Ok(json!(0))
            }
        }
    };
    let recursive = Registration::new(query(), again).calling([name("test/run")]);
    let fixture = Fixture::over(Registry::builder().add(recursive), Settings::default());
    let depth = fixture.call("test/run", json!({})).await.unwrap();
    assert_eq!(depth, json!(CALL_DEPTH_LIMIT));
}

#[test]
fn handlers_and_reconcilers_may_return_the_failure_of_a_nested_call() {
    fn handles(_: impl Handler) {}
    fn reconciles(_: impl Reconcile) {}
    handles(|context: Context, input: Arc<Value>| async move { context.call("a/b", input).await });
    reconciles(|context: Context, input: Arc<Value>| async move {
        let happened = context.call("a/b", input).await?;
        Ok::<_, Redacted>(Reconciled::Happened(happened))
    });
}

#[tokio::test(start_paused = true)]
async fn a_confidential_call_is_counted_and_not_recorded() {
    let key = || crate::idempotency::IdempotencyKey::new("k").unwrap();
    let send = move |context: Context, _: Arc<Value>| async move {
        let input = json!({"url": "https://hooks.example/SECRET"});
        let sent = context.call_unrecorded("test/send", input, key()).await;
        sent.map_err(|_| Failure::new(codes::ERR_CONNECTION_REFUSED))
    };
    let refuse = |_: Context, input: Arc<Value>| async move {
        let message = format!("cannot reach {}", input["url"]);
        Err::<Value, _>(Failure::new(codes::ERR_CONNECTION_REFUSED).with_message(message))
    };
    let notifying = Registration::new(named("test/notify"), send).calling([name("test/send")]);
    let builder = Registry::builder()
        .add(notifying)
        .register(named("test/send"), refuse);
    let fixture = Fixture::over(builder, Settings::default());
    fixture.call("test/notify", json!({})).await.unwrap_err();
    let recorded = serde_json::to_string(&fixture.store.recordings()).unwrap();
    assert!(recorded.contains("test/notify"), "{recorded}");
    assert!(!recorded.contains("SECRET"), "{recorded}");
}

#[tokio::test(start_paused = true)]
async fn arguments_by_position_do_not_show_that_an_internal_operation_exists() {
    let mut hidden = named("test/hidden");
    hidden.visibility = Visibility::Internal;
    let mut open = named("test/open");
    for spec in [&mut hidden, &mut open] {
        spec.argument_order = vec!["account".to_owned()];
    }
    let builder = Registry::builder()
        .register(hidden, echo)
        .register(open, echo);
    let fixture = Fixture::over(builder, Settings::default());
    let call = async |name: &str| {
        let request = CallRequest::from_wire(name, json!([1]));
        fixture.dispatcher.dispatch(request).await.into_value()
    };
    assert_eq!(call("test/open").await.unwrap(), json!({"account": 1}));
    for name in ["test/hidden", "test/absent"] {
        let failure = call(name).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "NOT_FOUND");
        assert_eq!(failure.parameters(), None, "{name}");
    }
}
