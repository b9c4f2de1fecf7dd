//! Performs a fault, on a connection whose request has been read.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::fault::{Body, Fault, Generated, Then};
use crate::flood::flood;
use crate::request::Request;
use crate::respond::{self, Length, head};
use crate::table::Row;
use crate::template::{self, TemplateContext};

/// How long the service keeps a connection on which it sends nothing or too little.
pub const HANG_LIMIT: Duration = Duration::from_secs(60);

/// The delay between two bytes of a dripping response.
const DRIP_INTERVAL: Duration = Duration::from_millis(50);

/// The announced length of a dripping response.
const DRIP_BYTES: u64 = 1_000_000;

/// A connection that can also be reset.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {
    /// The TCP connection below.
    fn socket(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Wire for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Responds to a request as its row specifies.
pub(crate) async fn perform(
    wire: &mut impl Wire,
    row: &Row,
    request: &Request,
    context: TemplateContext<'_>,
) -> io::Result<()> {
    match &row.fault {
        Fault::Answers {
            status,
            headers,
            body,
            stops_after,
            then,
        } => {
            let (head, mut body) = answer(*status, headers, body.as_ref(), context);
            body.truncate(stops_after.unwrap_or(usize::MAX));
            wire.write_all(&head).await?;
            wire.write_all(&body).await?;
            end(wire, *then).await
        }
        Fault::Sends { bytes, then } => {
            wire.write_all(&one_byte_each(bytes)).await?;
            end(wire, *then).await
        }
        Fault::Redirects { status, hops } => {
            send(wire, &redirect(row, *status, *hops, request)).await
        }
        Fault::Drips { status } => drip(wire, *status).await,
        Fault::Floods {
            status,
            part,
            bytes,
        } => {
            flood(wire, *status, *part, *bytes).await?;
            end(wire, Then::Close).await
        }
        Fault::LivesAt { .. } => {
            let body = json!({"answer": "reached"});
            send(wire, &respond::json(200, &[], &body)).await
        }
    }
}

/// Sends a whole response and closes the connection.
pub(crate) async fn send(wire: &mut impl Wire, response: &[u8]) -> io::Result<()> {
    wire.write_all(response).await?;
    end(wire, Then::Close).await
}

/// Ends a connection.
pub(crate) async fn end(wire: &mut impl Wire, then: Then) -> io::Result<()> {
    wire.flush().await?;
    match then {
        Then::Close => wire.shutdown().await,
        Then::Hang => hang(wire).await,
        Then::Reset => wire.socket().set_zero_linger(),
    }
}

/// Sends nothing until the client disconnects.
pub(crate) async fn hang(wire: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut buffer = [0; 1024];
    let leaves = async {
        while wire.read(&mut buffer).await? > 0 {}
        Ok(())
    };
    timeout(HANG_LIMIT, leaves).await.unwrap_or(Ok(()))
}

fn answer(
    status: u16,
    headers: &[(String, String)],
    body: Option<&Body>,
    context: TemplateContext<'_>,
) -> (Vec<u8>, Vec<u8>) {
    let filled = headers
        .iter()
        .map(|(name, value)| (name.as_str(), template::fill(value, context)));
    let filled: Vec<_> = filled.collect();
    let mut headers: Vec<_> = filled
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let is_labelled = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !is_labelled && matches!(body, Some(Body::Generated(Generated::Json(_)))) {
        headers.push(("Content-Type", "application/json"));
    }
    let body = body.map(|body| bytes_of(body, context)).unwrap_or_default();
    (
        head(status, &headers, Length::Known(body.len() as u64)),
        body,
    )
}

fn bytes_of(body: &Body, context: TemplateContext<'_>) -> Vec<u8> {
    match body {
        Body::Text(text) => template::fill(text, context).into_bytes(),
        Body::Generated(Generated::Json(value)) => filled(value, context).to_string().into_bytes(),
        Body::Generated(Generated::Bytes(text)) => one_byte_each(text),
        Body::Generated(Generated::Nested(depth)) => {
            [b"[".repeat(*depth), b"]".repeat(*depth)].concat()
        }
        Body::Generated(Generated::Padded { before, text }) => {
            let padding = "-".repeat(before.saturating_sub(1));
            format!("{padding} {}", template::fill(text, context)).into_bytes()
        }
    }
}

/// The value with the templates in its texts replaced; the values in the table are not deeply nested.
fn filled(value: &Value, context: TemplateContext<'_>) -> Value {
    match value {
        Value::String(text) => template::fill(text, context).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, context)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, context)))
            .collect(),
        other => other.clone(),
    }
}

/// Converts each character to the byte of the same number.
fn one_byte_each(text: &str) -> Vec<u8> {
    text.chars().filter_map(|c| u8::try_from(c).ok()).collect()
}

fn redirect(row: &Row, status: u16, hops: Option<u32>, request: &Request) -> Vec<u8> {
    let hop: u32 = request
        .query_value("hop")
        .and_then(|hop| hop.parse().ok())
        .unwrap_or(0);
    let next = match hops {
        Some(hops) if hop >= hops => {
            return respond::json(200, &[], &json!({"answer": "arrived"}));
        }
        Some(_) => hop + 1,
        None => (hop % 2) + 1,
    };
    let location = format!("{}?hop={next}", row.path());
    head(status, &[("Location", &location)], Length::Known(0))
}

async fn drip(wire: &mut impl Wire, status: u16) -> io::Result<()> {
    let headers = [("Content-Type", "application/json")];
    wire.write_all(&head(status, &headers, Length::Known(DRIP_BYTES)))
        .await?;
    let drops = async {
        for _ in 0..DRIP_BYTES {
            wire.write_all(b" ").await?;
            wire.flush().await?;
            sleep(DRIP_INTERVAL).await;
        }
        Ok(())
    };
    timeout(HANG_LIMIT, drops).await.unwrap_or(Ok(()))
}
