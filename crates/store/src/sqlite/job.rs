//! A job for the writer: runs within a transaction and reports its result after the commit.

use panpan_runtime::ports::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::errors::QueryError;

/// A unit of work that a caller waits for.
pub(super) trait Job: Send {
    /// Runs the work and keeps the result.
    fn run(&mut self, connection: &mut Connection, now_ms: i64) -> Result<(), QueryError>;

    /// Sends the result, or the error if the commit failed.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A job that sends its result over a channel.
pub(super) struct Request<W, T> {
    work: W,
    result: Option<Result<T, StoreError>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Request<W, T>
where
    W: FnMut(&mut Connection, i64) -> Result<T, QueryError> + Send,
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
    W: FnMut(&mut Connection, i64) -> Result<T, QueryError> + Send,
    T: Send,
{
    fn run(&mut self, connection: &mut Connection, now_ms: i64) -> Result<(), QueryError> {
        self.result = Some(match (self.work)(connection, now_ms) {
            Ok(result) => Ok(result),
            // A damaged row must not fail the other jobs of the batch.
            Err(error) if error.concerns_one_row() => Err(error.into()),
            Err(error) => return Err(error),
        });
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = self.result.unwrap_or(Err(StoreError::Closed));
        // The caller may have stopped waiting.
        let _ = self.sender.send(committed.and(result));
    }
}
