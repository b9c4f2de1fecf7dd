//! Questions to the person behind a client: in sessions, on pipes, and where there are no sessions.

use std::future::pending;

use panpan_runtime::{Progress, Question, Reply, Unasked, Wanted};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext};
use rmcp::{ErrorData, RoleClient};

use super::wire::{CAPABILITIES, Wire, request};
use super::*;
use crate::mcp::HttpSettings;

/// Asks as often as it is told to, and says what it was told each time.
pub(super) async fn ask(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let mut told = Vec::new();
    for number in 1..=input["times"].as_u64().unwrap_or(1) {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let question = Question {
            name: None,
            message: format!("Who is number {number}?"),
            wanted: Wanted::Values { schema },
        };
        told.push(match context.ask(question).await {
            Ok(Reply::Accepted(values)) => values["name"].clone(),
            Ok(other) => json!(format!("{other:?}")),
            // Goes on without a caller until it is stopped.
            Err(Unasked::Gone) => pending().await,
            Err(unasked) => json!(unasked.to_string()),
        });
        context.report(Progress {
            done: 1.0,
            ..Progress::default()
        });
    }
    Ok(json!({"told": told}))
}

pub(super) fn asking() -> Builder {
    Registry::builder()
        .register(query("test/ask"), ask)
        .register(mutation("test/book"), ask)
}

const TOOLS: [&str; 2] = ["test__ask", "test__book"];

/// A client with a person who says the same to everything, or with nobody.
#[derive(Clone)]
pub(super) struct Person(pub(super) Option<ElicitResult>);

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut offered = ClientCapabilities::default();
        offered.elicitation = self.0.is_some().then(Default::default);
        ClientConfig::new(offered, Implementation::new("test", "0"))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(asked).unwrap();
        assert_eq!(
            asked["requestedSchema"]["properties"]["name"]["type"],
            "string"
        );
        Ok(self.0.clone().unwrap())
    }
}

#[tokio::test]
async fn the_person_behind_a_pipe_is_asked_in_both_versions() {
    let accepted = ElicitResult::new(ElicitationAction::Accept);
    let accepted = accepted.with_content(json!({"name": "Ada"}));
    let declined = ElicitResult::new(ElicitationAction::Decline);
    for way in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
    ] {
        for (person, expected) in [
            (Some(&accepted), "Ada"),
            (Some(&declined), "Declined"),
            (None, "the caller cannot be asked"),
        ] {
            let person = Person(person.cloned());
            let pipe = served(gateway(asking()));
            let client = person
                .serve_with_lifecycle(pipe, way.clone())
                .await
                .unwrap();
            for tool in TOOLS {
                let arguments = json!({"times": 2}).as_object().cloned().unwrap();
                let call = CallToolRequestParams::new(tool).with_arguments(arguments);
                let result = client.call_tool(call).await.unwrap();
                let told = json!({"told": [expected, expected]});
                assert_eq!(result.structured_content, Some(told), "{tool} {way:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_session_that_agrees_to_no_form_has_not_answered() {
    let wire = Wire::to(gateway(asking()), HttpSettings::default()).await;
    let session = wire.session_with(json!({"elicitation": {}})).await;
    let call = json!({"name": "test__ask", "arguments": {}});
    let mut stream = session.post(&request("tools/call", call)).await;
    let asked = stream.next().await.unwrap();
    let result = json!({"action": "accept", "content": ["Ada"]});
    let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    assert_eq!(session.post(&reply).await.status, 202);
    let answer = stream.message().await;
    let told = &answer["result"]["structuredContent"]["told"];
    assert_eq!(*told, json!([Unasked::Nobody.to_string()]), "{answer}");
}

#[tokio::test]
async fn a_session_is_asked_in_the_stream_of_the_call() {
    let wire = Wire::to(gateway(asking()), HttpSettings::default()).await;
    let session = wire.session_with(json!({"elicitation": {}})).await;
    for tool in TOOLS {
        let call = request("tools/call", json!({"name": tool, "arguments": {}}));
        let mut stream = session.post(&call).await;
        let asked = stream.next().await.unwrap();
        assert_eq!(asked["method"], json!("elicitation/create"));
        assert_eq!(asked["params"]["message"], json!("Who is number 1?"));
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        assert_eq!(session.post(&reply).await.status, 202);
        let answer = stream.message().await;
        let told = &answer["result"]["structuredContent"]["told"];
        assert_eq!(*told, json!(["Ada"]), "{tool}");
    }
}

pub(super) async fn modern(wire: &Wire, params: Value, meta: Value) -> Value {
    let mut whole = json!({CAPABILITIES: {"elicitation": {"form": {}}}});
    whole
        .as_object_mut()
        .unwrap()
        .extend(meta.as_object().unwrap().clone());
    let answered = wire.modern_with("tools/call", params, whole).await;
    let message = answered.message().await;
    message.get("result").unwrap_or(&message["error"]).clone()
}

/// Whether an answer says that no such call waits for a reply.
pub(super) fn is_refused(answer: &Value) -> bool {
    let place = &answer["data"]["errors"][0]["pointer"];
    answer["code"] == json!(-32602) && *place == json!("/requestState")
}

#[tokio::test]
async fn without_sessions_a_call_is_repeated_with_the_reply() {
    let settings = |form| HttpSettings {
        form,
        ..HttpSettings::default()
    };
    let input = json!({"times": 2});
    for (form, tool, arguments) in [
        (ToolForm::Each, "test__ask", input.clone()),
        (ToolForm::Each, "test__book", input.clone()),
        (
            ToolForm::Search,
            "call",
            json!({"operation": "test/ask", "input": input}),
        ),
    ] {
        let wire = Wire::to(gateway(asking()), settings(form)).await.by("ann");
        // The library serves what asks to be told of progress.
        for meta in [json!({}), json!({"progressToken": "token"})] {
            let first = json!({"name": tool, "arguments": arguments});
            let mut answer = modern(&wire, first.clone(), meta.clone()).await;
            for (number, name) in [(1, "Ada"), (2, "Bob")] {
                assert_eq!(answer["resultType"], json!("input_required"), "{answer}");
                let asked = &answer["inputRequests"]["question_1"];
                assert_eq!(asked["method"], json!("elicitation/create"));
                let message = json!(format!("Who is number {number}?"));
                assert_eq!(asked["params"]["message"], message);
                let mut again = first.clone();
                again["requestState"] = answer["requestState"].take();
                let reply = json!({"action": "accept", "content": {"name": name}});
                again["inputResponses"] = json!({"question_1": reply});
                let foreign = modern(&wire.by("bob"), again.clone(), json!({})).await;
                assert!(is_refused(&foreign), "{foreign}");
                answer = modern(&wire, again.clone(), meta.clone()).await;
                let twice = modern(&wire, again, json!({})).await;
                assert!(is_refused(&twice), "{twice}");
            }
            assert_eq!(answer["resultType"], json!("complete"));
            let told = &answer["structuredContent"]["told"];
            assert_eq!(*told, json!(["Ada", "Bob"]), "{tool} {meta}");
        }
    }
}

#[tokio::test]
async fn a_client_that_shows_no_questions_is_not_asked() {
    let wire = Wire::to(gateway(asking()), HttpSettings::default()).await;
    for tool in TOOLS {
        for answer in wire.call_both(tool, json!({})).await {
            let told = &answer["result"]["structuredContent"]["told"];
            assert_eq!(*told, json!(["the caller cannot be asked"]), "{tool}");
        }
    }
}
