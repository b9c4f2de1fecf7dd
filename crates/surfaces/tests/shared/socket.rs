//! A WebSocket client for envelopes.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// An open connection.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects, or returns the status of the refusal.
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

    /// Requests a call.
    pub(crate) async fn send(&mut self, id: &str, payload: Value) {
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
        tokio::time::timeout(super::TIMEOUT, next)
            .await
            .expect("no envelope arrived")
    }

    /// Sends the first frame of a message.
    pub(crate) async fn begin_message(&mut self, bytes: usize) {
        self.send_frame(Data::Text, bytes).await.unwrap();
    }

    /// Sends another frame of the message, which is not the last.
    pub(crate) async fn continue_message(&mut self, bytes: usize) {
        self.send_frame(Data::Continue, bytes).await.unwrap();
    }

    pub(crate) async fn ping(&mut self) {
        self.0.send(Message::Ping(Bytes::new())).await.unwrap();
    }

    /// Sends further frames of a message until the server closes the connection; returns the close code.
    pub(crate) async fn send_until_closed(&mut self) -> u16 {
        let closed = async {
            loop {
                // Sending fails after the close, but the close frame is still readable.
                let _ = self.send_frame(Data::Continue, 1024).await;
                let soon = tokio::time::timeout(Duration::from_millis(5), self.0.next());
                match soon.await {
                    Ok(Some(Ok(Message::Close(Some(frame))))) => return frame.code.into(),
                    Ok(Some(Ok(_))) | Err(_) => {}
                    Ok(end) => panic!("closed without a code: {end:?}"),
                }
            }
        };
        tokio::time::timeout(super::TIMEOUT, closed)
            .await
            .expect("the server did not close the connection")
    }

    async fn send_frame(&mut self, part: Data, bytes: usize) -> Result<(), tungstenite::Error> {
        let frame = Frame::message(vec![b' '; bytes], OpCode::Data(part), false);
        self.0.send(Message::Frame(frame)).await
    }
}
