//! A service behind the dispatcher: its headers, and the failures that its responses become.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod support;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Category, Effect, Redacted};
use panpan_runtime::retry::CircuitRule;
use panpan_runtime::{CallRequest, Credentials, Dispatcher, Registry};
use panpan_store::memory_ports;
use panpan_upstream::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_upstream::{Allowed, Client, ClientSettings, Service, Url};
use serde_json::{Value, json};
use support::{Then, http, server, server_once};

/// Calls the operation of a service with fixed headers.
async fn call(
    url: &str,
    headers: &[(&'static str, &'static str)],
    op_type: OperationType,
    input: Value,
) -> Result<Value, Redacted> {
    call_spec(url, headers, spec(op_type), input).await
}

/// Calls a given operation of a service with fixed headers.
async fn call_spec(
    url: &str,
    headers: &[(&'static str, &'static str)],
    spec: OperationSpec,
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
    let registrations = service.operations([spec]).unwrap();
    let registry = registrations
        .into_iter()
        .fold(Registry::builder(), |builder, it| builder.add(it));
    let dispatcher = Dispatcher::new(registry.build().unwrap(), memory_ports());
    let request = CallRequest::from_wire("shop/order".to_owned(), input);
    dispatcher.dispatch(request).await.into_value()
}

fn spec(op_type: OperationType) -> OperationSpec {
    let name = OperationName::new("shop/order").unwrap();
    let mut written = serde_json::to_value(OperationSpec::new(name, op_type)).unwrap();
    let tenant = json!({
        "name": "tenant", "wire_name": "X-Tenant", "place": "header", "style": "simple", "explode": false,
    });
    let method = match op_type {
        OperationType::Mutation => "POST",
        _ => "GET",
    };
    written["x-panpan-http"] = json!({"method": method, "path": "/order", "parameters": [tenant]});
    serde_json::from_value(written).unwrap()
}

#[tokio::test]
async fn fixed_headers_are_redacted_in_failures() {
    let body = r#"{"error": "no zebra-crossing here, and no lollipop-lady"}"#;
    let (url, _) = server_once(http("401 No", "", body)).await;
    let fixed = [
        ("x-key", "zebra-crossing"),
        ("authorization", "Bearer lollipop-lady"),
    ];
    let failure = call(&url, &fixed, OperationType::Query, json!({})).await;
    let shown = serde_json::to_string(&failure.unwrap_err()).unwrap();
    assert!(shown.contains("no [REDACTED] here"), "{shown}");
    assert!(!shown.contains("zebra-crossing"), "{shown}");
    assert!(!shown.contains("lollipop-lady"), "{shown}");
}

#[tokio::test]
async fn a_redirected_write_is_not_repeated() {
    let away = http("503 Away", "retry-after: 0\r\n", "");
    let responses = vec![
        (http("303 There", "location: /next\r\n", ""), Then::Closes),
        (away, Then::Closes),
    ];
    let (url, requests) = server(responses).await;
    let failure = call(&url, &[], OperationType::Mutation, json!({})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.effect(), panpan_failure::Effect::Unknown);
    let first_lines = requests.await.unwrap();
    let first_lines: Vec<&str> = first_lines
        .iter()
        .filter_map(|it| it.lines().next())
        .collect();
    assert_eq!(first_lines, ["POST /order HTTP/1.1", "GET /next HTTP/1.1"]);
}

#[tokio::test]
async fn a_caller_cannot_change_a_fixed_header() {
    for (fixed, sent) in [
        (&[("x-tenant", "acme")][..], "x-tenant: acme\r\n"),
        (&[], "x-tenant: evil\r\n"),
    ] {
        let (url, requests) = server_once(http("200 OK", "", "{}")).await;
        let input = json!({"tenant": "evil"});
        call(&url, fixed, OperationType::Query, input)
            .await
            .unwrap();
        let request = requests.await.unwrap().remove(0).to_lowercase();
        assert!(request.contains(sent), "{request}");
        assert_eq!(request.matches("x-tenant").count(), 1, "{request}");
    }
}

#[tokio::test]
async fn a_failure_with_an_undeclared_code_gets_the_code_of_its_status() {
    let body = r#"{"code": "MADE_UP", "message": "no", "retryable": false, "panpan": {"category": "PERMANENT", "remedy": ["ask_human"], "effect": "none"}}"#;
    let (url, _) = server_once(http("500 No", "content-type: application/json\r\n", body)).await;
    let failure = call(&url, &[], OperationType::Mutation, json!({})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "HTTP_500");
    assert_eq!(failure.effect(), Effect::Unknown);
    assert_eq!(failure.details().unwrap()["code"], "MADE_UP");
}

