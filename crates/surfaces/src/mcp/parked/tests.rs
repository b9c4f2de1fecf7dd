//! Who may resume a parked call, for how long it stays parked, and how many there may be.

use panpan_mcp::input::UsableCapabilities;
use panpan_runtime::{AskClient, Question, QuestionKind};
use rmcp::model::{CallToolResult, ServerResult};
use serde_json::{Value, json};

use super::*;
use crate::caller::Principal;
use crate::mcp::call::CancelTokens;
use crate::mcp::input_requests::InputQueue;

fn identity(caller: &str) -> RequestIdentity {
    RequestIdentity {
        principal: Principal::Known(caller.into()),
        method: None,
        target: "test/ask".to_owned(),
        input: Arc::new(json!({"a": 1})),
    }
}

/// A call that requests input once and returns the reply.
fn eliciting(caller: &str) -> InteractiveRequest {
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let queue = Arc::new(InputQueue::new(UsableCapabilities::of(&client).unwrap()));
    let asks = queue.clone();
    let work = async move {
        let schema = json!({"type": "object", "properties": {}});
        let reply = asks.ask(Question {
            name: None,
            message: "Sure?".to_owned(),
            kind: QuestionKind::Form { schema },
        });
        let reply = CallToolResult::structured(json!({"reply": format!("{:?}", reply.await)}));
        Ok(ServerResult::CallToolResult(reply))
    };
    InteractiveRequest::from_work(Box::pin(work), queue, identity(caller), CancelTokens::new())
}

/// The state under which a call is parked, or its output if it is not parked.
async fn parked(calls: &Arc<ParkedCalls>, request: InteractiveRequest) -> Result<String, Value> {
    match request.run_until_input(calls).await.unwrap() {
        ServerResult::InputRequiredResult(required) => Ok(required.request_state.unwrap()),
        ServerResult::CallToolResult(reply) => Err(reply.structured_content.unwrap()),
        other => panic!("{other:?}"),
    }
}

fn resume(state: &str, replies: Value) -> ResumeInput {
    ResumeInput::new(Some(json!(state)), Some(replies)).unwrap()
}

fn accepted() -> Value {
    json!({"question_1": {"action": "accept", "content": {}}})
}

fn calls() -> Arc<ParkedCalls> {
    ParkedCalls::new(CancellationToken::new())
}

fn resumed(
    calls: &ParkedCalls,
    identity: &RequestIdentity,
    input: &ResumeInput,
) -> InteractiveRequest {
    match calls.resume(identity, input).unwrap() {
        Resumed::Running(request) => *request,
        Resumed::StillParked(required) => panic!("{required:?}"),
    }
}

/// The pointer of the violation that a request to resume is refused with.
fn refused(calls: &ParkedCalls, identity: &RequestIdentity, input: ResumeInput) -> String {
    let failure = calls.resume(identity, &input).unwrap_err().failure(false);
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    failure.violations()[0].pointer.clone()
}

