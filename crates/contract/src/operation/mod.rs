//! What an operation is, as data: its name, its schemas, the failures it declares, who may call it,
//! and whether calling it twice does harm. Handlers live elsewhere.

mod name;
mod settings;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use panpan_failure::{ErrorDefinition, Extensions};

use crate::circuit::CircuitRule;
use crate::retry::{Categories, RetryPolicy, RetryRule};

pub use name::{NAME_LENGTH_LIMIT, NameError, OperationName};
pub use settings::{CallSettings, KEY_ARGUMENT_EXTENSION, Outputs, Redaction};

/// An operation's contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct OperationSpec {
    /// `namespace/operation`.
    pub name: OperationName,
    /// A few words.
    pub title: Option<String>,
    /// What it does, for whoever chooses an operation.
    pub description: Option<String>,
    /// How it is called.
    pub op_type: OperationType,
    /// Whether it can be called from outside.
    pub visibility: Visibility,
    /// JSON Schema of the input.
    pub input_schema: Value,
    /// JSON Schema of the output.
    pub output_schema: Value,
    /// The failures it declares.
    pub error_schemas: Vec<ErrorDefinition>,
    /// Who may call it.
    pub access_control: AccessControl,
    /// Whether calling it twice does harm.
    pub idempotency: Idempotency,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// A retry policy in place of those of the categories.
    pub retry: Option<RetryPolicy>,
    /// The categories of failures that are retried; all whose codes may pass if nothing is said.
    pub retry_categories: Option<Categories>,
    /// How long after a call began another attempt may start.
    pub patience_ms: Option<u64>,
    /// When calls are refused because earlier ones failed.
    pub circuit: Option<CircuitRule>,
    /// What becomes of an output that breaks its schema.
    pub outputs: Option<Outputs>,
    /// How much of what a service says in its own words is passed on.
    pub redaction: Option<Redaction>,
    /// Whether the same input and seed give the same course of events.
    pub deterministic: bool,
    /// Members of its author's own, kept and not read.
    pub extensions: Extensions,
}

/// How an operation is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationType {
    /// Reads.
    Query,
    /// Changes something.
    Mutation,
    /// Gives items until it ends.
    Subscription,
}

/// Whether an operation can be called from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// By anyone the access control lets in.
    #[default]
    External,
    /// Only by other operations; from outside it does not exist.
    Internal,
}

/// Who may call an operation. Without restrictions, everyone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessControl {
    /// Scopes the caller needs, all of them.
    #[serde(default)]
    pub required_scopes: Vec<String>,
    /// Scopes of which the caller needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_scopes_any: Option<Vec<String>>,
    /// The type of resource the caller needs a grant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// The action that grant has to include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_action: Option<String>,
}

/// Whether calling an operation twice does harm, and what a key is needed for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idempotency {
    /// Calling it again has no further effect.
    #[serde(default)]
    pub idempotent: bool,
    /// After a crash it can be asked what became of a call.
    #[serde(default)]
    pub reconcilable: bool,
    /// The service behind it recognises the idempotency key of a call, so that repeating the call with
    /// the same key does nothing twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honours_key: bool,
    /// Whether a call has to carry a key.
    #[serde(default)]
    pub key: KeyRule,
    /// Where the answer depends on the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_input: Option<ByInput>,
}

/// Whether a call has to carry an idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRule {
    /// A call without one is refused.
    Required,
    /// A call may carry one.
    #[default]
    Optional,
}

/// Values of one input member for which the operation is idempotent and needs no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByInput {
    /// Where the member stands, as an RFC 6901 pointer.
    pub pointer: String,
    /// Its harmless values.
    pub idempotent_values: Vec<Value>,
}

