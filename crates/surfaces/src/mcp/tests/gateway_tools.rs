//! The four gateway tools that replace one tool per operation.

use futures_util::stream::{Empty, empty};
use panpan_contract::operation::KeyRule;
use panpan_runtime::Registration;

use super::http_client::{HttpClient, SCOPE};
use super::support::gateway_within;
use super::*;
use crate::limits::Limits;
use crate::mcp::{HttpSettings, TOOLS_LIMIT};

/// `count` operations in `many`, and some that are restricted, internal or streaming.
fn operations(count: usize) -> Builder {
    let mut restricted = query("deep/audit");
    restricted.access_control.required_scopes = vec!["audit".to_owned()];
    let mut internal = query("deep/internal");
    internal.visibility = Visibility::Internal;
    let builder = Registry::builder()
        .register(restricted, echo)
        .register(internal, echo)
        .add(Registration::streaming(stream("deep/watch"), nothing));
    (0..count).fold(builder, |builder, number| {
        let spec = if number == 0 {
            mutation("many/put")
        } else {
            query(&format!("many/op{number}"))
        };
        builder.register(spec, echo)
    })
}

fn nothing(_: Context, _: Arc<Value>) -> Empty<Result<Value, Failure>> {
    empty()
}

fn stream(name: &str) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), OperationType::Subscription)
}

async fn http(count: usize, form: ToolForm) -> HttpClient {
    let settings = HttpSettings {
        form,
        ..HttpSettings::default()
    };
    HttpClient::to(gateway(operations(count)), settings).await
}

async fn listed(http: &HttpClient) -> Vec<String> {
    let list = http.modern("tools/list", json!({})).await.message().await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|it| it["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// The result of a tool, the same in both versions.
async fn called(http: &HttpClient, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = http.modern("tools/call", params).await.message().await;
    answer["result"].clone()
}

fn code(result: &Value) -> &Value {
    assert_eq!(result["isError"], json!(true), "{result}");
    &result["_meta"]["dev.panpan/failure"]["code"]
}

const FOUR: [&str; 4] = ["search", "schema", "call", "batch"];

#[tokio::test]
async fn above_the_limit_the_gateway_tools_replace_all_others() {
    for (count, form, is_four) in [
        (TOOLS_LIMIT, ToolForm::Auto, false),
        (TOOLS_LIMIT + 1, ToolForm::Auto, true),
        (TOOLS_LIMIT + 1, ToolForm::Each, false),
        (2, ToolForm::Search, true),
    ] {
        let names = listed(&http(count, form).await).await;
        assert_eq!(names == FOUR, is_four, "{count} {form:?}");
        if !is_four {
            assert_eq!(names.len(), count);
        }
    }
}

#[tokio::test]
async fn the_tool_form_depends_on_what_the_caller_may_call() {
    let http = http(TOOLS_LIMIT, ToolForm::Auto).await;
    assert_eq!(listed(&http).await.len(), TOOLS_LIMIT);
    let auditor = http.by("ann").with(SCOPE, "audit");
    assert_eq!(listed(&auditor).await, FOUR);
}

#[tokio::test]
async fn search_finds_what_the_caller_may_call_and_no_subscriptions() {
    let http = http(3, ToolForm::Search).await;
    let found = async |http: &HttpClient, arguments| {
        let result = called(http, "search", arguments).await;
        let found = result["structuredContent"].clone();
        let names = found["operations"].as_array().unwrap();
        let names = names
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), found["next"].clone())
    };
    let all = ["many/op1", "many/op2", "many/put"];
    assert_eq!(found(&http, json!({})).await.0, all);
    let auditor = http.by("ann").with(SCOPE, "audit");
    let deep = found(&auditor, json!({"query": "deep"})).await.0;
    assert_eq!(deep, ["deep/audit"]);
    let (first, next) = found(&http, json!({"limit": 2})).await;
    let (rest, end) = found(&http, json!({"limit": 2, "after": next})).await;
    assert_eq!([first, rest].concat(), all);
    assert_eq!(end, Value::Null);
}

#[tokio::test]
async fn schema_returns_the_contract_of_what_the_caller_may_call() {
    let http = http(1, ToolForm::Search).await;
    let result = called(&http, "schema", json!({"name": "/many/put"})).await;
    let contract = &result["structuredContent"];
    assert_eq!(
        (&contract["name"], &contract["op_type"]),
        (&json!("many/put"), &json!("mutation"))
    );
    for name in ["deep/internal", "deep/audit", "deep/nothing"] {
        let result = called(&http, "schema", json!({"name": name})).await;
        assert_eq!(code(&result), &json!("NOT_FOUND"), "{name}");
        let text = result.to_string().replace(name, "");
        assert!(!text.contains("deep/"), "{text}");
    }
}

