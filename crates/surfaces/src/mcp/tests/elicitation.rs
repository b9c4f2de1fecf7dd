//! Elicitation in sessions, on stdio and in the stateless version.

use std::future::pending;

use panpan_runtime::{AskError, Progress, Question, QuestionKind, QuestionReply};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext};
use rmcp::{ErrorData, RoleClient};

use super::http_client::{CAPABILITIES, HttpClient, request};
use super::*;
use crate::mcp::HttpSettings;

/// Elicits `times` times and returns all replies.
pub(super) async fn elicit(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let mut replies = Vec::new();
    for number in 1..=input["times"].as_u64().unwrap_or(1) {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let question = Question {
            name: None,
            message: format!("Who is number {number}?"),
            kind: QuestionKind::Form { schema },
        };
        replies.push(match context.ask(question).await {
            Ok(QuestionReply::Accepted(values)) => values["name"].clone(),
            Ok(other) => json!(format!("{other:?}")),
            // Runs on without a caller until it is cancelled.
            Err(AskError::CallerLeft) => pending().await,
            Err(unasked) => json!(unasked.to_string()),
        });
        context.report(Progress {
            done: 1.0,
            ..Progress::default()
        });
    }
    Ok(json!({"replies": replies}))
}

pub(super) fn eliciting() -> Builder {
    Registry::builder()
        .register(query("test/ask"), elicit)
        .register(mutation("test/book"), elicit)
}

const TOOLS: [&str; 2] = ["test__ask", "test__book"];

/// A client that gives the same reply to every elicitation, or that does not support elicitation.
#[derive(Clone)]
pub(super) struct ReplyingClient(pub(super) Option<ElicitResult>);

impl ClientHandler for ReplyingClient {
    fn get_info(&self) -> ClientConfig {
        let mut offered = ClientCapabilities::default();
        offered.elicitation = self.0.is_some().then(Default::default);
        ClientConfig::new(offered, Implementation::new("test", "0"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        assert_eq!(
            params["requestedSchema"]["properties"]["name"]["type"],
            "string"
        );
        Ok(self.0.clone().unwrap())
    }
}

#[tokio::test]
async fn a_client_on_stdio_is_asked_in_both_versions() {
    let accepted = ElicitResult::new(ElicitationAction::Accept);
    let accepted = accepted.with_content(json!({"name": "Ada"}));
    let declined = ElicitResult::new(ElicitationAction::Decline);
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
    ] {
        for (reply, expected) in [
            (Some(&accepted), "Ada"),
            (Some(&declined), "Declined"),
            (None, "the client does not accept questions"),
        ] {
            let client = ReplyingClient(reply.cloned());
            let pipe = served(gateway(eliciting()));
            let client = client
                .serve_with_lifecycle(pipe, lifecycle.clone())
                .await
                .unwrap();
            for tool in TOOLS {
                let arguments = json!({"times": 2}).as_object().cloned().unwrap();
                let call = CallToolRequestParams::new(tool).with_arguments(arguments);
                let result = client.call_tool(call).await.unwrap();
                let replies = json!({"replies": [expected, expected]});
                assert_eq!(
                    result.structured_content,
                    Some(replies),
                    "{tool} {lifecycle:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_accepted_form_without_an_object_is_no_reply() {
    let http = HttpClient::to(gateway(eliciting()), HttpSettings::default()).await;
    let session = http.session_with(json!({"elicitation": {}})).await;
    let call = json!({"name": "test__ask", "arguments": {}});
    let mut stream = session.post(&request("tools/call", call)).await;
    let request = stream.next().await.unwrap();
    let result = json!({"action": "accept", "content": ["Ada"]});
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    assert_eq!(session.post(&reply).await.status, 202);
    let answer = stream.message().await;
    let replies = &answer["result"]["structuredContent"]["replies"];
    assert_eq!(
        *replies,
        json!([AskError::Unsupported.to_string()]),
        "{answer}"
    );
}

#[tokio::test]
async fn a_session_is_asked_in_the_stream_of_the_call() {
    let http = HttpClient::to(gateway(eliciting()), HttpSettings::default()).await;
    let session = http.session_with(json!({"elicitation": {}})).await;
    for tool in TOOLS {
        let call = request("tools/call", json!({"name": tool, "arguments": {}}));
        let mut stream = session.post(&call).await;
        let request = stream.next().await.unwrap();
        assert_eq!(request["method"], json!("elicitation/create"));
        assert_eq!(request["params"]["message"], json!("Who is number 1?"));
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        assert_eq!(session.post(&reply).await.status, 202);
        let answer = stream.message().await;
        let replies = &answer["result"]["structuredContent"]["replies"];
        assert_eq!(*replies, json!(["Ada"]), "{tool}");
    }
}

pub(super) async fn modern(http: &HttpClient, params: Value, meta: Value) -> Value {
    let mut whole = json!({CAPABILITIES: {"elicitation": {"form": {}}}});
    whole
        .as_object_mut()
        .unwrap()
        .extend(meta.as_object().unwrap().clone());
    let answered = http.modern_with("tools/call", params, whole).await;
    let message = answered.message().await;
    message.get("result").unwrap_or(&message["error"]).clone()
}

/// Whether an error says that no call is parked under this state.
pub(super) fn is_refused(answer: &Value) -> bool {
    let pointer = &answer["data"]["errors"][0]["pointer"];
    answer["code"] == json!(-32602) && *pointer == json!("/requestState")
}

#[tokio::test]
async fn a_stateless_call_is_repeated_with_the_reply() {
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
        let http = HttpClient::to(gateway(eliciting()), settings(form))
            .await
            .by("ann");
        // Requests with a progress token are served by rmcp.
        for meta in [json!({}), json!({"progressToken": "token"})] {
            let first = json!({"name": tool, "arguments": arguments});
            let mut answer = modern(&http, first.clone(), meta.clone()).await;
            for (number, name) in [(1, "Ada"), (2, "Bob")] {
                assert_eq!(answer["resultType"], json!("input_required"), "{answer}");
                let request = &answer["inputRequests"]["question_1"];
                assert_eq!(request["method"], json!("elicitation/create"));
                let message = json!(format!("Who is number {number}?"));
                assert_eq!(request["params"]["message"], message);
                let mut again = first.clone();
                again["requestState"] = answer["requestState"].take();
                let reply = json!({"action": "accept", "content": {"name": name}});
                again["inputResponses"] = json!({"question_1": reply});
                let other_caller = modern(&http.by("bob"), again.clone(), json!({})).await;
                assert!(is_refused(&other_caller), "{other_caller}");
                answer = modern(&http, again.clone(), meta.clone()).await;
                let twice = modern(&http, again, json!({})).await;
                assert!(is_refused(&twice), "{twice}");
            }
            assert_eq!(answer["resultType"], json!("complete"));
            let replies = &answer["structuredContent"]["replies"];
            assert_eq!(*replies, json!(["Ada", "Bob"]), "{tool} {meta}");
        }
    }
}

#[tokio::test]
async fn a_client_without_elicitation_is_not_asked() {
    let http = HttpClient::to(gateway(eliciting()), HttpSettings::default()).await;
    for tool in TOOLS {
        for answer in http.call_both(tool, json!({})).await {
            let replies = &answer["result"]["structuredContent"]["replies"];
            assert_eq!(
                *replies,
                json!(["the client does not accept questions"]),
                "{tool}"
            );
        }
    }
}