#[tokio::test(start_paused = true)]
async fn a_call_is_resumed_once_by_its_caller_with_its_arguments() {
    let calls = calls();
    let state = parked(&calls, eliciting("ann")).await.unwrap();
    let ann = identity("ann");
    let other_input = RequestIdentity {
        input: Arc::new(json!({"a": 2})),
        ..ann.clone()
    };
    let other_operation = RequestIdentity {
        target: "test/other".to_owned(),
        ..ann.clone()
    };
    let other_method = RequestIdentity {
        method: Some("prompts/get"),
        ..ann.clone()
    };
    let unknown = "/requestState";
    let invalid = "/inputResponses/question_1";
    let content = "/inputResponses/question_1/content";
    let reply = |content| json!({"question_1": {"action": "accept", "content": content}});
    for (identity, resume, expected) in [
        (&ann, resume("00", accepted()), unknown),
        (&ann, resume("", accepted()), unknown),
        (&identity("bob"), resume(&state, accepted()), unknown),
        (&other_input, resume(&state, accepted()), unknown),
        (&other_operation, resume(&state, accepted()), unknown),
        (&other_method, resume(&state, accepted()), unknown),
        (
            &ann,
            resume(&state, json!({"question_1": {"action": "perhaps"}})),
            invalid,
        ),
        (&ann, resume(&state, reply(json!([1]))), content),
        (&ann, resume(&state, reply(json!("Ada"))), content),
    ] {
        assert_eq!(refused(&calls, identity, resume), expected);
    }
    for replies in [json!({}), json!({"question_2": {"action": "decline"}})] {
        let required = match calls.resume(&ann, &resume(&state, replies)).unwrap() {
            Resumed::StillParked(required) => required,
            Resumed::Running(_) => panic!("a question has no reply yet"),
        };
        assert_eq!(required.request_state.as_deref(), Some(&*state));
        assert!(required.input_requests.unwrap().contains_key("question_1"));
    }
    let request = resumed(&calls, &ann, &resume(&state, accepted()));
    let reply = parked(&calls, request).await.unwrap_err();
    assert_eq!(reply, json!({"reply": "Ok(Accepted)"}));
    assert_eq!(refused(&calls, &ann, resume(&state, accepted())), unknown);
    assert_eq!(calls.room.in_use(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_resumed_is_cancelled() {
    let calls = calls();
    let request = eliciting("ann");
    let cancelled = request.cancel.all.clone();
    let state = parked(&calls, request).await.unwrap();
    let instant = Duration::from_millis(1);
    tokio::time::sleep(PARKED_FOR - instant).await;
    let without_reply = resume(&state, json!({}));
    let waits = calls.resume(&identity("ann"), &without_reply).unwrap();
    assert!(matches!(waits, Resumed::StillParked(_)));
    assert!(!cancelled.is_cancelled());
    tokio::time::sleep(instant * 2).await;
    let pointer = refused(&calls, &identity("ann"), resume(&state, accepted()));
    assert_eq!(pointer, "/requestState");
    assert!(cancelled.is_cancelled());
    assert_eq!(calls.room.in_use(), 0);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limit_calls_continue_without_input() {
    let full = json!({"reply": "Err(TooManyOpen)"});
    let own = calls();
    for _ in 0..PARKED_PER_CALLER_LIMIT {
        parked(&own, eliciting("ann")).await.unwrap();
    }
    assert_eq!(parked(&own, eliciting("ann")).await, Err(full.clone()));
    parked(&own, eliciting("bob")).await.unwrap();
    let all = calls();
    for number in 0..PARKED_LIMIT {
        parked(&all, eliciting(&number.to_string())).await.unwrap();
    }
    assert_eq!(parked(&all, eliciting("ann")).await, Err(full));
}

#[tokio::test]
async fn a_stopping_server_cancels_parked_calls() {
    let calls = calls();
    let request = eliciting("ann");
    let cancelled = request.cancel.all.clone();
    parked(&calls, request).await.unwrap();
    calls.stopping.cancel();
    cancelled.cancelled().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_with_several_input_requests_continues_when_all_have_a_reply() {
    let calls = calls();
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let queue = Arc::new(InputQueue::new(UsableCapabilities::of(&client).unwrap()));
    let asks = queue.clone();
    let work = async move {
        let ask = |name: &str| {
            let schema = json!({"type": "object", "properties": {}});
            asks.ask(Question {
                name: Some(name.to_owned()),
                message: "Sure?".to_owned(),
                kind: QuestionKind::Form { schema },
            })
        };
        let (one, two) = tokio::join!(ask("one"), ask("two"));
        let reply = CallToolResult::structured(json!({"reply": format!("{one:?} {two:?}")}));
        Ok(ServerResult::CallToolResult(reply))
    };
    let request =
        InteractiveRequest::from_work(Box::pin(work), queue, identity("ann"), CancelTokens::new());
    let state = parked(&calls, request).await.unwrap();
    let ann = identity("ann");
    let reply = |name: &str, action: &str| resume(&state, json!({name: {"action": action}}));
    let Resumed::StillParked(required) = calls.resume(&ann, &reply("one", "decline")).unwrap()
    else {
        panic!("a question has no reply yet");
    };
    let left: Vec<String> = required.input_requests.unwrap().into_keys().collect();
    assert_eq!(left, ["two"]);
    let request = resumed(&calls, &ann, &reply("two", "cancel"));
    let reply = parked(&calls, request).await.unwrap_err();
    assert_eq!(reply, json!({"reply": "Ok(Declined) Ok(Cancelled)"}));
}

#[tokio::test]
async fn responses_sent_in_advance_answer_the_input_requests_of_their_names() {
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let client = UsableCapabilities::of(&client).unwrap();
    let responses = json!({
        "known": {"action": "decline"},
        "unfit": {"action": "perhaps"},
        "never requested": {"action": "accept"},
    });
    let queue = InputQueue::stateless(client, responses.as_object().unwrap().clone());
    let ask = |name: Option<&str>| {
        let schema = json!({"type": "object", "properties": {}});
        queue.ask(Question {
            name: name.map(str::to_owned),
            message: "Sure?".to_owned(),
            kind: QuestionKind::Form { schema },
        })
    };
    use futures_util::FutureExt as _;
    assert_eq!(
        ask(Some("known")).now_or_never(),
        Some(Ok(panpan_runtime::QuestionReply::Declined))
    );
    // Each response is used once, and only if it is valid.
    for name in [Some("known"), Some("unfit"), Some("other"), None] {
        assert_eq!(ask(name).now_or_never(), None, "{name:?}");
    }
}
