//! The WebSocket client of the tests.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use panpan_failure::Failure;
use panpan_failure::dialect::Dialect;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::server::SOCKET_BYTES;

pub(super) struct Client(pub(super) WebSocketStream<TcpStream>);

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

impl Client {
    pub(super) async fn connect(address: SocketAddr, token: Option<&str>) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
        let stream = socket.connect(address).await.unwrap();
        let url = format!("ws://{address}/ws");
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let token = token.parse().unwrap();
            request.headers_mut().insert("authorization", token);
        }
        Self(client_async(request, stream).await.unwrap().0)
    }

    pub(super) async fn send(&mut self, event: &Value) {
        self.send_text(&event.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next message other than a ping; `None` once the connection is closed.
    pub(super) async fn message(&mut self) -> Option<Message> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Ping(_) => {}
                message => return Some(message),
            }
        }
    }

    /// The next event.
    pub(super) async fn next(&mut self) -> Value {
        match self.message().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn ask(&mut self, event: &Value) -> Value {
        self.send(event).await;
        self.next().await
    }
}
