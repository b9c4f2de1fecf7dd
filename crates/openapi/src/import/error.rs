//! Why a document is not imported at all.

use super::names::NAMESPACE_LIMIT;
use super::reader::IMPORT_BYTES_LIMIT;
use panpan_contract::contract_file::OPERATIONS_LIMIT;

/// Why a document is not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is Swagger 2.0.
    #[error(
        "the document is Swagger {0}; convert it to OpenAPI 3 first, for example with \
         `npx swagger2openapi api.json -o openapi.json`"
    )]
    Swagger(String),
    /// It says another version than those known.
    #[error("OpenAPI {0:?} is not known; write a document of version 3.0, 3.1 or 3.2")]
    Version(String),
    /// It does not say that it is OpenAPI.
    #[error(
        "the document does not say that it is OpenAPI; its top level needs a member \"openapi\" \
         such as \"3.1.0\""
    )]
    NotOpenApi,
    /// It has no operations at all.
    #[error("the document has no \"paths\" object, and so no operations")]
    NoPaths,
    /// The namespace is no name.
    #[error("{0:?} is no namespace; write at most {NAMESPACE_LIMIT} letters, digits, _, - and .")]
    Namespace(String),
    /// References lead out of the document.
    #[error(
        "{}; nothing is fetched: bundle the document into one file first, for example with \
         `npx @redocly/cli bundle api.yaml -o bundled.yaml`",
        told(.0)
    )]
    RemoteReferences(Vec<RemoteReference>),
    /// It has more operations than a contract may hold.
    #[error(
        "the document has {0} operations, and at most {OPERATIONS_LIMIT} are imported; choose some \
         by tag, path, method or id"
    )]
    TooManyOperations(usize),
    /// Much of it is referred to very often.
    #[error(
        "the contract would be larger than {IMPORT_BYTES_LIMIT} bytes; choose some operations by \
         tag, path, method or id"
    )]
    TooLarge,
}

/// A reference that leads out of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReference {
    /// Where it stands, as an RFC 6901 pointer.
    pub pointer: String,
    /// What it refers to.
    pub reference: String,
}

fn told(references: &[RemoteReference]) -> String {
    let told = references
        .iter()
        .map(|it| format!("{:?} at {}", it.reference, it.pointer));
    let told: Vec<_> = told.collect();
    match told.len() {
        1 => format!("a reference leads out of the document: {}", told[0]),
        _ => format!("references lead out of the document: {}", told.join(", ")),
    }
}
