//! One operation as `POST /operations/{namespace}/{operation}`.

use panpan_contract::operation::{
    AccessControl, Idempotency, KeyRule, OperationSpec, OperationType, Outputs,
};
use serde_json::{Map, Value, json};

use super::components::Components;
use super::failures::{CallFeatures, Declared, Failures};
use super::{BEARER, header_references};
use crate::{
    IDEMPOTENCY_EXTENSION, KEY_HEADER, OP_TYPE_EXTENSION, OWN_ERRORS_EXTENSION, TIMEOUT_HEADER,
};

/// The description of a stream of items.
pub(super) const STREAM: &str =
    "A stream of events: each event carries one item; an event `error` carries a failure.";

/// The operation with all its responses.
pub(super) fn written(
    spec: &OperationSpec,
    failures: &mut Failures,
    components: &mut Components,
) -> Value {
    let name = spec.name.as_str();
    let input = components.add_standalone(&format!("{name}.input"), &spec.input_schema);
    let output = components.add_standalone(&format!("{name}.output"), &spec.output_schema);
    let features = CallFeatures {
        is_guarded: is_guarded(&spec.access_control),
        takes_key: spec.op_type == OperationType::Mutation,
    };
    let declared = Declared::all(spec, components);
    let mut responses = failures.responses(name, &declared, features, components);
    let output = match spec.outputs {
        Some(Outputs::Strict) => output,
        _ => or_undeclared(&spec.output_schema, output),
    };
    responses.insert("200".to_owned(), success(spec.op_type, &output));
    let mut operation = json!({
        "operationId": name,
        "tags": [spec.name.namespace()],
        OP_TYPE_EXTENSION: spec.op_type,
        OWN_ERRORS_EXTENSION: declared.iter().map(Declared::written).collect::<Vec<_>>(),
        "requestBody": {"required": true, "content": {"application/json": {"schema": input}}},
        "responses": responses,
        "security": security(&spec.access_control),
    });
    if spec.idempotency != Idempotency::default() {
        operation[IDEMPOTENCY_EXTENSION] = json!(spec.idempotency);
    }
    if let Some(title) = &spec.title {
        operation["summary"] = title.as_str().into();
    }
    if let Some(description) = &spec.description {
        operation["description"] = description.as_str().into();
    }
    let mut parameters = call_headers();
    if features.takes_key {
        parameters.push(key_header(is_key_required(spec)));
    }
    operation["parameters"] = parameters.into();
    operation
}

/// The headers that every call may have.
fn call_headers() -> Vec<Value> {
    let optional = |name: &str, description: &str, schema: Value| json!({"name": name, "in": "header", "description": description, "schema": schema});
    vec![
        optional(
            "Panpan-Retry-Seed",
            "Makes retry delays reproducible.",
            json!({"type": "integer"}),
        ),
        optional(
            TIMEOUT_HEADER,
            "The timeout of the call in milliseconds.",
            json!({"type": "integer", "minimum": 1}),
        ),
    ]
}

/// The header for an idempotency key.
pub(super) fn key_header(is_required: bool) -> Value {
    json!({
        "name": KEY_HEADER,
        "in": "header",
        "required": is_required,
        "description": "A unique key for each intended effect. Send the same key to repeat the call: \
                        a repeated call returns the recorded outcome.",
        "schema": {"type": "string", "minLength": 1},
    })
}

/// The header is not required if some inputs need no key.
fn is_key_required(spec: &OperationSpec) -> bool {
    let rule = &spec.idempotency;
    rule.key == KeyRule::Required && !rule.idempotent && rule.by_input.is_none()
}

fn is_guarded(access: &AccessControl) -> bool {
    *access != AccessControl::default()
}

/// Who may call: callers with a token that has all the scopes, or anyone.
fn security(access: &AccessControl) -> Value {
    if !is_guarded(access) {
        return json!([{}, {BEARER: []}]);
    }
    let all = &access.required_scopes;
    let ways: Vec<_> = match access.required_scopes_any.as_deref() {
        Some(any) if !any.is_empty() => any
            .iter()
            .map(|one| json!({BEARER: all.iter().chain([one]).collect::<Vec<_>>()}))
            .collect(),
        _ => vec![json!({BEARER: all})],
    };
    ways.into()
}

/// The output, or any other value: an output that does not match its schema is still delivered. An import
/// recognises this choice.
fn or_undeclared(schema: &Value, output: Value) -> Value {
    let says_nothing = schema.as_object().is_some_and(Map::is_empty) || *schema == true;
    if says_nothing {
        return output;
    }
    let undeclared = "An output that does not match its schema, delivered unchanged.";
    json!({"anyOf": [output, {"description": undeclared}]})
}

fn success(op_type: OperationType, output: &Value) -> Value {
    let (media_type, description) = match op_type {
        OperationType::Subscription => ("text/event-stream", STREAM),
        OperationType::Query | OperationType::Mutation => ("application/json", "The output."),
    };
    let content = Map::from_iter([(media_type.to_owned(), json!({"schema": output}))]);
    let mut success = json!({"description": description, "content": content});
    if op_type == OperationType::Mutation {
        success["headers"] = header_references(&["Idempotent-Replayed"]);
    }
    success
}
