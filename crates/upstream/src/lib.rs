//! The services behind the tools: what their answers mean.
//!
//! So far the classifier only, a pure function. The guarded client that opens sockets, and the
//! handlers of imported operations, will live here and nowhere else.

mod classify;

pub use classify::{Answer, classify};
