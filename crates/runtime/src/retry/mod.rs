//! Whether to try again: one decision, and what calls to a service share that can veto it, its circuits
//! and its budget.
//!
//! Everything here is pure: time comes in as an argument and goes out as a delay. Sleeping and calling
//! the handler again is done in `dispatch`.

mod blame;
mod breaker;
mod budget;
mod circuit;
mod decide;
mod upstream;
mod window;

pub(crate) use blame::Verdict;
pub use breaker::{Breaker, CircuitState, Permit};
pub use budget::{Budget, BudgetSettings};
pub use circuit::{CircuitLevel, LastFailure, OpenCircuit};
pub use decide::decide;
pub use panpan_contract::circuit::{CircuitRule, CircuitSettings};
pub use panpan_contract::retry::{Attempt, Decision, StopReason, Terms, Waiting};
pub use upstream::Upstream;
pub(crate) use upstream::{Behind, Pass, Refused};
