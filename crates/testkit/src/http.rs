//! A minimal HTTP client: one request per connection, with the raw response. Headers are lines that end with a line
//! break.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use serde_json::Value;

use crate::TIMEOUT;

/// The header of a JSON body.
pub const JSON: &str = "content-type: application/json\r\n";

/// A raw response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without chunks.
    pub body: Vec<u8>,
}

impl Response {
    /// Parses a response.
    pub fn parse(raw: &[u8]) -> Self {
        let end = raw.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no response: {}", String::from_utf8_lossy(raw)));
        let head = String::from_utf8_lossy(&raw[..end]);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let mut response = Self {
            status: status.unwrap().parse().unwrap(),
            headers: headers.collect(),
            body: raw[end + 4..].to_vec(),
        };
        if response.header("transfer-encoding") == Some("chunked") {
            response.body = unchunked(&response.body);
        }
        response
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of a failure in the dialect `call` or `problem`.
    pub fn code(&self) -> String {
        let body = self.json();
        let from_type = body["type"].as_str().and_then(|uri| uri.rsplit('/').next());
        let code = body["code"].as_str().or(from_type);
        code.unwrap_or_else(|| panic!("no code in {body}"))
            .to_owned()
    }

    /// Whether the outcome was recorded earlier.
    pub fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

/// Sends a request and reads the response.
pub fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> Response {
    let headers = format!("connection: close\r\n{headers}");
    exchange(address, &bytes(address, method, path, &headers, body))
}

/// Sends a request and returns the open connection.
pub fn open(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> TcpStream {
    let mut stream = connect(address);
    let bytes = bytes(address, method, path, headers, body);
    stream.write_all(&bytes).unwrap();
    stream
}

/// The bytes of a request, with a host unless the headers have one.
pub fn bytes(
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> Vec<u8> {
    let has_host = headers
        .lines()
        .any(|line| line.to_ascii_lowercase().starts_with("host:"));
    let host = match has_host {
        true => String::new(),
        false => format!("host: {address}\r\n"),
    };
    let length = body.as_ref().len();
    let head =
        format!("{method} {path} HTTP/1.1\r\n{host}{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body.as_ref()].concat()
}

/// Sends these bytes and reads until the server closes the connection.
pub fn exchange(address: impl ToSocketAddrs, bytes: &[u8]) -> Response {
    let mut stream = connect(address);
    // The server may respond and close before it has received everything.
    let _ = stream.write_all(bytes);
    let mut raw = Vec::new();
    let _ = stream.read_to_end(&mut raw);
    Response::parse(&raw)
}

/// Reads until the text contains this part.
pub fn read_until(stream: &mut TcpStream, part: &str) -> String {
    let mut text = String::new();
    while !text.contains(part) {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection ended without {part}: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    text
}

fn connect(address: impl ToSocketAddrs) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[(end + 4 + size).min(body.len())..];
    }
    whole
}
