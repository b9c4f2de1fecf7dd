//! Input requests of a server during a tool call, and the client that they reach.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use panpan_failure::{Effect, Redacted};
use panpan_mcp::library::Request;
use panpan_runtime::{
    AskClient, AskError, BoxFuture, CallRequest, Dispatcher, Identity, Question, QuestionKind,
    QuestionReply,
};
use panpan_upstream::mcp::{McpCaller, McpError, ROUNDS_LIMIT, UNREAD_RESPONSES_LIMIT};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fixture::{call, child, gateway, run};
use crate::http;

/// How often a server asks and responds at the same time: each time the input request may be routed
/// too late.
const ELICITED_AND_LEFT: usize = 200;

/// A client that gives the same reply to every question and records the questions.
#[derive(Debug)]
struct TestClient {
    /// Whether it opens URLs of refused calls itself.
    opens_urls: bool,
    declares: serde_json::Map<String, Value>,
    reply: Result<QuestionReply, AskError>,
    questions: Mutex<Vec<Question>>,
    /// Waited for before it replies.
    delay: Option<Arc<Notify>>,
}

impl TestClient {
    fn replying(reply: Result<QuestionReply, AskError>) -> Arc<Self> {
        Arc::new(Self::with_reply(reply))
    }

    fn with_reply(reply: Result<QuestionReply, AskError>) -> Self {
        Self {
            opens_urls: false,
            declares: values(json!({})),
            reply,
            questions: Mutex::default(),
            delay: None,
        }
    }

    fn accepting(name: &str) -> Arc<Self> {
        Self::replying(Ok(QuestionReply::Accepted(values(json!({"name": name})))))
    }
}

impl AskClient for TestClient {
    fn declared(&self) -> Option<&serde_json::Map<String, Value>> {
        Some(&self.declares)
    }

