//! The services behind the tools: what their answers mean, and how a running panpan is asked.
//!
//! The only crate that opens sockets outwards. The guarded client of other services, and the handlers
//! of imported operations, will live here too.

mod classify;
pub mod remote;

pub use classify::{Answer, classify};
