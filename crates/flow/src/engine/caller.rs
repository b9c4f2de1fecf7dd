//! Who gives a command, and the authority with which the tasks of a flow run: that of its owner.
//!
//! All tasks of a flow have the same authority. It is renewed whenever its owner adds tasks, changes what one calls, or
//! executes them; what another caller adds or changes is checked against it.

use std::fmt;
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::view::Visible;
use crate::plan::Methods;
use crate::ports::{Key, Row, Rows};

/// The operations that a caller may call, as methods of tasks.
pub(crate) type CallableMethods = Arc<dyn Methods + Send + Sync>;

/// Finds the operations that can be called with an authority.
pub(crate) trait Authorities: Send + Sync {
    /// The operations that can be called with this authority.
    fn methods(&self, authority: Option<&str>) -> CallableMethods;
}

/// The caller of a command about tasks.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The name of the caller, who owns the flows that it creates.
    pub(crate) owner: Option<Arc<str>>,
    /// The authority of the caller, as JSON.
    pub(crate) authority: Option<Arc<str>>,
    pub(crate) visible: Visible,
    pub(crate) authorities: Arc<dyn Authorities>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Caller")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Caller {
    /// The authority of a flow that this caller creates, or of the one with this root, after the command.
    pub(super) async fn authority_in(
        &self,
        rows: &mut dyn Rows,
        root: Option<&Row>,
    ) -> Result<FlowAuthority, StoreError> {
        let own = |renewed| FlowAuthority {
            owner: self.owner.clone(),
            text: self.authority.clone(),
            renewed,
        };
        let Some(root) = root else {
            return Ok(own(None));
        };
        let stored = rows.definitions(&[root.key]).await?.pop();
        let stored = stored.ok_or(StoreError::Damaged)?.authority;
        if root.owner == self.owner {
            return Ok(own((stored != self.authority).then_some(root.key)));
        }
        Ok(FlowAuthority {
            owner: root.owner.clone(),
            text: stored,
            renewed: None,
        })
    }
}

/// The authority of a flow.
#[derive(Clone, Debug)]
pub(super) struct FlowAuthority {
    pub(super) owner: Option<Arc<str>>,
    /// As JSON.
    pub(super) text: Option<Arc<str>>,
    /// The flow, if its tasks still have another authority.
    renewed: Option<Key>,
}

impl FlowAuthority {
    /// Stores it, if it has changed.
    pub(super) async fn store(&self, rows: &mut dyn Rows) -> Result<(), StoreError> {
        match self.renewed {
            Some(flow) => rows.authorize(flow, self.text.clone()).await,
            None => Ok(()),
        }
    }
}