#[tokio::test]
async fn call_behaves_like_a_direct_call() {
    let http = http(2, ToolForm::Search).await;
    let call = async |arguments| called(&http, "call", arguments).await;
    let result = call(json!({"operation": "many/op1", "input": {"a": 1}})).await;
    assert_eq!(result["structuredContent"], json!({"a": 1}));
    let keyed = json!({"operation": "many/put", "idempotency_key": "k"});
    for replayed in [false, true] {
        let result = call(keyed.clone()).await;
        let idempotency = &result["_meta"]["dev.panpan/idempotency"];
        assert_eq!(idempotency["replayed"], json!(replayed), "{result}");
    }
    for (operation, expected) in [
        ("deep/audit", "FORBIDDEN"),
        ("deep/internal", "NOT_FOUND"),
        ("deep/watch", "INVALID_OPERATION_TYPE"),
        ("nowhere/at_all", "NOT_FOUND"),
    ] {
        let result = call(json!({"operation": operation})).await;
        assert_eq!(code(&result), &json!(expected), "{operation}");
    }
}

#[tokio::test]
async fn a_required_key_is_not_generated() {
    let mut strict = mutation("test/strict");
    strict.idempotency.key = KeyRule::Required;
    let builder = || {
        let strict = Registration::new(strict.clone(), echo).options_in_input();
        Registry::builder().add(strict)
    };
    let each = HttpClient::to(gateway(builder()), HttpSettings::default()).await;
    let settings = HttpSettings {
        form: ToolForm::Search,
        ..HttpSettings::default()
    };
    let four = HttpClient::to(gateway(builder()), settings).await;
    let within = |input: Value| json!({"operation": "test/strict", "input": input});
    let missing = json!("ERR_MISSING_IDEMPOTENCY_KEY");
    for answer in each.call_both("test__strict", json!({})).await {
        assert_eq!(code(&answer["result"]), &missing);
    }
    let result = called(&four, "call", within(json!({}))).await;
    assert_eq!(code(&result), &missing);
    let keyed = json!({"idempotency_key": "k"});
    for answer in each.call_both("test__strict", keyed.clone()).await {
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    let result = called(&four, "call", within(keyed)).await;
    assert_eq!(result["isError"], json!(false), "{result}");
}

#[tokio::test]
async fn a_failure_of_call_points_into_the_arguments_of_the_caller() {
    let mut refused = query("test/refused");
    refused.input_schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": false,
    });
    let builder = || Registry::builder().register(refused.clone(), echo);
    let shown_error = |error: &Value| {
        let pointers = error["violations"].as_array().unwrap().iter();
        let pointers: Vec<_> = pointers.map(|it| it["pointer"].clone()).collect();
        (json!(pointers), error["actions"].clone())
    };
    let within = |input: Value| json!({"operation": "test/refused", "input": input});
    let each = HttpClient::to(gateway(builder()), HttpSettings::default()).await;
    let settings = HttpSettings {
        form: ToolForm::Search,
        ..HttpSettings::default()
    };
    let four = HttpClient::to(gateway(builder()), settings).await;
    for (input, pointer, action, within_pointer, within_action) in [
        (
            json!({}),
            "/a",
            "Add a, then call again",
            "/input/a",
            "Add input/a, then call again",
        ),
        (
            json!({"a": "x"}),
            "/a",
            "a must be an integer. Correct a, then call again",
            "/input/a",
            "input/a must be an integer. Correct input/a, then call again",
        ),
        (
            json!({"a": 1, "idempotency_key": "k"}),
            "/idempotency_key",
            "Leave out idempotency_key, then call again",
            "/input/idempotency_key",
            "Write idempotency_key next to input, not inside it, then call again",
        ),
    ] {
        let as_tool = called(&each, "test__refused", input.clone()).await;
        let shown = (json!([pointer]), json!([action]));
        assert_eq!(shown_error(&view(&as_tool)), shown);
        let shown = (json!([within_pointer]), json!([within_action]));
        let as_call = called(&four, "call", within(input.clone())).await;
        assert_eq!(shown_error(&view(&as_call)), shown);
        let calls = json!({"calls": [within(input)]});
        let as_batch = called(&four, "batch", calls).await;
        let results = &as_batch["structuredContent"]["results"];
        assert_eq!(shown_error(&results[0]["error"]), shown);
    }
}

