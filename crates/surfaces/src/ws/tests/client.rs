//! The WebSocket client of the tests.

use std::net::SocketAddr;

use panpan_failure::Failure;
use panpan_failure::dialect::Dialect;
use panpan_testkit::Socket;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::server::SOCKET_BYTES;

/// A request for an operation.
pub(super) fn requested(id: &str, operation: &str, input: Value) -> Value {
    requested_with(id, json!({"operationId": operation, "input": input}))
}

pub(super) fn requested_with(id: &str, payload: Value) -> Value {
    json!({"type": "call.requested", "id": id, "payload": payload})
}

pub(super) fn aborted(id: &str) -> Value {
    json!({"type": "call.aborted", "id": id, "payload": {}})
}

pub(super) fn responded(id: &str, output: Value) -> Value {
    json!({"type": "call.responded", "id": id, "payload": {"output": output}})
}

pub(super) fn completed(id: &str) -> Value {
    json!({"type": "call.completed", "id": id, "payload": {}})
}

/// The id and failure of an error event.
pub(super) fn failure(event: &Value) -> (&str, Failure) {
    assert_eq!(event["type"], json!("call.error"), "{event}");
    let reply = Dialect::Call.read(event["payload"].clone()).unwrap();
    (event["id"].as_str().unwrap(), reply.outcome.unwrap_err())
}

/// The id and code of an error event.
pub(super) fn failed(event: &Value) -> (String, String) {
    let (id, failure) = failure(event);
    assert!(failure.id().is_some(), "{event}");
    (id.to_owned(), failure.code().to_string())
}

/// The expected id and code of an error event.
pub(super) fn code(id: &str, code: &str) -> (String, String) {
    (id.to_owned(), code.to_owned())
}

/// Connects with a small receive buffer.
pub(super) async fn connect(address: SocketAddr, token: Option<&str>) -> Socket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
    let stream = socket.connect(address).await.unwrap();
    Socket::open(stream, token).await.unwrap()
}
