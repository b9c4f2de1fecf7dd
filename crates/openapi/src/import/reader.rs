//! The state that all parts of an import share: the document, the warnings and the size budget.

use panpan_contract::path::Path;
use serde_json::Value;

use super::error::{ImportError, RemoteReference};
use super::schemas::Definitions;
use super::warnings::Warnings;
use crate::reference::{ReferenceError, References, Resolved};

/// The largest result of an import, in bytes of texts, names and values. A shared part counts for each
/// operation that refers to it, so that a small document cannot become a huge contract.
pub const IMPORT_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The most references to other documents that are reported.
const REMOTE_LIMIT: usize = 20;

/// The size of a value without its texts.
pub(super) const VALUE_WEIGHT: usize = 8;

/// The document and the state of the import.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) document: &'a Value,
    pub(super) references: References<'a>,
    /// Whether schemas are those of OpenAPI 3.0.
    pub(super) is_openapi30: bool,
    pub(super) definitions: Definitions<'a>,
    pub(super) warnings: Warnings,
    remote: Vec<RemoteReference>,
    used_bytes: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Value, is_openapi30: bool) -> Self {
        Self {
            document,
            references: References::new(document),
            is_openapi30,
            definitions: Definitions::default(),
            warnings: Warnings::default(),
            remote: Vec::new(),
            used_bytes: 0,
        }
    }

    /// Resolves the references of a value. If that fails, adds a warning and returns `None`.
    pub(super) fn resolve(
        &mut self,
        value: &'a Value,
        location: &Path<'_>,
        consequence: &str,
    ) -> Option<Resolved<'a>> {
        let found = self.references.resolve(value);
        found
            .inspect_err(|error| self.note_unresolved(error, &location.name("$ref"), consequence))
            .ok()
    }

    /// Reports a reference that cannot be resolved, and its consequence.
    pub(super) fn note_unresolved(
        &mut self,
        error: &ReferenceError,
        location: &Path<'_>,
        consequence: &str,
    ) {
        match error {
            ReferenceError::Remote(reference) => {
                let found = RemoteReference {
                    pointer: location.pointer(),
                    reference: reference.clone(),
                };
                if self.remote.len() < REMOTE_LIMIT && !self.remote.contains(&found) {
                    self.remote.push(found);
                }
            }
            error => self
                .warnings
                .note(location, format!("{error}; {consequence}")),
        }
    }

    /// A trimmed, non-empty text.
    pub(super) fn text(&mut self, value: Option<&Value>) -> Option<String> {
        let text = value.and_then(Value::as_str)?.trim();
        self.spend(text.len());
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.used_bytes > IMPORT_BYTES_LIMIT
    }

    /// Checks the conditions that refuse the whole import.
    pub(super) fn check(&mut self) -> Result<(), ImportError> {
        if self.is_too_large() {
            return Err(ImportError::TooLarge);
        }
        match std::mem::take(&mut self.remote) {
            remote if remote.is_empty() => Ok(()),
            remote => Err(ImportError::RemoteReferences(remote)),
        }
    }
}
