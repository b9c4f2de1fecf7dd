//! The operations `services/list` and `services/schema`, which describe the registry.
//!
//! Both show only operations that the caller may call; all others look like unknown operations.

use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::Failure;
use serde_json::{Value, json};

use crate::context::Context;
use crate::dispatch::operation_not_found;
use crate::handler::untyped;
use crate::registry::{Builder, Registration};

impl Builder {
    /// Adds `services/list` and `services/schema`.
    pub fn with_services(self) -> Self {
        self.add(Registration::new(list_spec(), list))
            .add(Registration::new(schema_spec(), schema).returning_protocol_codes())
    }
}

fn query(name: &str, title: &str, description: &str) -> OperationSpec {
    let name = OperationName::new(name).expect("the names of services are well formed");
    let mut spec = OperationSpec::new(name, OperationType::Query);
    spec.title = Some(title.to_owned());
    spec.description = Some(description.to_owned());
    spec.idempotency.idempotent = true;
    spec
}

fn list_spec() -> OperationSpec {
    let mut spec = query(
        "services/list",
        "List operations",
        "Lists the operations you may call, with their type and what they do.",
    );
    spec.input_schema = json!({"type": "object", "additionalProperties": false});
    spec.output_schema = json!({
        "type": "object",
        "required": ["operations"],
        "properties": {"operations": {"type": "array", "items": {
            "type": "object",
            "required": ["name", "namespace", "op_type"],
            "properties": {
                "name": {"type": "string"},
                "namespace": {"type": "string"},
                "op_type": {"enum": ["query", "mutation", "subscription"]},
                "description": {"type": "string"},
            },
        }}},
    });
    spec
}

async fn list(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let operations = context.callable();
    let listed = operations.iter().map(|operation| {
        let spec = operation.spec();
        let mut line = json!({
            "name": spec.name,
            "namespace": spec.name.namespace(),
            "op_type": spec.op_type,
        });
        if let Some(description) = spec.description.as_ref().or(spec.title.as_ref()) {
            line["description"] = json!(description);
        }
        line
    });
    Ok(json!({"operations": listed.collect::<Vec<_>>()}))
}

fn schema_spec() -> OperationSpec {
    let mut spec = query(
        "services/schema",
        "Describe an operation",
        "Returns the full contract of an operation you may call: its input, its output, and every failure \
         it declares.",
    );
    spec.input_schema = json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {"name": {
            "type": "string",
            "description": "The name of the operation, such as demo/echo.",
        }},
    });
    spec.output_schema = json!({"type": "object", "required": ["name", "op_type"]});
    spec
}

async fn schema(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let requested = input["name"].as_str().unwrap_or_default();
    let name = requested.strip_prefix('/').unwrap_or(requested);
    let callable = context.callable();
    match callable.iter().find(|it| it.name().as_str() == name) {
        Some(operation) => serde_json::to_value(operation.spec()).map_err(|error| untyped(&error)),
        None => {
            let names = callable.iter().map(|it| it.name().as_str());
            Err(operation_not_found(name, names, "Ask for"))
        }
    }
}
