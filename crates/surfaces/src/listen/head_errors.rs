//! Adds a body to the error responses that hyper writes for a request head it cannot parse.
//!
//! hyper has no hook for it, so its responses are recognised in the written bytes: one of three statuses, no
//! body, and without the header that every response of the HTTP service has.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::HttpService;

/// The statuses of hyper's head errors.
const STATUSES: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
];

/// Maximum length of a head that hyper writes for an error.
const HEAD_BYTES: usize = 256;

const EMPTY: &str = "content-length: 0\r\n";

/// A header that every response of the HTTP service has.
const SERVICE_HEADER: &str = "x-content-type-options";

/// A stream that adds bodies to hyper's head errors.
pub(super) struct WithHeadErrors<S> {
    stream: S,
    service: HttpService,
    /// The replacement of an error response, and how much of it is written.
    replacement: Option<(Vec<u8>, usize)>,
}

impl<S: AsyncWrite + Unpin> WithHeadErrors<S> {
    pub(super) fn new(stream: S, service: HttpService) -> Self {
        Self {
            stream,
            service,
            replacement: None,
        }
    }

    /// Writes the whole replacement, then reports the replaced bytes as written.
    fn poll_replacement(
        &mut self,
        context: &mut Context<'_>,
        replaced: usize,
    ) -> Poll<io::Result<usize>> {
        if let Some((bytes, written)) = &mut self.replacement {
            while *written < bytes.len() {
                let rest = &bytes[*written..];
                match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    length => *written += length,
                }
            }
        }
        self.replacement = None;
        Poll::Ready(Ok(replaced))
    }

    /// Whether these bytes are a head error of hyper, or a replacement is being written.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        if self.replacement.is_none() {
            self.replacement = with_body(bytes, |status| self.service.head_error_body(status))
                .map(|replacement| (replacement, 0));
        }
        self.replacement.is_some()
    }
}

/// The response with a body, if these bytes are a head error of hyper.
fn with_body(bytes: &[u8], body: impl FnOnce(StatusCode) -> Vec<u8>) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"HTTP/1.1 4") || bytes.len() > HEAD_BYTES {
        return None;
    }
    let head = std::str::from_utf8(bytes).ok()?;
    let (before, after) = head.split_once(EMPTY)?;
    let status = STATUSES
        .into_iter()
        .find(|it| head[9..].starts_with(it.as_str()))?;
    if !head.ends_with("\r\n\r\n") || head.contains(SERVICE_HEADER) {
        return None;
    }
    let body = body(status);
    let length = body.len();
    let head = format!(
        "{before}content-type: application/problem+json\r\n{SERVICE_HEADER}: nosniff\r\ncontent-length: {length}\r\n{after}"
    );
    Some([head.into_bytes(), body].concat())
}

impl<S: AsyncRead + Unpin> AsyncRead for WithHeadErrors<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithHeadErrors<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.replaces(bytes) {
            true => self.poll_replacement(context, bytes.len()),
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
    fn only_head_errors_of_hyper_get_a_body() {
        let replaced = |head: &str| {
            let replacement = with_body(head.as_bytes(), |status| status.as_str().into());
            replacement.map(|it| String::from_utf8(it).unwrap())
        };
        assert_eq!(
            replaced("HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap(),
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
            assert_eq!(replaced(head), None, "{head}");
        }
    }
}
