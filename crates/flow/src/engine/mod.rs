//! The rules of flows, as transactions over the rows of a store.
//!
//! `changes` applies events to tasks and carries them to dependents, `check` validates tasks against stored ones, and
//! `cycle` finds cycles among them. The other modules are the transactions: `create`, `copy`, `update`, `work` (what a
//! worker does), `commands` (what a caller does), `view` (what a caller reads), `sweep`.

mod changes;
mod check;
mod commands;
mod copy;
mod create;
mod cycle;
mod sweep;
mod update;
mod view;
mod work;

pub(crate) use commands::{Cancel, Execute, Executed, cancel, delete, execute};
pub(crate) use copy::{Copied, Copy, copy};
pub(crate) use create::{Created, Creator, Release, create};
pub(crate) use sweep::sweep;
pub use sweep::{FLOWS_KEPT_MS, FLOWS_SWEPT_AT_ONCE};
pub(crate) use update::{Update, update};
pub(crate) use view::{FoundTask, Visible, children, find, find_visible, list, tree};
pub(crate) use work::{
    ClaimedTask, Ended, Extended, Finished, Lease, claim, extend, finish, later, rest,
};
