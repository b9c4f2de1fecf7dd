//! A minimal HTTP client: one request per connection.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::TIMEOUT;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.head.contains("\r\nidempotent-replayed: true\r\n")
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(&prefix))
    }
}

/// Sends a request and reads the response.
pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Response {
    let headers = format!("connection: close\r\n{headers}");
    let mut stream = open(address, method, path, &headers, body);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Response {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: format!("{}\r\n", head.to_ascii_lowercase()),
        body: body.to_owned(),
    }
}

/// Sends a request and returns the open connection. Each header ends with a line break.
pub(crate) fn open(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = match headers.contains("host: ") {
        true => String::new(),
        false => format!("host: {address}\r\n"),
    };
    let length = body.len();
    let kind = "content-type: application/json";
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}{kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads until the text contains this part.
pub(crate) fn read_until(stream: &mut TcpStream, part: &str) -> String {
    let mut text = String::new();
    while !text.contains(part) {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection ended without {part}: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    text
}
