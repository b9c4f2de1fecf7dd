//! `demo/echo`: returns its input.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::Failure;
use panpan_runtime::Context;
use serde_json::{Value, json};

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::query("demo/echo", "Returns its input unchanged.");
    spec.title = Some("Echo".to_owned());
    spec.input_schema = json!({"type": "object"});
    spec.output_schema = json!({"type": "object"});
    spec
}

pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
    Ok(input)
}
