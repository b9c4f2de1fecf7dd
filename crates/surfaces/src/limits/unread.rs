//! How many bytes are on their way: of requests that are still being sent and of answers that wait to be read, by
//! one caller and by all together.
//!
//! A request is counted while it is received, an answer from when it is made until it is written or its
//! connection is gone. A caller that has too much on its way makes no further call, and of its requests no more
//! is received.

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

/// Smaller answers are not counted: the buffers of a connection hold more.
const SMALLEST: u64 = 16 * 1024;

/// The pieces in which a counted answer is given, in bytes.
const PIECE: usize = 64 * 1024;

/// How long a caller is told to wait. Only the readers know when there is room.
const WAIT_MS: u64 = 1000;

/// The answers that wait to be read. Clones count the same.
#[derive(Clone, Debug)]
pub(crate) struct Unread(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: u64,
    limit_per_caller: u64,
    /// What waits of all callers. Most of the time nothing does, and then no lock is taken.
    all: AtomicU64,
    by_caller: Mutex<HashMap<Principal, u64>>,
}

impl Unread {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Inner {
            limit: limits.unread_bytes as u64,
            limit_per_caller: limits.unread_bytes_per_caller as u64,
            all: AtomicU64::new(0),
            by_caller: Mutex::default(),
        }))
    }

    /// Whether a caller may make another call.
    pub(crate) fn check(&self, principal: &Principal) -> Result<(), Failure> {
        let all = self.all();
        if all == 0 {
            return Ok(());
        }
        let of_caller = self.by_caller().get(principal).copied();
        let Inner {
            limit,
            limit_per_caller,
            ..
        } = &*self.0;
        let (code, whose, waits, limit) = if of_caller >= Some(*limit_per_caller) {
            let own = of_caller.unwrap_or_default();
            (
                codes::ERR_RATE_LIMITED,
                "this caller has",
                own,
                *limit_per_caller,
            )
        } else if all >= *limit {
            (
                codes::ERR_OVERLOADED,
                "all callers together have",
                all,
                *limit,
            )
        } else {
            return Ok(());
        };
        Err(Failure::new(code)
            .with_message(format!(
                "{whose} {waits} bytes of requests and answers on their way, and nothing is begun beyond {limit}"
            ))
            .with_detail("unread_bytes", waits)
            .with_detail("limit", limit)
            .with_actions([
                "Finish the requests that are being sent and read the answers, or close their connections",
            ])
            .with_retry_after_ms(WAIT_MS))
    }

    /// The same answer, counted until it is written.
    pub(crate) fn counting(&self, principal: &Principal, response: Response) -> Response {
        let Some(held) = self.hold(principal, response.body().size_hint().lower()) else {
            return response;
        };
        response.map(|body| {
            Body::new(Counted {
                body,
                taken: Bytes::new(),
                _held: held,
            })
        })
    }

    /// The body of a request, counted while it is received.
    pub(crate) fn receiving(&self, principal: &Principal, body: Incoming) -> Receiving {
        let is_small = body.size_hint().upper().is_some_and(|it| it < SMALLEST);
        let held = (!is_small).then(|| Held {
            unread: self.clone(),
            principal: principal.clone(),
            bytes: 0,
        });
        Receiving { body, held }
    }

    /// Counts bytes until what is returned is dropped; nothing for so few that they are not counted.
    pub(crate) fn hold(&self, principal: &Principal, bytes: u64) -> Option<Held> {
        if bytes < SMALLEST {
            return None;
        }
        let mut held = Held {
            unread: self.clone(),
            principal: principal.clone(),
            bytes: 0,
        };
        held.add(bytes);
        Some(held)
    }

    fn all(&self) -> u64 {
        self.0.all.load(Ordering::Acquire)
    }

    fn by_caller(&self) -> MutexGuard<'_, HashMap<Principal, u64>> {
        let by_caller = self.0.by_caller.lock();
        by_caller.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that wait to be read, no longer when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    unread: Unread,
    principal: Principal,
    bytes: u64,
}

