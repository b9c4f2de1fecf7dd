//! What only a file has: opening, sharing, and everything that can be wrong with it.

mod neighbours;
mod opening;
mod room;
mod sharing;
mod trouble;
