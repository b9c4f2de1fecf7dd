//! Imports an OpenAPI document as the operations of a contract.
//!
//! Reads the document as a JSON value, so that nothing gets lost that a typed parser would not know. Every
//! operation, declared failure and schema is imported or reported: a part that is not understood causes a
//! warning with its location. Nothing is fetched; a reference to another document is an error.

mod body;
mod error;
mod exported;
mod failures;
mod input;
mod media;
mod names;
mod operation;
mod options;
mod parameters;
mod part_headers;
mod paths;
mod reader;
mod responses;
mod schemas;
mod security;
mod servers;
mod warnings;

use panpan_contract::contract_file::{ContractFile, OPERATIONS_LIMIT, ServiceInfo};
use panpan_contract::operation::OperationSpec;
use panpan_contract::path::Path;
use serde_json::{Map, Value};

use crate::unique_names::UniqueNames;
pub use error::{ImportError, RemoteReference};
pub use failures::{BODY_DETAIL, HEADERS_EXTENSION};
pub use media::MEDIA_TYPES_LIMIT;
pub use names::{MEMBER_NAME_LIMIT, NAMESPACE_LIMIT};
pub use operation::{
    DEPRECATED_EXTENSION, EXTENSION_BYTES_LIMIT, OTHER_RESPONSES_EXTENSION, TAGS_EXTENSION,
};
pub use options::{Filters, ImportOptions, Selection};
use paths::DocumentOperation;
pub use reader::IMPORT_BYTES_LIMIT;
use reader::Reader;
pub use schemas::SCHEMA_DEPTH_LIMIT;
pub use warnings::{WARNINGS_LIMIT, Warning};

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The service that offers the operations.
    pub service: ServiceInfo,
    /// The operations, each with its HTTP binding.
    pub operations: Vec<OperationSpec>,
    /// The schemas that operations share as `#/$defs/Name`.
    pub definitions: Map<String, Value>,
    /// The parts that were not understood or not used.
    pub warnings: Vec<Warning>,
    /// The numbers of operations and failures.
    pub summary: Summary,
}

/// The numbers of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Operations that were imported.
    pub operations: usize,
    /// Operations that the filters excluded, and paths of a gateway that are not operations.
    pub left_out: usize,
    /// Failures that the imported operations declare.
    pub failures: usize,
    /// Imported operations that declare no failure.
    pub without_failures: usize,
}

impl Import {
    /// Converts the import to a contract file.
    pub fn into_contract(self) -> ContractFile {
        ContractFile {
            operations: self.operations,
            definitions: self.definitions,
            service: self.service,
            ..ContractFile::new("")
        }
    }
}

/// Imports the operations of an OpenAPI document of version 3.0, 3.1 or 3.2.
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
    let is_openapi30 = is_openapi30(document)?;
    let paths = document.get("paths").and_then(Value::as_object);
    if paths.is_none() && !is_pathless(document) {
        return Err(ImportError::NoPaths);
    }
    let mut reader = Reader::new(document, is_openapi30);
    note_top(&mut reader);
    let (selected, left_out) = selected(&mut reader, paths, options)?;
    let mut operations = Vec::with_capacity(selected.len());
    for (name, entry) in &selected {
        operations.push(operation::operation(&mut reader, entry, name));
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

/// Whether schemas follow OpenAPI 3.0, which does not use JSON Schema.
fn is_openapi30(document: &Value) -> Result<bool, ImportError> {
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

/// Since 3.1, a document may have only components or webhooks.
fn is_pathless(document: &Value) -> bool {
    document.get("paths").is_none()
        && ["components", "webhooks"]
            .iter()
            .any(|it| document.get(it).is_some())
}

fn note_top(reader: &mut Reader<'_>) {
    let top = Path::TOP;
    let document = reader.document;
    if document.get("webhooks").is_some() {
        let message = "webhooks are not imported: they are requests from the service";
        reader.warnings.note(&top.name("webhooks"), message);
    }
    let dialect = document.get("jsonSchemaDialect").and_then(Value::as_str);
    if dialect.is_some_and(|it| !schemas::is_known_dialect(it)) {
        let message = "unknown JSON Schema dialect: schemas are read as JSON Schema 2020-12";
        reader
            .warnings
            .note(&top.name("jsonSchemaDialect"), message);
    }
}

/// The operations that the filters select, each with its name, and the number of excluded operations. All
/// operations are named before filtering, so that filters do not change names.
fn selected<'a>(
    reader: &mut Reader<'a>,
    paths: Option<&'a Map<String, Value>>,
    options: &ImportOptions,
) -> Result<(Vec<(String, DocumentOperation<'a>)>, usize), ImportError> {
    let mut all = paths::operations(reader, paths);
    let count = all.len();
    all.retain(|it| !exported::is_gateway_path(it.operation));
    if reader.is_too_large() {
        return Err(ImportError::TooLarge);
    }
    let mut unique = UniqueNames::default();
    let named = all.iter().map(|it| {
        let preferred =
            names::preferred_operation(&options.namespace, it.id(), &it.method, &it.path);
        unique.assign(preferred, '_')
    });
    let names: Vec<_> = named.collect();
    let candidates: Vec<_> = all.iter().map(DocumentOperation::candidate).collect();
    for (list, line) in options.filters.unmatched(&candidates) {
        let message =
            format!("the filter {line:?} in {list} matches no operation: correct or remove it");
        reader.warnings.note(&Path::At("/paths"), message);
    }
    let is_selected: Vec<_> = candidates
        .iter()
        .map(|it| options.filters.includes(it))
        .collect();
    drop(candidates);
    let selected = names.into_iter().zip(all).zip(is_selected);
    let selected: Vec<_> = selected
        .filter_map(|(entry, is_selected)| is_selected.then_some(entry))
        .collect();
    if selected.len() > OPERATIONS_LIMIT {
        return Err(ImportError::TooManyOperations(selected.len()));
    }
    let left_out = count - selected.len();
    Ok((selected, left_out))
}

/// Unquoted in YAML, a version is often a number.
fn version(reader: &mut Reader<'_>, stated: Option<&Value>) -> Option<String> {
    match stated {
        Some(Value::Number(number)) => Some(number.to_string()),
        stated => reader.text(stated),
    }
}

fn service(reader: &mut Reader<'_>) -> ServiceInfo {
    let info = &reader.document["info"];
    let name = reader.text(info.get("title"));
    ServiceInfo {
        name: name.unwrap_or_else(|| "unnamed service".to_owned()),
        version: version(reader, info.get("version")),
        description: reader.text(info.get("description")),
        ..ServiceInfo::default()
    }
}
