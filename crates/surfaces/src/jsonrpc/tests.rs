//! Bodies and their responses, against test operations.

mod bodies;
mod bounds;
mod gateway;
mod parameters;
mod properties;
mod specification;
