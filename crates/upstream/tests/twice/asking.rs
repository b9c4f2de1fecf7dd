//! Questions through two of them: the person in front is asked what the innermost work wants to know.

use std::sync::{Arc, Mutex};

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{
    AskPerson, BoxFuture, Builder, CallRequest, Context, Dispatcher, Question, Registration,
    Registry, Reply, Unasked, Wanted,
};
use panpan_store::memory_ports;
use panpan_surfaces::limits::Limits;
use panpan_upstream::mcp::{McpAddress, McpPlace, McpSettings, McpUpstream};
use serde_json::{Value, json};

use crate::panpan::Panpan;

/// Asks twice, and says what it was told.
async fn ask(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let mut told = Vec::new();
    for message in ["First?", "Second?"] {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let question = Question {
            name: None,
            message: message.to_owned(),
            wanted: Wanted::Values { schema },
        };
        told.push(match context.ask(question).await {
            Ok(Reply::Accepted(values)) => values["name"].clone(),
            Ok(other) => json!(format!("{other:?}")),
            Err(unasked) => json!(unasked.to_string()),
        });
    }
    Ok(json!({"told": told}))
}

/// Says its name the first time, and declines then.
#[derive(Debug, Default)]
struct Person(Mutex<Vec<String>>);

impl AskPerson for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
        let mut asked = self.0.lock().unwrap();
        asked.push(question.message);
        let values = json!({"name": "Ada"}).as_object().cloned().unwrap();
        let reply = match asked.len() {
            1 => Reply::Accepted(values),
            _ => Reply::Declined,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[tokio::test]
async fn a_question_comes_through_both() {
    let named = |name: &str, op_type| OperationSpec::new(name.parse().unwrap(), op_type);
    let operations = vec![
        Registration::new(named("deep/read", OperationType::Query), ask),
        Registration::new(named("deep/write", OperationType::Mutation), ask),
    ];
    let inner = Panpan::start(operations, Limits::default(), SystemClock).await;
    let address = McpAddress::new(inner.url().join("/mcp").unwrap());
    let upstream = McpUpstream::new(McpSettings::new("inner", McpPlace::Http(address))).unwrap();
    let operations = upstream.operations().await.unwrap().registrations;
    let builder = operations
        .into_iter()
        .fold(Registry::builder(), Builder::add);
    let outer = Dispatcher::new(builder.build().unwrap(), memory_ports());
    let cannot = Unasked::Nobody.to_string();
    for name in ["inner/deep__read", "inner/deep__write"] {
        let person = Arc::new(Person::default());
        for (person, expected) in [
            (Some(person.clone()), json!(["Ada", "Declined"])),
            (None, json!([cannot, cannot])),
        ] {
            let request = CallRequest {
                person: person.map(|it| it as Arc<dyn AskPerson>),
                ..CallRequest::from_wire(name, json!({}))
            };
            let said = outer.dispatch(request).await.into_value().unwrap();
            assert_eq!(said["structuredContent"]["told"], expected, "{name}");
        }
        assert_eq!(*person.0.lock().unwrap(), ["First?", "Second?"]);
    }
}
