//! Elicitations that are still open when the server no longer waits for the reply.

use std::future::pending;
use std::time::Duration;

use panpan_runtime::{AskError, CallRequest, IdempotencyKey, Question, QuestionKind};
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc};

use super::elicitation::{ReplyingClient, elicit, eliciting, modern};
use super::http_client::{HttpClient, initialize, request};
use super::*;
use crate::mcp::HttpSettings;
use panpan_mcp::names::IDEMPOTENCY_META_KEY;

#[tokio::test]
async fn a_stopping_server_cancels_parked_calls_and_records_that() {
    let gateway = gateway(eliciting());
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let call = json!({"name": "test__book", "arguments": {}});
    let answer = modern(&http, call, json!({IDEMPOTENCY_META_KEY: "k"})).await;
    assert_eq!(answer["resultType"], json!("input_required"));
    http.stopping.cancel();
    gateway.wait_for_calls().await;
    gateway.dispatcher().drain().await;
    let key = IdempotencyKey::new("k").unwrap();
    let request = CallRequest::from_wire("test/book", json!({})).keyed(key);
    let answer = gateway.dispatcher().dispatch(request).await;
    assert!(answer.replayed);
    assert_eq!(answer.outcome.unwrap_err().code().as_str(), "ERR_CANCELLED");
}

#[tokio::test]
async fn a_stopping_server_cancels_elicitations_in_sessions_and_sends_no_more() {
    let http = HttpClient::to(gateway(eliciting()), HttpSettings::default()).await;
    let session = http.session_with(json!({"elicitation": {}})).await;
    let call = json!({"name": "test__book", "arguments": {"times": 2}});
    let mut stream = session.post(&request("tools/call", call)).await;
    let asked = stream.next().await.unwrap();
    assert_eq!(asked["method"], json!("elicitation/create"));
    http.stopping.cancel();
    let answer = stream.message().await;
    let replies = &answer["result"]["structuredContent"]["replies"];
    let stopping = AskError::Stopping.to_string();
    assert_eq!(*replies, json!([stopping, stopping]), "{answer}");
}

/// A client that has not replied when the elicitation is cancelled.
struct SlowClient(mpsc::UnboundedSender<()>);

impl ClientHandler for SlowClient {
    fn get_info(&self) -> ClientConfig {
        ReplyingClient(Some(ElicitResult::new(ElicitationAction::Decline))).get_info()
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        context.ct.cancelled().await;
        self.0.send(()).unwrap();
        Ok(ElicitResult::new(ElicitationAction::Cancel))
    }
}

#[tokio::test]
async fn an_abandoned_elicitation_is_cancelled_at_the_client() {
    let impatient = |context: Context, _: Arc<Value>| async move {
        let question = Question {
            name: None,
            message: "Sure?".to_owned(),
            kind: QuestionKind::Form {
                schema: json!({"type": "object", "properties": {}}),
            },
        };
        let _ = tokio::time::timeout(Duration::from_millis(50), context.ask(question)).await;
        pending::<Result<Value, Failure>>().await
    };
    let gateway = gateway(Registry::builder().register(query("test/ask"), impatient));
    let (cancelled, mut cancellations) = mpsc::unbounded_channel();
    let client = SlowClient(cancelled).serve(served(gateway)).await.unwrap();
    let call = client.call_tool(CallToolRequestParams::new("test__ask"));
    tokio::select! {
        _ = call => panic!("it never ends"),
        received = cancellations.recv() => received.unwrap(),
    }
}

#[tokio::test]
async fn an_open_elicitation_is_cancelled_before_the_response_of_its_call() {
    let finish = Arc::new(Notify::new());
    let finished = finish.clone();
    let answers_anyway = move |context: Context, input: Arc<Value>| {
        let finished = finished.clone();
        async move {
            tokio::spawn(elicit(context, input));
            finished.notified().await;
            Ok::<_, Failure>(json!({}))
        }
    };
    let builder = Registry::builder().register(query("test/ask"), answers_anyway);
    let (input, mut output) = tokio::io::split(served(gateway(builder)));
    let mut lines = BufReader::new(input).lines();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = request("tools/call", json!({"name": "test__ask", "arguments": {}}));
    for message in [initialize(json!({"elicitation": {}})), initialized, call] {
        let line = format!("{message}\n");
        output.write_all(line.as_bytes()).await.unwrap();
    }
    let mut next = async || -> Value {
        let line = lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(
        next().await["result"]["serverInfo"]["name"],
        json!("panpan")
    );
    let asked = next().await;
    assert_eq!(asked["method"], json!("elicitation/create"));
    finish.notify_one();
    let notification = next().await;
    assert_eq!(
        notification["method"],
        json!("notifications/cancelled"),
        "{notification}"
    );
    assert_eq!(notification["params"]["requestId"], asked["id"]);
    assert_eq!(next().await["result"]["isError"], json!(false));
}
