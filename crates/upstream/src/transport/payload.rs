//! A request body that records when it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::exchange::SentFlag;

/// Bytes that set a flag when the connection takes them: before that, nothing of the request was sent.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    bytes: Option<Bytes>,
    sent: Option<SentFlag>,
}

impl Payload {
    pub(crate) fn new(bytes: Option<Bytes>, sent: Option<SentFlag>) -> Self {
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
            sent.set();
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
