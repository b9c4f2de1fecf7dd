//! What the HTTP library answers by itself to a head that it cannot read, with a body that says what is wrong.
//!
//! The library has no place for such a body, and its answer is known by its writing: one of three statuses,
//! without a body and without the header that every answer of the service has.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::HttpService;

/// The statuses of a head that cannot be read.
const STATUSES: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
];

/// The longest head the library writes by itself.
const HEAD_BYTES: usize = 256;

const EMPTY: &str = "content-length: 0\r\n";

/// A header that every answer of the service has.
const OF_THE_DOOR: &str = "x-content-type-options";

/// A connection on which a refusal of the library gets a body.
pub(super) struct Worded<S> {
    stream: S,
    service: HttpService,
    /// What is written instead of a refusal, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S: AsyncWrite + Unpin> Worded<S> {
    pub(super) fn new(stream: S, service: HttpService) -> Self {
        Self {
            stream,
            service,
            instead: None,
        }
    }

    /// Writes the whole replacement. Only then do the bytes that it replaces count as written.
    fn poll_instead(
        &mut self,
        context: &mut Context<'_>,
        stands_for: usize,
    ) -> Poll<io::Result<usize>> {
        if let Some((bytes, written)) = &mut self.instead {
            while *written < bytes.len() {
                let rest = &bytes[*written..];
                match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    length => *written += length,
                }
            }
        }
        self.instead = None;
        Poll::Ready(Ok(stands_for))
    }

    /// Whether these bytes are a refusal of the library, or one is being written.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        if self.instead.is_none() {
            self.instead = worded(bytes, |status| self.service.unreadable_head(status))
                .map(|instead| (instead, 0));
        }
        self.instead.is_some()
    }
}

/// The refusal of the library that these bytes are, with a body.
fn worded(bytes: &[u8], body: impl FnOnce(StatusCode) -> Vec<u8>) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"HTTP/1.1 4") || bytes.len() > HEAD_BYTES {
        return None;
    }
    let head = std::str::from_utf8(bytes).ok()?;
    let (before, after) = head.split_once(EMPTY)?;
    let status = STATUSES
        .into_iter()
        .find(|it| head[9..].starts_with(it.as_str()))?;
    if !head.ends_with("\r\n\r\n") || head.contains(OF_THE_DOOR) {
        return None;
    }
    let body = body(status);
    let length = body.len();
    let described = format!(
        "{before}content-type: application/problem+json\r\n{OF_THE_DOOR}: nosniff\r\ncontent-length: {length}\r\n{after}"
    );
    Some([described.into_bytes(), body].concat())
}

impl<S: AsyncRead + Unpin> AsyncRead for Worded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Worded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.takes(bytes) {
            true => self.poll_instead(context, bytes.len()),
            false => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_library_says_by_itself_gets_a_body() {
        let told = |head: &str| {
            let worded = worded(head.as_bytes(), |status| status.as_str().into());
            worded.map(|it| String::from_utf8(it).unwrap())
        };
        assert_eq!(
            told("HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap(),
            "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/problem+json\r\n\
             x-content-type-options: nosniff\r\ncontent-length: 3\r\nconnection: close\r\n\r\n431"
        );
        for head in [
            "HTTP/1.1 400 Bad Request\r\nx-content-type-options: nosniff\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n",
            "",
        ] {
            assert_eq!(told(head), None, "{head}");
        }
    }
}
