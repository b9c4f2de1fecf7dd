//! Reads the members that an export of this project adds, so that an exported operation is restored exactly.

use std::collections::BTreeMap;

use panpan_contract::binding::{BodyForm, HttpBinding, RequestBody, SuccessBodies};
use panpan_contract::operation::{Idempotency, OperationSpec, OperationType};
use panpan_contract::path::Path;
use panpan_contract::schema::each_mut;
use panpan_failure::ErrorDefinition;
use serde::Deserialize;
use serde_json::Value;

use super::paths::DocumentOperation;
use super::reader::Reader;
use super::schemas::weight;
use super::{security, servers};
use crate::{
    GATEWAY_EXTENSION, IDEMPOTENCY_EXTENSION, KEY_HEADER, OP_TYPE_EXTENSION, OWN_ERRORS_EXTENSION,
    TIMEOUT_HEADER,
};

/// The media type of the failures of a gateway.
const FAILURES: &str = "application/problem+json";

/// The operation type, if the document has it.
pub(super) fn op_type(operation: &Value) -> Option<OperationType> {
    OperationType::deserialize(operation.get(OP_TYPE_EXTENSION)?).ok()
}

/// Whether a path belongs to a gateway and is not an operation.
pub(super) fn is_gateway_path(operation: &Value) -> bool {
    operation.get(GATEWAY_EXTENSION) == Some(&Value::Bool(true))
}

/// Restores the input, the output and the idempotency of an exported operation, and returns its binding: the
/// body is the whole input. `None` if the operation was not exported.
pub(super) fn bound(
    reader: &mut Reader<'_>,
    entry: &DocumentOperation<'_>,
    spec: &mut OperationSpec,
) -> Option<HttpBinding> {
    let operation = entry.operation;
    spec.op_type = op_type(operation)?;
    let input = operation.pointer("/requestBody/content/application~1json/schema")?;
    let content = operation.pointer("/responses/200/content")?.as_object()?;
    let (media_type, output) = content.iter().next()?;
    let output = output.get("schema")?;
    // The second alternative is for outputs that do not match their schema.
    let output = output.pointer("/anyOf/0").unwrap_or(output);
    spec.input_schema = standalone(reader, input)?;
    spec.output_schema = standalone(reader, output)?;
    let idempotency = operation
        .get(IDEMPOTENCY_EXTENSION)
        .map(Idempotency::deserialize);
    spec.idempotency = Idempotency {
        // An imported operation cannot be reconciled.
        reconcilable: false,
        ..idempotency.transpose().ok()?.unwrap_or_default()
    };
    let takes_key = spec.op_type == OperationType::Mutation;
    Some(HttpBinding {
        method: entry.method.clone(),
        path: entry.path.clone(),
        servers: servers::servers(reader, entry),
        parameters: Vec::new(),
        body: Some(RequestBody {
            name: None,
            media_type: "application/json".to_owned(),
            form: BodyForm::Json,
            encoding: BTreeMap::new(),
        }),
        security: security::security(reader, operation, &Path::At(&entry.pointer)),
        accepts: vec![media_type.clone(), FAILURES.to_owned()],
        idempotency_header: takes_key.then(|| KEY_HEADER.to_owned()),
        timeout_header: Some(TIMEOUT_HEADER.to_owned()),
        // A panpan server reports failures by status; its outputs may look like anything.
        success_bodies: SuccessBodies::AsSent,
        rules: Vec::new(),
    })
}

/// The failures that an exported operation declares. Its responses also have the failures of the server.
pub(super) fn declared(
    reader: &mut Reader<'_>,
    operation: &Value,
    location: &Path<'_>,
) -> Option<Vec<ErrorDefinition>> {
    let written = operation.get(OWN_ERRORS_EXTENSION)?;
    let read = Vec::<ErrorDefinition>::deserialize(written);
    let read = read.map_err(|error| error.to_string());
    let valid = read.and_then(|it| it.into_iter().try_fold(Vec::new(), with));
    let valid = valid.inspect_err(|error| {
        let message = format!("invalid ({error}): correct it; the responses are used instead");
        reader
            .warnings
            .note(&location.name(OWN_ERRORS_EXTENSION), message);
    });
    let mut definitions = valid.ok()?;
    for definition in &mut definitions {
        if let Some(alone) = standalone(reader, &definition.schema) {
            definition.schema = alone;
        }
    }
    Some(definitions)
}

/// Adds a definition, if a contract may have it.
fn with(
    mut definitions: Vec<ErrorDefinition>,
    next: ErrorDefinition,
) -> Result<Vec<ErrorDefinition>, String> {
    let code = &next.code;
    if let Err(refusals) = next.kind() {
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        return Err(refusals.join("; "));
    }
    if next.description.trim().is_empty() || definitions.iter().any(|it| it.code == *code) {
        return Err(format!("{code} has no description or is declared twice"));
    }
    definitions.push(next);
    Ok(definitions)
}

/// The component of a schema, with references that start at its root again: the reverse of what an export does.
fn standalone(reader: &mut Reader<'_>, schema: &Value) -> Option<Value> {
    let reference = schema.get("$ref")?.as_str()?;
    let (component, _) = reader.references.target(reference).ok()?;
    reader.spend(weight(component));
    let anchor = format!("_{}.", reference.rsplit('/').next()?);
    let mut alone = component.clone();
    each_mut(&mut alone, |members| {
        for keyword in ["$ref", "$dynamicRef", "$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(text)) = members.get_mut(keyword)
                && let Some(own) = own(text, reference, &anchor)
            {
                *text = own;
            }
        }
        true
    });
    Some(alone)
}

/// A reference or an anchor as it was before the export.
fn own(text: &str, reference: &str, anchor: &str) -> Option<String> {
    let inside = text.strip_prefix(reference);
    if let Some(inside) = inside.filter(|it| it.is_empty() || it.starts_with('/')) {
        return Some(format!("#{inside}"));
    }
    let hash = if text.starts_with('#') { "#" } else { "" };
    let name = text.strip_prefix(hash)?.strip_prefix(anchor)?;
    Some(format!("{hash}{name}"))
}
