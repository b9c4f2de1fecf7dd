//! Operations that come with panpan.
//!
//! The demonstration is for trying panpan out; `calls` is for people who watch and operate it. What
//! the registry tells about itself is in the runtime.

mod calls;
mod demo;

pub use calls::{OPERATE_SCOPE, WATCH_SCOPE, calls};
pub use demo::demo;
