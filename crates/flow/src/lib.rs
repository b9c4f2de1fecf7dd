//! The state machine of tasks.
//!
//! So far only the transition table, as a pure function. Plans, the driver and the `tasks/*` operations do not
//! exist yet. Nothing here knows time or storage.

mod state;

pub use state::{InvalidTransition, State, transition};
