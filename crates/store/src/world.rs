//! Ready-made worlds for programs that only want to start.

use std::sync::Arc;

use panpan_runtime::World;
use panpan_runtime::system::SystemClock;

use crate::MemoryStore;

/// The real world with a store in memory: nothing is kept when the program ends.
pub fn memory_world() -> World {
    World::system(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
}
