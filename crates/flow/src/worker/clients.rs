//! How a running task reaches the client that created it.

use std::fmt;
use std::sync::Arc;

use panpan_runtime::AskClient;
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
