//! A step somebody waits for: run within a transaction, answered when that is committed.

use panpan_runtime::ports::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::errors::Trouble;

/// A step somebody waits for.
pub(super) trait Job: Send {
    /// Does the work; nothing is told yet.
    fn run(&mut self, connection: &Connection, now_ms: i64) -> Result<(), Trouble>;

    /// Tells what was found, or why nothing of it holds.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Work whose result goes back over a channel.
pub(super) struct Asked<W, T> {
    work: W,
    found: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Asked<W, T>
where
    W: FnMut(&Connection, i64) -> Result<T, Trouble> + Send,
    T: Send,
{
    /// The work, and where its result arrives.
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        let found = None;
        (Self { work, found, reply }, answer)
    }
}

impl<W, T> Job for Asked<W, T>
where
    W: FnMut(&Connection, i64) -> Result<T, Trouble> + Send,
    T: Send,
{
    fn run(&mut self, connection: &Connection, now_ms: i64) -> Result<(), Trouble> {
        self.found = Some(match (self.work)(connection, now_ms) {
            Ok(found) => Ok(found),
            // What one row holds is no fault of the others in the batch.
            Err(trouble) if trouble.is_of_one_row() => Err(trouble.into()),
            Err(trouble) => return Err(trouble),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let found = self.found.unwrap_or(Err(StoreError::Closed));
        // Whoever asked may have gone; then nobody is told.
        let _ = self.reply.send(committed.and(found));
    }
}
