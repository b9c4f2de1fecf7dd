//! The rules of flows, as transactions over the rows of a store.
//!
//! `changes` applies events to tasks and carries them to dependents; the other modules are the transactions: `create`,
//! `work` (what a worker does), `commands` (what a caller does), `view` (what a caller reads).

mod changes;
mod commands;
mod create;
mod view;
mod work;

pub(crate) use commands::{Cancel, Execute, Executed, cancel, delete, execute};
pub(crate) use create::{Created, Creator, Release, create};
pub(crate) use view::{FoundTask, Visible, children, find, find_visible, list, tree};
pub(crate) use work::{ClaimedTask, Ended, Extended, Finished, Lease, claim, extend, finish, rest};
