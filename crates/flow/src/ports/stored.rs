//! Tasks and what belongs to them, as stores read and write them.

use std::sync::Arc;

use jiff::Timestamp;

use crate::state::State;
use crate::step::{Announcement, Run};
use crate::task::{Priority, TaskId};

/// The number of a task within its store, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub i64);

/// A stored task without its definition and outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The key.
    pub key: Key,
    /// The id.
    pub id: TaskId,
    /// The root of its flow; its own key if it is the root.
    pub flow: Key,
    /// The parent, for the tree only: it does not change the order of execution.
    pub parent: Option<Key>,
    /// The principal that created it; `None` for callers without a token.
    pub owner: Option<Arc<str>>,
    /// The priority.
    pub priority: Priority,
    /// The order among ready tasks of the same priority. It has no meaning for other tasks.
    pub turn: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// Whether other tasks were copied from it or linked to it.
    pub has_references: bool,
    /// The operation that it calls.
    pub operation: Option<Arc<str>>,
    /// How it runs.
    pub run: Run,
}

/// A task to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow {
    /// The row.
    pub row: Row,
    /// The definition, as JSON.
    pub definition: Arc<str>,
    /// The authority with which it runs, as JSON; `None` for that of callers without a token.
    pub authority: Option<Arc<str>>,
    /// What lists of tasks are filtered by.
    pub user_id: Option<String>,
    /// The dependencies.
    pub dependencies: Vec<Edge>,
}

/// The definition of a stored task. Its debug form does not show the text.
#[derive(Clone, PartialEq)]
pub struct StoredDefinition {
    /// The task.
    pub key: Key,
    /// The definition, as JSON.
    pub text: Arc<str>,
    /// The authority with which it runs, as JSON.
    pub authority: Option<Arc<str>>,
}

/// A changed definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Redefined {
    /// The definition, as JSON.
    pub definition: Arc<str>,
    /// The priority.
    pub priority: Priority,
    /// The operation that it calls.
    pub operation: Option<Arc<str>>,
    /// What lists of tasks are filtered by.
    pub user_id: Option<String>,
}

/// A dependency between two stored tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The dependent.
    pub task: Key,
    /// The task that it depends on.
    pub on: Key,
    /// Whether the dependent needs it to succeed.
    pub required: bool,
}

/// How a generation of a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredOutcome {
    /// The task.
    pub key: Key,
    /// The generation.
    pub generation: u32,
    /// When it ended.
    pub at: Timestamp,
    /// The number of attempts.
    pub attempts: u32,
    /// The outcome.
    pub ending: Ending,
}

/// The outcome of a task. Its debug form does not show stored data.
#[derive(Clone, PartialEq)]
pub enum Ending {
    /// It succeeded with this output.
    Completed {
        /// The output as JSON, and in a second line what was returned beside it.
        result: Arc<str>,
    },
    /// It failed.
    Failed {
        /// The message.
        error: Arc<str>,
        /// The failure as canonical JSON, and in a second line what was returned beside it.
        failure: Arc<str>,
    },
    /// It was cancelled.
    Cancelled {
        /// The message.
        error: Arc<str>,
    },
}

impl Ending {
    /// The bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Ending::Completed { result } => result.len(),
            Ending::Failed { error, failure } => error.len() + failure.len(),
            Ending::Cancelled { error } => error.len(),
        }
    }

    /// The state that it leads to.
    pub fn state(&self) -> State {
        match self {
            Ending::Completed { .. } => State::Completed,
            Ending::Failed { .. } => State::Failed,
            Ending::Cancelled { .. } => State::Cancelled,
        }
    }
}

/// An entry of the journal of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Announced {
    /// The flow.
    pub flow: Key,
    /// The task; `None` if the whole flow rests: no task can run without another command.
    pub task: Option<TaskId>,
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub what: Announcement,
    /// The state of the task afterwards.
    pub state: State,
    /// The share of its work that is done.
    pub progress: f64,
}

impl Announced {
    /// Whether it says that the whole flow rests.
    pub fn is_rest(&self) -> bool {
        self.task.is_none() && self.what != Announcement::Dropped
    }
}
