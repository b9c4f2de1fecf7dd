//! Errors that prevent an import.

use super::names::NAMESPACE_LIMIT;
use super::reader::IMPORT_BYTES_LIMIT;
use panpan_contract::contract_file::OPERATIONS_LIMIT;

/// The document cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is Swagger 2.0.
    #[error(
        "the document is Swagger {0}; convert it to OpenAPI 3 first, for example with \
         `npx swagger2openapi api.json -o openapi.json`"
    )]
    Swagger(String),
    /// Its OpenAPI version is not supported.
    #[error("OpenAPI {0:?} is not supported: use version 3.0, 3.1 or 3.2")]
    Version(String),
    /// It has no member `openapi`.
    #[error("the document has no member \"openapi\": add it at the top level, such as \"3.1.0\"")]
    NotOpenApi,
    /// It has no operations.
    #[error("the document has no \"paths\" object and therefore no operations: add one")]
    NoPaths,
    /// The namespace is invalid.
    #[error(
        "{0:?} is not a valid namespace: use at most {NAMESPACE_LIMIT} letters, digits, _, - and ."
    )]
    Namespace(String),
    /// It refers to other documents.
    #[error(
        "{}; nothing is fetched: bundle the document into one file first, for example with \
         `npx @redocly/cli bundle api.yaml -o bundled.yaml`",
        listed(.0)
    )]
    RemoteReferences(Vec<RemoteReference>),
    /// It has more operations than a contract may have.
    #[error(
        "the document has {0} operations, but at most {OPERATIONS_LIMIT} can be imported: select some \
         by tag, path, method or id"
    )]
    TooManyOperations(usize),
    /// The contract would be too large.
    #[error(
        "the contract would be larger than {IMPORT_BYTES_LIMIT} bytes: select operations by \
         tag, path, method or id"
    )]
    TooLarge,
}

/// A reference to another document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReference {
    /// Its location, as an RFC 6901 pointer.
    pub pointer: String,
    /// The value of the reference.
    pub reference: String,
}

fn listed(references: &[RemoteReference]) -> String {
    let references: Vec<_> = references
        .iter()
        .map(|it| format!("{:?} at {}", it.reference, it.pointer))
        .collect();
    format!("references to other documents: {}", references.join(", "))
}
