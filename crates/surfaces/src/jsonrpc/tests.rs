//! What is answered to which body, with operations that stand for any others.

mod bodies;
mod bounds;
mod gateway;
mod parameters;
mod properties;
mod specification;
