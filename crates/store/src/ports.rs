//! Ready-made worlds for programs that only want to start.

use std::sync::Arc;

use panpan_runtime::Ports;
use panpan_runtime::system::SystemClock;

use crate::MemoryStore;

/// The real ports with a store in memory: nothing is kept when the program ends.
pub fn memory_ports() -> Ports {
    Ports::system(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
}
