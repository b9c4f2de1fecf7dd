//! Tasks in PostgreSQL, shared by any number of processes: the rows of the flow port, within transactions.
//!
//! `rows` implements the port; `select`, `change` and `journal` contain the SQL, `transaction` sends it, and `columns`
//! converts rows. `thread` runs the transactions, and `signals` notifies other processes of changes.
//!
//! The rules run between the statements of a transaction, so locks make it look as if transactions ran one after
//! another: everything that a writing transaction reads of a task is read after its row was locked, and the row stays
//! locked until the transaction ends. A row that another transaction changed meanwhile is read as it is after that. The
//! edges of a task belong to its row; to add one, the rows at both ends are locked.
//! Rows of one statement are locked in the order of their keys, and flows after all tasks. Transactions that wait for
//! each other all the same are rolled back by the database, and run again.

mod change;
mod columns;
mod journal;
mod rows;
mod select;
mod signals;
mod thread;
mod transaction;

use panpan_flow::ports::{Tasks, Work};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use tokio::sync::watch;

use super::store::PostgresStore;
pub(super) use thread::TaskThreads;
use transaction::Access;

impl Tasks for PostgresStore {
    fn write(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tasks.run(work, Access::Write)
    }

    fn read(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tasks.run(work, Access::Read)
    }

    fn write_at_once(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tasks.run_at_once(work, Access::Write)
    }

    fn read_at_once(&self, work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tasks.run_at_once(work, Access::Read)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tasks.changes()
    }
}
