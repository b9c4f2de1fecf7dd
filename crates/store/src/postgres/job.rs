//! A request that is not batched: runs on one connection and reports its result.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use panpan_runtime::ports::StoreError;
use tokio::sync::oneshot;

use super::errors::QueryError;
use super::lane::REQUEST_TIMEOUT;
use super::session::Session;

/// Work on a connection. It stays on the thread of the store, so it need not be `Send`.
pub(super) type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, QueryError>> + 'a>>;

/// A unit of work that a caller waits for.
pub(super) trait Job: Send {
    /// Runs the work and keeps the result. May be called again after a rollback.
    fn run<'a>(&'a mut self, session: &'a Session) -> Running<'a, ()>;

    /// How long it may take.
    fn limit(&self) -> Duration {
        REQUEST_TIMEOUT
    }

    /// Sends the result, or the error.
    fn finish(self: Box<Self>, ran: Result<(), StoreError>);
}

/// A job that sends its result over a channel.
pub(super) struct Request<W, T> {
    work: W,
    result: Option<T>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Request<W, T>
where
    W: AsyncFn(&Session) -> Result<T, QueryError> + Send,
    T: Send,
{
    /// Creates the request and the receiver of its result.
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (sender, receiver) = oneshot::channel();
        let request = Self {
            work,
            result: None,
            sender,
        };
        (request, receiver)
    }
}

impl<W, T> Job for Request<W, T>
where
    W: AsyncFn(&Session) -> Result<T, QueryError> + Send,
    T: Send,
{
    fn run<'a>(&'a mut self, session: &'a Session) -> Running<'a, ()> {
        Box::pin(async move {
            self.result = Some((self.work)(session).await?);
            Ok(())
        })
    }

    fn finish(self: Box<Self>, ran: Result<(), StoreError>) {
        let Self { result, sender, .. } = *self;
        let result = ran.and_then(|()| result.ok_or(StoreError::Closed));
        // The caller may have stopped waiting.
        let _ = sender.send(result);
    }
}
