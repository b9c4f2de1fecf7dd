//! A service that returns the responses of the corpus, and the text that readers see through a gateway.

use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType, Redaction};
use panpan_failure::Redacted;
use panpan_failure::dialect::agent_view;
use panpan_runtime::retry::CircuitRule;
use panpan_runtime::{CallRequest, Credentials, Dispatcher, Registry};
use panpan_store::memory_ports;
use panpan_upstream::header::HeaderMap;
use panpan_upstream::{Allowed, Client, ClientSettings, Service, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::corpus::Case;

/// The text that a reader sees of each response through the gateway.
pub(crate) async fn seen(cases: &Arc<Vec<Case>>, redaction: Option<Redaction>) -> Vec<String> {
    let gateway = gateway(serve(Arc::clone(cases)).await, redaction);
    let mut seen = Vec::with_capacity(cases.len());
    for at in 0..cases.len() {
        let request = CallRequest::from_wire("corpus/ask".to_owned(), json!({"case": at}));
        let failure = gateway.dispatch(request).await.into_value();
        seen.push(written(
            &failure.expect_err("the corpus holds failing answers"),
        ));
    }
    seen
}

/// Everything that any reader of the failure sees: the agent view, and the canonical form with what every dialect
/// shows. Its strings are added once more without JSON escapes.
fn written(failure: &Redacted) -> String {
    let canonical = serde_json::to_value(failure).expect("a failure is JSON");
    let mut all = format!("{}\n{canonical}", agent_view(failure, &|_| None));
    strings(&canonical, &mut all);
    all
}

fn strings(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push('\n');
            all.push_str(text);
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            all.push('\n');
            all.push_str(name);
            strings(member, all);
        }),
        _ => {}
    }
}

fn gateway(url: Url, redaction: Option<Redaction>) -> Dispatcher {
    let mut allowed = Allowed::default();
    allowed.allow_url(&url);
    let settings = ClientSettings {
        allowed,
        ..ClientSettings::default()
    };
    let service = Service {
        name: "corpus".to_owned(),
        base: Some(url),
        client: Client::new(settings).expect("a client without certificates of its own"),
        credentials: Credentials::default(),
        headers: HeaderMap::new(),
        passed: Vec::new(),
        circuit: CircuitRule::default(),
    };
    let registrations = service
        .operations([spec(redaction)])
        .expect("the operation can be served");
    let mut registry = Registry::builder();
    for registration in registrations {
        registry = registry.add(registration);
    }
    Dispatcher::new(registry.build().expect("one operation"), memory_ports())
}

/// An operation that requests one response of the corpus, without retries.
fn spec(redaction: Option<Redaction>) -> OperationSpec {
    let name = OperationName::new("corpus/ask").expect("a name");
    let mut spec = OperationSpec::new(name, OperationType::Mutation);
    spec.redaction = redaction;
    let mut written = serde_json::to_value(spec).expect("a contract is JSON");
    let case = json!({"name": "case", "wire_name": "case", "place": "query", "style": "form", "explode": true});
    written["x-panpan-http"] = json!({"method": "POST", "path": "/ask", "parameters": [case]});
    written["retry"] = json!({"max_retries": 0});
    serde_json::from_value(written).expect("a contract that was just written")
}

async fn serve(cases: Arc<Vec<Case>>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let cases = Arc::clone(&cases);
            tokio::spawn(async move { answer(stream, &cases).await });
        }
    });
    Url::parse(&format!("http://{address}")).expect("an address is a URL")
}

/// Answers one request, then closes: `POST /ask?case=7`.
async fn answer(stream: TcpStream, cases: &[Case]) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let number = line.split("case=").nth(1)?.split(' ').next()?;
    let case: &Case = cases.get(number.parse::<usize>().ok()?)?;
    while line.trim_end() != "" {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
    }
    let head = format!(
        "HTTP/1.1 {} Failed\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
        // Some services report failures with a success status; the body is the same.
        case.status.max(400),
        case.content_type,
        case.bytes.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&case.bytes).await.ok()?;
    stream.flush().await.ok()
}