#[tokio::test]
async fn an_invalid_key_is_reported_at_its_argument() {
    let http = http(1, ToolForm::Search).await;
    let arguments = json!({"operation": "many/put", "input": {}, "idempotency_key": "a b"});
    let error = view(&called(&http, "call", arguments).await);
    assert_eq!(error["violations"][0]["pointer"], "/idempotency_key");
    let action = error["actions"][0].as_str().unwrap();
    assert!(action.starts_with("idempotency_key must be"), "{action}");
    assert!(
        action.ends_with("Correct idempotency_key, then call again"),
        "{action}"
    );
}

/// The error in the first text block.
fn view(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["error"].take()
}

#[tokio::test]
async fn batch_returns_results_in_the_order_of_its_calls() {
    let http = http(2, ToolForm::Search).await;
    let calls = json!([
        {"operation": "many/op1", "input": {"a": 1}},
        {"operation": "deep/internal"},
        {"operation": "many/put", "idempotency_key": "k"},
        {"operation": "many/put", "idempotency_key": ""},
        {"operation": "many/op1", "input": {"a": 2}},
    ]);
    let result = called(&http, "batch", json!({"calls": calls})).await;
    let results = &result["structuredContent"]["results"];
    assert_eq!(results[0], json!({"result": "ok", "output": {"a": 1}}));
    assert_eq!(results[1]["error"]["code"], json!("NOT_FOUND"));
    assert_eq!(results[2]["idempotency"]["key"], json!("k"));
    assert_eq!(results[3]["error"]["code"], json!("INVALID_INPUT"));
    assert_eq!(results[4]["output"], json!({"a": 2}));
}

#[tokio::test]
async fn a_batch_does_not_exceed_the_concurrency_limit_of_its_caller() {
    let slow = |_: Context, input: Arc<Value>| async move {
        tokio::task::yield_now().await;
        Ok::<_, Failure>(Value::clone(&input))
    };
    let limits = Limits {
        calls_in_flight_per_caller: 1,
        ..Limits::default()
    };
    let operations = Registry::builder().register(query("many/slow"), slow);
    let settings = HttpSettings {
        form: ToolForm::Search,
        ..HttpSettings::default()
    };
    let http = HttpClient::to(gateway_within(limits, operations), settings).await;
    let calls = vec![json!({"operation": "many/slow"}); 3];
    let result = called(&http, "batch", json!({"calls": calls})).await;
    let results = &result["structuredContent"]["results"];
    assert_eq!(
        results,
        &Value::from(vec![json!({"result": "ok", "output": {}}); 3])
    );
}

#[tokio::test]
async fn the_number_of_calls_in_a_batch_is_limited() {
    let http = http(2, ToolForm::Search).await;
    let limit = Limits::default().batch;
    let of = |count| vec![json!({"operation": "many/op1"}); count];
    for (count, taken) in [(0, false), (1, true), (limit, true), (limit + 1, false)] {
        let result = called(&http, "batch", json!({"calls": of(count)})).await;
        assert_eq!(result["isError"], json!(!taken), "{count}");
    }
}

#[tokio::test]
async fn invalid_arguments_of_the_gateway_tools_are_refused() {
    let http = http(1, ToolForm::Search).await;
    for (tool, arguments, pointer) in [
        ("search", json!({"query": 7}), "/query"),
        ("search", json!({"limit": 0}), "/limit"),
        ("search", json!({"after": "nonsense"}), "/after"),
        ("search", json!({"words": "a"}), "/words"),
        ("schema", json!({}), "/name"),
        ("call", json!({"input": {}}), "/operation"),
        (
            "call",
            json!({"operation": "many/put", "timeout_ms": -1}),
            "/timeout_ms",
        ),
        (
            "call",
            json!({"operation": "many/put", "idempotency_key": 7}),
            "/idempotency_key",
        ),
        ("batch", json!({"calls": {}}), "/calls"),
        (
            "batch",
            json!({"calls": [{"operation": "many/put"}, 7]}),
            "/calls/1",
        ),
    ] {
        let result = called(&http, tool, arguments.clone()).await;
        assert_eq!(code(&result), &json!("INVALID_INPUT"), "{tool} {arguments}");
        let violations = &result["_meta"]["dev.panpan/failure"]["violations"];
        assert_eq!(
            violations[0]["pointer"],
            json!(pointer),
            "{tool} {arguments}"
        );
    }
}

#[tokio::test]
async fn the_list_follows_the_registry() {
    let gateway = gateway(operations(1));
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    assert_eq!(listed(&http).await, ["many__put"]);
    gateway.dispatcher().replace(operations(2).build().unwrap());
    assert_eq!(listed(&http).await, ["many__op1", "many__put"]);
    let result = called(&http, "many__op1", json!({"a": 1})).await;
    assert_eq!(result["structuredContent"], json!({"a": 1}));
}
