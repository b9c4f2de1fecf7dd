//! Exports the operations of a server as an OpenAPI document: one path for each, and the gateway's paths.
//!
//! Responses are in `operation`, the schemas of failures in `failures`; `components` moves schemas into one
//! document without breaking their references.

mod components;
mod failures;
mod gateway;
mod object_writer;
mod operation;

use panpan_contract::operation::{OperationSpec, Visibility};
use serde_json::{Map, Value, json};

use components::Components;
use failures::Failures;
use object_writer::ObjectWriter;

/// The OpenAPI version of the document: the first version that uses JSON Schema.
const OPENAPI: &str = "3.1.0";
/// The name of the security scheme.
const BEARER: &str = "bearer";

/// The header that carries the id of a failure.
const ERROR_ID: &str = "Panpan-Error-Id";

/// General information about the server.
#[derive(Clone, Copy, Debug)]
pub struct DocumentInfo<'a> {
    /// The title.
    pub title: &'a str,
    /// The version of the offered API.
    pub version: &'a str,
    /// The URL of the server; by default, where the document was fetched from.
    pub server: Option<&'a str>,
}

/// Exports an OpenAPI document of these operations; internal operations are omitted.
///
/// ```
/// use panpan_contract::operation::{OperationSpec, OperationType};
///
/// let spec = OperationSpec::new("demo/echo".parse()?, OperationType::Query);
/// let about = panpan_openapi::DocumentInfo { title: "demo", version: "1", server: None };
/// let document = panpan_openapi::export([&spec].into_iter(), &about);
/// assert_eq!(document["paths"]["/operations/demo/echo"]["post"]["operationId"], "demo/echo");
/// # Ok::<(), panpan_contract::operation::NameError>(())
/// ```
pub fn export<'a>(
    operations: impl Iterator<Item = &'a OperationSpec>,
    about: &DocumentInfo<'_>,
) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    let responses = each_part(operations, |part, name, value| match part {
        Part::Path => drop(paths.insert(name, value)),
        Part::Schema => drop(schemas.insert(name, value)),
    });
    let mut components = shared(responses);
    components.insert("schemas".to_owned(), schemas.into());
    let mut document = head(about);
    document.insert("paths".to_owned(), paths.into());
    document.insert("components".to_owned(), components.into());
    document.into()
}

/// Exports the same document as JSON text, without holding all of it as a tree.
pub fn export_text<'a>(
    operations: impl Iterator<Item = &'a OperationSpec>,
    about: &DocumentInfo<'_>,
) -> String {
    let (mut paths, mut schemas) = (ObjectWriter::default(), ObjectWriter::default());
    let responses = each_part(operations, |part, name, value| match part {
        Part::Path => paths.insert(&name, &value),
        Part::Schema => schemas.insert(&name, &value),
    });
    let mut components = ObjectWriter::default();
    components.insert_object("schemas", schemas);
    for (name, value) in shared(responses) {
        components.insert(&name, &value);
    }
    let mut document = ObjectWriter::default();
    for (name, value) in head(about) {
        document.insert(&name, &value);
    }
    document.insert_object("paths", paths);
    document.insert_object("components", components);
    document.finish()
}

/// A part of the document that occurs once per operation or schema.
enum Part {
    Path,
    Schema,
}

/// Calls `put` with each part as soon as it is complete; returns the shared responses.
fn each_part<'a>(
    operations: impl Iterator<Item = &'a OperationSpec>,
    mut put: impl FnMut(Part, String, Value),
) -> Map<String, Value> {
    let mut components = Components::default();
    let mut failures = Failures::new(&mut components);
    for (path, item) in gateway::paths(&mut failures, &mut components) {
        put(Part::Path, path, item);
    }
    for spec in operations.filter(|spec| spec.visibility == Visibility::External) {
        let operation = operation::written(spec, &mut failures, &mut components);
        let path = format!("/operations/{}", spec.name);
        put(Part::Path, path, json!({"post": operation}));
        for (name, schema) in components.take() {
            put(Part::Schema, name, schema);
        }
    }
    for (name, schema) in components.take() {
        put(Part::Schema, name, schema);
    }
    failures.into_responses()
}

/// The members before the paths.
fn head(about: &DocumentInfo<'_>) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("openapi".to_owned(), OPENAPI.into());
    let info = json!({"title": about.title, "version": about.version});
    head.insert("info".to_owned(), info);
    if let Some(url) = about.server {
        head.insert("servers".to_owned(), json!([{"url": url}]));
    }
    head
}

/// The components other than schemas.
fn shared(responses: Map<String, Value>) -> Map<String, Value> {
    let schemes = json!({BEARER: {"type": "http", "scheme": "bearer"}});
    Map::from_iter([
        ("responses".to_owned(), responses.into()),
        ("headers".to_owned(), headers()),
        ("securitySchemes".to_owned(), schemes),
    ])
}

fn headers() -> Value {
    json!({
        ERROR_ID: {
            "description": "The id of the failure, for finding it in logs.",
            "schema": {"type": "string", "format": "uuid"},
        },
        "Retry-After": {
            "description": "Seconds to wait before the same call may succeed.",
            "schema": {"type": "integer", "minimum": 0},
        },
        "WWW-Authenticate": {
            "description": "The required kind of credential.",
            "schema": {"type": "string"},
        },
        "Idempotent-Replayed": {
            "description": "The outcome was recorded earlier for the same key; the operation did not run again.",
            "schema": {"type": "boolean"},
        },
    })
}

/// References to response headers.
fn header_references(names: &[&str]) -> Value {
    let named = names.iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        ((*name).to_owned(), reference)
    });
    named.collect::<Map<_, _>>().into()
}
