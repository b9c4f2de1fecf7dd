//! A client that reads raw responses and corrects nothing.

use std::io;
use std::time::Duration;

use panpan_faulty::Service;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection is watched to check that it stays open.
const WATCH_TIME: Duration = Duration::from_millis(50);

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        Self {
            status: status.parse().unwrap(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) async fn connect(service: &Service) -> TcpStream {
    TcpStream::connect(service.address()).await.unwrap()
}

/// Sends a request and returns the connection.
pub(crate) async fn send_request(
    service: &Service,
    method: &str,
    target: &str,
    headers: &str,
) -> TcpStream {
    let mut stream = connect(service).await;
    let body = if method == "POST" {
        r#"{"item": "tea"}"#
    } else {
        ""
    };
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Sends a request and reads until the connection ends.
pub(crate) async fn exchange(
    service: &Service,
    method: &str,
    target: &str,
    headers: &str,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    send_request(service, method, target, headers)
        .await
        .read_to_end(&mut bytes)
        .await?;
    Ok(bytes)
}

pub(crate) async fn get(service: &Service, target: &str) -> Answer {
    Answer::of(&exchange(service, "GET", target, "").await.unwrap())
}

/// Reads until all expected data has arrived, then checks that the connection stays open and silent.
pub(crate) async fn read_until_silent(
    mut stream: TcpStream,
    is_all: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !is_all(&bytes) {
        assert!(
            stream.read_buf(&mut bytes).await.unwrap() > 0,
            "the connection ended"
        );
    }
    let more = timeout(WATCH_TIME, stream.read_buf(&mut bytes)).await;
    assert!(more.is_err(), "more came: {more:?}");
    bytes
}
