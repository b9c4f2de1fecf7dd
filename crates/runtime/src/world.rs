//! Everything the corridor needs from outside, in one place.

use std::sync::Arc;

use crate::ports::{Clock, Ids, Outcomes, PrivateLog, Spawn};

/// The ports a dispatcher works through.
#[derive(Clone, Debug)]
pub struct World {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and seeds.
    pub ids: Arc<dyn Ids>,
    /// Work that outlives its caller.
    pub spawn: Arc<dyn Spawn>,
    /// Where outcomes are kept.
    pub outcomes: Arc<dyn Outcomes>,
    /// Where private causes go.
    pub log: Arc<dyn PrivateLog>,
}
