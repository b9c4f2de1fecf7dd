//! Where things are kept: implements the ports of the runtime.
//!
//! So far memory only, for tests and for gateways that may forget. Databases will live here and
//! nowhere else.

mod memory;

pub use memory::{MEMORY_FAILURES_LIMIT, MemoryOutcomes};
