//! Shared by the tests of stores: the list of stores, temporary folders and a manual clock.

#![allow(dead_code, unused_imports, reason = "no test needs all of it")]

pub(crate) mod clock;

use std::path::Path;
use std::sync::Arc;

use panpan_flow::ports::Tasks;
use panpan_runtime::ports::{Documents, Outcomes};
use panpan_store::{MemoryStore, PostgresAddress, PostgresOptions, PostgresStore, SqliteStore};
use panpan_testkit::PostgresServer;

pub(crate) use clock::ManualClock;
pub(crate) use panpan_testkit::Folder;

/// The ports that every store has.
pub(crate) trait Store: Outcomes + Documents {}
impl<T: Outcomes + Documents> Store for T {}

/// All ports, for stores that also keep tasks.
pub(crate) trait TaskStore: Store + Tasks {}
impl<T: Store + Tasks> TaskStore for T {}

/// Opens a store that keeps tasks.
pub(crate) type OpenTasks = fn(&Path, Arc<ManualClock>) -> Arc<dyn TaskStore>;

/// Opens a store of tasks in memory.
pub(crate) fn memory_tasks(_: &Path, clock: Arc<ManualClock>) -> Arc<dyn TaskStore> {
    Arc::new(MemoryStore::new(clock))
}

/// Opens a store of tasks in a file.
pub(crate) fn sqlite_tasks(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn TaskStore> {
    Arc::new(SqliteStore::open(path, clock).unwrap())
}

/// Opens a store of tasks in a PostgreSQL database.
pub(crate) fn postgres_tasks(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn TaskStore> {
    Arc::new(open_postgres(path, clock))
}

/// Opens a store; stores that last belong to the path.
pub(crate) type Open = fn(&Path, Arc<ManualClock>) -> Arc<dyn Store>;

/// Opens a store in memory.
pub(crate) fn memory(_: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(clock))
}

/// Opens a store in a file.
pub(crate) fn sqlite(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, clock).unwrap())
}

/// Opens a store in a PostgreSQL database.
pub(crate) fn postgres(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(open_postgres(path, clock))
}

fn open_postgres(path: &Path, clock: Arc<ManualClock>) -> PostgresStore {
    let options = PostgresOptions {
        clock: Some(clock),
        ..PostgresOptions::default()
    };
    PostgresStore::open_with(&database(path), options).unwrap()
}

/// The address of the database that belongs to a path. It is created when it is first asked for.
pub(crate) fn database(path: &Path) -> PostgresAddress {
    let address = std::fs::read_to_string(path).unwrap_or_else(|_| {
        let address = PostgresServer::shared().new_database();
        std::fs::write(path, &address).unwrap();
        address
    });
    address.parse().unwrap()
}

/// Declares a module with all cases for every store. Add a new store here.
macro_rules! on_every_store {
    () => {
        crate::shared::on_every_store! {
            memory => crate::shared::memory,
            sqlite => crate::shared::sqlite,
            postgres => crate::shared::postgres,
        }
    };
    ($($store:ident => $open:expr),* $(,)?) => {
        $(mod $store { crate::cases::all! { $open } })*
    };
}

pub(crate) use on_every_store;
