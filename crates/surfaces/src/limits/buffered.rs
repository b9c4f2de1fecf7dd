//! Limits on buffered bytes: requests that are being received and responses that clients have not read, of one
//! caller and of all callers together.
//!
//! A request counts while it is received, a response from its creation until it is written or its connection is
//! closed. Beyond the limit, a caller starts no further call and no more of its requests is received.

use std::collections::hash_map::Entry;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::response::Response;
use foldhash::HashMap;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use panpan_failure::{Failure, codes};

use super::Limits;
use crate::caller::Principal;

/// Smaller bodies are not counted: the buffers of a connection hold more.
const COUNTED_BYTES_MIN: u64 = 16 * 1024;

/// The frame size of a counted response, in bytes.
const FRAME_BYTES: usize = 64 * 1024;

/// The suggested delay when a limit is reached. It depends on the clients when they read.
const RETRY_AFTER_MS: u64 = 1000;

/// The bytes buffered for callers. Clones share their counts.
#[derive(Clone, Debug)]
pub(crate) struct BufferedBytes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: u64,
    limit_per_caller: u64,
    /// Buffered bytes of all callers. Usually zero, and then no lock is taken.
    total: AtomicU64,
    by_caller: Mutex<HashMap<Principal, u64>>,
}

impl BufferedBytes {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Inner {
            limit: limits.unread_bytes as u64,
            limit_per_caller: limits.unread_bytes_per_caller as u64,
            total: AtomicU64::new(0),
            by_caller: Mutex::default(),
        }))
    }

    /// Fails if a caller, or all callers together, have reached the limit.
    pub(crate) fn check(&self, principal: &Principal) -> Result<(), Failure> {
        let total = self.total();
        if total == 0 {
            return Ok(());
        }
        let of_caller = self.by_caller().get(principal).copied();
        let (limit, limit_per_caller) = (self.0.limit, self.0.limit_per_caller);
        let (code, whose, buffered, limit) = match of_caller {
            Some(own) if own >= limit_per_caller => (
                codes::ERR_RATE_LIMITED,
                "this caller",
                own,
                limit_per_caller,
            ),
            _ if total >= limit => (codes::ERR_OVERLOADED, "all callers", total, limit),
            _ => return Ok(()),
        };
        Err(Failure::new(code)
            .with_message(format!(
                "limit of {limit} buffered bytes reached: requests and unread responses of {whose} take {buffered}"
            ))
            .with_detail("unread_bytes", buffered)
            .with_detail("limit", limit)
            .with_actions([
                "Finish sending open requests and read pending responses, or close their connections",
            ])
            .with_retry_after_ms(RETRY_AFTER_MS))
    }

    /// Counts a response until it is written.
    pub(crate) fn count_response(&self, principal: &Principal, response: Response) -> Response {
        let Some(held) = self.hold(principal, response.body().size_hint().lower()) else {
            return response;
        };
        response.map(|body| {
            Body::new(CountedBody {
                body,
                unsent: Bytes::new(),
                _held: held,
            })
        })
    }

    /// Counts the body of a request while it is received.
    pub(crate) fn count_request(&self, principal: &Principal, body: Incoming) -> RequestBody {
        let is_small = body
            .size_hint()
            .upper()
            .is_some_and(|it| it < COUNTED_BYTES_MIN);
        let held = (!is_small).then(|| self.hold_none(principal));
        RequestBody { body, held }
    }

    /// Counts bytes until the guard is dropped; `None` for so few bytes that they are not counted.
    pub(crate) fn hold(&self, principal: &Principal, bytes: u64) -> Option<HeldBytes> {
        if bytes < COUNTED_BYTES_MIN {
            return None;
        }
        let mut held = self.hold_none(principal);
        held.add(bytes);
        Some(held)
    }

    fn hold_none(&self, principal: &Principal) -> HeldBytes {
        HeldBytes {
            buffered: self.clone(),
            principal: principal.clone(),
            bytes: 0,
        }
    }

    fn total(&self) -> u64 {
        self.0.total.load(Ordering::Acquire)
    }

    fn by_caller(&self) -> MutexGuard<'_, HashMap<Principal, u64>> {
        let by_caller = self.0.by_caller.lock();
        by_caller.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard for counted bytes; dropping it subtracts them.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    buffered: BufferedBytes,
    principal: Principal,
    bytes: u64,
}

