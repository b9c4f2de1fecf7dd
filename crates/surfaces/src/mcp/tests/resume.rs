//! Requests that resume a parked call, and requests that fail to.

use tokio::sync::mpsc;

use super::elicitation::{elicit, is_refused, modern};
use super::http_client::{HttpClient, request};
use super::*;
use crate::mcp::HttpSettings;
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, IDEMPOTENCY_RESULT_META_KEY};

#[tokio::test]
async fn a_request_with_a_state_resumes_its_call_or_is_refused() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let counted = move |context: Context, input: Arc<Value>| {
        began.send(()).unwrap();
        elicit(context, input)
    };
    let builder = || Registry::builder().register(mutation("test/book"), counted.clone());
    let (state, replies) = ("/requestState", "/inputResponses");
    let each = HttpClient::to(gateway(builder()), HttpSettings::default()).await;
    let first = json!({"name": "test__book", "arguments": {}});
    let session = each.session_with(json!({"elicitation": {}})).await;
    let required = modern(&each, first.clone(), json!({})).await;
    let known = &required["requestState"];
    for (resume, pointer) in [
        (
            json!({"requestState": known, "inputResponses": []}),
            replies,
        ),
        (
            json!({"requestState": known, "inputResponses": "x"}),
            replies,
        ),
        (
            json!({"requestState": [known], "inputResponses": {}}),
            state,
        ),
        (json!({"requestState": "", "inputResponses": {}}), state),
    ] {
        let mut params = first.clone();
        params
            .as_object_mut()
            .unwrap()
            .extend(resume.as_object().unwrap().clone());
        let refused = modern(&each, params.clone(), json!({})).await;
        assert_eq!(
            refused["data"]["errors"][0]["pointer"],
            json!(pointer),
            "{resume} {refused}"
        );
        // Calls in a session are never parked.
        let refused = session
            .post(&request("tools/call", params))
            .await
            .message()
            .await;
        assert_eq!(
            refused["error"]["data"]["errors"][0]["pointer"],
            json!(state),
            "{resume} {refused}"
        );
    }
    let with = |state: &Value, replies: Value| {
        let mut params = first.clone();
        params["requestState"] = state.clone();
        params["inputResponses"] = replies;
        params
    };
    // An input request without a response is repeated under the same state.
    for replies in [
        Value::Null,
        json!({}),
        json!({"other": {"action": "decline"}}),
    ] {
        let required = modern(&each, with(known, replies), json!({})).await;
        assert_eq!(required["requestState"], *known, "{required}");
    }
    // Without a state a new call starts, and requests the input that is missing.
    let unnamed = json!({"question_1": {"action": "decline"}});
    for replies in [Value::Null, json!({}), unnamed] {
        let required = modern(&each, with(&Value::Null, replies), json!({})).await;
        assert_eq!(
            required["resultType"],
            json!("input_required"),
            "{required}"
        );
        assert_ne!(required["requestState"], *known, "{required}");
    }
    let unreadable = modern(&each, with(&Value::Null, json!([])), json!({})).await;
    assert_eq!(
        unreadable["data"]["errors"][0]["pointer"],
        json!(replies),
        "{unreadable}"
    );
    let settings = HttpSettings {
        form: ToolForm::Search,
        ..HttpSettings::default()
    };
    let four = HttpClient::to(gateway(builder()), settings).await;
    let calls = json!({"calls": [{"operation": "test/book"}]});
    let batch = json!({"name": "batch", "arguments": calls, "requestState": "s"});
    let refused = modern(&four, batch, json!({})).await;
    assert!(is_refused(&refused), "{refused}");
    begins.close();
    assert_eq!(begins.len(), 4);
}

#[tokio::test]
async fn a_client_that_lost_the_response_fetches_the_outcome_by_key() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let counted = move |context: Context, input: Arc<Value>| {
        began.send(()).unwrap();
        elicit(context, input)
    };
    let builder = Registry::builder()
        .register(query("test/ask"), counted.clone())
        .register(mutation("test/book"), counted);
    let http = HttpClient::to(gateway(builder), HttpSettings::default()).await;
    for (tool, effect, starts_again) in [
        ("test__ask", json!("none"), true),
        ("test__book", json!("unknown"), false),
    ] {
        let first = json!({"name": tool, "arguments": {}});
        let required = modern(&http, first.clone(), json!({})).await;
        let key = &required["_meta"][IDEMPOTENCY_RESULT_META_KEY]["key"];
        assert_eq!(key.is_string(), !starts_again, "{required}");
        let mut resume = first.clone();
        resume["requestState"] = required["requestState"].clone();
        let reply = json!({"action": "accept", "content": {"name": "Ada"}});
        resume["inputResponses"] = json!({"question_1": reply});
        let answer = modern(&http, resume.clone(), json!({})).await;
        let refused = modern(&http, resume, json!({})).await;
        assert!(is_refused(&refused), "{refused}");
        assert_eq!(refused["data"]["panpan"]["effect"], effect, "{refused}");
        let advised = refused.to_string().contains("Call the tool again");
        assert_eq!(advised, starts_again, "{refused}");
        if !starts_again {
            assert!(refused.to_string().contains(IDEMPOTENCY_RESULT_META_KEY));
            let again = modern(&http, first, json!({IDEMPOTENCY_META_KEY: key})).await;
            assert_eq!(again["structuredContent"], answer["structuredContent"]);
            let idempotency = &again["_meta"][IDEMPOTENCY_RESULT_META_KEY];
            assert_eq!(
                (&idempotency["key"], &idempotency["replayed"]),
                (key, &json!(true))
            );
        }
    }
    begins.close();
    assert_eq!(begins.len(), 2);
}
