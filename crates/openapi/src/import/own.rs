//! What a document that this project wrote says about its operations in members of its own, so that
//! what was exported comes back as it was.

use std::collections::BTreeMap;

use panpan_contract::binding::{BodyForm, HttpBinding, RequestBody, SuccessBodies};
use panpan_contract::contract_file::each_schema_mut;
use panpan_contract::operation::{Idempotency, OperationSpec, OperationType};
use panpan_failure::ErrorDefinition;
use serde::Deserialize;
use serde_json::Value;

use super::paths::Described;
use super::reader::Reader;
use super::schemas::weight;
use super::{security, servers};
use crate::place::Place;
use crate::{
    GATEWAY_NOTE, IDEMPOTENCY_NOTE, KEY_HEADER, OP_TYPE_NOTE, OWN_ERRORS_NOTE, TIMEOUT_HEADER,
};

/// The media type of the failures of a gateway.
const FAILURES: &str = "application/problem+json";

/// How an operation is called, if the document says it.
pub(super) fn op_type(operation: &Value) -> Option<OperationType> {
    OperationType::deserialize(operation.get(OP_TYPE_NOTE)?).ok()
}

/// Whether a path speaks of every operation of a gateway at once, and so is none of them.
pub(super) fn is_of_gateway(operation: &Value) -> bool {
    operation.get(GATEWAY_NOTE) == Some(&Value::Bool(true))
}

/// Puts what goes in and what comes out into the contract as it was before it was exported, and gives the
/// request: its body is the whole input. Nothing if the document does not say it.
pub(super) fn bound(
    reader: &mut Reader<'_>,
    described: &Described<'_>,
    spec: &mut OperationSpec,
) -> Option<HttpBinding> {
    let operation = described.operation;
    spec.op_type = op_type(operation)?;
    let input = operation.pointer("/requestBody/content/application~1json/schema")?;
    let content = operation.pointer("/responses/200/content")?.as_object()?;
    let (media_type, output) = content.iter().next()?;
    let output = output.get("schema")?;
    // Beside the output there is room for one that does not fit.
    let output = output.pointer("/anyOf/0").unwrap_or(output);
    spec.input_schema = standing_alone(reader, input)?;
    spec.output_schema = standing_alone(reader, output)?;
    let idempotency = operation
        .get(IDEMPOTENCY_NOTE)
        .map(Idempotency::deserialize);
    spec.idempotency = Idempotency {
        // What became of a call cannot be asked for through the document.
        reconcilable: false,
        ..idempotency.transpose().ok()?.unwrap_or_default()
    };
    let takes_key = spec.op_type == OperationType::Mutation;
    Some(HttpBinding {
        method: described.method.clone(),
        path: described.path.clone(),
        servers: servers::servers(reader, described),
        parameters: Vec::new(),
        body: Some(RequestBody {
            name: None,
            media_type: "application/json".to_owned(),
            form: BodyForm::Json,
            encoding: BTreeMap::new(),
        }),
        security: security::security(reader, operation, &Place::at(&described.pointer)),
        accepts: vec![media_type.clone(), FAILURES.to_owned()],
        idempotency_header: takes_key.then(|| KEY_HEADER.to_owned()),
        timeout_header: Some(TIMEOUT_HEADER.to_owned()),
        // A panpan says by its status whether a call failed; its outputs may look like anything.
        success_bodies: SuccessBodies::AsSent,
        rules: Vec::new(),
    })
}

/// The failures an operation declares, if the document says them apart from its answers: those have
/// the server's own among them.
pub(super) fn declared(
    reader: &mut Reader<'_>,
    operation: &Value,
    place: &Place<'_>,
) -> Option<Vec<ErrorDefinition>> {
    let written = operation.get(OWN_ERRORS_NOTE)?;
    let read = Vec::<ErrorDefinition>::deserialize(written);
    let read = read.map_err(|error| error.to_string());
    let sound = read.and_then(|it| it.into_iter().try_fold(Vec::new(), with));
    let sound = sound.inspect_err(|error| {
        let message = format!("{error}; the answers are read instead");
        reader.warnings.note(&place.name(OWN_ERRORS_NOTE), message);
    });
    let mut definitions = sound.ok()?;
    for definition in &mut definitions {
        if let Some(alone) = standing_alone(reader, &definition.schema) {
            definition.schema = alone;
        }
    }
    Some(definitions)
}

/// Definitions with one more, if a contract may hold it beside them.
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
        return Err(format!("{code} says nothing, or is declared twice"));
    }
    definitions.push(next);
    Ok(definitions)
}

/// The component a schema consists of, with references that start at its own top: what an export did to
/// the schema, undone.
fn standing_alone(reader: &mut Reader<'_>, schema: &Value) -> Option<Value> {
    let reference = schema.get("$ref")?.as_str()?;
    let (component, _) = crate::reference::target(reader.document, reference).ok()?;
    reader.spend(weight(component));
    let anchor = format!("_{}.", reference.rsplit('/').next()?);
    let mut alone = component.clone();
    each_schema_mut(&mut alone, |members| {
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

/// A reference or an anchor as it was before the schema stood in a document.
fn own(text: &str, reference: &str, anchor: &str) -> Option<String> {
    let inside = text.strip_prefix(reference);
    if let Some(inside) = inside.filter(|it| it.is_empty() || it.starts_with('/')) {
        return Some(format!("#{inside}"));
    }
    let hash = if text.starts_with('#') { "#" } else { "" };
    let name = text.strip_prefix(hash)?.strip_prefix(anchor)?;
    Some(format!("{hash}{name}"))
}
