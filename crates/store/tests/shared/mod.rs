//! Shared by the tests of stores: the list of stores, temporary folders and a manual clock.

#![allow(dead_code, unused_imports, reason = "no test needs all of it")]

pub(crate) mod clock;

use std::path::Path;
use std::sync::Arc;

use panpan_flow::ports::Tasks;
use panpan_runtime::ports::{Documents, Outcomes};
use panpan_store::{MemoryStore, SqliteStore};

pub(crate) use clock::ManualClock;
pub(crate) use panpan_testkit::Folder;

/// All ports of a store.
pub(crate) trait Store: Outcomes + Documents + Tasks {}
impl<T: Outcomes + Documents + Tasks> Store for T {}

/// Opens a store; the path is for stores that have a file.
pub(crate) type Open = fn(&Path, Arc<ManualClock>) -> Arc<dyn Store>;

/// Opens a store in memory.
pub(crate) fn memory(_: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(clock))
}

/// Opens a store in a file.
pub(crate) fn sqlite(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, clock).unwrap())
}

/// Declares a module with all cases for every store. Add a new store here.
macro_rules! on_every_store {
    () => {
        crate::shared::on_every_store! {
            memory => crate::shared::memory,
            sqlite => crate::shared::sqlite,
        }
    };
    ($($store:ident => $open:expr),* $(,)?) => {
        $(mod $store { crate::cases::all! { $open } })*
    };
}

pub(crate) use on_every_store;
