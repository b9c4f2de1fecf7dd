//! The body of a request, which tells when it is taken.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::trouble::Sent;

/// Bytes that mark that they were taken: until then nothing of the request has left.
#[derive(Debug)]
pub(super) struct Tracked {
    bytes: Option<Bytes>,
    sent: Sent,
}

impl Tracked {
    pub(super) fn body(bytes: Bytes, sent: Sent) -> reqwest::Body {
        if bytes.is_empty() {
            return reqwest::Body::from(bytes);
        }
        reqwest::Body::wrap(Self {
            bytes: Some(bytes),
            sent,
        })
    }
}

impl Body for Tracked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent.mark();
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(length.try_into().unwrap_or(u64::MAX))
    }
}