/// An operation that declares failures by status and has a body and parameters.
fn declaring(op_type: OperationType, failures: &[(Value, &str)]) -> OperationSpec {
    let mut spec = spec(op_type);
    spec.input_schema = json!({"properties": {
        "tenant": {},
        "limit": {},
        "body": {"properties": {"percent": {}}},
    }});
    for (status, description) in failures {
        let code = format!(
            "HTTP_{}",
            status.to_string().trim_matches('"').to_uppercase()
        );
        let definition = json!({"code": code, "http_status": status, "description": description});
        spec.error_schemas
            .push(serde_json::from_value(definition).unwrap());
    }
    spec
}

async fn failing(spec: OperationSpec, status: &str, body: &str, input: Value) -> Redacted {
    let (url, _) = server_once(http(status, "content-type: application/json\r\n", body)).await;
    let called = call_spec(&url, &[], spec, input).await;
    called.unwrap_err()
}

#[tokio::test]
async fn the_declaration_of_a_status_reaches_the_caller() {
    let running = "An export is already running, nothing was changed, retry in 90 seconds.";
    let declared = [(json!(409), running), (json!("4XX"), "Bad request")];
    let spec = declaring(OperationType::Mutation, &declared);
    let failure = failing(spec.clone(), "409 No", r#"{"code": "E-9"}"#, json!({})).await;
    assert_eq!(failure.code().as_str(), "ERR_TRY_LATER");
    assert_eq!(failure.kind().http_status(), 409);
    assert_eq!(failure.meaning(), Some(running));
    assert_eq!(failure.effect(), Effect::None);
    assert_eq!(failure.recovery().retry_after_ms, Some(90_000));
    assert_eq!(failure.details().unwrap()["code"], "E-9");
    let inferred: Vec<_> = failure.inferred().iter().map(|it| it.word()).collect();
    assert_eq!(inferred, ["delay"]);
    // The response wins over the declaration.
    let sooner = r#"{"message": "try again in 80 seconds"}"#;
    let failure = failing(spec.clone(), "409 No", sooner, json!({})).await;
    assert_eq!(failure.recovery().retry_after_ms, Some(80_000));
    // The description of the range only repeats the status.
    let failure = failing(spec, "410 No", "{}", json!({})).await;
    assert_eq!(
        (failure.code().as_str(), failure.meaning()),
        ("HTTP_410", None)
    );
}

#[tokio::test]
async fn a_declared_limit_counts_only_if_the_input_breaks_it() {
    let declared = [(json!(400), "`limit` may not exceed 100.")];
    let spec = declaring(OperationType::Query, &declared);
    for (limit, is_violated) in [(500, true), (50, false)] {
        let input = json!({"limit": limit});
        let failure = failing(spec.clone(), "400 No", r#"{"code": "L-2"}"#, input).await;
        assert_eq!(failure.code().as_str(), "HTTP_400");
        assert_eq!(
            failure.violations().len(),
            usize::from(is_violated),
            "{limit}"
        );
    }
    let failure = failing(spec, "400 No", r#"{"code": "L-2"}"#, json!({"limit": 500})).await;
    let violation = &failure.violations()[0];
    assert_eq!(violation.pointer, "/limit");
    assert_eq!(violation.expected.as_deref(), Some("at most 100"));
    assert_eq!(violation.actual, Some(json!(500)));
}

#[tokio::test]
async fn violations_point_only_at_members_of_the_input() {
    let spec = declaring(OperationType::Mutation, &[]);
    let input = json!({"limit": 500});
    for (status, body, pointers) in [
        (
            "422 No",
            r#"{"message": "Card declined", "details": {"decline_code": "insufficient_funds", "limit": "ch_1"}}"#,
            &[][..],
        ),
        (
            "422 No",
            r#"{"errors": {"limit": "is odd", "charge": "ch_1"}}"#,
            &["/limit"],
        ),
        (
            "422 No",
            r#"{"errors": [{"field": "percent", "message": "is odd"}, {"field": "moon", "message": "is full"}]}"#,
            &["/body/percent"],
        ),
        ("403 No", r#"{"errors": {"limit": "is odd"}}"#, &[]),
    ] {
        let failure = failing(spec.clone(), status, body, input.clone()).await;
        let found: Vec<&str> = failure
            .violations()
            .iter()
            .map(|it| it.pointer.as_str())
            .collect();
        assert_eq!(found, pointers, "{body}");
        let sent: Value = serde_json::from_str(body).unwrap();
        assert_eq!(failure.details(), sent.as_object(), "{body}");
    }
}

#[tokio::test]
async fn details_have_no_members_about_retries() {
    let spec = declaring(OperationType::Mutation, &[]);
    let body = r#"{"error": {"code": "E-1", "is_retryable": true, "sku": 7}, "retryable": true, "retry_after_ms": 9}"#;
    let failure = failing(spec.clone(), "500 No", body, json!({})).await;
    let expected = json!({"error": {"code": "E-1", "sku": 7}});
    assert_eq!(failure.details(), expected.as_object());
    assert!(!failure.may_repeat());
    let body = r#"{"success": false, "error": "no", "code": "E_1", "retry_after_ms": 9, "details": {"sku": 7, "is_retryable": true}}"#;
    let failure = failing(spec, "200 OK", body, json!({})).await;
    let details = failure.details().unwrap();
    assert!(details.keys().all(|it| !it.contains("retr")), "{details:?}");
    assert_eq!(details["sku"], 7);
}

#[tokio::test]
async fn a_failure_in_a_success_body_counts_unless_declared_as_output() {
    let sold_out = r#"{"ok": false, "error": {"code": "OUT_OF_STOCK", "message": "sold out"}}"#;
    let spec = declaring(OperationType::Mutation, &[]);
    let failure = failing(spec.clone(), "200 OK", sold_out, json!({})).await;
    assert_eq!(failure.code().as_str(), "TOOL_FAILED");
    assert_eq!(failure.message(), "sold out");
    assert_eq!(failure.details().unwrap()["code"], "OUT_OF_STOCK");
    assert_eq!(failure.effect(), Effect::Unknown);
    assert!(!failure.may_repeat());
    let refused = r#"{"success": false, "error": {"code": "invalid_input", "message": "percent may not exceed 50"}}"#;
    let input = json!({"body": {"percent": 80}});
    let failure = failing(spec.clone(), "200 OK", refused, input).await;
    assert_eq!(failure.effect(), Effect::None);
    assert_eq!(failure.violations()[0].pointer, "/body/percent");
    let limited = r#"{"ok": false, "error": {"code": "rate_limited", "message": "slow down", "retry_after": 70}}"#;
    let failure = failing(spec.clone(), "200 OK", limited, json!({})).await;
    assert_eq!(failure.category(), Category::RateLimit);
    let mut as_sent = serde_json::to_value(&spec).unwrap();
    as_sent["x-panpan-http"]["success_bodies"] = json!("as_sent");
    let as_sent: OperationSpec = serde_json::from_value(as_sent).unwrap();
    let mut declared = spec.clone();
    declared.output_schema = json!({"properties": {"ok": {"type": "boolean"}, "error": {}}});
    for (spec, body) in [
        (as_sent, sold_out),
        (declared, sold_out),
        (spec, r#"{"success": false, "results": [1, 2]}"#),
    ] {
        let (url, _) =
            server_once(http("200 OK", "content-type: application/json\r\n", body)).await;
        let output = call_spec(&url, &[], spec, json!({})).await.unwrap();
        assert_eq!(output, serde_json::from_str::<Value>(body).unwrap());
    }
}

#[tokio::test]
async fn a_failure_in_any_dialect_counts_in_a_success_body() {
    let spec = declaring(OperationType::Mutation, &[]);
    let json = "application/json";
    for (media_type, body, code) in [
        (
            json,
            r#"{"type": "about:blank", "title": "Busy", "status": 503, "detail": "busy"}"#,
            "HTTP_503",
        ),
        (
            "application/problem+json; charset=utf-8",
            r#"{"title": "Gone", "status": 410, "sku": "W-7"}"#,
            "HTTP_410",
        ),
        (
            json,
            r#"{"code": 14, "message": "unavailable", "details": [{"@type": "type.googleapis.com/google.rpc.RequestInfo"}]}"#,
            "HTTP_503",
        ),
        (
            json,
            r#"{"content": [{"type": "text", "text": "failed"}], "isError": true}"#,
            "TOOL_FAILED",
        ),
        (
            json,
            r#"{"result": "error", "code": "TIMEOUT", "message": "late", "retryable": true}"#,
            "ERR_TIMEOUT",
        ),
    ] {
        let response = http("200 OK", &format!("content-type: {media_type}\r\n"), body);
        let (url, _) = server_once(response).await;
        let failure = call_spec(&url, &[], spec.clone(), json!({})).await;
        let failure = failure.expect_err(body);
        assert_eq!(failure.code().as_str(), code, "{body}");
    }
}

#[tokio::test]
async fn the_code_in_a_success_body_keeps_its_spelling() {
    let spec = declaring(OperationType::Mutation, &[]);
    for (body, expected) in [
        (
            r#"{"ok": false, "error": {"code": "E1", "message": "no"}}"#,
            Some("E1"),
        ),
        (
            r#"{"ok": false, "error": {"code": "stock.out", "message": "no"}}"#,
            Some("stock.out"),
        ),
        (
            r#"{"success": false, "error": {"code": "OUT_OF_STOCK", "message": "no"}}"#,
            Some("OUT_OF_STOCK"),
        ),
        (
            r#"{"ok": false, "error": "channel_not_found"}"#,
            Some("channel_not_found"),
        ),
        (
            r#"{"success": false, "error": "this membership was closed"}"#,
            None,
        ),
        (
            r#"{"type": "about:blank", "title": "Gone", "status": 410}"#,
            None,
        ),
    ] {
        let failure = failing(spec.clone(), "200 OK", body, json!({})).await;
        let detail = failure.details().and_then(|it| it.get("code")?.as_str());
        assert_eq!(detail, expected, "{body}");
        let upstream = failure.upstream().and_then(|it| it.code.as_deref());
        assert_eq!(upstream, expected, "{body}");
    }
}

#[tokio::test]
async fn a_compressed_response_is_a_permanent_failure() {
    let compressed = http("200 OK", "content-encoding: gzip\r\n", "text");
    for (op_type, effect) in [
        (OperationType::Query, Effect::None),
        (OperationType::Mutation, Effect::Applied),
    ] {
        let (url, requests) = server_once(compressed.clone()).await;
        let failure = call(&url, &[], op_type, json!({})).await.unwrap_err();
        let request = requests.await.unwrap().remove(0);
        let is_refused = request.contains("accept-encoding: identity\r\n");
        assert!(is_refused, "{request}");
        assert_eq!(failure.code().as_str(), "ERR_OUTPUT_INVALID");
        assert_eq!(failure.effect(), effect);
        assert!(!failure.may_repeat());
        let excerpt = failure.upstream().unwrap().excerpt.as_deref();
        assert_eq!(excerpt, None);
    }
    for (body, is_compressed) in [("text", true), ("", false)] {
        let error = http("404 No", "content-encoding: gzip\r\n", body);
        let (url, _) = server_once(error).await;
        let spec = declaring(OperationType::Query, &[]);
        let failure = call_spec(&url, &[], spec, json!({})).await.unwrap_err();
        let is_reported = failure.message().contains("compressed (gzip)");
        assert_eq!(is_reported, is_compressed, "{failure:?}");
    }
    let (url, _) = server_once(compressed.replace("gzip", "identity")).await;
    let output = call(&url, &[], OperationType::Query, json!({})).await;
    assert_eq!(output.unwrap(), "text");
    let error = http("404 No", "content-encoding: br\r\n", "\u{1}\u{2}");
    let (url, _) = server_once(error).await;
    let failure = call(&url, &[], OperationType::Query, json!({}))
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "HTTP_404");
    assert!(failure.upstream().unwrap().excerpt.is_none());
}

#[tokio::test]
async fn a_redirect_to_a_blocked_host_is_a_fault_of_the_service() {
    let (url, _) = server_once(http(
        "302 There",
        "location: http://10.0.0.7/secret\r\n",
        "",
    ))
    .await;
    let failure = call(&url, &[], OperationType::Query, json!({})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST");
    let message = "the service redirected to 10.0.0.7, which is not allowed";
    assert_eq!(failure.message(), message);
    assert_eq!(failure.details().unwrap()["reason"], "private");
    let actions = failure.recovery().required_actions.join(" ");
    assert!(actions.contains("responsible for the service"), "{actions}");
    assert!(!actions.contains("use an address"), "{actions}");
}

#[tokio::test]
async fn the_code_of_the_service_is_not_repeated_in_the_details() {
    let spec = declaring(OperationType::Query, &[]);
    let body = r#"{"error": {"code": "NOPE", "message": "no"}}"#;
    let failure = failing(spec, "404 No", body, json!({})).await;
    let details = failure.details().unwrap();
    assert_eq!(
        Value::from(details.clone()),
        json!({"error": {"code": "NOPE", "message": "no"}})
    );
    assert_eq!(failure.upstream().unwrap().code.as_deref(), Some("NOPE"));
}

#[tokio::test]
async fn a_304_is_reported_as_not_modified() {
    let spec = declaring(OperationType::Query, &[]);
    let failure = failing(spec, "304 Same", "", json!({})).await;
    let message = failure.message();
    assert!(message.contains("HTTP 304 (not modified)"), "{message}");
}

#[tokio::test]
async fn a_timeout_message_states_the_configured_timeout() {
    let (url, _) = server(vec![(String::new(), Then::Hangs)]).await;
    let mut spec = spec(OperationType::Mutation);
    spec.timeout_ms = Some(300);
    let failure = call_spec(&url, &[], spec, json!({})).await.unwrap_err();
    let messages = failure.causes().iter().map(|it| it.message.as_str());
    let messages = messages
        .chain([failure.message()])
        .collect::<Vec<_>>()
        .join("; ");
    assert!(
        messages.contains("did not answer within 300 ms"),
        "{messages}"
    );
}