    fn handles_url_required(&self) -> bool {
        self.opens_urls
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        self.questions.lock().unwrap().push(question);
        Box::pin(async {
            if let Some(delay) = &self.delay {
                delay.notified().await;
            }
            self.reply.clone()
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

fn elicit_request(input: Value, client: Option<Arc<TestClient>>) -> CallRequest {
    CallRequest {
        client: client.map(|it| it as Arc<dyn AskClient>),
        ..CallRequest::from_wire("test/ask", input)
    }
}

async fn elicit(
    gateway: &Dispatcher,
    input: Value,
    client: Option<Arc<TestClient>>,
) -> Result<Value, Redacted> {
    let answer = gateway.dispatch(elicit_request(input, client)).await;
    let said = answer.into_value()?;
    Ok(serde_json::from_str(said.as_str().unwrap()).unwrap())
}

pub(crate) fn an_elicitation_reaches_the_client_of_the_call() {
    run(async {
        for behaviour in ["well", "modern"] {
            let gateway = gateway(&child(behaviour)).await;
            for (question, reply, expected) in [
                (
                    form(),
                    QuestionReply::Accepted(values(json!({"name": "Ada"}))),
                    json!({"action": "accept", "content": {"name": "Ada"}}),
                ),
                (
                    form(),
                    QuestionReply::Declined,
                    json!({"action": "decline"}),
                ),
                (
                    form(),
                    QuestionReply::Cancelled,
                    json!({"action": "cancel"}),
                ),
                (
                    visit(),
                    QuestionReply::Accepted(values(json!({}))),
                    json!({"action": "accept"}),
                ),
            ] {
                let client = TestClient::replying(Ok(reply));
                let input = json!({"question": question});
                let said = elicit(&gateway, input, Some(client.clone())).await.unwrap();
                let said = said.pointer("/replies/it").unwrap_or(&said);
                assert_eq!(*said, expected, "{behaviour}");
                let asked = client.questions.lock().unwrap().remove(0);
                assert_eq!(json!(asked.message), question["message"], "{behaviour}");
                match asked.kind {
                    QuestionKind::Form { schema } => {
                        assert_eq!(schema, question["requestedSchema"]);
                    }
                    QuestionKind::Url { url, id } => {
                        assert_eq!((json!(url), "e-1"), (question["url"].clone(), id.as_str()));
                    }
                    QuestionKind::Sampling { .. } | QuestionKind::Roots => {
                        panic!("only elicitation is expected")
                    }
                }
            }
        }
    });
}

pub(crate) fn an_unanswered_elicitation_is_in_the_failure() {
    run(async {
        for behaviour in ["well", "modern"] {
            let gateway = gateway(&child(behaviour)).await;
            for (client, reason) in [
                (None, AskError::Unsupported),
                (
                    Some(TestClient::replying(Err(AskError::UnsupportedKind))),
                    AskError::UnsupportedKind,
                ),
                (
                    Some(TestClient::replying(Err(AskError::TimedOut))),
                    AskError::TimedOut,
                ),
            ] {
                let failure = elicit(&gateway, json!({"question": form()}), client).await;
                let failure = failure.unwrap_err();
                assert_eq!(failure.code().as_str(), "TOOL_FAILED", "{behaviour}");
                let said = json!({"message": "Who are you?", "unanswered": reason.to_string()});
                assert_eq!(failure.details().unwrap()["question"], said, "{behaviour}");
                assert!(failure.message().contains("Who are you?"), "{behaviour}");
                let action = failure.recovery().required_actions.last().unwrap();
                assert_eq!(
                    action.contains("elicitation"),
                    reason != AskError::TimedOut,
                    "{behaviour}"
                );
            }
        }
    });
}

pub(crate) fn sampling_and_roots_reach_the_client_under_the_names_of_the_server() {
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
            let client = TestClient::replying(Ok(QuestionReply::Result(result.clone())));
            let said = elicit(&gateway, input.clone(), Some(client.clone())).await;
            assert_eq!(said.unwrap()["replies"]["it"], result, "{method}");
            let asked = client.questions.lock().unwrap().remove(0);
            assert_eq!(asked.name.as_deref(), Some("it"));
            if let QuestionKind::Sampling { params } = asked.kind {
                assert_eq!(params, question);
            }
            let failure = elicit(&gateway, input, None).await.unwrap_err();
            assert_eq!(failure.code().as_str(), "TOOL_FAILED", "{method}");
        }
    });
}

pub(crate) fn the_number_of_rounds_is_limited() {
    run(async {
        let gateway = gateway(&child("modern")).await;
        for (rounds, is_answered) in [
            (0, true),
            (1, true),
            (ROUNDS_LIMIT - 1, true),
            (ROUNDS_LIMIT, false),
        ] {
            let client = TestClient::accepting("Ada");
            let input = json!({"question": form(), "rounds": rounds});
            let said = elicit(&gateway, input, Some(client.clone())).await;
            assert_eq!(said.is_ok(), is_answered, "{rounds}");
            let asked = client.questions.lock().unwrap().len();
            assert_eq!(asked, rounds.min(ROUNDS_LIMIT - 1) as usize, "{rounds}");
        }
        // The server sees that the client supports no input and can do without.
        let input = json!({"rounds": 0});
        let offered = elicit(&gateway, input.clone(), None).await.unwrap();
        assert_eq!(offered["offered"], json!({}));
        let offered = elicit(&gateway, input, Some(TestClient::accepting("Ada"))).await;
        let kinds = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        assert_eq!(offered.unwrap()["offered"], kinds);
    });
}

pub(crate) fn an_ambiguous_elicitation_reaches_no_client() {
    run(async {
        let gateway = gateway(&child("well")).await;
        let delay = Arc::new(Notify::new());
        let first = Arc::new(TestClient {
            delay: Some(delay.clone()),
            ..TestClient::with_reply(Ok(QuestionReply::Declined))
        });
        let request = elicit_request(json!({"question": form()}), Some(first.clone()));
        let calling = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.dispatch(request).await.into_value() }
        });
        while first.questions.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Two calls are in flight, and either may be the one that asks.
        let second = TestClient::accepting("Bob");
        let input = json!({"question": form()});
        let failure = elicit(&gateway, input.clone(), Some(second.clone())).await;
        let failure = failure.unwrap_err();
        assert!(
            failure.message().contains("it is unclear which"),
            "{failure:?}"
        );
        // The question is disclosed to neither of them.
        let question = &failure.details().unwrap()["question"];
        assert_eq!(question.as_object().unwrap().len(), 1, "{question}");
        let reason = question["unanswered"].as_str().unwrap();
        assert!(reason.contains("it is unclear which"), "{question}");
        let action = failure.recovery().required_actions.last().unwrap();
        assert!(action.contains("no other call"), "{action}");
        delay.notify_one();
        let said = calling.await.unwrap().unwrap();
        assert_eq!(said, json!({"action": "decline"}).to_string());
        assert_eq!(first.questions.lock().unwrap().len(), 1);
        assert_eq!(second.questions.lock().unwrap().len(), 0);
    });
}

