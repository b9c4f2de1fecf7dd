//! The task as a client defines it: a definition, a parent and dependencies.
//!
//! `read` reads tasks from JSON with all violations at once, `write` writes the task object of the protocol.
//! Values that could be invalid have private fields, so that a definition is valid wherever it is.

mod call_options;
mod definition;
mod id;
mod members;
mod read;
mod retry;
mod write;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use call_options::TaskCallOptions;
pub use definition::{Definition, InvalidName, NAME_CHARACTERS_LIMIT, SCHEMA_TYPES, Schemas};
pub(crate) use definition::{is_archive, is_on_tasks, original_with_result, stored_webhook};
pub use id::{InvalidTaskId, TaskId};
pub(crate) use members::whole_number;
pub use members::{NESTING_LIMIT, RequestPlace};
pub(crate) use read::too_many_tasks;
pub use read::{ReadTask, Unread, read_task_id, read_tasks};
pub(crate) use read::{Updates, read_as_far, read_updates, read_webhook, refused_webhook};
pub use retry::{DELAY_SECONDS_LIMIT, RETRY_ATTEMPTS_LIMIT};
pub use write::{Phase, TaskView, result_object};

/// The priority of a task: 0 urgent, 1 high, 2 normal, 3 low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

/// A number that is not a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} is not a priority: write 0 (urgent), 1 (high), 2 (normal) or 3 (low)")]
pub struct InvalidPriority(pub u8);

impl Priority {
    /// Runs before all others.
    pub const URGENT: Self = Self(0);
    /// Runs before normal ones.
    pub const HIGH: Self = Self(1);
    /// The default.
    pub const NORMAL: Self = Self(2);
    /// Runs after all others.
    pub const LOW: Self = Self(3);

    /// The number of the priority.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl TryFrom<u8> for Priority {
    type Error = InvalidPriority;

    fn try_from(number: u8) -> Result<Self, InvalidPriority> {
        match number {
            0..=3 => Ok(Self(number)),
            _ => Err(InvalidPriority(number)),
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// A task that another task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// The task.
    pub id: TaskId,
    /// Whether it has to complete. Otherwise it only has to end.
    #[serde(default = "required_by_default")]
    pub required: bool,
}

const fn required_by_default() -> bool {
    true
}

/// Where a task comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Created by a client.
    #[default]
    Create,
    /// Stands for another task, which has completed.
    Link(TaskId),
    /// A copy of another task, which may be changed.
    Copy(TaskId),
    /// An unchangeable copy of a task, which has completed.
    Archive(TaskId),
}

impl Provenance {
    /// The value of `origin_type`.
    pub const fn word(self) -> &'static str {
        match self {
            Provenance::Create => "create",
            Provenance::Link(_) => "link",
            Provenance::Copy(_) => "copy",
            Provenance::Archive(_) => "archive",
        }
    }

    /// The original task.
    pub const fn original(self) -> Option<TaskId> {
        match self {
            Provenance::Create => None,
            Provenance::Link(id) | Provenance::Copy(id) | Provenance::Archive(id) => Some(id),
        }
    }

    /// Whether the original has to be completed.
    pub const fn needs_completed(self) -> bool {
        matches!(self, Provenance::Link(_) | Provenance::Archive(_))
    }
}

/// A task that does not exist yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// The id.
    pub id: TaskId,
    /// The parent, if this is not a root.
    pub parent: Option<TaskId>,
    /// The tasks that it waits for, in the order of the client.
    pub dependencies: Vec<Dependency>,
    /// Everything else.
    pub definition: Definition,
}
