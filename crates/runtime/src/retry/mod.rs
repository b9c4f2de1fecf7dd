//! Whether to try again: one decision, and the two things shared by all calls to an upstream that can
//! veto it.
//!
//! Everything here is pure: time comes in as an argument and goes out as a delay. Who sleeps, and who
//! calls the handler again, is the corridor's business.

mod breaker;
mod budget;
mod decide;
mod upstream;

pub use breaker::{Breaker, BreakerSettings, Permit};
pub use budget::{Budget, BudgetSettings};
pub use decide::decide;
pub use panpan_contract::retry::{Attempt, Decision, Terms, Waiting, Why};
pub use upstream::Upstream;
pub(crate) use upstream::{OpenFor, Permitted};
