//! How a running task reaches the client that created it, and whether its owner may still start calls.

use std::fmt;
use std::sync::Arc;

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
