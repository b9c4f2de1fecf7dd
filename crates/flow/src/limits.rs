//! How many tasks of one flow or one operation run at once in a process.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::ports::{Key, Row};

/// How many tasks run at once in a process, besides the limit of all of them. Without a number there is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits {
    /// Of each flow.
    pub per_flow: Option<NonZeroUsize>,
    /// Of each operation.
    pub per_operation: Option<NonZeroUsize>,
    /// Of single operations, instead of `per_operation`.
    pub operations: BTreeMap<String, NonZeroUsize>,
}

impl TaskLimits {
    fn is_empty(&self) -> bool {
        self.per_flow.is_none() && self.per_operation.is_none() && self.operations.is_empty()
    }

    fn of(&self, group: &Group) -> usize {
        let limit = match group {
            Group::Flow(_) => self.per_flow,
            Group::Operation(name) => {
                let own = self.operations.get(&**name).copied();
                own.or(self.per_operation)
            }
        };
        limit.map_or(usize::MAX, NonZeroUsize::get)
    }
}

/// Tasks that share a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// Those of a flow.
    Flow(Key),
    /// Those that call an operation.
    Operation(Arc<str>),
}

impl Group {
    /// The group of this name; `None` for a name that this version does not know.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.split_once(':')? {
            ("flow", key) => key.parse().ok().map(|key| Group::Flow(Key(key))),
            ("operation", operation) => Some(Group::Operation(operation.into())),
            _ => None,
        }
    }

    fn all_of(row: &Row) -> impl Iterator<Item = Self> {
        let operation = row.operation.clone().map(Group::Operation);
        [Group::Flow(row.flow)].into_iter().chain(operation)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Flow(key) => write!(formatter, "flow:{}", key.0),
            Group::Operation(operation) => write!(formatter, "operation:{operation}"),
        }
    }
}

/// The room for more tasks in a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    limits: Arc<TaskLimits>,
    running: BTreeMap<Group, usize>,
}

impl Room {
    /// The room in a process that runs these tasks.
    pub(crate) fn beside<'a>(
        limits: Arc<TaskLimits>,
        running: impl Iterator<Item = &'a Row>,
    ) -> Self {
        let mut room = Self {
            limits,
            running: BTreeMap::new(),
        };
        if room.is_limited() {
            running.for_each(|row| room.take(row));
        }
        room
    }

    /// Whether there is any limit.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limits.is_empty()
    }

    /// How many more tasks of a group may run.
    pub(crate) fn left(&self, group: &Group) -> usize {
        let running = self.running.get(group).copied().unwrap_or_default();
        self.limits.of(group).saturating_sub(running)
    }

    /// The group of the task that is full.
    pub(crate) fn full(&self, row: &Row) -> Option<Group> {
        match self.is_limited() {
            true => Group::all_of(row).find(|group| self.left(group) == 0),
            false => None,
        }
    }

    /// A task begins to run.
    pub(crate) fn take(&mut self, row: &Row) {
        if self.is_limited() {
            for group in Group::all_of(row) {
                *self.running.entry(group).or_default() += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name() {
        for group in [Group::Flow(Key(12)), Group::Operation("a:b/c".into())] {
            assert_eq!(Group::from_name(&group.to_string()), Some(group));
        }
        for unknown in ["", "flow", "flow:x", "caller:1"] {
            assert_eq!(Group::from_name(unknown), None, "{unknown}");
        }
    }
}
