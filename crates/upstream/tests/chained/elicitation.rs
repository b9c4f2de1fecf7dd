//! Elicitations through two panpans: the client of the outer one answers a question of the inner operation.

use std::sync::{Arc, Mutex};

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{
    AskClient, AskError, BoxFuture, Builder, CallRequest, Context, Dispatcher, Question,
    QuestionKind, QuestionReply, Registration, Registry,
};
use panpan_store::memory_ports;
use panpan_surfaces::limits::Limits;
use panpan_upstream::mcp::{McpAddress, McpSettings, McpTransport, McpUpstream};
use serde_json::{Value, json};

use crate::panpan::Panpan;

/// An operation that asks two questions and returns the replies.
async fn ask_twice(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let mut replies = Vec::new();
    for message in ["First?", "Second?"] {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let question = Question {
            name: None,
            message: message.to_owned(),
            kind: QuestionKind::Form { schema },
        };
        replies.push(match context.ask(question).await {
            Ok(QuestionReply::Accepted(values)) => values["name"].clone(),
            Ok(other) => json!(format!("{other:?}")),
            Err(unasked) => json!(unasked.to_string()),
        });
    }
    Ok(json!({"replies": replies}))
}

/// A client that answers the first question and declines the second.
#[derive(Debug, Default)]
struct AnsweringClient(Mutex<Vec<String>>);

impl AskClient for AnsweringClient {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        let mut questions = self.0.lock().unwrap();
        questions.push(question.message);
        let values = json!({"name": "Ada"}).as_object().cloned().unwrap();
        let reply = match questions.len() {
            1 => QuestionReply::Accepted(values),
            _ => QuestionReply::Declined,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[tokio::test]
async fn an_elicitation_passes_through_both() {
    let named = |name: &str, op_type| OperationSpec::new(name.parse().unwrap(), op_type);
    let operations = vec![
        Registration::new(named("deep/read", OperationType::Query), ask_twice),
        Registration::new(named("deep/write", OperationType::Mutation), ask_twice),
    ];
    let inner = Panpan::start(operations, Limits::default(), SystemClock).await;
    let address = McpAddress::new(inner.url().join("/mcp").unwrap());
    let upstream =
        McpUpstream::new(McpSettings::new("inner", McpTransport::Http(address))).unwrap();
    let operations = upstream.operations().await.unwrap().registrations;
    let builder = operations
        .into_iter()
        .fold(Registry::builder(), Builder::add);
    let outer = Dispatcher::new(builder.build().unwrap(), memory_ports());
    let unanswerable = AskError::Unsupported.to_string();
    for name in ["inner/deep__read", "inner/deep__write"] {
        let client = Arc::new(AnsweringClient::default());
        for (answering, expected) in [
            (Some(client.clone()), json!(["Ada", "Declined"])),
            (None, json!([unanswerable, unanswerable])),
        ] {
            let request = CallRequest {
                client: answering.map(|it| it as Arc<dyn AskClient>),
                ..CallRequest::from_wire(name, json!({}))
            };
            let output = outer.dispatch(request).await.into_value().unwrap();
            assert_eq!(output["structuredContent"]["replies"], expected, "{name}");
        }
        assert_eq!(*client.0.lock().unwrap(), ["First?", "Second?"]);
    }
}
