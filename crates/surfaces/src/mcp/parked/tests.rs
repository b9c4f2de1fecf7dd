//! Calls that wait: for whom, how long, and how many.

use panpan_runtime::{AskPerson, Question, Wanted};
use rmcp::model::{CallToolResult, ServerResult};
use serde_json::{Value, json};

use super::*;
use crate::caller::Principal;
use crate::mcp::call::Stops;
use crate::mcp::questions::{Abilities, Questions};

fn made(caller: &str) -> Made {
    Made {
        principal: Principal::Known(caller.into()),
        method: None,
        operation: "test/ask".to_owned(),
        input: Arc::new(json!({"a": 1})),
    }
}

/// A call that asks once, and says then what it was told.
fn asking(caller: &str) -> Served {
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let questions = Arc::new(Questions::new(Abilities::of(&client).unwrap()));
    let person = questions.clone();
    let work = async move {
        let schema = json!({"type": "object", "properties": {}});
        let said = person.ask(Question {
            name: None,
            message: "Sure?".to_owned(),
            wanted: Wanted::Values { schema },
        });
        let said = CallToolResult::structured(json!({"said": format!("{:?}", said.await)}));
        Ok(ServerResult::CallToolResult(said))
    };
    Served::over(Box::pin(work), questions, made(caller), Stops::new())
}

/// The state a call is parked under, or what it said without being parked.
async fn parked(calls: &Arc<ParkedCalls>, served: Served) -> Result<String, Value> {
    match served.until_asked(calls).await.unwrap() {
        ServerResult::InputRequiredResult(asked) => Ok(asked.request_state.unwrap()),
        ServerResult::CallToolResult(said) => Err(said.structured_content.unwrap()),
        other => panic!("{other:?}"),
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

fn resumed(calls: &ParkedCalls, made: &Made, back: &Return) -> Served {
    match calls.resume(made, back).unwrap() {
        Resumed::On(served) => *served,
        Resumed::Asked(asked) => panic!("{asked:?}"),
    }
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
    let other_method = Made {
        method: Some("prompts/get"),
        ..ann.clone()
    };
    let unknown = "/requestState";
    let unfit = "/inputResponses/question_1";
    let content = "/inputResponses/question_1/content";
    let said = |content| json!({"question_1": {"action": "accept", "content": content}});
    for (made, back, expected) in [
        (&ann, back("00", accepted()), unknown),
        (&ann, back("", accepted()), unknown),
        (&made("bob"), back(&state, accepted()), unknown),
        (&other_input, back(&state, accepted()), unknown),
        (&other_operation, back(&state, accepted()), unknown),
        (&other_method, back(&state, accepted()), unknown),
        (
            &ann,
            back(&state, json!({"question_1": {"action": "perhaps"}})),
            unfit,
        ),
        (&ann, back(&state, said(json!([1]))), content),
        (&ann, back(&state, said(json!("Ada"))), content),
    ] {
        assert_eq!(refused(&calls, made, back), expected);
    }
    for replies in [json!({}), json!({"question_2": {"action": "decline"}})] {
        let asked = match calls.resume(&ann, &back(&state, replies)).unwrap() {
            Resumed::Asked(asked) => asked,
            Resumed::On(_) => panic!("a question has no reply yet"),
        };
        assert_eq!(asked.request_state.as_deref(), Some(&*state));
        assert!(asked.input_requests.unwrap().contains_key("question_1"));
    }
    let served = resumed(&calls, &ann, &back(&state, accepted()));
    let said = parked(&calls, served).await.unwrap_err();
    assert_eq!(said, json!({"said": "Ok(Accepted)"}));
    assert_eq!(refused(&calls, &ann, back(&state, accepted())), unknown);
    assert_eq!(calls.room.in_use(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_nobody_comes_back_to_is_stopped() {
    let calls = calls();
    let served = asking("ann");
    let stop = served.stops.all.clone();
    let state = parked(&calls, served).await.unwrap();
    let instant = Duration::from_millis(1);
    tokio::time::sleep(PARKED_FOR - instant).await;
    let back_without_reply = back(&state, json!({}));
    let waits = calls.resume(&made("ann"), &back_without_reply).unwrap();
    assert!(matches!(waits, Resumed::Asked(_)));
    assert!(!stop.is_cancelled());
    tokio::time::sleep(instant * 2).await;
    let place = refused(&calls, &made("ann"), back(&state, accepted()));
    assert_eq!(place, "/requestState");
    assert!(stop.is_cancelled());
    assert_eq!(calls.room.in_use(), 0);
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

#[tokio::test(start_paused = true)]
async fn a_call_with_several_questions_goes_on_when_each_has_a_reply() {
    let calls = calls();
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let questions = Arc::new(Questions::new(Abilities::of(&client).unwrap()));
    let person = questions.clone();
    let work = async move {
        let ask = |name: &str| {
            let schema = json!({"type": "object", "properties": {}});
            person.ask(Question {
                name: Some(name.to_owned()),
                message: "Sure?".to_owned(),
                wanted: Wanted::Values { schema },
            })
        };
        let (one, two) = tokio::join!(ask("one"), ask("two"));
        let said = CallToolResult::structured(json!({"said": format!("{one:?} {two:?}")}));
        Ok(ServerResult::CallToolResult(said))
    };
    let served = Served::over(Box::pin(work), questions, made("ann"), Stops::new());
    let state = parked(&calls, served).await.unwrap();
    let ann = made("ann");
    let reply = |name: &str, action: &str| back(&state, json!({name: {"action": action}}));
    let Resumed::Asked(asked) = calls.resume(&ann, &reply("one", "decline")).unwrap() else {
        panic!("a question has no reply yet");
    };
    let left: Vec<String> = asked.input_requests.unwrap().into_keys().collect();
    assert_eq!(left, ["two"]);
    let served = resumed(&calls, &ann, &reply("two", "cancel"));
    let said = parked(&calls, served).await.unwrap_err();
    assert_eq!(said, json!({"said": "Ok(Declined) Ok(Cancelled)"}));
}

#[tokio::test]
async fn replies_that_came_with_a_request_answer_the_questions_of_their_names() {
    let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let client = Abilities::of(&client).unwrap();
    let given = json!({
        "known": {"action": "decline"},
        "unfit": {"action": "perhaps"},
        "never asked": {"action": "accept"},
    });
    let questions = Questions::by_answer(client, given.as_object().unwrap().clone());
    let ask = |name: Option<&str>| {
        let schema = json!({"type": "object", "properties": {}});
        questions.ask(Question {
            name: name.map(str::to_owned),
            message: "Sure?".to_owned(),
            wanted: Wanted::Values { schema },
        })
    };
    use futures_util::FutureExt as _;
    assert_eq!(
        ask(Some("known")).now_or_never(),
        Some(Ok(panpan_runtime::Reply::Declined))
    );
    // Once, and only where it fits.
    for name in [Some("known"), Some("unfit"), Some("other"), None] {
        assert_eq!(ask(name).now_or_never(), None, "{name:?}");
    }
}
