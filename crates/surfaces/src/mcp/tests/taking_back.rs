//! Questions that are still open when nobody waits for the reply any more.

use std::future::pending;
use std::time::Duration;

use panpan_runtime::{CallRequest, IdempotencyKey, Question, Unasked, Wanted};
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc};

use super::asking::{Person, ask, asking, modern};
use super::wire::{Wire, initialize, request};
use super::*;
use crate::mcp::{HttpSettings, IDEMPOTENCY_META_KEY};

#[tokio::test]
async fn a_server_that_stops_waits_for_no_reply_and_what_was_asked_is_on_record_as_stopped() {
    let gateway = gateway(asking());
    let wire = Wire::to(gateway.clone(), HttpSettings::default()).await;
    let call = json!({"name": "test__book", "arguments": {}});
    let answer = modern(&wire, call, json!({IDEMPOTENCY_META_KEY: "k"})).await;
    assert_eq!(answer["resultType"], json!("input_required"));
    wire.stopping.cancel();
    gateway.wait_for_calls().await;
    gateway.dispatcher().drain().await;
    let key = IdempotencyKey::new("k").unwrap();
    let request = CallRequest::from_wire("test/book", json!({})).keyed(key);
    let answer = gateway.dispatcher().dispatch(request).await;
    assert!(answer.replayed);
    assert_eq!(answer.outcome.unwrap_err().code().as_str(), "ERR_CANCELLED");
}

#[tokio::test]
async fn a_server_that_stops_takes_back_what_it_asks_in_sessions_and_asks_nothing_more() {
    let wire = Wire::to(gateway(asking()), HttpSettings::default()).await;
    let session = wire.session_with(json!({"elicitation": {}})).await;
    let call = json!({"name": "test__book", "arguments": {"times": 2}});
    let mut stream = session.post(&request("tools/call", call)).await;
    let asked = stream.next().await.unwrap();
    assert_eq!(asked["method"], json!("elicitation/create"));
    wire.stopping.cancel();
    let answer = stream.message().await;
    let told = &answer["result"]["structuredContent"]["told"];
    let stopping = Unasked::Stopping.to_string();
    assert_eq!(*told, json!([stopping, stopping]), "{answer}");
}

/// A client whose person is still thinking when the question is taken back.
struct Thinking(mpsc::UnboundedSender<()>);

impl ClientHandler for Thinking {
    fn get_info(&self) -> ClientConfig {
        Person(Some(ElicitResult::new(ElicitationAction::Decline))).get_info()
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
async fn a_client_is_told_that_nobody_waits_for_a_reply_any_more() {
    let impatient = |context: Context, _: Arc<Value>| async move {
        let question = Question {
            name: None,
            message: "Sure?".to_owned(),
            wanted: Wanted::Values {
                schema: json!({"type": "object", "properties": {}}),
            },
        };
        let _ = tokio::time::timeout(Duration::from_millis(50), context.ask(question)).await;
        pending::<Result<Value, Failure>>().await
    };
    let gateway = gateway(Registry::builder().register(query("test/ask"), impatient));
    let (taken_back, mut hears) = mpsc::unbounded_channel();
    let client = Thinking(taken_back).serve(served(gateway)).await.unwrap();
    let call = client.call_tool(CallToolRequestParams::new("test__ask"));
    tokio::select! {
        _ = call => panic!("it never ends"),
        heard = hears.recv() => heard.unwrap(),
    }
}

#[tokio::test]
async fn what_is_still_asked_when_a_call_ends_is_taken_back_before_its_answer() {
    let finish = Arc::new(Notify::new());
    let finished = finish.clone();
    let answers_anyway = move |context: Context, input: Arc<Value>| {
        let finished = finished.clone();
        async move {
            tokio::spawn(ask(context, input));
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
    let notice = next().await;
    assert_eq!(
        notice["method"],
        json!("notifications/cancelled"),
        "{notice}"
    );
    assert_eq!(notice["params"]["requestId"], asked["id"]);
    assert_eq!(next().await["result"]["isError"], json!(false));
}
