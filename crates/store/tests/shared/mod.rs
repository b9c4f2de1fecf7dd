//! Shared by the tests of stores: the list of stores, temporary folders and a manual clock.

#![allow(dead_code, reason = "no test needs all of it")]

pub(crate) mod clock;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_runtime::ports::{Documents, Outcomes};
use panpan_store::{MemoryStore, SqliteStore};

pub(crate) use clock::ManualClock;

/// Both ports of a store.
pub(crate) trait Store: Outcomes + Documents {}
impl<T: Outcomes + Documents> Store for T {}

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

/// An empty folder that is deleted at the end of the test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-store-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
