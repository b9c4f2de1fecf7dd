//! Trees of dependent tasks whose failures propagate by rule.
//!
//! So far the state table only: which step a task may take, as a pure function. Plans, the driver and
//! the `tasks/*` operations come on top of it; nothing here knows time or storage.

mod state;

pub use state::{Refused, State, transition};
