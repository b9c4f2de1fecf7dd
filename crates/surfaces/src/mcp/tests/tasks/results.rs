//! The result of a task is that of the direct call, with everything that a server returned beside it.

use super::stateless::{called, created, reached};
use super::*;

const IMAGE: &str = "aGk=";

fn blocks() -> Value {
    json!([
        {"type": "text", "text": "two"},
        {"type": "image", "data": IMAGE, "mimeType": "image/png"},
    ])
}

async fn with_content(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    context.set_extra(Some(
        json!({"content": blocks(), "_meta": {"example.com/a": "b\nc"}}),
    ));
    Ok(json!({"result": [1]}))
}

async fn failing_with_content(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    context.set_extra(Some(
        json!({"content": blocks(), "structuredContent": {"step": 2}}),
    ));
    Err(Failure::new(codes::TOOL_FAILED).with_message("it failed"))
}

async fn list(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
    Ok(json!([1, 2]))
}

async fn needs_url(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let elicitation = json!({"url": "https://example.com/login", "elicitationId": "e"});
    let data = json!({"elicitations": [elicitation]});
    context.set_extra(Some(json!({"error": {"code": -32042, "data": data}})));
    Err(Failure::new(codes::TOOL_FAILED).with_message("log in first"))
}

async fn needs_capability(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let data = json!({"requiredCapabilities": {"sampling": {}}});
    context.set_extra(Some(json!({"error": {"code": -32021, "data": data}})));
    Err(Failure::new(codes::TOOL_FAILED).with_message("sampling is missing"))
}

async fn client() -> HttpClient {
    let mut listing = query("shop/list");
    listing.output_schema = json!({"$ref": "#/$defs/all", "$defs": {"all": {"type": "array"}}});
    let operations = Registry::builder()
        .register(query("shop/show"), with_content)
        .register(query("shop/break"), failing_with_content)
        .register(listing, list)
        .register(query("shop/all"), list)
        .register(query("shop/login"), needs_url)
        .register(query("shop/sample"), needs_capability);
    HttpClient::to(with_tasks(operations), HttpSettings::default()).await
}

/// The result without what differs between two calls.
fn comparable(mut result: Value) -> Value {
    if result["isError"] == true {
        result["content"][0]["text"] = agent_view(&result);
        for member in ["id", "at"] {
            result["_meta"]["dev.panpan/failure"][member] = json!(null);
        }
    }
    result
}

#[tokio::test]
async fn everything_beside_the_output_or_the_failure_is_kept() {
    let http = client().await;
    for (tool, expected) in [
        ("shop__show", json!("b\nc")),
        ("shop__break", json!(null)),
        ("shop__list", json!(null)),
        ("shop__all", json!(null)),
    ] {
        let direct = called(&http, tool, json!({}), json!({})).await["result"].take();
        let id = created(&http, tool, json!({})).await;
        let kept = reached(&http, &id, "completed").await["result"].take();
        assert_eq!(kept["_meta"]["example.com/a"], expected, "{kept}");
        assert_eq!(comparable(kept), comparable(direct), "{tool}");
    }
}

#[tokio::test]
async fn errors_that_clients_act_on_keep_their_data() {
    let http = client().await;
    let id = created(&http, "shop__sample", json!({})).await;
    let task = reached(&http, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32021, "{task}");
    let data = &task["error"]["data"];
    assert_eq!(data["requiredCapabilities"], json!({"sampling": {}}));
    let session = http.session_with(json!({"elicitation": {"url": {}}})).await;
    let id = session::created(&session, "shop__login", json!({})).await;
    let result = session::about(&session, "tasks/result", &id).await;
    assert_eq!(result["error"]["code"], -32042, "{result}");
    let elicitation = &result["error"]["data"]["elicitations"][0];
    assert_eq!(elicitation["url"], "https://example.com/login");
}