pub(crate) fn an_abandoned_call_may_still_ask_its_own_caller() {
    let identity = |id| Some(Arc::new(Identity::new(id)));
    run(async move {
        for (abandoned_by, called_by, is_asked) in [
            (Some("ann"), Some("ann"), true),
            (Some("ann"), Some("bob"), false),
            (None, None, false),
        ] {
            let gateway = gateway(&child("well")).await;
            let impatient = CallRequest {
                timeout_ms: Some(100),
                caller: abandoned_by.and_then(identity),
                ..CallRequest::from_wire("test/hang", json!({}))
            };
            gateway.dispatch(impatient).await.outcome.unwrap_err();
            let client = TestClient::accepting("Ada");
            let request = CallRequest {
                caller: called_by.and_then(identity),
                ..elicit_request(json!({"question": form()}), Some(client.clone()))
            };
            let answered = gateway.dispatch(request).await.into_value();
            assert_eq!(answered.is_ok(), is_asked, "{abandoned_by:?} {called_by:?}");
            assert_eq!(
                client.questions.lock().unwrap().len(),
                usize::from(is_asked)
            );
            if let Err(failure) = answered {
                assert!(failure.message().contains("abandoned"), "{failure:?}");
                let action = failure.recovery().required_actions.last().unwrap();
                assert!(action.contains("abandoned"), "{action}");
            }
        }
    });
}

pub(crate) fn an_elicitation_is_routed_before_the_response_after_it() {
    run(async {
        let gateway = gateway(&child("well")).await;
        let waiting_client = TestClient::accepting("Bob");
        let waiting = CallRequest {
            client: Some(waiting_client.clone()),
            ..CallRequest::from_wire("test/hang", json!({}))
        };
        let hanging = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.dispatch(waiting).await }
        });
        for _ in 0..ELICITED_AND_LEFT {
            let leaves = CallRequest::from_wire("test/ask_and_leave", json!({"question": form()}));
            gateway.dispatch(leaves).await.into_value().unwrap();
        }
        // Messages are answered in order.
        call(&gateway, "echo", json!({})).await.unwrap();
        hanging.abort();
        assert_eq!(waiting_client.questions.lock().unwrap().len(), 0);
    });
}

