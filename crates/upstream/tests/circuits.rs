//! Circuits over real sockets: which operations of a service are refused when one or all of them fail.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use panpan_contract::operation::{CallSettings, OperationName, OperationSpec, OperationType};
use panpan_failure::Redacted;
use panpan_runtime::retry::CircuitRule;
use panpan_runtime::{CallRequest, Credentials, Dispatcher, Registry};
use panpan_store::memory_ports;
use panpan_upstream::header::HeaderMap;
use panpan_upstream::{Allowed, Client, ClientSettings, Service, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the service does with requests for the operation `svc/op7`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    ServerError,
    Cuts,
    Hangs,
    RedirectsAway,
}

/// Starts a service with many operations, one of which fails.
async fn service(fault: Fault) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(respond(stream, fault));
        }
    });
    Url::parse(&url).unwrap()
}

async fn respond(mut stream: TcpStream, fault: Fault) {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(read) = stream.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        request.extend_from_slice(&chunk[..read]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let is_faulty = request.starts_with(b"GET /op7 ");
        request.clear();
        let response = match (is_faulty, fault) {
            (false, _) => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            (true, Fault::ServerError) => "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
            (true, Fault::RedirectsAway) => {
                "HTTP/1.1 302 There\r\nlocation: http://localhost:1/\r\ncontent-length: 0\r\n\r\n"
            }
            (true, Fault::Cuts) => return,
            (true, Fault::Hangs) => std::future::pending().await,
        };
        stream.write_all(response.as_bytes()).await.unwrap();
    }
}

/// A dispatcher for the service, whose circuits open at the second failed call.
fn dispatcher(url: &Url) -> Dispatcher {
    let circuit = json!({"row": 2, "row_ms": 0, "open_ms": 60_000, "open_ms_max": 60_000});
    let circuit: CircuitRule = serde_json::from_value(circuit).unwrap();
    let settings = json!({"timeout_ms": 200, "retry": "off", "circuit": circuit});
    let settings: CallSettings = serde_json::from_value(settings).unwrap();
    let mut allowed = Allowed::parse(["localhost"]).unwrap();
    allowed.allow_url(url);
    let client = ClientSettings {
        allowed,
        ..ClientSettings::default()
    };
    let service = Service {
        name: "svc".to_owned(),
        base: Some(url.clone()),
        client: Client::new(client).unwrap(),
        credentials: Credentials::default(),
        headers: HeaderMap::new(),
        passed: Vec::new(),
        circuit,
    };
    let specs = (0..50).map(|number| {
        let mut spec = spec(number);
        settings.apply(&mut spec);
        spec
    });
    let registrations = service.operations(specs).unwrap();
    let builder = registrations
        .into_iter()
        .fold(Registry::builder(), |builder, it| builder.add(it));
    Dispatcher::new(builder.build().unwrap(), memory_ports())
}

fn spec(number: usize) -> OperationSpec {
    let name = OperationName::new(&format!("svc/op{number}")).unwrap();
    let mut written = serde_json::to_value(OperationSpec::new(name, OperationType::Query)).unwrap();
    let path = format!("/op{number}");
    written["x-panpan-http"] = json!({"method": "GET", "path": path, "parameters": []});
    serde_json::from_value(written).unwrap()
}

async fn call(dispatcher: &Dispatcher, number: usize) -> Result<Value, Redacted> {
    let request = CallRequest::from_wire(format!("svc/op{number}"), json!({}));
    dispatcher.dispatch(request).await.into_value()
}

#[tokio::test]
async fn one_failing_operation_does_not_block_the_other_49() {
    for (fault, code) in [
        (Fault::ServerError, "HTTP_500"),
        (Fault::Cuts, "ERR_SOCKET_ERROR"),
        (Fault::Hangs, "ERR_TIMEOUT"),
        // Nothing listens at the target of the redirect, which says nothing about the service.
        (Fault::RedirectsAway, "ERR_CONNECTION_REFUSED"),
    ] {
        let dispatcher = dispatcher(&service(fault).await);
        for _ in 0..2 {
            let failure = call(&dispatcher, 7).await.unwrap_err();
            assert_eq!(failure.code().as_str(), code, "{fault:?}");
        }
        for number in (0..50).cycle().take(500) {
            let called = call(&dispatcher, number).await;
            match called {
                Ok(_) => assert_ne!(number, 7, "{fault:?}"),
                Err(failure) => {
                    assert_eq!(number, 7, "{fault:?}: {}", failure.message());
                    assert_eq!(failure.code().as_str(), "ERR_CIRCUIT_OPEN");
                    let details = failure.details().unwrap();
                    assert_eq!(details["circuit"], json!("operation"));
                    let cause = failure.causes()[0].code.clone();
                    assert_eq!(cause.unwrap().as_str(), code);
                }
            }
        }
    }
}

#[tokio::test]
async fn all_operations_of_an_unreachable_service_are_refused() {
    let url = panpan_testkit::refusing_url();
    let dispatcher = dispatcher(&Url::parse(&url).unwrap());
    for number in [1, 2] {
        let failure = call(&dispatcher, number).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_CONNECTION_REFUSED");
    }
    let failure = call(&dispatcher, 3).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_CIRCUIT_OPEN");
    assert_eq!(failure.details().unwrap()["circuit"], json!("host"));
    let cause = failure.causes()[0].code.clone();
    assert_eq!(cause.unwrap().as_str(), "ERR_CONNECTION_REFUSED");
}
