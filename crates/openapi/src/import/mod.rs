//! An OpenAPI document as the operations of a contract.
//!
//! Walks the document as a value, so that nothing is lost that a typed reader would not know. Every
//! operation, every declared failure and every schema comes over or is told about: what is not
//! understood is a warning with its place. Nothing is fetched; what leads out of the document is an
//! error.

mod answers;
mod body;
mod error;
mod failures;
mod input;
mod media;
mod names;
mod operation;
mod options;
mod own;
mod parameters;
mod part_headers;
mod paths;
mod reader;
mod schemas;
mod security;
mod servers;
mod warnings;

use panpan_contract::contract_file::{ContractFile, OPERATIONS_LIMIT, Service};
use panpan_contract::operation::OperationSpec;
use serde_json::{Map, Value};

use crate::place::Place;
pub use error::{ImportError, RemoteReference};
pub use failures::{BODY_DETAIL, HEADERS_NOTE};
pub use media::MEDIA_TYPES_LIMIT;
use names::Unique;
pub use names::{MEMBER_NAME_LIMIT, NAMESPACE_LIMIT};
pub use operation::{DEPRECATED_NOTE, EXTENSION_BYTES_LIMIT, OTHER_ANSWERS_NOTE, TAGS_NOTE};
pub use options::{Filters, ImportOptions, Selection};
use paths::Described;
pub use reader::IMPORT_BYTES_LIMIT;
use reader::Reader;
pub use schemas::SCHEMA_DEPTH_LIMIT;
pub use warnings::{WARNINGS_LIMIT, Warning};

/// What a document says about a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// Who offers the operations.
    pub service: Service,
    /// The operations, each with the request it becomes.
    pub operations: Vec<OperationSpec>,
    /// The schemas the operations share as `#/$defs/Name`.
    pub definitions: Map<String, Value>,
    /// What was not understood, or is not used.
    pub warnings: Vec<Warning>,
    /// The same in numbers.
    pub summary: Summary,
}

/// An import in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Operations that were imported.
    pub operations: usize,
    /// Operations that the filters left out, and paths of a gateway that are none.
    pub left_out: usize,
    /// Failures that the imported operations declare.
    pub failures: usize,
    /// Imported operations that declare none.
    pub without_failures: usize,
}

impl Import {
    /// The contract file of the service.
    pub fn into_contract(self) -> ContractFile {
        ContractFile {
            operations: self.operations,
            definitions: self.definitions,
            service: self.service,
            ..ContractFile::new("")
        }
    }
}

/// The operations of an OpenAPI document of version 3.0, 3.1 or 3.2.
///
/// ```
/// use panpan_openapi::{ImportOptions, import};
/// use serde_json::json;
///
/// let document = json!({
///     "openapi": "3.1.0",
///     "info": {"title": "Pets", "version": "1"},
///     "paths": {"/pets/{id}": {"get": {
///         "operationId": "getPet",
///         "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
///         "responses": {"200": {"description": "A pet."}, "404": {"description": "There is no such pet."}},
///     }}},
/// });
/// let import = import(&document, &ImportOptions::new("pets"))?;
/// let operation = &import.operations[0];
/// assert_eq!(operation.name.as_str(), "pets/getPet");
/// assert_eq!(operation.error_schemas[0].code.as_str(), "HTTP_404");
/// # Ok::<(), panpan_openapi::ImportError>(())
/// ```
pub fn import(document: &Value, options: &ImportOptions) -> Result<Import, ImportError> {
    if !names::is_namespace(&options.namespace) {
        return Err(ImportError::Namespace(options.namespace.clone()));
    }
    let is_old = is_old(document)?;
    let paths = document.get("paths").and_then(Value::as_object);
    if paths.is_none() && !is_pathless(document) {
        return Err(ImportError::NoPaths);
    }
    let mut reader = Reader::new(document, is_old);
    note_top(&mut reader);
    let (chosen, left_out) = chosen(&mut reader, paths, options)?;
    let mut operations = Vec::with_capacity(chosen.len());
    for (name, described) in &chosen {
        operations.push(operation::operation(&mut reader, described, name));
        if reader.is_too_large() {
            return Err(ImportError::TooLarge);
        }
    }
    let definitions = reader.take_definitions();
    reader.check()?;
    let service = service(&mut reader);
    Ok(Import {
        summary: Summary::of(&operations, left_out),
        service,
        operations,
        definitions,
        warnings: reader.warnings.finish(),
    })
}

