//! Conditions for lists of tasks, and parts of them.

use std::sync::Arc;

use super::Key;
use crate::state::State;

/// A condition for lists of tasks. All parts have to be met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Created by this principal, or by callers without one; `None` for all.
    pub owner: Option<Option<Arc<str>>>,
    /// In this state.
    pub state: Option<State>,
    /// With this user id.
    pub user_id: Option<String>,
    /// In this flow.
    pub flow: Option<Key>,
    /// Children of this task.
    pub parent: Option<Key>,
    /// Roots only.
    pub roots: bool,
}

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many are skipped.
    pub offset: u64,
    /// How many are returned at most.
    pub limit: u64,
}
