//! Limits on the tasks that run at once in a process: per caller, per flow and per operation, and on their size
//! together. A process runs no task whose operation it does not offer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_runtime::Registry;

use crate::ports::{Key, Row};

/// How long a ready task waits for a process that offers its operation before it fails: 10 minutes.
pub const OPERATION_MISSING_MS: u64 = 10 * 60 * 1000;

/// How long a task may be set aside before a process that offers its operation renews its place, so that it does not
/// fail.
const STILL_OFFERED_MS: u64 = OPERATION_MISSING_MS / 2;

/// About the most bytes of definitions, and of the results that they refer to, of the tasks that run in a process. The
/// last of them may be larger.
pub const RUNNING_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The same of the tasks of one caller.
pub const RUNNING_BYTES_LIMIT_PER_OWNER: usize = RUNNING_BYTES_LIMIT / 2;

/// The times of groups have this precision, so that there are few groups.
const GROUP_MS: i64 = 60 * 1000;

/// How many tasks run at once in a process, besides the limit of all of them. Without a number there is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits {
    /// Of each caller, and of all callers without a token together.
    pub per_owner: Option<NonZeroUsize>,
    /// Of each flow.
    pub per_flow: Option<NonZeroUsize>,
    /// Of each operation.
    pub per_operation: Option<NonZeroUsize>,
    /// Of single operations, instead of `per_operation`.
    pub operations: BTreeMap<String, NonZeroUsize>,
}

impl TaskLimits {
    fn is_empty(&self) -> bool {
        self.per_owner.is_none()
            && self.per_flow.is_none()
            && self.per_operation.is_none()
            && self.operations.is_empty()
    }

    fn of(&self, group: &Group) -> usize {
        let limit = match group {
            Group::Owner(_) => self.per_owner,
            Group::Flow(_) => self.per_flow,
            Group::Operation(name) => {
                let own = self.operations.get(&**name).copied();
                own.or(self.per_operation)
            }
            Group::Missing { .. } => None,
        };
        limit.map_or(usize::MAX, NonZeroUsize::get)
    }
}

/// Tasks that share a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// Those of a caller, or of all callers without a token.
    Owner(Option<Arc<str>>),
    /// Those of a flow.
    Flow(Key),
    /// Those that call an operation.
    Operation(Arc<str>),
    /// Those that call an operation which the process that found them did not offer.
    Missing {
        /// When they were found, in milliseconds since 1970. Rounded up.
        since_ms: i64,
        operation: Arc<str>,
    },
}

impl Group {
    /// The group of this name; `None` for a name that this version does not know.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.split_once(':')? {
            ("anonymous", "") => Some(Group::Owner(None)),
            ("owner", owner) => Some(Group::Owner(Some(owner.into()))),
            ("flow", key) => key.parse().ok().map(|key| Group::Flow(Key(key))),
            ("operation", operation) => Some(Group::Operation(operation.into())),
            ("missing", rest) => {
                let (since_ms, operation) = rest.split_once(':')?;
                let since_ms = since_ms.parse().ok()?;
                let operation = operation.into();
                Some(Group::Missing {
                    since_ms,
                    operation,
                })
            }
            _ => None,
        }
    }

    /// The group of tasks that call an operation which this process does not offer.
    pub(crate) fn missing(operation: Arc<str>, now: Timestamp) -> Self {
        let rounded_up = now.as_millisecond().saturating_add(GROUP_MS - 1);
        Group::Missing {
            since_ms: rounded_up - rounded_up.rem_euclid(GROUP_MS),
            operation,
        }
    }

    /// Whether no process has run its tasks for so long that they fail.
    fn is_given_up(&self, now: Timestamp) -> bool {
        self.has_waited(OPERATION_MISSING_MS, now)
    }

    fn has_waited(&self, ms: u64, now: Timestamp) -> bool {
        match self {
            Group::Missing { since_ms, .. } => {
                now.as_millisecond() >= since_ms.saturating_add_unsigned(ms)
            }
            Group::Owner(_) | Group::Flow(_) | Group::Operation(_) => false,
        }
    }

    fn all_of(row: &Row) -> impl Iterator<Item = Self> {
        let operation = row.operation.clone().map(Group::Operation);
        let owner = Group::Owner(row.owner.clone());
        [owner, Group::Flow(row.flow)].into_iter().chain(operation)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Owner(None) => formatter.write_str("anonymous:"),
            Group::Owner(Some(owner)) => write!(formatter, "owner:{owner}"),
            Group::Flow(key) => write!(formatter, "flow:{}", key.0),
            Group::Operation(operation) => write!(formatter, "operation:{operation}"),
            Group::Missing {
                since_ms,
                operation,
            } => write!(formatter, "missing:{since_ms}:{operation}"),
        }
    }
}

/// The operations that a process offers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Offered {
    /// Every operation.
    #[default]
    All,
    /// Those of a registry.
    In(Arc<Registry>),
}

impl Offered {
    pub(crate) fn has(&self, operation: &str) -> bool {
        match self {
            Offered::All => true,
            Offered::In(registry) => registry.get(operation).is_some(),
        }
    }
}

/// The room for more tasks in a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    limits: Arc<TaskLimits>,
    offered: Offered,
    /// Whether tasks end whose operation no process has offered for long.
    gives_up: bool,
    /// The names of groups whose tasks stay set aside.
    skipped: BTreeSet<Arc<str>>,
    running: BTreeMap<Group, usize>,
    /// The bytes of the tasks that run, by owner.
    bytes: BTreeMap<Option<Arc<str>>, usize>,
}

