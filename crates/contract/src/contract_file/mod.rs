//! The contract file: the operations of a service, with every failure they declare, as one JSON
//! document (`panpan.contract.json`).
//!
//! This module defines the file format and its entry point, [`check`]. Operations are in
//! [`crate::operation`]; overlays, imports and differences between files are in other crates.

mod codes;
mod layout;
mod messages;
mod problem;
pub mod rule;
mod schemas;
mod semantics;
mod structure;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::operation::OperationSpec;
use crate::path::Path;
use layout::Layout;
use panpan_failure::Extensions;
use panpan_failure::read::{self, ReadError};
use problem::Problems;
pub use problem::{PROBLEMS_LIMIT, Problem};
pub use schemas::{PATTERN_BYTES_LIMIT, excludes_objects, is_usable_pattern};

/// The most operations that a file may have.
pub const OPERATIONS_LIMIT: usize = 10_000;

/// The largest file, in bytes: large enough for the largest public APIs.
pub const FILE_BYTES_LIMIT: usize = 32 * 1024 * 1024;

/// The longest member name, in bytes, anywhere in the file.
pub const MEMBER_NAME_LIMIT: usize = 1_024;

/// The operations of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContractFile {
    /// The URL of the schema of the file, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the format.
    pub panpan: FormatVersion,
    /// The service.
    pub service: ServiceInfo,
    /// Its operations.
    pub operations: Vec<OperationSpec>,
    /// JSON Schemas that the operations share as `#/$defs/Name`.
    #[serde(rename = "$defs", default, skip_serializing_if = "Map::is_empty")]
    pub definitions: Map<String, Value>,
    /// The `x-` members of the author, kept and not read.
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// The version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FormatVersion {
    /// The only version so far.
    #[default]
    #[serde(rename = "1")]
    One,
}

/// The service that offers the operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// The display name.
    pub name: String,
    /// The version, in any format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The purpose of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The `x-` members of the author, kept and not read.
    #[serde(flatten)]
    pub extensions: Extensions,
}

impl ContractFile {
    /// The usual name of the file.
    pub const FILE_NAME: &'static str = "panpan.contract.json";

    /// The JSON Schema (2020-12) of the file.
    pub const SCHEMA: &'static str = include_str!("../../schema/contract-file.schema.json");

    /// A file without operations.
    pub fn new(service_name: impl Into<String>) -> Self {
        Self {
            schema: None,
            panpan: FormatVersion::One,
            service: ServiceInfo {
                name: service_name.into(),
                ..ServiceInfo::default()
            },
            operations: Vec::new(),
            definitions: Map::new(),
            extensions: Extensions::default(),
        }
    }

    /// The file as indented JSON, with a final line break.
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self)
            .expect("names are strings, and writing to memory does not fail");
        text + "\n"
    }

    /// An operation of the file with schemas that can be used without the file.
    pub fn self_contained_operation(&self, operation: &OperationSpec) -> OperationSpec {
        let mut alone = operation.clone();
        let errors = alone.error_schemas.iter_mut().map(|it| &mut it.schema);
        let schemas = [&mut alone.input_schema, &mut alone.output_schema];
        for schema in schemas.into_iter().chain(errors) {
            *schema = self.self_contained(schema);
        }
        alone
    }

    /// A schema of the file together with every shared definition that it needs, so that it can be
    /// used without the file.
    pub fn self_contained(&self, schema: &Value) -> Value {
        schemas::self_contained(schema, &self.definitions)
    }
}

/// Reads a file, or returns everything that is wrong with it, in the order of the file.
///
/// A file that is not JSON has one problem. Otherwise every part is checked even if others are
/// invalid, so that all problems are reported at once. At most [`PROBLEMS_LIMIT`] problems are
/// listed; a last one counts the rest.
pub fn check(bytes: &[u8]) -> Result<ContractFile, Vec<Problem>> {
    // Some editors put a byte order mark before JSON.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let document = read::document_within(bytes, FILE_BYTES_LIMIT);
    let document = document.map_err(|error| vec![unreadable(&error)])?;
    let layout = Layout::of(bytes);
    let mut problems = Problems::new(&layout);
    // A pointer through an overlong name would be as long, so nothing else is checked then.
    if layout.check(&mut problems) {
        structure::check(&document, &mut problems);
        semantics::check(&document, &mut problems);
        schemas::check(&document, &mut problems);
    }
    let found = problems.finish();
    if found.is_empty() {
        serde_json::from_value(document).map_err(|error| vec![unforeseen(&error)])
    } else {
        Err(found)
    }
}

fn unreadable(error: &ReadError) -> Problem {
    let (rule, advice) = match error {
        ReadError::TooLarge { .. } => (rule::FILE_LARGE, "; split the service into several files"),
        ReadError::TooDeep { .. } => (
            rule::FILE_DEEP,
            "; move nested schemas to $defs and refer to them",
        ),
        _ => (rule::FILE_SYNTAX, ""),
    };
    Problem::new(&Path::TOP, rule, format!("{error}{advice}"))
}

/// A file that passes all rules can always be read; this is a safeguard.
fn unforeseen(error: &serde_json::Error) -> Problem {
    Problem::new(&Path::TOP, rule::FILE_UNREADABLE, error.to_string())
}

#[cfg(test)]
mod tests;