pub(crate) fn an_elicitation_is_routed_by_the_stream_of_its_call() {
    run(async {
        let (upstream, replies) = http::eliciting(form()).await;
        let gateway = gateway(&upstream).await;
        for name in ["Ada", "Bob"] {
            let request = CallRequest {
                client: Some(TestClient::accepting(name)),
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

pub(crate) fn a_server_cannot_choose_whom_it_asks() {
    run(async {
        let mut question = form();
        question["_meta"] = json!({"dev.panpan/call": 1});
        let (upstream, mut replies) = http::eliciting_aside(question).await;
        let gateway = gateway(&upstream).await;
        let clients = ["Ada", "Bob"].map(TestClient::accepting);
        for client in clients.clone() {
            let request = CallRequest {
                client: Some(client),
                ..CallRequest::from_wire("test/change", json!({}))
            };
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.dispatch(request).await });
        }
        let reply: Value = replies.recv().await.unwrap();
        let refused = reply["error"]["message"].as_str().unwrap();
        assert!(refused.contains("it is unclear which"), "{reply}");
        for client in clients {
            assert_eq!(client.questions.lock().unwrap().len(), 0);
        }
    });
}

pub(crate) fn a_server_that_does_not_read_responses_is_disconnected() {
    run(async {
        let gateway = gateway(&child("well")).await;
        for (questions, code) in [
            (UNREAD_RESPONSES_LIMIT, None),
            // Some of the responses fit into the pipe.
            (UNREAD_RESPONSES_LIMIT * 100, Some("ERR_OUTCOME_UNKNOWN")),
        ] {
            let input = json!({"questions": questions, "question": form()});
            let answered = call(&gateway, "pester", input).await;
            let failed = answered.as_ref().err().map(|it| it.code().as_str());
            assert_eq!(failed, code, "{questions}");
        }
        // The server is started again.
        call(&gateway, "echo", json!({})).await.unwrap();
    });
}

pub(crate) fn an_elicitation_before_a_prompt_or_resource_reaches_the_client() {
    run(async {
        let upstream = child("modern");
        let client = TestClient::accepting("Ada");
        let caller = |client: Option<&Arc<TestClient>>| McpCaller {
            client: client.map(|it| it.clone() as Arc<dyn AskClient>),
            ..McpCaller::default()
        };
        let replies = json!({"it": {"action": "accept", "content": {"name": "Ada"}}}).to_string();
        let asked = caller(Some(&client));
        let greet = || Request::Prompt {
            name: "greet".to_owned(),
            arguments: values(json!({})),
        };
        let prompt = upstream.request(&asked, greet()).await;
        let prompt = prompt.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], json!(replies));
        let read = Request::Read("test://one".to_owned());
        let read = upstream.request(&asked, read).await.unwrap();
        assert_eq!(read["contents"][0]["text"], json!(replies));
        assert_eq!(client.questions.lock().unwrap().len(), 2);
        let without_client = caller(None);
        let unasked = upstream.request(&without_client, greet());
        let unasked = unasked.await.unwrap_err();
        assert!(matches!(unasked, McpError::InputRequired(_)), "{unasked:?}");
        let failure = upstream.failure(unasked, Timestamp::UNIX_EPOCH);
        assert_eq!(failure.code().as_str(), "TOOL_FAILED");
    });
}

pub(crate) fn a_required_url_elicitation_is_forwarded_or_reported() {
    run(async {
        let (yes, no) = (
            QuestionReply::Accepted(values(json!({}))),
            QuestionReply::Declined,
        );
        for (reply, opens_urls, is_asked, is_signed_in) in [
            (Some(yes.clone()), false, true, true),
            (Some(no), false, true, false),
            (Some(yes), true, false, false),
            (None, false, false, false),
        ] {
            let gateway = gateway(&child("well")).await;
            let client = reply.map(|reply| {
                Arc::new(TestClient {
                    opens_urls,
                    ..TestClient::with_reply(Ok(reply))
                })
            });
            let mut request = elicit_request(json!({"visit": visit()}), client.clone());
            request.operation = "test/guarded".to_owned();
            let mut answer = gateway.dispatch(request).await;
            let asked = client.map_or(0, |it| it.questions.lock().unwrap().len());
            assert_eq!(asked, usize::from(is_asked));
            let extras = answer.extra.take();
            match answer.into_value() {
                Ok(said) => assert_eq!((said, is_signed_in), (json!("\"in\""), true)),
                Err(failure) => {
                    assert!(!is_signed_in);
                    assert_eq!(failure.effect(), Effect::None);
                    let action = &failure.recovery().required_actions[0];
                    assert!(action.contains("https://login.test"), "{action}");
                    // Clients that know the error get it unchanged.
                    let extras = extras.unwrap();
                    assert_eq!(extras["error"]["code"], json!(-32042));
                    assert_eq!(extras["error"]["data"]["elicitations"][0], visit());
                }
            }
        }
    });
}

pub(crate) fn client_extensions_and_missing_capabilities_are_passed_on() {
    run(async {
        let modern = gateway(&child("modern")).await;
        let extensions = json!({"io.modelcontextprotocol/ui": {}});
        let mut declares = json!({"extensions": extensions});
        declares["extensions"]["io.modelcontextprotocol/tasks"] = json!({});
        let client = Arc::new(TestClient {
            declares: values(declares),
            ..TestClient::with_reply(Ok(QuestionReply::Declined))
        });
        let offered = elicit(&modern, json!({"rounds": 0}), Some(client))
            .await
            .unwrap();
        assert_eq!(offered["offered"]["extensions"], extensions);
        let gateway = gateway(&child("well")).await;
        let required = json!({"requiredCapabilities": {"sampling": {}}});
        let refused = json!({"code": -32021, "message": "no sampling", "data": required});
        let request = CallRequest::from_wire("test/refuse", refused);
        let mut answer = gateway.dispatch(request).await;
        let extras = answer.extra.take().unwrap();
        assert_eq!(extras["error"], json!({"code": -32021, "data": required}));
        let failure = answer.into_value().unwrap_err();
        assert_eq!(failure.effect(), Effect::None);
        let action = &failure.recovery().required_actions[0];
        assert!(action.contains("sampling"), "{action}");
    });
}
