//! A WebSocket client for envelopes.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::TIMEOUT;

/// An open connection.
#[derive(Debug)]
pub struct Socket(pub WebSocketStream<TcpStream>);

impl Socket {
    /// Opens `/ws` on a connection, or returns the status of the refusal.
    pub async fn open(stream: TcpStream, authorization: Option<&str>) -> Result<Self, u16> {
        let url = format!("ws://{}/ws", stream.peer_addr().unwrap());
        let mut request = url.into_client_request().unwrap();
        if let Some(authorization) = authorization {
            let authorization = authorization.parse().unwrap();
            request.headers_mut().insert("authorization", authorization);
        }
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends an envelope.
    pub async fn send(&mut self, envelope: &Value) {
        self.send_text(&envelope.to_string()).await;
    }

    /// Requests a call.
    pub async fn request(&mut self, id: &str, payload: Value) {
        self.send(&json!({"type": "call.requested", "id": id, "payload": payload}))
            .await;
    }

    /// Sends a message.
    pub async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next message other than a ping or pong; `None` once the connection is closed.
    pub async fn message(&mut self) -> Option<Message> {
        let next = async {
            loop {
                match self.0.next().await?.ok()? {
                    Message::Ping(_) | Message::Pong(_) => {}
                    message => return Some(message),
                }
            }
        };
        let next = tokio::time::timeout(TIMEOUT, next).await;
        next.expect("no message arrived")
    }

    /// The next envelope.
    pub async fn next(&mut self) -> Value {
        match self.message().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends an envelope and returns the next one.
    pub async fn ask(&mut self, envelope: &Value) -> Value {
        self.send(envelope).await;
        self.next().await
    }

    /// Sends a ping.
    pub async fn ping(&mut self) {
        self.0.send(Message::Ping(Vec::new().into())).await.unwrap();
    }

    /// Sends the first frame of a message.
    pub async fn begin_message(&mut self, bytes: usize) {
        self.send_frame(Data::Text, bytes).await.unwrap();
    }

    /// Sends another frame of the message, which is not the last.
    pub async fn continue_message(&mut self, bytes: usize) {
        self.send_frame(Data::Continue, bytes).await.unwrap();
    }

    /// Sends further frames of a message until the server closes the connection; returns the close code.
    pub async fn send_until_closed(&mut self) -> u16 {
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
        let closed = tokio::time::timeout(TIMEOUT, closed).await;
        closed.expect("the server did not close the connection")
    }

    async fn send_frame(&mut self, part: Data, bytes: usize) -> Result<(), tungstenite::Error> {
        let frame = Frame::message(vec![b' '; bytes], OpCode::Data(part), false);
        self.0.send(Message::Frame(frame)).await
    }
}
