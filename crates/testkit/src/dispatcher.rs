//! A dispatcher over a store in memory.

use std::sync::Arc;

use panpan_runtime::testing::{Notes, TestClock, TestPorts};
use panpan_runtime::{Builder, Dispatcher};
use panpan_store::MemoryStore;

/// A dispatcher with the ports of tests: tokio's clock, sequential ids and a readable log.
#[derive(Debug)]
pub struct TestDispatcher {
    /// The dispatcher.
    pub dispatcher: Dispatcher,
    /// Its store.
    pub store: Arc<MemoryStore>,
    /// Its clock.
    pub clock: Arc<TestClock>,
    /// The causes of failures that callers do not see.
    pub notes: Arc<Notes>,
}

/// A dispatcher with these operations, whose schemas have to be valid.
pub fn dispatcher(operations: Builder) -> TestDispatcher {
    let registry = operations.build().unwrap();
    assert_eq!(registry.schema_problems(), []);
    let clock = Arc::new(TestClock::start());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let TestPorts { ports, notes } = TestPorts::around(store.clone(), clock.clone());
    TestDispatcher {
        dispatcher: Dispatcher::new(registry, ports),
        store,
        clock,
        notes,
    }
}
