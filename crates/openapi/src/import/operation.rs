//! One operation of a document as an operation of a contract.

use std::collections::HashSet;

use panpan_contract::binding::{
    HttpBinding, ParameterLocation as Where, SecurityScheme, SuccessBodies,
};
use panpan_contract::operation::{OperationSpec, OperationType};
use serde_json::{Map, Value};

use super::answers::{self, Success};
use super::failures::{self, Failures};
use super::input::input;
use super::parameters::{self, Given, identity};
use super::paths::Described;
use super::reader::Reader;
use super::schemas::weight;
use super::{body, names, own, security, servers};
use crate::place::Place;

/// The member of an operation that holds its tags.
pub const TAGS_NOTE: &str = "x-panpan-tags";
/// The member of an operation that says that it should not be used any more.
pub const DEPRECATED_NOTE: &str = "x-deprecated";
/// The member of an operation with the answers that are neither success nor failure.
pub const OTHER_ANSWERS_NOTE: &str = "x-panpan-other-answers";

/// The largest member of an author's own that is kept, in bytes; larger ones are pages and examples for
/// other tools.
pub const EXTENSION_BYTES_LIMIT: usize = 1_000;

/// The header in which services take an idempotency key.
const KEY_HEADER: &str = "idempotency-key";

/// What an operation counts, besides what is in it.
const OPERATION_WEIGHT: usize = 500;

/// What an operation object may hold; everything else is told.
const MEMBERS: [&str; 12] = [
    "callbacks",
    "deprecated",
    "description",
    "externalDocs",
    "operationId",
    "parameters",
    "requestBody",
    "responses",
    "security",
    "servers",
    "summary",
    "tags",
];

/// The contract of an operation, with the request it becomes.
pub(super) fn operation<'a>(
    reader: &mut Reader<'a>,
    described: &Described<'a>,
    name: &str,
) -> OperationSpec {
    let pointer = &described.pointer;
    let place = Place::at(pointer);
    let operation = described.operation;
    reader.spend(OPERATION_WEIGHT + described.tags().iter().map(|it| it.len()).sum::<usize>());
    note_unused(reader, operation, &place);
    let mut spec = OperationSpec::new(names::operation(name), OperationType::Query);
    let said = |member: &str| operation.get(member).or(described.path_item.get(member));
    spec.title = reader.text(said("summary"));
    spec.description = reader.text(said("description"));
    let declared = own::declared(reader, operation, &place);
    let is_own = declared.is_some();
    spec.error_schemas = declared.unwrap_or_default();
    let own = is_own.then(|| own::bound(reader, described, &mut spec));
    let binding = match own.flatten() {
        Some(binding) => binding,
        None => described_by_answers(reader, described, &mut spec, is_own),
    };
    binding.bind(&mut spec);
    spec
}

/// Fills in the contract of an operation from what it takes and answers.
fn described_by_answers<'a>(
    reader: &mut Reader<'a>,
    described: &Described<'a>,
    spec: &mut OperationSpec,
    declares_failures: bool,
) -> HttpBinding {
    let place = Place::at(&described.pointer);
    let responses = described.operation.get("responses");
    let responses = responses.and_then(Value::as_object);
    let success = answers::success(reader, responses, &place.name("responses"));
    let failures = failures::failures(reader, responses, &place.name("responses"));
    spec.op_type = op_type(described, &success);
    spec.idempotency.idempotent = matches!(described.method.as_str(), "PUT" | "DELETE");
    let binding = bound(reader, described, spec, &success, &failures);
    spec.output_schema = success.schema;
    if !declares_failures {
        spec.error_schemas = failures.definitions;
    }
    note(reader, spec, described, failures.others);
    binding
}

fn op_type(described: &Described<'_>, success: &Success) -> OperationType {
    if let Some(said) = own::op_type(described.operation) {
        return said;
    }
    match described.method.as_str() {
        _ if success.is_stream => OperationType::Subscription,
        "GET" | "HEAD" | "OPTIONS" | "QUERY" | "TRACE" => OperationType::Query,
        _ => OperationType::Mutation,
    }
}

/// The request the operation becomes; puts what goes into it into the contract.
fn bound<'a>(
    reader: &mut Reader<'a>,
    described: &Described<'a>,
    spec: &mut OperationSpec,
    success: &Success,
    failures: &Failures,
) -> HttpBinding {
    let place = Place::at(&described.pointer);
    let path_place = Place::at(&described.path_pointer);
    let operation = described.operation;
    let security = security::security(reader, operation, &place);
    let lists = [
        (described.path_parameters, path_place),
        (operation.get("parameters"), place),
    ];
    let mut given = parameters::given(reader, lists);
    leave_out_credentials(reader, &mut given, &security, &place);
    let idempotency_header = take_key_header(&mut given);
    let given = of_template(reader, given, &described.path, &place);
    let input = input(given, body::body(reader, operation, &place));
    spec.input_schema = input.schema;
    let mut known = HashSet::new();
    let mut accepts = [success.accepts.as_slice(), &failures.accepts].concat();
    accepts.retain(|it| known.insert(it.clone()));
    HttpBinding {
        method: described.method.clone(),
        path: described.path.clone(),
        servers: servers::servers(reader, described),
        parameters: input.parameters,
        body: input.body,
        security,
        accepts,
        idempotency_header,
        timeout_header: None,
        success_bodies: SuccessBodies::default(),
        rules: Vec::new(),
    }
}

