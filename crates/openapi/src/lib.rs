//! Between OpenAPI documents and contracts, as pure functions over JSON values.
//!
//! From a document come the operations of a service with the failures they declare; to a document go
//! the operations a server offers. Reading files and fetching documents happens elsewhere; a reference
//! that leads out of the document is a problem, never a fetch.

mod export;
mod import;
mod overlay;
mod parse;
mod pattern;
mod place;
mod reference;

pub use export::{About, export, export_text};
pub use import::{
    BODY_DETAIL, DEPRECATED_NOTE, EXTENSION_BYTES_LIMIT, Filters, HEADERS_NOTE, IMPORT_BYTES_LIMIT,
    Import, ImportError, ImportOptions, MEDIA_TYPES_LIMIT, MEMBER_NAME_LIMIT, NAMESPACE_LIMIT,
    OTHER_ANSWERS_NOTE, RemoteReference, SCHEMA_DEPTH_LIMIT, Selection, Summary, TAGS_NOTE,
    WARNINGS_LIMIT, Warning, import,
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

/// The member of an exported operation that says how it is called.
pub(crate) const OP_TYPE_NOTE: &str = "x-panpan-op-type";
/// The member of an exported operation that holds the failures it declares itself.
pub(crate) const OWN_ERRORS_NOTE: &str = "x-panpan-errors";
/// The member of an exported operation that says whether calling it twice does harm, where that is not
/// the usual.
pub(crate) const IDEMPOTENCY_NOTE: &str = "x-panpan-idempotency";
/// The member of an exported path that says that it is the gateway's and none of its operations.
pub(crate) const GATEWAY_NOTE: &str = "x-panpan-gateway";

/// The header of an exported operation that carries an idempotency key.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";
/// The header of an exported operation that says how long it is waited for, in milliseconds.
pub(crate) const TIMEOUT_HEADER: &str = "Panpan-Timeout-Ms";
