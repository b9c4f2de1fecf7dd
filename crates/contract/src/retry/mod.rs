//! Retry policies and decisions as data.
//!
//! A [`RetryPolicy`] is always valid. [`delay_ms`] computes its delay for one attempt and one seed.
//! [`Attempt`], [`Terms`] and [`Decision`] are the inputs and the result of a retry decision.
//! Nothing here sleeps, reads a clock, draws random numbers or decides: the runtime does.

mod categories;
mod decision;
mod delay;
mod policy;
mod power;
mod rule;

pub use categories::Categories;
pub(crate) use decision::is_zero;
pub use decision::{Attempt, Decision, StopReason, Terms, Waiting};
pub use delay::delay_ms;
pub use policy::{InvalidPolicy, MAX_DELAY_MS, RetryPolicy, RetrySettings};
pub use rule::RetryRule;
pub(crate) use rule::{OFF, off_or};