impl OperationSpec {
    /// An operation that takes and gives anything and declares nothing.
    pub fn new(name: OperationName, op_type: OperationType) -> Self {
        Self {
            name,
            title: None,
            description: None,
            op_type,
            visibility: Visibility::External,
            input_schema: json!({}),
            output_schema: json!({}),
            error_schemas: Vec::new(),
            access_control: AccessControl::default(),
            idempotency: Idempotency::default(),
            timeout_ms: None,
            retry: None,
            retry_categories: None,
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
    /// Asks for scopes beside those that are asked for already.
    pub fn require(&mut self, scopes: &[String]) {
        for scope in scopes {
            if !self.required_scopes.contains(scope) {
                self.required_scopes.push(scope.clone());
            }
        }
    }
}

impl Idempotency {
    /// Whether a call with this input can be repeated without harm.
    pub fn is_idempotent_for(&self, input: &Value) -> bool {
        self.idempotent || self.by_input.as_ref().is_some_and(|rule| rule.holds(input))
    }

    /// Whether a call with this input has to carry a key.
    pub fn needs_key_for(&self, input: &Value) -> bool {
        self.key == KeyRule::Required && !self.is_idempotent_for(input)
    }
}

impl ByInput {
    fn holds(&self, input: &Value) -> bool {
        input
            .pointer(&self.pointer)
            .is_some_and(|value| self.idempotent_values.contains(value))
    }
}

/// The form on the wire: the namespace stands beside the name, for readers who group by it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Written {
    name: OperationName,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    op_type: OperationType,
    #[serde(default)]
    visibility: Visibility,
    #[serde(default = "anything")]
    input_schema: Value,
    #[serde(default = "anything")]
    output_schema: Value,
    #[serde(default)]
    error_schemas: Vec<ErrorDefinition>,
    #[serde(default)]
    access_control: AccessControl,
    #[serde(default)]
    idempotency: Idempotency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<RetryRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patience_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    circuit: Option<CircuitRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outputs: Option<Outputs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redaction: Option<Redaction>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deterministic: bool,
    #[serde(flatten)]
    extensions: Extensions,
}

fn anything() -> Value {
    json!({})
}

/// Checks that a namespace written beside a name is the name's own.
pub(crate) fn check_namespace(name: &OperationName, said: &str) -> Result<(), String> {
    let namespace = name.namespace();
    if said == namespace {
        return Ok(());
    }
    Err(format!(
        "namespace {said:?} does not fit the name {name}; write {namespace:?} or leave it out"
    ))
}

impl TryFrom<Written> for OperationSpec {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if let Some(said) = &written.namespace {
            check_namespace(&written.name, said)?;
        }
        Ok(Self {
            name: written.name,
            title: written.title,
            description: written.description,
            op_type: written.op_type,
            visibility: written.visibility,
            input_schema: written.input_schema,
            output_schema: written.output_schema,
            error_schemas: written.error_schemas,
            access_control: written.access_control,
            idempotency: written.idempotency,
            timeout_ms: written.timeout_ms,
            retry: written.retry.and_then(|rule| rule.policy),
            retry_categories: written.retry.and_then(|rule| rule.categories),
            patience_ms: written.patience_ms,
            circuit: written.circuit,
            outputs: written.outputs,
            redaction: written.redaction,
            deterministic: written.deterministic,
            extensions: written.extensions,
        })
    }
}

impl From<OperationSpec> for Written {
    fn from(spec: OperationSpec) -> Self {
        Self {
            namespace: Some(spec.name.namespace().to_owned()),
            name: spec.name,
            title: spec.title,
            description: spec.description,
            op_type: spec.op_type,
            visibility: spec.visibility,
            input_schema: spec.input_schema,
            output_schema: spec.output_schema,
            error_schemas: spec.error_schemas,
            access_control: spec.access_control,
            idempotency: spec.idempotency,
            timeout_ms: spec.timeout_ms,
            retry: RetryRule::of(spec.retry, spec.retry_categories),
            patience_ms: spec.patience_ms,
            circuit: spec.circuit,
            outputs: spec.outputs,
            redaction: spec.redaction,
            deterministic: spec.deterministic,
            extensions: spec.extensions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_ones_own_survive_a_round_trip_and_others_are_refused() {
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
