//! Ready-made ports for tests, examples and small programs.

use std::sync::Arc;

use panpan_runtime::Ports;
use panpan_runtime::system::SystemClock;

use crate::MemoryStore;

/// The system ports with a store in memory: everything is lost when the program ends.
pub fn memory_ports() -> Ports {
    Ports::system(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
}
