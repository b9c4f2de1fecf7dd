//! Questions a server asks while a tool is called, and who is asked them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use panpan_failure::{Effect, Redacted};
use panpan_runtime::{
    AskPerson, BoxFuture, CallRequest, Dispatcher, Identity, Question, Reply, Unasked, Wanted,
};
use panpan_upstream::mcp::{McpCaller, McpError, ROUNDS_LIMIT, UNREAD_ANSWERS_LIMIT};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fixture::{call, child, gateway, run};
use crate::web;

/// How often a server asks and answers at once: each time it may be too late to know whose question it was.
const ASKED_AND_LEFT: usize = 200;

/// A person who says one thing to everything, and remembers what they were asked.
#[derive(Debug)]
struct Person {
    /// Whether their client visits addresses by itself.
    visits: bool,
    declares: serde_json::Map<String, Value>,
    says: Result<Reply, Unasked>,
    asked: Mutex<Vec<Question>>,
    /// Waited for before they say anything.
    thinks: Option<Arc<Notify>>,
}

impl Person {
    fn saying(says: Result<Reply, Unasked>) -> Arc<Self> {
        Arc::new(Self::who(says))
    }

    fn who(says: Result<Reply, Unasked>) -> Self {
        Self {
            visits: false,
            declares: values(json!({})),
            says,
            asked: Mutex::default(),
            thinks: None,
        }
    }

    fn named(name: &str) -> Arc<Self> {
        Self::saying(Ok(Reply::Accepted(values(json!({"name": name})))))
    }
}

impl AskPerson for Person {
    fn declared(&self) -> Option<&serde_json::Map<String, Value>> {
        Some(&self.declares)
    }

    fn visits_when_refused(&self) -> bool {
        self.visits
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
        self.asked.lock().unwrap().push(question);
        Box::pin(async {
            if let Some(thinks) = &self.thinks {
                thinks.notified().await;
            }
            self.says.clone()
        })
    }
}

fn values(object: Value) -> serde_json::Map<String, Value> {
    object.as_object().unwrap().clone()
}

fn form() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"message": "Who are you?", "requestedSchema": schema})
}

fn visit() -> Value {
    json!({
        "mode": "url", "message": "Log in", "url": "https://login.test/?a=1", "elicitationId": "e-1",
    })
}

fn asking(input: Value, person: Option<Arc<Person>>) -> CallRequest {
    CallRequest {
        person: person.map(|it| it as Arc<dyn AskPerson>),
        ..CallRequest::from_wire("test/ask", input)
    }
}

async fn ask(
    gateway: &Dispatcher,
    input: Value,
    person: Option<Arc<Person>>,
) -> Result<Value, Redacted> {
    let answer = gateway.dispatch(asking(input, person)).await;
    let said = answer.into_value()?;
    Ok(serde_json::from_str(said.as_str().unwrap()).unwrap())
}

pub(crate) fn a_question_reaches_the_person_behind_the_call() {
    run(async {
        for way in ["well", "modern"] {
            let gateway = gateway(&child(way)).await;
            for (question, says, expected) in [
                (
                    form(),
                    Reply::Accepted(values(json!({"name": "Ada"}))),
                    json!({"action": "accept", "content": {"name": "Ada"}}),
                ),
                (form(), Reply::Declined, json!({"action": "decline"})),
                (form(), Reply::Cancelled, json!({"action": "cancel"})),
                (
                    visit(),
                    Reply::Accepted(values(json!({}))),
                    json!({"action": "accept"}),
                ),
            ] {
                let person = Person::saying(Ok(says));
                let input = json!({"question": question});
                let said = ask(&gateway, input, Some(person.clone())).await.unwrap();
                let said = said.pointer("/replies/it").unwrap_or(&said);
                assert_eq!(*said, expected, "{way}");
                let asked = person.asked.lock().unwrap().remove(0);
                assert_eq!(json!(asked.message), question["message"], "{way}");
                match asked.wanted {
                    Wanted::Values { schema } => assert_eq!(schema, question["requestedSchema"]),
                    Wanted::Visit { url, id } => {
                        assert_eq!((json!(url), "e-1"), (question["url"].clone(), id.as_str()));
                    }
                    Wanted::Sample { .. } | Wanted::Roots => panic!("nobody asks a client"),
                }
            }
        }
    });
}