impl Room {
    /// The room in a process that runs these tasks, each with its bytes.
    pub(crate) fn beside<'a>(
        limits: Arc<TaskLimits>,
        running: impl Iterator<Item = (&'a Row, usize)>,
    ) -> Self {
        let mut room = Self {
            limits,
            ..Self::default()
        };
        for (row, bytes) in running {
            room.take(row);
            room.take_bytes(row, bytes);
        }
        room
    }

    /// The same room, without any for operations that the process does not offer.
    pub(crate) fn offering(mut self, offered: Offered) -> Self {
        self.offered = offered;
        self
    }

    /// The same room, in a process that ends tasks whose operation no process has offered for long.
    pub(crate) fn giving_up(mut self, gives_up: bool) -> Self {
        self.gives_up = gives_up;
        self
    }

    /// Does not recall the tasks of a group.
    pub(crate) fn skip(&mut self, group: Arc<str>) {
        self.skipped.insert(group);
    }

    /// Whether there is any limit, apart from operations that the process does not offer.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limits.is_empty() || self.bytes.values().any(|it| is_full_of(*it))
    }

    /// The bytes of all tasks that run.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.values().sum()
    }

    /// Whether a task may run that has the same owner, as far as its bytes are concerned.
    pub(crate) fn has_bytes_for(&self, row: &Row) -> bool {
        self.bytes.get(&row.owner).is_none_or(|it| !is_full_of(*it))
    }

    /// A task begins to run that has so many bytes.
    pub(crate) fn take_bytes(&mut self, row: &Row, bytes: usize) {
        *self.bytes.entry(row.owner.clone()).or_default() += bytes;
    }

    /// How many more tasks may run of those that are set aside in the group of this name.
    pub(crate) fn free_in(&self, name: &Arc<str>) -> usize {
        match Group::from_name(name) {
            _ if self.skipped.contains(name) => 0,
            Some(Group::Missing { operation, .. }) => match self.offered.has(&operation) {
                true => self.free(&Group::Operation(operation)),
                false => 0,
            },
            Some(group) => self.free(&group),
            None => usize::MAX,
        }
    }

    /// Whether the tasks that are set aside in the group of this name fail: no process offers their operation.
    pub(crate) fn gives_up(&self, name: &str, now: Timestamp) -> bool {
        let group = Group::from_name(name).filter(|_| self.gives_up);
        group.is_some_and(|group| group.is_given_up(now) && !self.offers(&group))
    }

    /// Whether this process offers the operation of a group that another one has set aside long ago.
    pub(crate) fn still_offers(&self, name: &str, now: Timestamp) -> bool {
        let group = Group::from_name(name);
        group.is_some_and(|it| it.has_waited(STILL_OFFERED_MS, now) && self.offers(&it))
    }

    fn offers(&self, group: &Group) -> bool {
        match group {
            Group::Missing { operation, .. } | Group::Operation(operation) => {
                self.offered.has(operation)
            }
            Group::Owner(_) | Group::Flow(_) => true,
        }
    }

    fn free(&self, group: &Group) -> usize {
        if let Group::Owner(owner) = group
            && self.bytes.get(owner).is_some_and(|it| is_full_of(*it))
        {
            return 0;
        }
        let running = self.running.get(group).copied().unwrap_or_default();
        self.limits.of(group).saturating_sub(running)
    }

    /// The group of the task that is full.
    pub(crate) fn full(&self, row: &Row, now: Timestamp) -> Option<Group> {
        let missing = row.operation.as_ref().filter(|it| !self.offered.has(it));
        match missing {
            Some(operation) => Some(Group::missing(operation.clone(), now)),
            None if self.is_limited() => Group::all_of(row).find(|group| self.free(group) == 0),
            None => None,
        }
    }

    /// A task begins to run.
    pub(crate) fn take(&mut self, row: &Row) {
        if !self.limits.is_empty() {
            for group in Group::all_of(row) {
                *self.running.entry(group).or_default() += 1;
            }
        }
    }
}

/// Whether the tasks of an owner with so many bytes leave no room for another one.
fn is_full_of(bytes: usize) -> bool {
    bytes >= RUNNING_BYTES_LIMIT_PER_OWNER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name() {
        let missing = Group::missing("a:b/c".into(), Timestamp::UNIX_EPOCH);
        let operation = Group::Operation("a:b/c".into());
        let owners = [None, Some("".into()), Some("a:b".into())].map(Group::Owner);
        for group in [Group::Flow(Key(12)), operation, missing]
            .into_iter()
            .chain(owners)
        {
            assert_eq!(Group::from_name(&group.to_string()), Some(group));
        }
        for unknown in [
            "",
            "flow",
            "flow:x",
            "caller:1",
            "anonymous",
            "anonymous:a",
            "missing:x",
            "missing:x:y",
        ] {
            assert_eq!(Group::from_name(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_task_waits_at_least_so_long_for_its_operation() {
        let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
        let limit_ms = i64::try_from(OPERATION_MISSING_MS).unwrap();
        for (found_ms, rounded_ms) in [(0, 0), (1, GROUP_MS), (GROUP_MS, GROUP_MS)] {
            let group = Group::missing("a/b".into(), at(found_ms));
            assert!(!group.is_given_up(at(rounded_ms + limit_ms - 1)));
            assert!(group.is_given_up(at(rounded_ms + limit_ms)));
        }
        assert!(!Group::Operation("a/b".into()).is_given_up(at(i64::from(i32::MAX))));
    }
}
