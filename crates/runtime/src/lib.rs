//! The verbs of panpan: which operations there are, and the one way a call takes through them.
//!
//! [`Registry`] holds operations with their handlers, checked against each other. [`Dispatcher`] walks
//! a call through the rooms in `dispatch`, one file each. What the runtime needs from the world, time,
//! ids and places to write to, it names as traits in [`ports`]; nothing here reads a clock, opens a
//! socket or knows a protocol.

mod dispatch;
mod handler;
pub mod ports;
mod registry;
pub mod retry;
mod schema;

pub use dispatch::{
    CallRequest, DEFAULT_TIMEOUT_MS, Dispatcher, GATEWAY, Origin, PARAMETERS_BYTES_LIMIT,
};
pub use handler::{BoxFuture, Context, Handler, untyped};
pub use registry::{Builder, Operation, Problem, Problems, Registry};
pub use schema::VIOLATIONS_LIMIT;
