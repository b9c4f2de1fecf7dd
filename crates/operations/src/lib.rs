//! Operations that come with panpan.
//!
//! So far only the demonstration: three operations that need nothing and reach nowhere. Operations
//! that open sockets or run code will live here too, switched off until somebody names them.

mod demo;

pub use demo::demo;