pub(crate) fn what_could_not_be_asked_stands_in_the_failure() {
    run(async {
        for way in ["well", "modern"] {
            let gateway = gateway(&child(way)).await;
            for (person, why) in [
                (None, Unasked::Nobody),
                (Some(Person::saying(Err(Unasked::Kind))), Unasked::Kind),
                (
                    Some(Person::saying(Err(Unasked::Silence))),
                    Unasked::Silence,
                ),
            ] {
                let failure = ask(&gateway, json!({"question": form()}), person).await;
                let failure = failure.unwrap_err();
                assert_eq!(failure.code().as_str(), "TOOL_FAILED", "{way}");
                let said = json!({"message": "Who are you?", "unanswered": why.to_string()});
                assert_eq!(failure.details().unwrap()["question"], said, "{way}");
                assert!(failure.message().contains("Who are you?"), "{way}");
                let action = failure.recovery().required_actions.last().unwrap();
                assert_eq!(
                    action.contains("elicitation"),
                    why != Unasked::Silence,
                    "{way}"
                );
            }
        }
    });
}

pub(crate) fn a_client_is_asked_for_its_model_and_its_folders_under_the_names_of_the_server() {
    run(async {
        let gateway = gateway(&child("modern")).await;
        let sample =
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "a"}});
        for (method, result) in [
            ("roots/list", json!({"roots": [{"uri": "file:///notes"}]})),
            ("sampling/createMessage", sample),
        ] {
            let question = json!({"messages": [], "maxTokens": 1});
            let input = json!({"question": question, "method": method});
            let client = Person::saying(Ok(Reply::Result(result.clone())));
            let said = ask(&gateway, input.clone(), Some(client.clone())).await;
            assert_eq!(said.unwrap()["replies"]["it"], result, "{method}");
            let asked = client.asked.lock().unwrap().remove(0);
            assert_eq!(asked.name.as_deref(), Some("it"));
            if let Wanted::Sample { params } = asked.wanted {
                assert_eq!(params, question);
            }
            let failure = ask(&gateway, input, None).await.unwrap_err();
            assert_eq!(failure.code().as_str(), "TOOL_FAILED", "{method}");
        }
    });
}

pub(crate) fn a_server_asks_up_to_so_many_rounds() {
    run(async {
        let gateway = gateway(&child("modern")).await;
        for (rounds, is_answered) in [
            (0, true),
            (1, true),
            (ROUNDS_LIMIT - 1, true),
            (ROUNDS_LIMIT, false),
        ] {
            let person = Person::named("Ada");
            let input = json!({"question": form(), "rounds": rounds});
            let said = ask(&gateway, input, Some(person.clone())).await;
            assert_eq!(said.is_ok(), is_answered, "{rounds}");
            let asked = person.asked.lock().unwrap().len();
            assert_eq!(asked, rounds.min(ROUNDS_LIMIT - 1), "{rounds}");
        }
        // Whoever cannot be asked says so, so that the server may do without.
        let input = json!({"rounds": 0});
        let offered = ask(&gateway, input.clone(), None).await.unwrap();
        assert_eq!(offered["offered"], json!({}));
        let offered = ask(&gateway, input, Some(Person::named("Ada"))).await;
        let kinds = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        assert_eq!(offered.unwrap()["offered"], kinds);
    });
}

pub(crate) fn nobody_is_asked_a_question_of_another_call() {
    run(async {
        let gateway = gateway(&child("well")).await;
        let thinks = Arc::new(Notify::new());
        let first = Arc::new(Person {
            thinks: Some(thinks.clone()),
            ..Person::who(Ok(Reply::Declined))
        });
        let request = asking(json!({"question": form()}), Some(first.clone()));
        let calling = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.dispatch(request).await.into_value() }
        });
        while first.asked.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Two calls are under way, and nothing tells which of them asks.
        let second = Person::named("Bob");
        let input = json!({"question": form()});
        let failure = ask(&gateway, input.clone(), Some(second.clone())).await;
        let failure = failure.unwrap_err();
        assert!(
            failure.message().contains("nothing tells which"),
            "{failure:?}"
        );
        // Both may have asked, so neither is told what.
        let told = &failure.details().unwrap()["question"];
        assert_eq!(told.as_object().unwrap().len(), 1, "{told}");
        let why = told["unanswered"].as_str().unwrap();
        assert!(why.contains("nothing tells which"), "{told}");
        let action = failure.recovery().required_actions.last().unwrap();
        assert!(action.contains("no other call"), "{action}");
        thinks.notify_one();
        let said = calling.await.unwrap().unwrap();
        assert_eq!(said, json!({"action": "decline"}).to_string());
        assert_eq!(first.asked.lock().unwrap().len(), 1);
        assert_eq!(second.asked.lock().unwrap().len(), 0);
    });
}

