//! The rules of flows, as transactions over the rows of a store.
//!
//! `caller` knows with which authority tasks run. `changes` applies events to tasks and carries them to dependents,
//! `check` validates tasks against stored ones, and `cycle` finds cycles among them. The other modules are the
//! transactions: `create`, `copy`, `update`, `claim`, `contents` and `work` (what a worker does), `commands` (what a
//! caller does), `view` (what a caller reads, with `details`), `sweep`. `turns` orders ready tasks; `notice` adds messages to webhooks.

mod archive;
mod blocking;
mod caller;
mod changes;
mod check;
mod claim;
mod commands;
mod contents;
mod copy;
mod create;
mod cycle;
mod details;
mod notice;
mod sweep;
mod turns;
mod unknown;
mod update;
mod view;
mod work;

pub(crate) use caller::{Authorities, CallableMethods, Caller};
pub(crate) use claim::{Claimed, ClaimedTask, claim, keep_offered};
pub(crate) use commands::{Cancel, Execute, Executed, cancel, delete, execute};
pub(crate) use contents::Contents;
pub use copy::{COPY_BYTES_LIMIT, COPY_TASKS_LIMIT};
pub(crate) use copy::{Copied, Copy, copy};
pub(crate) use create::{Created, Release, create};
pub use notice::MESSAGE_RUNS_LIMIT;
pub(crate) use notice::NOTIFY;
pub(crate) use sweep::sweep;
pub use sweep::{FLOWS_KEPT_MS, FLOWS_SWEPT_AT_ONCE};
pub(crate) use update::{Update, update};
pub use view::{ANSWER_BYTES_LIMIT, DEFINITIONS_READ_LIMIT};
pub(crate) use view::{
    Fields, FoundTask, Generations, Listed, Visible, children, find, generations, list, tree,
};
pub use work::GENERATIONS_LIMIT;
pub(crate) use work::{Ended, Finished, Heartbeat, Lease, extend, finish, later, lost, rest};