impl HeldBytes {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.buffered.0.total.fetch_add(bytes, Ordering::AcqRel);
        let mut by_caller = self.buffered.by_caller();
        *by_caller.entry(self.principal.clone()).or_default() += bytes;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.buffered
            .0
            .total
            .fetch_sub(self.bytes, Ordering::AcqRel);
        let mut by_caller = self.buffered.by_caller();
        if let Entry::Occupied(mut own) = by_caller.entry(self.principal.clone()) {
            *own.get_mut() = own.get().saturating_sub(self.bytes);
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// The body of a request, counted while it is received.
#[derive(Debug)]
pub(crate) struct RequestBody {
    body: Incoming,
    /// `None` for a body too small to count.
    held: Option<HeldBytes>,
}

/// A request body is not received further; the failure says why.
#[derive(Debug, thiserror::Error)]
#[error("the limit of buffered bytes is reached")]
pub(crate) struct BufferFull(pub(crate) Box<Failure>);

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(held) = &self.held
            && let Err(failure) = held.buffered.check(&held.principal)
        {
            return Poll::Ready(Some(Err(BufferFull(Box::new(failure)).into())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let length = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        if let Some(held) = &mut self.held {
            held.add(length as u64);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A counted response body. It yields small frames: hyper takes a frame before it writes it, and would hold a
/// whole body uncounted.
struct CountedBody {
    body: Body,
    /// Bytes taken from the body and not yet yielded.
    unsent: Bytes,
    _held: HeldBytes,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.unsent.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.unsent = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let length = self.unsent.len().min(FRAME_BYTES);
        let frame = self.unsent.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.unsent.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let unsent = self.unsent.len() as u64;
        let rest = self.body.size_hint();
        let mut whole = SizeHint::new();
        if let Some(upper) = rest.upper() {
            whole.set_upper(upper + unsent);
        }
        whole.set_lower(rest.lower() + unsent);
        whole
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    const MEGABYTE: usize = 1024 * 1024;

    fn caller(name: &str) -> Principal {
        Principal::Known(name.into())
    }

    fn limited(all: usize, per_caller: usize) -> BufferedBytes {
        BufferedBytes::new(&Limits {
            unread_bytes: all,
            unread_bytes_per_caller: per_caller,
            ..Limits::default()
        })
    }

    fn response(buffered: &BufferedBytes, to: &str, bytes: usize) -> Response {
        let response = Response::new(Body::from(vec![b'x'; bytes]));
        buffered.count_response(&caller(to), response)
    }

    fn refused(buffered: &BufferedBytes, name: &str) -> Option<String> {
        let checked = buffered.check(&caller(name));
        checked.err().map(|failure| failure.code().to_string())
    }

    #[tokio::test]
    async fn unread_responses_block_further_calls_of_their_caller() {
        let buffered = limited(10 * MEGABYTE, 2 * MEGABYTE);
        let first = response(&buffered, "ann", MEGABYTE);
        assert_eq!(refused(&buffered, "ann"), None);
        let _second = response(&buffered, "ann", MEGABYTE);
        assert_eq!(
            refused(&buffered, "ann").as_deref(),
            Some("ERR_RATE_LIMITED")
        );
        assert_eq!(refused(&buffered, "bob"), None);
        let read = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(read.len(), MEGABYTE);
        assert_eq!(refused(&buffered, "ann"), None);
    }

    #[tokio::test]
    async fn unread_responses_of_all_callers_are_limited_together() {
        let buffered = limited(3 * MEGABYTE, 2 * MEGABYTE);
        let responses: Vec<Response> = ["ann", "bob", "cid"]
            .map(|name| response(&buffered, name, MEGABYTE))
            .into();
        assert_eq!(refused(&buffered, "dan").as_deref(), Some("ERR_OVERLOADED"));
        drop(responses);
        assert_eq!(refused(&buffered, "dan"), None);
        assert!(buffered.by_caller().is_empty());
    }

    #[tokio::test]
    async fn a_response_is_sent_in_frames_and_counts_until_the_last_one() {
        let buffered = limited(MEGABYTE, MEGABYTE);
        let mut body = response(&buffered, "ann", MEGABYTE).into_body();
        assert_eq!(body.size_hint().exact(), Some(MEGABYTE as u64));
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            assert_eq!(buffered.total(), MEGABYTE as u64);
            let frame = frame.unwrap().into_data().unwrap();
            assert!(frame.len() <= FRAME_BYTES);
            length += frame.len();
            assert_eq!(body.size_hint().exact(), Some((MEGABYTE - length) as u64));
        }
        assert_eq!(length, MEGABYTE);
        drop(body);
        assert_eq!(buffered.total(), 0);
    }
}
