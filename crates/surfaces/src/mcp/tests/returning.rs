//! Requests that come back to a call which waits for replies, and those that only seem to.

use tokio::sync::mpsc;

use super::asking::{ask, is_refused, modern};
use super::wire::{Wire, request};
use super::*;
use crate::mcp::{HttpSettings, IDEMPOTENCY_META_KEY, IDEMPOTENCY_RESULT_META_KEY};

#[tokio::test]
async fn whoever_says_to_come_back_goes_on_with_a_call_or_is_refused() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let counted = move |context: Context, input: Arc<Value>| {
        began.send(()).unwrap();
        ask(context, input)
    };
    let builder = || Registry::builder().register(mutation("test/book"), counted.clone());
    let (state, replies) = ("/requestState", "/inputResponses");
    let each = Wire::to(gateway(builder()), HttpSettings::default()).await;
    let first = json!({"name": "test__book", "arguments": {}});
    let session = each.session_with(json!({"elicitation": {}})).await;
    let asked = modern(&each, first.clone(), json!({})).await;
    let known = &asked["requestState"];
    for (back, place) in [
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
            .extend(back.as_object().unwrap().clone());
        let refused = modern(&each, params.clone(), json!({})).await;
        assert_eq!(
            refused["data"]["errors"][0]["pointer"],
            json!(place),
            "{back} {refused}"
        );
        // No call of a session ever waits.
        let refused = session
            .post(&request("tools/call", params))
            .await
            .message()
            .await;
        assert_eq!(
            refused["error"]["data"]["errors"][0]["pointer"],
            json!(state),
            "{back} {refused}"
        );
    }
    let with = |state: &Value, replies: Value| {
        let mut params = first.clone();
        params["requestState"] = state.clone();
        params["inputResponses"] = replies;
        params
    };
    // A question without a reply is asked again, by the same state.
    for replies in [
        Value::Null,
        json!({}),
        json!({"other": {"action": "decline"}}),
    ] {
        let asked = modern(&each, with(known, replies), json!({})).await;
        assert_eq!(asked["requestState"], *known, "{asked}");
    }
    // Without a state a call begins, and asks what it has no reply to.
    let unnamed = json!({"question_1": {"action": "decline"}});
    for replies in [Value::Null, json!({}), unnamed] {
        let asked = modern(&each, with(&Value::Null, replies), json!({})).await;
        assert_eq!(asked["resultType"], json!("input_required"), "{asked}");
        assert_ne!(asked["requestState"], *known, "{asked}");
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
    let four = Wire::to(gateway(builder()), settings).await;
    let calls = json!({"calls": [{"operation": "test/book"}]});
    let batch = json!({"name": "batch", "arguments": calls, "requestState": "s"});
    let refused = modern(&four, batch, json!({})).await;
    assert!(is_refused(&refused), "{refused}");
    begins.close();
    assert_eq!(begins.len(), 4);
}

#[tokio::test]
async fn whose_answer_was_lost_asks_for_the_outcome_and_does_nothing_twice() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let counted = move |context: Context, input: Arc<Value>| {
        began.send(()).unwrap();
        ask(context, input)
    };
    let builder = Registry::builder()
        .register(query("test/ask"), counted.clone())
        .register(mutation("test/book"), counted);
    let wire = Wire::to(gateway(builder), HttpSettings::default()).await;
    for (tool, effect, anew) in [
        ("test__ask", json!("none"), true),
        ("test__book", json!("unknown"), false),
    ] {
        let first = json!({"name": tool, "arguments": {}});
        let asked = modern(&wire, first.clone(), json!({})).await;
        let key = &asked["_meta"][IDEMPOTENCY_RESULT_META_KEY]["key"];
        assert_eq!(key.is_string(), !anew, "{asked}");
        let mut back = first.clone();
        back["requestState"] = asked["requestState"].clone();
        let reply = json!({"action": "accept", "content": {"name": "Ada"}});
        back["inputResponses"] = json!({"question_1": reply});
        let answer = modern(&wire, back.clone(), json!({})).await;
        let refused = modern(&wire, back, json!({})).await;
        assert!(is_refused(&refused), "{refused}");
        assert_eq!(refused["data"]["panpan"]["effect"], effect, "{refused}");
        assert_eq!(refused.to_string().contains("anew"), anew, "{refused}");
        if !anew {
            assert!(refused.to_string().contains(IDEMPOTENCY_RESULT_META_KEY));
            let again = modern(&wire, first, json!({IDEMPOTENCY_META_KEY: key})).await;
            assert_eq!(again["structuredContent"], answer["structuredContent"]);
            let told = &again["_meta"][IDEMPOTENCY_RESULT_META_KEY];
            assert_eq!((&told["key"], &told["replayed"]), (key, &json!(true)));
        }
    }
    begins.close();
    assert_eq!(begins.len(), 2);
}