pub(crate) fn one_that_was_given_up_may_still_ask_its_own_caller() {
    let identity = |id| Some(Arc::new(Identity::new(id)));
    run(async move {
        for (gave_up, calls, is_asked) in [
            (Some("ann"), Some("ann"), true),
            (Some("ann"), Some("bob"), false),
            (None, None, false),
        ] {
            let gateway = gateway(&child("well")).await;
            let impatient = CallRequest {
                timeout_ms: Some(100),
                caller: gave_up.and_then(identity),
                ..CallRequest::from_wire("test/hang", json!({}))
            };
            gateway.dispatch(impatient).await.outcome.unwrap_err();
            let person = Person::named("Ada");
            let request = CallRequest {
                caller: calls.and_then(identity),
                ..asking(json!({"question": form()}), Some(person.clone()))
            };
            let answered = gateway.dispatch(request).await.into_value();
            assert_eq!(answered.is_ok(), is_asked, "{gave_up:?} {calls:?}");
            assert_eq!(person.asked.lock().unwrap().len(), usize::from(is_asked));
            if let Err(failure) = answered {
                assert!(failure.message().contains("given up"), "{failure:?}");
                let action = failure.recovery().required_actions.last().unwrap();
                assert!(action.contains("given up"), "{action}");
            }
        }
    });
}

pub(crate) fn a_question_is_decided_before_the_answer_after_it() {
    run(async {
        let gateway = gateway(&child("well")).await;
        let waits = Person::named("Bob");
        let waiting = CallRequest {
            person: Some(waits.clone()),
            ..CallRequest::from_wire("test/hang", json!({}))
        };
        let hanging = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.dispatch(waiting).await }
        });
        for _ in 0..ASKED_AND_LEFT {
            let leaves = CallRequest::from_wire("test/ask_and_leave", json!({"question": form()}));
            gateway.dispatch(leaves).await.into_value().unwrap();
        }
        // What was read is answered in order.
        call(&gateway, "echo", json!({})).await.unwrap();
        hanging.abort();
        assert_eq!(waits.asked.lock().unwrap().len(), 0);
    });
}

pub(crate) fn the_stream_of_a_call_tells_whom_to_ask() {
    run(async {
        let (upstream, replies) = web::asking(form()).await;
        let gateway = gateway(&upstream).await;
        for name in ["Ada", "Bob"] {
            let request = CallRequest {
                person: Some(Person::named(name)),
                ..CallRequest::from_wire("test/change", json!({"who": name}))
            };
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.dispatch(request).await });
        }
        let mut replies = replies;
        let mut found = Vec::new();
        while found.len() < 2 {
            let reply: Value = replies.recv().await.unwrap();
            found.push((
                reply["id"].clone(),
                reply["result"]["content"]["name"].clone(),
            ));
        }
        found.sort_by_key(|(id, _)| id.to_string());
        let expected = ["Ada", "Bob"].map(|name| (json!(format!("for {name}")), json!(name)));
        assert_eq!(found, expected);
    });
}

pub(crate) fn a_server_does_not_choose_whom_it_asks() {
    run(async {
        let mut question = form();
        question["_meta"] = json!({"dev.panpan/call": 1});
        let (upstream, mut replies) = web::asking_aside(question).await;
        let gateway = gateway(&upstream).await;
        let people = ["Ada", "Bob"].map(Person::named);
        for person in people.clone() {
            let request = CallRequest {
                person: Some(person),
                ..CallRequest::from_wire("test/change", json!({}))
            };
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.dispatch(request).await });
        }
        let reply: Value = replies.recv().await.unwrap();
        let refused = reply["error"]["message"].as_str().unwrap();
        assert!(refused.contains("nothing tells which"), "{reply}");
        for person in people {
            assert_eq!(person.asked.lock().unwrap().len(), 0);
        }
    });
}

pub(crate) fn a_server_that_asks_reads_what_it_is_answered() {
    run(async {
        let gateway = gateway(&child("well")).await;
        for (questions, code) in [
            (UNREAD_ANSWERS_LIMIT, None),
            // Some of the answers fit into the pipe.
            (UNREAD_ANSWERS_LIMIT * 100, Some("ERR_OUTCOME_UNKNOWN")),
        ] {
            let input = json!({"questions": questions, "question": form()});
            let answered = call(&gateway, "pester", input).await;
            let failed = answered.as_ref().err().map(|it| it.code().as_str());
            assert_eq!(failed, code, "{questions}");
        }
        // It is started again.
        call(&gateway, "echo", json!({})).await.unwrap();
    });
}

