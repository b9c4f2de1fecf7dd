//! The built-in operations of panpan.
//!
//! `demo` is for trying panpan out; `calls` is for operators; `json` transforms the outputs of other
//! operations; `http` sends requests to any service, and is added only if an operator enables it. The
//! operations `services/*` are in the runtime.

mod calls;
mod demo;
mod http;
mod json;

pub use calls::{OPERATE_SCOPE, WATCH_SCOPE, calls};
pub use demo::demo;
pub use http::http_call;
pub use json::json;