impl Held {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.unread.0.all.fetch_add(bytes, Ordering::AcqRel);
        let mut by_caller = self.unread.by_caller();
        *by_caller.entry(self.principal.clone()).or_default() += bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.unread.0.all.fetch_sub(self.bytes, Ordering::AcqRel);
        let mut by_caller = self.unread.by_caller();
        if let Entry::Occupied(mut own) = by_caller.entry(self.principal.clone()) {
            *own.get_mut() = own.get().saturating_sub(self.bytes);
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// The body of a request that is counted while it is received.
#[derive(Debug)]
pub(crate) struct Receiving {
    body: Incoming,
    /// Nothing for one so small that it is not counted.
    held: Option<Held>,
}

/// No more of a body is received: why.
#[derive(Debug, thiserror::Error)]
#[error("no more of the request is received")]
pub(crate) struct TooMuch(pub(crate) Box<Failure>);

impl http_body::Body for Receiving {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(held) = &self.held
            && let Err(failure) = held.unread.check(&held.principal)
        {
            return Poll::Ready(Some(Err(TooMuch(Box::new(failure)).into())));
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

/// A body that is counted. It gives its bytes in pieces: the library takes a piece before it has written it,
/// and would otherwise hold all of it uncounted.
struct Counted {
    body: Body,
    /// What was taken from the body and not yet given.
    taken: Bytes,
    _held: Held,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.taken.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.taken = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let length = self.taken.len().min(PIECE);
        let piece = self.taken.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.taken.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let taken = self.taken.len() as u64;
        let rest = self.body.size_hint();
        let mut all = SizeHint::new();
        if let Some(upper) = rest.upper() {
            all.set_upper(upper + taken);
        }
        all.set_lower(rest.lower() + taken);
        all
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

    fn limited(all: usize, per_caller: usize) -> Unread {
        Unread::new(&Limits {
            unread_bytes: all,
            unread_bytes_per_caller: per_caller,
            ..Limits::default()
        })
    }

    fn answer(unread: &Unread, to: &str, bytes: usize) -> Response {
        let response = Response::new(Body::from(vec![b'x'; bytes]));
        unread.counting(&caller(to), response)
    }

    fn refused(unread: &Unread, name: &str) -> Option<String> {
        let checked = unread.check(&caller(name));
        checked.err().map(|failure| failure.code().to_string())
    }

    #[tokio::test]
    async fn who_leaves_answers_lying_makes_no_further_call_until_they_are_read() {
        let unread = limited(10 * MEGABYTE, 2 * MEGABYTE);
        let first = answer(&unread, "ann", MEGABYTE);
        assert_eq!(refused(&unread, "ann"), None);
        let _second = answer(&unread, "ann", MEGABYTE);
        assert_eq!(refused(&unread, "ann").as_deref(), Some("ERR_RATE_LIMITED"));
        assert_eq!(refused(&unread, "bob"), None);
        let read = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(read.len(), MEGABYTE);
        assert_eq!(refused(&unread, "ann"), None);
    }

    #[tokio::test]
    async fn all_callers_together_leave_so_much_lying_and_no_more() {
        let unread = limited(3 * MEGABYTE, 2 * MEGABYTE);
        let all: Vec<Response> = ["ann", "bob", "cid"]
            .map(|name| answer(&unread, name, MEGABYTE))
            .into();
        assert_eq!(refused(&unread, "dan").as_deref(), Some("ERR_OVERLOADED"));
        drop(all);
        assert_eq!(refused(&unread, "dan"), None);
        assert!(unread.by_caller().is_empty());
    }

    #[tokio::test]
    async fn an_answer_is_given_in_pieces_and_counts_until_the_last_is_taken() {
        let unread = limited(MEGABYTE, MEGABYTE);
        let mut body = answer(&unread, "ann", MEGABYTE).into_body();
        assert_eq!(body.size_hint().exact(), Some(MEGABYTE as u64));
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            assert_eq!(unread.all(), MEGABYTE as u64);
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= PIECE);
            length += piece.len();
            assert_eq!(body.size_hint().exact(), Some((MEGABYTE - length) as u64));
        }
        assert_eq!(length, MEGABYTE);
        drop(body);
        assert_eq!(unread.all(), 0);
    }
}