pub(crate) fn a_question_before_a_prompt_or_a_resource_reaches_the_person_behind_the_request() {
    run(async {
        let upstream = child("modern");
        let person = Person::named("Ada");
        let caller = |person: Option<&Arc<Person>>| McpCaller {
            person: person.map(|it| it.clone() as Arc<dyn AskPerson>),
            ..McpCaller::default()
        };
        let replies = json!({"it": {"action": "accept", "content": {"name": "Ada"}}}).to_string();
        let asked = caller(Some(&person));
        let prompt = upstream
            .get_prompt(&asked, "greet", values(json!({})))
            .await;
        let prompt = prompt.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], json!(replies));
        let read = upstream.read_resource(&asked, "test://one").await.unwrap();
        assert_eq!(read["contents"][0]["text"], json!(replies));
        assert_eq!(person.asked.lock().unwrap().len(), 2);
        let nobody = caller(None);
        let unasked = upstream.get_prompt(&nobody, "greet", values(json!({})));
        let unasked = unasked.await.unwrap_err();
        assert!(matches!(unasked, McpError::Asks(_)), "{unasked:?}");
        let failure = upstream.failure(unasked, Timestamp::UNIX_EPOCH);
        assert_eq!(failure.code().as_str(), "TOOL_FAILED");
    });
}

pub(crate) fn an_address_that_has_to_be_visited_first_is_asked_for_or_told() {
    run(async {
        let (yes, no) = (Reply::Accepted(values(json!({}))), Reply::Declined);
        for (says, visits, is_asked, is_in) in [
            (Some(yes.clone()), false, true, true),
            (Some(no), false, true, false),
            (Some(yes), true, false, false),
            (None, false, false, false),
        ] {
            let gateway = gateway(&child("well")).await;
            let person = says.map(|says| {
                Arc::new(Person {
                    visits,
                    ..Person::who(Ok(says))
                })
            });
            let mut request = asking(json!({"visit": visit()}), person.clone());
            request.operation = "test/guarded".to_owned();
            let mut answer = gateway.dispatch(request).await;
            let asked = person.map_or(0, |it| it.asked.lock().unwrap().len());
            assert_eq!(asked, usize::from(is_asked));
            let beside = answer.beside.take();
            match answer.into_value() {
                Ok(said) => assert_eq!((said, is_in), (json!("\"in\""), true)),
                Err(failure) => {
                    assert!(!is_in);
                    assert_eq!(failure.effect(), Effect::None);
                    let action = &failure.recovery().required_actions[0];
                    assert!(action.contains("https://login.test"), "{action}");
                    // Clients that know the error get it as it is.
                    let beside = beside.unwrap();
                    assert_eq!(beside["error"]["code"], json!(-32042));
                    assert_eq!(beside["error"]["data"]["elicitations"][0], visit());
                }
            }
        }
    });
}

pub(crate) fn what_a_client_declares_and_lacks_is_passed_on() {
    run(async {
        let modern = gateway(&child("modern")).await;
        let extensions = json!({"io.modelcontextprotocol/ui": {}});
        let mut declares = json!({"extensions": extensions});
        declares["extensions"]["io.modelcontextprotocol/tasks"] = json!({});
        let person = Arc::new(Person {
            declares: values(declares),
            ..Person::who(Ok(Reply::Declined))
        });
        let offered = ask(&modern, json!({"rounds": 0}), Some(person))
            .await
            .unwrap();
        assert_eq!(offered["offered"]["extensions"], extensions);
        let gateway = gateway(&child("well")).await;
        let required = json!({"requiredCapabilities": {"sampling": {}}});
        let refused = json!({"code": -32021, "message": "no sampling", "data": required});
        let request = CallRequest::from_wire("test/refuse", refused);
        let mut answer = gateway.dispatch(request).await;
        let beside = answer.beside.take().unwrap();
        assert_eq!(beside["error"], json!({"code": -32021, "data": required}));
        let failure = answer.into_value().unwrap_err();
        assert_eq!(failure.effect(), Effect::None);
        let action = &failure.recovery().required_actions[0];
        assert!(action.contains("sampling"), "{action}");
    });
}
