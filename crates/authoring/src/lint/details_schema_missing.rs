//! A code whose details nobody described, so that callers cannot rely on them.

use panpan_contract::operation::{ErrorDefinition, OperationSpec};
use serde_json::Value;

use super::Rule;

pub(super) const RULE: Rule = Rule {
    name: "details_schema_missing",
    hint: "describe the details with a JSON Schema, or forbid them with false",
    look,
};

fn look(_: &OperationSpec, definition: &ErrorDefinition) -> Option<(&'static str, String)> {
    let says_nothing = match &definition.schema {
        Value::Object(members) => members.is_empty(),
        Value::Bool(anything) => *anything,
        _ => false,
    };
    let message = format!("{} declares no schema of its details", definition.code);
    says_nothing.then_some(("/schema", message))
}
