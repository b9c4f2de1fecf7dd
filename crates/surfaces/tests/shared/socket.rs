//! A WebSocket client that speaks in envelopes.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// An open connection.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects, or gives the status the server refused it with.
    pub(crate) async fn open(server: &super::Server, token: Option<&str>) -> Result<Self, u16> {
        let url = format!("ws://{}/ws", server.address);
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let bearer = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Asks for a call.
    pub(crate) async fn ask(&mut self, id: &str, payload: Value) {
        let envelope = json!({"type": "call.requested", "id": id, "payload": payload});
        let message = Message::text(envelope.to_string());
        self.0.send(message).await.unwrap();
    }

    /// The next envelope.
    pub(crate) async fn next(&mut self) -> Value {
        let next = async {
            loop {
                match self
                    .0
                    .next()
                    .await
                    .expect("the connection is open")
                    .unwrap()
                {
                    Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                    Message::Ping(_) | Message::Pong(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        tokio::time::timeout(super::PATIENCE, next)
            .await
            .expect("no answer came")
    }
}
