//! A service behind the gateway: what the operator gave it stays the operator's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod support;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_contract::{Effect, Redacted};
use panpan_runtime::retry::CircuitRule;
use panpan_runtime::{CallRequest, Credentials, Dispatcher, Registry};
use panpan_store::memory_world;
use panpan_upstream::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_upstream::{Allowed, Client, ClientSettings, Service, Url};
use serde_json::{Value, json};
use support::{Then, http, one, server};

/// Calls the one operation of a service that is given headers.
async fn call(
    url: &str,
    headers: &[(&'static str, &'static str)],
    op_type: OperationType,
    input: Value,
) -> Result<Value, Redacted> {
    let url = Url::parse(url).unwrap();
    let mut allowed = Allowed::default();
    allowed.allow_url(&url);
    let settings = ClientSettings {
        allowed,
        ..ClientSettings::default()
    };
    let header = |(name, value): &(&'static str, &'static str)| {
        let mut value = HeaderValue::from_static(value);
        value.set_sensitive(true);
        (HeaderName::from_static(name), value)
    };
    let service = Service {
        name: "shop".to_owned(),
        base: Some(url),
        client: Client::new(settings).unwrap(),
        credentials: Credentials::default(),
        headers: headers.iter().map(header).collect::<HeaderMap>(),
        passed: Vec::new(),
        circuit: CircuitRule::default(),
    };
    let registrations = service.operations([spec(op_type)]).unwrap();
    let registry = registrations
        .into_iter()
        .fold(Registry::builder(), |builder, it| builder.add(it));
    let gateway = Dispatcher::new(registry.build().unwrap(), memory_world());
    let request = CallRequest::from_wire("shop/ask".to_owned(), input);
    gateway.dispatch(request).await.into_value()
}

fn spec(op_type: OperationType) -> OperationSpec {
    let name = OperationName::new("shop/ask").unwrap();
    let mut written = serde_json::to_value(OperationSpec::new(name, op_type)).unwrap();
    let tenant = json!({
        "name": "tenant", "wire_name": "X-Tenant", "place": "header", "style": "simple", "explode": false,
    });
    let method = match op_type {
        OperationType::Mutation => "POST",
        _ => "GET",
    };
    written["x-panpan-http"] = json!({"method": method, "path": "/ask", "parameters": [tenant]});
    serde_json::from_value(written).unwrap()
}

#[tokio::test]
async fn headers_the_operator_gave_stand_in_no_failure() {
    let said = r#"{"error": "no zebra-crossing here, and no lollipop-lady"}"#;
    let (url, _) = one(http("401 No", "", said)).await;
    let given = [
        ("x-key", "zebra-crossing"),
        ("authorization", "Bearer lollipop-lady"),
    ];
    let failure = call(&url, &given, OperationType::Query, json!({})).await;
    let shown = serde_json::to_string(&failure.unwrap_err()).unwrap();
    assert!(shown.contains("no [REDACTED] here"), "{shown}");
    assert!(!shown.contains("zebra-crossing"), "{shown}");
    assert!(!shown.contains("lollipop-lady"), "{shown}");
}

#[tokio::test]
async fn a_redirected_write_is_not_repeated() {
    let away = http("503 Away", "retry-after: 0\r\n", "");
    let says = vec![
        (http("303 There", "location: /next\r\n", ""), Then::Closes),
        (away, Then::Closes),
    ];
    let (url, served) = server(says).await;
    let failure = call(&url, &[], OperationType::Mutation, json!({})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.effect(), panpan_contract::Effect::Unknown);
    let first_lines = served.await.unwrap();
    let first_lines: Vec<&str> = first_lines
        .iter()
        .filter_map(|it| it.lines().next())
        .collect();
    assert_eq!(first_lines, ["POST /ask HTTP/1.1", "GET /next HTTP/1.1"]);
}

#[tokio::test]
async fn no_caller_changes_a_header_the_operator_gave() {
    for (given, sent) in [
        (&[("x-tenant", "acme")][..], "x-tenant: acme\r\n"),
        (&[], "x-tenant: evil\r\n"),
    ] {
        let (url, served) = one(http("200 OK", "", "{}")).await;
        let input = json!({"tenant": "evil"});
        call(&url, given, OperationType::Query, input)
            .await
            .unwrap();
        let request = served.await.unwrap().remove(0).to_lowercase();
        assert!(request.contains(sent), "{request}");
        assert_eq!(request.matches("x-tenant").count(), 1, "{request}");
    }
}

#[tokio::test]
async fn a_failure_with_a_code_nobody_declared_is_known_by_its_status() {
    let said = r#"{"code": "MADE_UP", "message": "no", "retryable": false, "panpan": {"category": "PERMANENT", "remedy": ["ask_human"], "effect": "none"}}"#;
    let (url, _) = one(http("500 No", "content-type: application/json\r\n", said)).await;
    let failure = call(&url, &[], OperationType::Mutation, json!({})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "HTTP_500");
    assert_eq!(failure.effect(), Effect::Unknown);
    assert_eq!(failure.details().unwrap()["code"], "MADE_UP");
}
