//! Reads one HTTP/1.1 request from a connection, within limits.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// The largest head of a request, in bytes.
pub const HEAD_BYTES_LIMIT: usize = 64 * 1024;

/// The largest body of a request, in bytes.
pub const BODY_BYTES_LIMIT: usize = 1024 * 1024;

/// The longest line before a chunk, in bytes.
const CHUNK_LINE_LIMIT: usize = 1024;

/// The timeout for reading a request.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

const HEAD_END: &[u8] = b"\r\n\r\n";

/// One request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A request could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The client disconnected or was too slow.
    Disconnected,
    /// The data is not an HTTP request.
    NotHttp,
    HeadTooLong,
    BodyTooLong,
}

impl Request {
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, RequestError> {
        let read = timeout(READ_TIMEOUT, Self::read_request(stream)).await;
        read.unwrap_or(Err(RequestError::Disconnected))
    }

    /// The value of a header; the name must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// The value of a query parameter.
    pub(crate) fn query_value(&self, name: &str) -> Option<&str> {
        value_of(&self.query, name)
    }

    async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, RequestError> {
        let mut bytes = Vec::new();
        let mut searched = 0;
        let end = loop {
            if let Some(end) = position(&bytes[searched..], HEAD_END) {
                break searched + end;
            }
            searched = bytes.len().saturating_sub(HEAD_END.len() - 1);
            if searched > HEAD_BYTES_LIMIT {
                return Err(RequestError::HeadTooLong);
            }
            read_more(stream, &mut bytes).await?;
            // For example a TLS handshake, which has no end of a head.
            if !bytes.first().is_some_and(u8::is_ascii_uppercase) {
                return Err(RequestError::NotHttp);
            }
        };
        if end > HEAD_BYTES_LIMIT {
            return Err(RequestError::HeadTooLong);
        }
        let mut request = Self::of_head(&bytes[..end]).ok_or(RequestError::NotHttp)?;
        let rest = bytes.split_off(end + HEAD_END.len());
        request.body = request.read_body(stream, rest).await?;
        Ok(request)
    }

    fn of_head(head: &[u8]) -> Option<Self> {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        let parameters = query.split('&').filter(|pair| !pair.is_empty());
        let parameters = parameters.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        });
        words.next()?.starts_with("HTTP/1.").then(|| Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: parameters.collect(),
            headers: headers.collect(),
            body: Vec::new(),
        })
    }

    async fn read_body(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        mut bytes: Vec<u8>,
    ) -> Result<Vec<u8>, RequestError> {
        let coding = self.header("transfer-encoding").unwrap_or_default();
        if coding.eq_ignore_ascii_case("chunked") {
            return read_chunks(stream, bytes).await;
        }
        let length = match self.header("content-length") {
            Some(length) => length.parse().map_err(|_| RequestError::NotHttp)?,
            None => 0,
        };
        if length > BODY_BYTES_LIMIT {
            return Err(RequestError::BodyTooLong);
        }
        while bytes.len() < length {
            read_more(stream, &mut bytes).await?;
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}

async fn read_more(
    stream: &mut (impl AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
) -> Result<(), RequestError> {
    bytes.reserve(8 * 1024);
    match stream.read_buf(bytes).await {
        Ok(0) | Err(_) => Err(RequestError::Disconnected),
        Ok(_) => Ok(()),
    }
}

/// Reads a chunked body to its last chunk.
async fn read_chunks(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> Result<Vec<u8>, RequestError> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(end) = position(&bytes, b"\r\n") {
                break end;
            }
            if bytes.len() > CHUNK_LINE_LIMIT {
                return Err(RequestError::NotHttp);
            }
            read_more(stream, &mut bytes).await?;
        };
        let size = size(&bytes[..line]).ok_or(RequestError::NotHttp)?;
        if size > BODY_BYTES_LIMIT - body.len() {
            return Err(RequestError::BodyTooLong);
        }
        let begin = line + 2;
        while bytes.len() < begin + size + 2 {
            read_more(stream, &mut bytes).await?;
        }
        body.extend_from_slice(&bytes[begin..begin + size]);
        bytes.drain(..begin + size + 2);
        if size == 0 {
            return Ok(body);
        }
    }
}

