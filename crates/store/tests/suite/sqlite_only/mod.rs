//! Behaviour that only a file has: opening, sharing, size limits and errors.

mod failures;
mod isolation;
mod opening;
mod sharing;
mod space;
