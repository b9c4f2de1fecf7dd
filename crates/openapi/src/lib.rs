//! Converts OpenAPI documents to contracts and back, as pure functions over JSON values.
//!
//! An import gives the operations of a service with their declared failures; an export gives a document of
//! the operations that a server offers. Reading files and fetching documents happens elsewhere; a reference
//! to another document is an error, never a fetch.

mod export;
mod import;
mod overlay;
mod parse;
mod pattern;
mod reference;
mod unique_names;

pub use export::{DocumentInfo, export, export_text};
pub use import::{
    BODY_DETAIL, DEPRECATED_EXTENSION, EXTENSION_BYTES_LIMIT, Filters, HEADERS_EXTENSION,
    IMPORT_BYTES_LIMIT, Import, ImportError, ImportOptions, MEDIA_TYPES_LIMIT, MEMBER_NAME_LIMIT,
    NAMESPACE_LIMIT, OTHER_RESPONSES_EXTENSION, RemoteReference, SCHEMA_DEPTH_LIMIT, Selection,
    Summary, TAGS_EXTENSION, WARNINGS_LIMIT, Warning, import,
};
pub use overlay::{
    AssumedEffect, Overlay, OverlayError, OverlayLine, OverlayProblem, apply_matching_lines,
    apply_overlay, apply_to_shown, lines_beyond_shown, unmatched_lines,
};
pub use parse::{
    DOCUMENT_BYTES_LIMIT, ParseError, YAML_ALIASED_LIMIT, YAML_DEPTH_LIMIT, YAML_VALUES_LIMIT,
    parse,
};
pub use pattern::fits;
pub use reference::REFERENCES_LIMIT;

/// The member of an exported operation with its type: query, mutation or subscription.
pub(crate) const OP_TYPE_EXTENSION: &str = "x-panpan-op-type";
/// The member of an exported operation with the failures that it declares itself.
pub(crate) const OWN_ERRORS_EXTENSION: &str = "x-panpan-errors";
/// The member of an exported operation with its idempotency, where it is not the default.
pub(crate) const IDEMPOTENCY_EXTENSION: &str = "x-panpan-idempotency";
/// The member of an exported path that belongs to the gateway and is not an operation.
pub(crate) const GATEWAY_EXTENSION: &str = "x-panpan-gateway";

/// The header of an exported operation for an idempotency key.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";
/// The header of an exported operation for the timeout of a call, in milliseconds.
pub(crate) const TIMEOUT_HEADER: &str = "Panpan-Timeout-Ms";