/// The size in the line before a chunk, without extensions.
fn size(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line).ok()?;
    usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes
        .windows(needle.len())
        .position(|window| window == needle)
}

fn value_of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut bytes: &[u8]) -> Result<Request, RequestError> {
        Request::read(&mut bytes).await
    }

    async fn body(bytes: &str) -> Result<String, RequestError> {
        let request = read(bytes.as_bytes()).await?;
        Ok(String::from_utf8(request.body).unwrap())
    }

    #[tokio::test]
    async fn a_request_is_read_with_all_its_parts() {
        let bytes = b"POST /orders?keys=honoured&x HTTP/1.1\r\nIdempotency-KEY:  k \r\ncontent-length: 2\r\n\r\n{}";
        let request = read(bytes).await.unwrap();
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/orders")
        );
        assert_eq!(request.query_value("keys"), Some("honoured"));
        assert_eq!(request.query_value("x"), Some(""));
        assert_eq!(request.header("idempotency-key"), Some("k"));
        assert_eq!(request.body, b"{}");
    }

    #[tokio::test]
    async fn a_body_ends_where_its_framing_ends() {
        for (rest, expected) in [
            ("content-length: 2\r\n\r\nabc", Ok("ab")),
            ("a: b\r\n\r\nabc", Ok("")),
            (
                "transfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
                Ok("abc"),
            ),
            (
                "transfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
                Err(RequestError::Disconnected),
            ),
            (
                "transfer-encoding: chunked\r\n\r\nxyz\r\n",
                Err(RequestError::NotHttp),
            ),
            (
                "transfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n",
                Err(RequestError::BodyTooLong),
            ),
            (
                "content-length: 5\r\n\r\nabc",
                Err(RequestError::Disconnected),
            ),
            ("content-length: -1\r\n\r\nabc", Err(RequestError::NotHttp)),
        ] {
            let found = body(&format!("POST / HTTP/1.1\r\n{rest}")).await;
            assert_eq!(found.as_deref(), expected.as_ref().copied(), "{rest}");
        }
    }

    #[tokio::test]
    async fn data_that_is_not_a_request_is_distinguished() {
        for (bytes, expected) in [
            (&b""[..], RequestError::Disconnected),
            (b"GET / HT", RequestError::Disconnected),
            (b"\x16\x03\x01\x02\x00", RequestError::NotHttp),
            (b"GET /\r\n\r\n", RequestError::NotHttp),
            (b"GET / SPDY/3\r\n\r\n", RequestError::NotHttp),
        ] {
            assert_eq!(read(bytes).await.unwrap_err(), expected, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn a_head_and_a_body_are_read_up_to_their_limits() {
        let head = |bytes: usize| {
            let start = "GET / HTTP/1.1\r\nx: ";
            format!("{start}{}\r\n\r\n", "x".repeat(bytes - start.len()))
        };
        assert!(body(&head(HEAD_BYTES_LIMIT)).await.is_ok());
        let longer = body(&head(HEAD_BYTES_LIMIT + 1)).await;
        assert_eq!(longer, Err(RequestError::HeadTooLong));
        let endless = "GET / HTTP/1.1\r\n".repeat(HEAD_BYTES_LIMIT);
        assert_eq!(body(&endless).await, Err(RequestError::HeadTooLong));
        let sent = |bytes: usize| {
            format!(
                "POST / HTTP/1.1\r\ncontent-length: {bytes}\r\n\r\n{}",
                "x".repeat(bytes)
            )
        };
        assert!(body(&sent(BODY_BYTES_LIMIT)).await.is_ok());
        assert_eq!(
            body(&sent(BODY_BYTES_LIMIT + 1)).await,
            Err(RequestError::BodyTooLong)
        );
        let chunked = |bytes: usize| {
            let start = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = format!("{bytes:x}\r\n{}\r\n", "x".repeat(bytes));
            format!("{start}1\r\nx\r\n{chunk}0\r\n\r\n")
        };
        assert!(body(&chunked(BODY_BYTES_LIMIT - 1)).await.is_ok());
        assert_eq!(
            body(&chunked(BODY_BYTES_LIMIT)).await,
            Err(RequestError::BodyTooLong)
        );
    }
}
