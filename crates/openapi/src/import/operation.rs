//! Imports one operation.

use std::collections::HashSet;

use panpan_contract::binding::{HttpBinding, ParameterLocation, SecurityScheme, SuccessBodies};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::path::Path;
use panpan_failure::catalogue::code_from_name;
use serde_json::{Map, Value};

use super::failures::{self, Failures};
use super::input::input;
use super::parameters::{self, InputParameter, identity};
use super::paths::DocumentOperation;
use super::reader::Reader;
use super::responses::{self, Success};
use super::schemas::weight;
use super::{body, exported, names, security, servers};

/// The member of an operation with its tags.
pub const TAGS_EXTENSION: &str = "x-panpan-tags";
/// The member of a deprecated operation.
pub const DEPRECATED_EXTENSION: &str = "x-deprecated";
/// The member of an operation with its responses that are neither success nor failure.
pub const OTHER_RESPONSES_EXTENSION: &str = "x-panpan-other-answers";

/// The largest extension member of an author that is kept, in bytes; larger ones are documentation and
/// examples for other tools.
pub const EXTENSION_BYTES_LIMIT: usize = 1_000;

/// The header that services read an idempotency key from.
const KEY_HEADER: &str = "idempotency-key";

/// The size of an operation without its contents.
const OPERATION_WEIGHT: usize = 500;

/// The known members of an operation object; others cause a warning.
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

/// Imports an operation, with its HTTP binding.
pub(super) fn operation<'a>(
    reader: &mut Reader<'a>,
    entry: &DocumentOperation<'a>,
    name: &str,
) -> OperationSpec {
    let pointer = &entry.pointer;
    let location = Path::At(pointer);
    let operation = entry.operation;
    reader.spend(OPERATION_WEIGHT + entry.tags().iter().map(|it| it.len()).sum::<usize>());
    note_unused(reader, operation, &location);
    let mut spec = OperationSpec::new(names::operation(name), OperationType::Query);
    let own_or_path = |member: &str| operation.get(member).or(entry.path_item.get(member));
    spec.title = reader.text(own_or_path("summary"));
    spec.description = reader.text(own_or_path("description"));
    let declared = exported::declared(reader, operation, &location);
    let is_own = declared.is_some();
    spec.error_schemas = declared.unwrap_or_default();
    let own = is_own.then(|| exported::bound(reader, entry, &mut spec));
    let binding = match own.flatten() {
        Some(binding) => binding,
        None => from_responses(reader, entry, &mut spec, is_own),
    };
    binding.bind(&mut spec);
    spec
}

/// Reads the contract from the parameters, the body and the responses.
fn from_responses<'a>(
    reader: &mut Reader<'a>,
    entry: &DocumentOperation<'a>,
    spec: &mut OperationSpec,
    declares_failures: bool,
) -> HttpBinding {
    let location = Path::At(&entry.pointer);
    let responses = entry.operation.get("responses");
    let responses = responses.and_then(Value::as_object);
    let success = responses::success(reader, responses, &location.name("responses"));
    let failures = failures::failures(reader, responses, &location.name("responses"));
    spec.op_type = op_type(entry, &success);
    spec.idempotency.idempotent = matches!(entry.method.as_str(), "PUT" | "DELETE");
    let binding = bound(reader, entry, spec, &success, &failures);
    spec.output_schema = success.schema;
    if !declares_failures {
        spec.error_schemas = failures.definitions;
    }
    note(reader, spec, entry, failures.others);
    binding
}

fn op_type(entry: &DocumentOperation<'_>, success: &Success) -> OperationType {
    if let Some(op_type) = exported::op_type(entry.operation) {
        return op_type;
    }
    match entry.method.as_str() {
        _ if success.is_stream => OperationType::Subscription,
        "GET" | "HEAD" | "OPTIONS" | "QUERY" | "TRACE" => OperationType::Query,
        "POST" if is_post_read(entry.id().unwrap_or_default(), &entry.path) => OperationType::Query,
        _ => OperationType::Mutation,
    }
}

