//! The body of a request, which tells when it is taken.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::trouble::Sent;

/// Bytes that mark that they were taken: until then nothing of the request has left.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    bytes: Option<Bytes>,
    sent: Option<Sent>,
}

impl Payload {
    /// The bytes of a body, and what is to be told once they are taken.
    pub(crate) fn new(bytes: Option<Bytes>, sent: Option<Sent>) -> Self {
        Self { bytes, sent }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(sent) = &self.sent {
            sent.mark();
        }
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(length.try_into().unwrap_or(u64::MAX))
    }
}