impl Summary {
    fn of(operations: &[OperationSpec], left_out: usize) -> Self {
        let failures = operations.iter().map(|it| it.error_schemas.len());
        Self {
            operations: operations.len(),
            left_out,
            failures: failures.clone().sum(),
            without_failures: failures.filter(|count| *count == 0).count(),
        }
    }
}

/// Whether schemas are those of OpenAPI 3.0, which are not yet JSON Schema.
fn is_old(document: &Value) -> Result<bool, ImportError> {
    if let Some(version) = document.get("swagger") {
        let version = version.as_str().map_or(version.to_string(), str::to_owned);
        return Err(ImportError::Swagger(version));
    }
    let version = document.get("openapi").ok_or(ImportError::NotOpenApi)?;
    // Unquoted in YAML, 3.1 is a number.
    let text = version.as_str().map_or(version.to_string(), str::to_owned);
    let mut numbers = text.split('.');
    match (numbers.next(), numbers.next()) {
        (Some("3"), Some("0")) => Ok(true),
        (Some("3"), Some("1" | "2")) => Ok(false),
        _ => Err(ImportError::Version(text)),
    }
}

/// Since 3.1 a document may consist of components or of what the service itself asks for.
fn is_pathless(document: &Value) -> bool {
    document.get("paths").is_none()
        && ["components", "webhooks"]
            .iter()
            .any(|it| document.get(it).is_some())
}

fn note_top(reader: &mut Reader<'_>) {
    let top = Place::at("");
    let document = reader.document;
    if document.get("webhooks").is_some() {
        let message = "requests that the service makes are no operations; they are left out";
        reader.warnings.note(&top.name("webhooks"), message);
    }
    let dialect = document.get("jsonSchemaDialect").and_then(Value::as_str);
    if dialect.is_some_and(|it| !schemas::is_known_dialect(it)) {
        let message = "is another dialect; schemas are read as JSON Schema 2020-12";
        reader
            .warnings
            .note(&top.name("jsonSchemaDialect"), message);
    }
}

/// The operations the filters choose, each with its name, and how many were left out. All are named
/// before any is left out, so that a filter changes no names.
fn chosen<'a>(
    reader: &mut Reader<'a>,
    paths: Option<&'a Map<String, Value>>,
    options: &ImportOptions,
) -> Result<(Vec<(String, Described<'a>)>, usize), ImportError> {
    let mut all = paths::described(reader, paths);
    let count = all.len();
    all.retain(|it| !own::is_of_gateway(it.operation));
    if reader.is_too_large() {
        return Err(ImportError::TooLarge);
    }
    let mut unique = Unique::default();
    let named = all.iter().map(|it| {
        let wanted = names::wanted_operation(&options.namespace, it.id(), &it.method, &it.path);
        unique.free(wanted)
    });
    let names: Vec<_> = named.collect();
    let candidates: Vec<_> = all.iter().map(Described::candidate).collect();
    for (list, line) in options.filters.idle(&candidates) {
        let message = format!("the filter {line:?} in {list} fits no operation");
        reader.warnings.note(&Place::at("/paths"), message);
    }
    let is_chosen: Vec<_> = candidates
        .iter()
        .map(|it| options.filters.admit(it))
        .collect();
    drop(candidates);
    let chosen = names.into_iter().zip(all).zip(is_chosen);
    let chosen: Vec<_> = chosen
        .filter_map(|(described, is_chosen)| is_chosen.then_some(described))
        .collect();
    if chosen.len() > OPERATIONS_LIMIT {
        return Err(ImportError::TooManyOperations(chosen.len()));
    }
    let left_out = count - chosen.len();
    Ok((chosen, left_out))
}

/// Unquoted in YAML, a version is often a number.
fn version(reader: &mut Reader<'_>, stated: Option<&Value>) -> Option<String> {
    match stated {
        Some(Value::Number(number)) => Some(number.to_string()),
        stated => reader.text(stated),
    }
}

fn service(reader: &mut Reader<'_>) -> Service {
    let info = &reader.document["info"];
    let name = reader.text(info.get("title"));
    Service {
        name: name.unwrap_or_else(|| "unnamed service".to_owned()),
        version: version(reader, info.get("version")),
        description: reader.text(info.get("description")),
        ..Service::default()
    }
}
