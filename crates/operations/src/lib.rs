//! Operations that come with panpan.
//!
//! The demonstration is for trying panpan out; `calls` is for people who watch and operate it; `json`
//! works on what other operations gave; `http` reaches out, and is there only where an operator names it.
//! What the registry tells about itself is in the runtime.

mod calls;
mod demo;
mod http;
mod json;

pub use calls::{OPERATE_SCOPE, WATCH_SCOPE, calls};
pub use demo::demo;
pub use http::http_call;
pub use json::json;