/// Credentials come from whoever runs the gateway, never from callers.
fn leave_out_credentials(
    reader: &mut Reader<'_>,
    given: &mut Vec<Given>,
    security: &[Vec<SecurityScheme>],
    place: &Place<'_>,
) {
    let credentials = security::credentials(security);
    given.retain(|parameter| {
        let sent = &parameter.sent;
        let is_credential = credentials.contains(&identity(sent.place, &sent.wire_name));
        if is_credential {
            let message = format!(
                "the parameter {} is a credential by the security of the operation; it is not taken \
                 from callers",
                sent.wire_name
            );
            reader.warnings.note(place, message);
        }
        !is_credential
    });
}

/// The header for an idempotency key is filled with the key of the call, or with one the gateway makes,
/// and is not a member of the input.
fn take_key_header(given: &mut Vec<Given>) -> Option<String> {
    let is_key = |it: &Given| {
        it.sent.place == Where::Header && it.sent.wire_name.eq_ignore_ascii_case(KEY_HEADER)
    };
    let header = given.remove(given.iter().position(is_key)?);
    Some(header.sent.wire_name)
}

/// The parameters, with those in the path being exactly the ones the path names.
fn of_template(
    reader: &mut Reader<'_>,
    mut given: Vec<Given>,
    path: &str,
    place: &Place<'_>,
) -> Vec<Given> {
    let named = template_names(path);
    let known: HashSet<_> = named.iter().copied().collect();
    given.retain(|parameter| {
        let sent = &parameter.sent;
        let is_idle = sent.place == Where::Path && !known.contains(sent.wire_name.as_str());
        if is_idle {
            let message = format!(
                "the path does not name the parameter {}; it is left out",
                sent.wire_name
            );
            reader.warnings.note(place, message);
        }
        !is_idle
    });
    let in_path = given.iter().filter(|it| it.sent.place == Where::Path);
    let described: HashSet<_> = in_path.map(|it| it.sent.wire_name.clone()).collect();
    for name in named.into_iter().filter(|it| !described.contains(*it)) {
        let message = format!("nothing describes the path parameter {name}; it takes a text");
        reader.warnings.note(place, message);
        given.push(parameters::undescribed(name));
    }
    given
}

/// The names in the braces of a path, each once.
fn template_names(path: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    let after_braces = path.split('{').skip(1);
    let names = after_braces.filter_map(|rest| Some(rest.split_once('}')?.0));
    names
        .filter(|name| !name.is_empty() && seen.insert(*name))
        .collect()
}

fn note_unused(reader: &mut Reader<'_>, operation: &Value, place: &Place<'_>) {
    let members = operation.as_object().into_iter().flat_map(Map::keys);
    for member in members {
        let message = match member.as_str() {
            "callbacks" => "requests that the service makes are no operations; they are left out",
            it if MEMBERS.contains(&it) || it.starts_with("x-") => continue,
            _ => "is not known among the members of an operation; it is not used",
        };
        reader.warnings.note(&place.name(member), message);
    }
    if !operation.get("responses").is_some_and(Value::is_object) {
        let message =
            "says nothing about answers; any success is taken, and no failure is declared";
        reader.warnings.note(place, message);
    }
}

/// Keeps what a contract has no member for.
fn note(
    reader: &mut Reader<'_>,
    spec: &mut OperationSpec,
    described: &Described<'_>,
    others: Map<String, Value>,
) {
    let mut notes = authors_own(reader, described.operation);
    let tags = described.tags();
    if !tags.is_empty() {
        notes.push((TAGS_NOTE, Value::from(tags)));
    }
    if described.operation.get("deprecated") == Some(&Value::Bool(true)) {
        notes.push((DEPRECATED_NOTE, true.into()));
    }
    if !others.is_empty() {
        notes.push((OTHER_ANSWERS_NOTE, others.into()));
    }
    for (name, value) in notes {
        let noted = spec.extensions.insert(name, value);
        noted.expect("the name is an extension's");
    }
}

/// The members that the document's authors added and other tools may know. Members of ours are written
/// by us.
fn authors_own<'v>(reader: &mut Reader<'_>, operation: &'v Value) -> Vec<(&'v str, Value)> {
    let mut kept = Vec::new();
    for (name, value) in operation.as_object().into_iter().flatten() {
        let is_theirs = name.starts_with("x-") && !name.starts_with("x-panpan-");
        let weight = weight(value);
        if is_theirs && weight <= EXTENSION_BYTES_LIMIT {
            reader.spend(weight);
            kept.push((name.as_str(), value.clone()));
        }
    }
    kept
}
