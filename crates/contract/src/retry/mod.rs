//! Retry as data: how often, how long, and what the server said about it.
//!
//! Four pure parts: a [`RetryPolicy`] that cannot hold nonsense, the delay it
//! gives for one attempt under one seed ([`delay_ms`]), the server's own wish
//! read out of headers or a body ([`Hint`]), and what a decision is made from
//! and can be ([`Attempt`], [`Terms`], [`Decision`]). Nothing here sleeps, reads
//! a clock, draws randomness or decides: the decision is the runtime's.

mod categories;
mod decision;
mod delay;
mod policy;
mod power;
mod rule;

pub use categories::Categories;
pub(crate) use decision::is_zero;
pub use decision::{Attempt, Decision, Terms, Waiting, Why};
pub use delay::delay_ms;
pub use policy::{InvalidPolicy, MAX_DELAY_MS, RetryPolicy, RetrySettings};
pub(crate) use rule::OFF;
pub use rule::RetryRule;
