//! What a worker needs from the rest of the program: the clients that created tasks, the owners that may still start
//! calls, and the log of the calls.

use std::fmt;
use std::sync::Arc;

use panpan_failure::Redacted;
use panpan_runtime::{AskClient, BoxFuture};
use serde_json::{Map, Value};

use crate::task::TaskId;

/// The clients that created tasks, as far as they can be asked while their tasks run.
pub trait TaskClients: Send + Sync + fmt::Debug {
    /// The client of a task with this owner and these `params`; `None` if it cannot be asked.
    fn client(
        &self,
        task: TaskId,
        owner: Option<&str>,
        params: &Map<String, Value>,
    ) -> Option<Arc<dyn AskClient>>;
}

/// The callers that have tokens.
pub trait TaskOwners: Send + Sync + fmt::Debug {
    /// Whether a caller still has a valid token. It counts as having one while that cannot be found out.
    fn has_token<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, bool>;
}

/// Counts and logs the calls of tasks.
pub trait TaskCallLog: Send + Sync + fmt::Debug {
    /// Called with the last call of each task that completed or failed, also if it was refused before it was made.
    fn ended(&self, call: EndedCall<'_>);
}

/// The last call of a task.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    /// The task.
    pub task: TaskId,
    /// The caller it belongs to.
    pub owner: Option<&'a str>,
    /// The operation that it calls; empty if it is not known.
    pub operation: &'a str,
    /// How many attempts there were after the first.
    pub retries: u32,
    /// Its failure.
    pub failure: Option<&'a Redacted>,
}
