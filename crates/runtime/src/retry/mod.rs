//! Whether to retry: the decision, and the circuits and the retry budget that calls to a service share.
//!
//! Nothing here sleeps, reads a clock or calls a handler: see `dispatch`.

mod breaker;
mod budget;
mod circuit;
mod decide;
mod upstream;
mod verdict;
mod window;

pub use breaker::{Breaker, CircuitState, Permit};
pub use budget::{Budget, BudgetSettings};
pub(crate) use circuit::CircuitRefusal;
pub use circuit::{CircuitLevel, LastFailure, OpenCircuit};
pub use decide::decide;
pub use panpan_contract::circuit::{CircuitRule, CircuitSettings};
pub use panpan_contract::retry::{Attempt, Decision, StopReason, Terms, Waiting};
pub use upstream::UpstreamHealth;
pub(crate) use upstream::{CircuitPass, OperationUpstream};
pub(crate) use verdict::{Verdict, is_not_connected};
