//! Calls that wait: for whom, how long, and how many.

use panpan_runtime::{AskPerson, Question, Wanted};
use rmcp::model::{CallToolResponse, CallToolResult};
use serde_json::{Value, json};

use super::*;
use crate::caller::Principal;
use crate::mcp::call::Stops;
use crate::mcp::questions::{Questions, answerable};

fn made(caller: &str) -> Made {
    Made {
        principal: Principal::Known(caller.into()),
        operation: "test/ask".to_owned(),
        input: Arc::new(json!({"a": 1})),
    }
}

/// A call that asks once, and says then what it was told.
fn asking(caller: &str) -> Served {
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let questions = Arc::new(Questions::new(answerable(&client).unwrap()));
    let person = questions.clone();
    let work = async move {
        let schema = json!({"type": "object", "properties": {}});
        let said = person.ask(Question {
            name: None,
            message: "Sure?".to_owned(),
            wanted: Wanted::Values { schema },
        });
        CallToolResult::structured(json!({"said": format!("{:?}", said.await)}))
    };
    Served::over(Box::pin(work), questions, made(caller), Stops::new())
}

/// The state a call is parked under, or what it said without being parked.
async fn parked(calls: &Arc<ParkedCalls>, served: Served) -> Result<String, Value> {
    match served.until_asked(calls).await {
        CallToolResponse::InputRequired(asked) => Ok(asked.request_state.unwrap()),
        CallToolResponse::Complete(result) => Err(result.structured_content.unwrap()),
        CallToolResponse::Task(_) | _ => panic!("there are no tasks"),
    }
}

fn back(state: &str, replies: Value) -> Return {
    Return::of(Some(json!(state)), Some(replies)).unwrap()
}

fn accepted() -> Value {
    json!({"question_1": {"action": "accept", "content": {}}})
}

fn calls() -> Arc<ParkedCalls> {
    ParkedCalls::new(CancellationToken::new())
}

/// Where the violation is that a return is refused with.
fn refused(calls: &ParkedCalls, made: &Made, back: Return) -> String {
    let failure = calls.resume(made, &back).unwrap_err().failure(false);
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    failure.violations()[0].pointer.clone()
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_once_for_its_caller_and_its_arguments() {
    let calls = calls();
    let state = parked(&calls, asking("ann")).await.unwrap();
    let ann = made("ann");
    let other_input = Made {
        input: Arc::new(json!({"a": 2})),
        ..ann.clone()
    };
    let other_operation = Made {
        operation: "test/other".to_owned(),
        ..ann.clone()
    };
    let unknown = "/requestState";
    let missing = "/inputResponses/question_1";
    let content = "/inputResponses/question_1/content";
    let said = |content| json!({"question_1": {"action": "accept", "content": content}});
    for (made, back, expected) in [
        (&ann, back("00", accepted()), unknown),
        (&ann, back("", accepted()), unknown),
        (&made("bob"), back(&state, accepted()), unknown),
        (&other_input, back(&state, accepted()), unknown),
        (&other_operation, back(&state, accepted()), unknown),
        (&ann, back(&state, json!({})), missing),
        (
            &ann,
            back(&state, json!({"question_1": {"action": "perhaps"}})),
            missing,
        ),
        (&ann, back(&state, said(json!([1]))), content),
        (&ann, back(&state, said(json!("Ada"))), content),
    ] {
        assert_eq!(refused(&calls, made, back), expected);
    }
    let served = calls.resume(&ann, &back(&state, accepted())).unwrap();
    let said = parked(&calls, served).await.unwrap_err();
    assert_eq!(said, json!({"said": "Ok(Accepted)"}));
    assert_eq!(refused(&calls, &ann, back(&state, accepted())), unknown);
    assert_eq!(calls.room.occupied(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_nobody_comes_back_to_is_stopped() {
    let calls = calls();
    let served = asking("ann");
    let stop = served.stops.all.clone();
    let state = parked(&calls, served).await.unwrap();
    let instant = Duration::from_millis(1);
    tokio::time::sleep(PARKED_FOR - instant).await;
    let place = refused(&calls, &made("ann"), back(&state, json!({})));
    assert_eq!(place, "/inputResponses/question_1");
    assert!(!stop.is_cancelled());
    tokio::time::sleep(instant * 2).await;
    let place = refused(&calls, &made("ann"), back(&state, accepted()));
    assert_eq!(place, "/requestState");
    assert!(stop.is_cancelled());
    assert_eq!(calls.room.occupied(), 0);
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_wait_and_further_ones_go_on_without_a_reply() {
    let full = json!({"said": "Err(Full)"});
    let own = calls();
    for _ in 0..PARKED_PER_CALLER_LIMIT {
        parked(&own, asking("ann")).await.unwrap();
    }
    assert_eq!(parked(&own, asking("ann")).await, Err(full.clone()));
    parked(&own, asking("bob")).await.unwrap();
    let all = calls();
    for number in 0..PARKED_LIMIT {
        parked(&all, asking(&number.to_string())).await.unwrap();
    }
    assert_eq!(parked(&all, asking("ann")).await, Err(full));
}

#[tokio::test]
async fn nothing_waits_when_the_server_ends() {
    let calls = calls();
    let served = asking("ann");
    let stop = served.stops.all.clone();
    parked(&calls, served).await.unwrap();
    calls.stopping.cancel();
    stop.cancelled().await;
}
