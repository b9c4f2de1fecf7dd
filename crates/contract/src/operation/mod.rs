//! An operation as data: its name, its schemas, the failures it declares, its access control and
//! its idempotency. Handlers are in the runtime.

mod name;
mod settings;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use panpan_failure::{ErrorDefinition, Extensions};

use crate::circuit::CircuitRule;
use crate::retry::RetryRule;

pub use name::{NAME_LENGTH_LIMIT, NameError, OperationName};
pub use settings::{
    ASK_FIRST_EXTENSION, CallSettings, KEY_ARGUMENT_EXTENSION, Outputs, Redaction, TASK_EXTENSION,
    TaskUse,
};

/// The contract of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationSpec {
    /// The name, `namespace/operation`. The JSON form also has the namespace, for readers that
    /// group operations by it.
    #[serde(flatten, with = "with_namespace")]
    pub name: OperationName,
    /// A short title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the reader who chooses an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is a query, a mutation or a subscription.
    pub op_type: OperationType,
    /// Whether callers can call it.
    #[serde(default)]
    pub visibility: Visibility,
    /// JSON Schema of the input.
    #[serde(default = "any_schema")]
    pub input_schema: Value,
    /// The names of the arguments in the order in which a caller may send them as an array. If empty, the
    /// input has to name its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argument_order: Vec<String>,
    /// JSON Schema of the output.
    #[serde(default = "any_schema")]
    pub output_schema: Value,
    /// The failures it declares.
    #[serde(default)]
    pub error_schemas: Vec<ErrorDefinition>,
    /// Who may call it.
    #[serde(default)]
    pub access_control: AccessControl,
    /// Whether it can be repeated safely.
    #[serde(default)]
    pub idempotency: Idempotency,
    /// The timeout of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Which failures are retried, and how; if unset, by the defaults of their categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// How long after the start of a call another attempt may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// When the circuit refuses calls after failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitRule>,
    /// How an output is handled that violates its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How much of the free text of a service is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// Whether the same input and seed give the same behaviour.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// The `x-` members of the author, kept and not read.
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// The type of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationType {
    /// Reads.
    Query,
    /// Changes something.
    Mutation,
    /// Sends items until it ends.
    Subscription,
}

/// Whether callers can call an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Callers that pass the access control can.
    #[default]
    External,
    /// Only other operations can; callers cannot see it.
    Internal,
}

/// Who may call an operation; without restrictions, every caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessControl {
    /// Scopes of which the caller needs all.
    #[serde(default)]
    pub required_scopes: Vec<String>,
    /// Scopes of which the caller needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_scopes_any: Option<Vec<String>>,
    /// The type of resource the caller needs a grant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// The action that the grant must include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_action: Option<String>,
}

/// Whether an operation can be repeated safely, and whether a call needs a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idempotency {
    /// Calling it again has no further effect.
    #[serde(default)]
    pub idempotent: bool,
    /// After a crash, the outcome of a call can be queried.
    #[serde(default)]
    pub reconcilable: bool,
    /// The upstream recognises the idempotency key, so that a repeated call with the same key has
    /// no second effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honours_key: bool,
    /// Whether a call needs a key.
    #[serde(default)]
    pub key: KeyRule,
    /// Idempotency that depends on the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_input: Option<ByInput>,
}

/// Whether a call needs an idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRule {
    /// A call without a key is refused.
    Required,
    /// A key is optional.
    #[default]
    Optional,
}

/// Values of one input member for which the operation is idempotent and needs no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByInput {
    /// The location of the member, as an RFC 6901 pointer.
    pub pointer: String,
    /// The values that make a call idempotent; `null` also means a missing member.
    pub idempotent_values: Vec<Value>,
}

impl OperationSpec {
    /// An operation with any input and output and no declared failures.
    pub fn new(name: OperationName, op_type: OperationType) -> Self {
        Self {
            name,
            title: None,
            description: None,
            op_type,
            visibility: Visibility::External,
            input_schema: json!({}),
            argument_order: Vec::new(),
            output_schema: json!({}),
            error_schemas: Vec::new(),
            access_control: AccessControl::default(),
            idempotency: Idempotency::default(),
            timeout_ms: None,
            retry: None,
            patience_ms: None,
            circuit: None,
            outputs: None,
            redaction: None,
            deterministic: false,
            extensions: Extensions::default(),
        }
    }

    /// The definition of a declared code.
    pub fn definition(&self, code: &str) -> Option<&ErrorDefinition> {
        self.error_schemas
            .iter()
            .find(|definition| definition.code.as_str() == code)
    }
}

impl AccessControl {
    /// Adds scopes to the required ones.
    pub fn require(&mut self, scopes: &[String]) {
        for scope in scopes {
            if !self.required_scopes.contains(scope) {
                self.required_scopes.push(scope.clone());
            }
        }
    }
}

impl Idempotency {
    /// Whether a call with this input can be repeated safely.
    pub fn is_idempotent_for(&self, input: &Value) -> bool {
        self.idempotent
            || self
                .by_input
                .as_ref()
                .is_some_and(|rule| rule.matches(input))
    }

    /// Whether a call with this input needs a key.
    pub fn needs_key_for(&self, input: &Value) -> bool {
        self.key == KeyRule::Required && !self.is_idempotent_for(input)
    }
}

impl ByInput {
    fn matches(&self, input: &Value) -> bool {
        let value = input.pointer(&self.pointer).unwrap_or(&Value::Null);
        self.idempotent_values.contains(value)
    }
}

fn any_schema() -> Value {
    json!({})
}

/// Checks that a namespace matches the name.
pub(crate) fn check_namespace(name: &OperationName, namespace: &str) -> Result<(), String> {
    let expected = name.namespace();
    if namespace == expected {
        return Ok(());
    }
    Err(format!(
        "namespace {namespace:?} does not match the name {name}; write {expected:?} or leave it out"
    ))
}

/// The name next to its namespace.
mod with_namespace {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{OperationName, check_namespace};

    #[derive(Serialize, Deserialize)]
    struct Named {
        name: OperationName,
        #[serde(default)]
        namespace: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(
        name: &OperationName,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named = Named {
            name: name.clone(),
            namespace: Some(name.namespace().to_owned()),
        };
        named.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OperationName, D::Error> {
        let Named { name, namespace } = Named::deserialize(deserializer)?;
        if let Some(namespace) = namespace {
            check_namespace(&name, &namespace).map_err(D::Error::custom)?;
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_members_round_trip_and_unknown_members_are_rejected() {
        let mut written = json!({
            "name": "fs/read", "op_type": "query", "x-team": {"a": [1, 2.5]},
            "error_schemas": [{"code": "NO_FILE", "description": "None", "x-note": null}],
        });
        let spec: OperationSpec = serde_json::from_value(written.clone()).unwrap();
        let again = serde_json::to_value(&spec).unwrap();
        assert_eq!(again["x-team"], written["x-team"]);
        assert!(again["error_schemas"][0].get("x-note").is_some());

        written["opType"] = json!("query");
        let error = serde_json::from_value::<OperationSpec>(written).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"opType\" is not a known member; extension members start with x-"
        );
    }
}
