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

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};

/// A contract that states nothing but what the operation does.
fn operation(name: &str, op_type: OperationType, description: &str) -> OperationSpec {
    let name = OperationName::new(name).expect("the names of the operations are well formed");
    let mut spec = OperationSpec::new(name, op_type);
    spec.description = Some(description.to_owned());
    spec
}