/// Verbs with which the operation ids of reads begin.
const READING: [&str; 9] = [
    "COUNT", "FETCH", "FIND", "GET", "LIST", "LOOKUP", "QUERY", "READ", "SEARCH",
];

/// Last segments of the paths of reads that send their criteria in a body.
const READ_PATHS: [&str; 10] = [
    "_search",
    "batch-get",
    "batchget",
    "count",
    "filter",
    "find",
    "list",
    "lookup",
    "query",
    "search",
];

/// Words of operations that read and write, such as `findAndModify` and `getOrCreate`.
const WRITING: [&str; 14] = [
    "ADD", "CREATE", "DELETE", "INSERT", "MODIFY", "PUT", "REMOVE", "SAVE", "SEND", "SET", "START",
    "STORE", "UPDATE", "UPSERT",
];

/// Whether a POST only reads: both its id and its path say so, and nothing in its id says that it writes.
fn is_post_read(id: &str, path: &str) -> bool {
    let name = code_from_name(id);
    let mut words = name.split('_');
    let begins = words.next().is_some_and(|it| READING.contains(&it));
    let last = path.rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.to_ascii_lowercase();
    begins && READ_PATHS.contains(&last.as_str()) && !words.any(|it| WRITING.contains(&it))
}

/// The HTTP binding; sets the input schema.
fn bound<'a>(
    reader: &mut Reader<'a>,
    entry: &DocumentOperation<'a>,
    spec: &mut OperationSpec,
    success: &Success,
    failures: &Failures,
) -> HttpBinding {
    let location = Path::At(&entry.pointer);
    let path_location = Path::At(&entry.path_pointer);
    let operation = entry.operation;
    let security = security::security(reader, operation, &location);
    let lists = [
        (entry.path_parameters, path_location),
        (operation.get("parameters"), location),
    ];
    let mut parameters = parameters::parameters(reader, lists);
    remove_credentials(reader, &mut parameters, &security, &location);
    let idempotency_header = take_key_header(&mut parameters);
    let parameters = match_path_template(reader, parameters, &entry.path, &location);
    let input = input(parameters, body::body(reader, operation, &location));
    spec.input_schema = input.schema;
    let mut known = HashSet::new();
    let mut accepts = [success.accepts.as_slice(), &failures.accepts].concat();
    accepts.retain(|it| known.insert(it.clone()));
    HttpBinding {
        method: entry.method.clone(),
        path: entry.path.clone(),
        servers: servers::servers(reader, entry),
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

/// Removes credentials: the operator configures them, callers never send them.
fn remove_credentials(
    reader: &mut Reader<'_>,
    parameters: &mut Vec<InputParameter>,
    security: &[Vec<SecurityScheme>],
    location: &Path<'_>,
) {
    let credentials = security::credentials(security);
    parameters.retain(|parameter| {
        let sent = &parameter.sent;
        let is_credential = credentials.contains(&identity(sent.place, &sent.wire_name));
        if is_credential {
            let message = format!(
                "parameter {} is a credential of the operation: configure it in panpan; it is not taken \
                 from callers",
                sent.wire_name
            );
            reader.warnings.note(location, message);
        }
        !is_credential
    });
}

/// Removes the header for an idempotency key from the parameters: it carries the key of the call, or a key
/// that the gateway generates.
fn take_key_header(parameters: &mut Vec<InputParameter>) -> Option<String> {
    let is_key = |it: &InputParameter| {
        it.sent.place == ParameterLocation::Header
            && it.sent.wire_name.eq_ignore_ascii_case(KEY_HEADER)
    };
    let header = parameters.remove(parameters.iter().position(is_key)?);
    Some(header.sent.wire_name)
}

/// Makes the path parameters the same as the names in the path.
fn match_path_template(
    reader: &mut Reader<'_>,
    mut parameters: Vec<InputParameter>,
    path: &str,
    location: &Path<'_>,
) -> Vec<InputParameter> {
    let named = template_names(path);
    let known: HashSet<_> = named.iter().copied().collect();
    parameters.retain(|parameter| {
        let sent = &parameter.sent;
        let is_unused = sent.place == ParameterLocation::Path && !known.contains(sent.wire_name.as_str());
        if is_unused {
            let message = format!(
                "path parameter {} is not in the path: correct the path or remove it; it is ignored",
                sent.wire_name
            );
            reader.warnings.note(location, message);
        }
        !is_unused
    });
    let in_path = parameters
        .iter()
        .filter(|it| it.sent.place == ParameterLocation::Path);
    let described: HashSet<_> = in_path.map(|it| it.sent.wire_name.clone()).collect();
    for name in named.into_iter().filter(|it| !described.contains(*it)) {
        let message = format!(
            "path parameter {name} is not described: add it to \"parameters\"; any string is accepted"
        );
        reader.warnings.note(location, message);
        parameters.push(parameters::undescribed(name));
    }
    parameters
}

/// The names in the braces of a path, without duplicates.
fn template_names(path: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    let after_braces = path.split('{').skip(1);
    let names = after_braces.filter_map(|rest| Some(rest.split_once('}')?.0));
    names
        .filter(|name| !name.is_empty() && seen.insert(*name))
        .collect()
}

fn note_unused(reader: &mut Reader<'_>, operation: &Value, location: &Path<'_>) {
    let members = operation.as_object().into_iter().flat_map(Map::keys);
    for member in members {
        let message = match member.as_str() {
            "callbacks" => "callbacks are not imported: they are requests from the service",
            it if MEMBERS.contains(&it) || it.starts_with("x-") => continue,
            _ => {
                "unknown member of an operation: remove it or prefix it with \"x-\"; it is ignored"
            }
        };
        reader.warnings.note(&location.name(member), message);
    }
    if !operation.get("responses").is_some_and(Value::is_object) {
        let message =
            "no \"responses\": add them; any output is accepted, and no failure is declared";
        reader.warnings.note(location, message);
    }
}

/// Adds extensions for facts that a contract has no member for.
fn note(
    reader: &mut Reader<'_>,
    spec: &mut OperationSpec,
    entry: &DocumentOperation<'_>,
    others: Map<String, Value>,
) {
    let mut notes = author_extensions(reader, entry.operation);
    let tags = entry.tags();
    if !tags.is_empty() {
        notes.push((TAGS_EXTENSION, Value::from(tags)));
    }
    if entry.operation.get("deprecated") == Some(&Value::Bool(true)) {
        notes.push((DEPRECATED_EXTENSION, true.into()));
    }
    if !others.is_empty() {
        notes.push((OTHER_RESPONSES_EXTENSION, others.into()));
    }
    for (name, value) in notes {
        let noted = spec.extensions.insert(name, value);
        noted.expect("a valid extension name");
    }
}

/// The extension members of the document's authors, for other tools. Members with our prefix are not copied.
fn author_extensions<'v>(reader: &mut Reader<'_>, operation: &'v Value) -> Vec<(&'v str, Value)> {
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

#[cfg(test)]
mod tests {
    use super::is_post_read;

    #[test]
    fn a_post_reads_only_if_its_id_and_its_path_say_so() {
        for (id, path, expected) in [
            ("searchOrders", "/orders/search", true),
            ("query_things", "/things/query", true),
            ("listItems", "/items/_search", true),
            ("batchGet", "/documents:batchGet", false),
            ("getDocuments", "/documents:batchGet", true),
            ("fetch-users", "/users/batch-get", true),
            ("countOrders", "/orders/count/", false),
            ("createOrder", "/orders/search", false),
            ("searchOrders", "/orders", false),
            ("searchOrders", "/searches", false),
            ("findAndModify", "/orders/find", false),
            ("getOrCreateUser", "/users/lookup", false),
            ("searching", "/orders/search", false),
            ("", "/orders/search", false),
        ] {
            assert_eq!(is_post_read(id, path), expected, "{id} {path}");
        }
    }
}
