//! What every part of an import has at hand: the document, what was noted, what may still be written.

use serde_json::Value;

use super::error::{ImportError, RemoteReference};
use super::schemas::Definitions;
use super::warnings::Warnings;
use crate::place::Place;
use crate::reference::{self, Broken, Found};

/// The most an import may give, in bytes of texts, names and values. What many operations refer to
/// counts for each of them, so that a small document cannot become a huge contract.
pub const IMPORT_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The most references out of the document that are told.
const REMOTE_LIMIT: usize = 20;

/// What a value counts, besides its texts.
pub(super) const VALUE_WEIGHT: usize = 8;

/// The document being read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) document: &'a Value,
    /// Whether schemas are those of OpenAPI 3.0.
    pub(super) is_old: bool,
    pub(super) definitions: Definitions<'a>,
    pub(super) warnings: Warnings,
    remote: Vec<RemoteReference>,
    spent: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Value, is_old: bool) -> Self {
        Self {
            document,
            is_old,
            definitions: Definitions::default(),
            warnings: Warnings::default(),
            remote: Vec::new(),
            spent: 0,
        }
    }

    /// What a value stands for; nothing, and a warning, if its reference is broken.
    pub(super) fn follow(
        &mut self,
        value: &'a Value,
        place: &Place<'_>,
        otherwise: &str,
    ) -> Option<Found<'a>> {
        let found = reference::follow(self.document, value);
        found
            .inspect_err(|broken| self.note_broken(broken, &place.name("$ref"), otherwise))
            .ok()
    }

    /// Notes a reference that cannot be followed, and what was made of it.
    pub(super) fn note_broken(&mut self, broken: &Broken, place: &Place<'_>, otherwise: &str) {
        match broken {
            Broken::Remote(reference) => {
                let found = RemoteReference {
                    pointer: place.pointer(),
                    reference: reference.clone(),
                };
                if self.remote.len() < REMOTE_LIMIT && !self.remote.contains(&found) {
                    self.remote.push(found);
                }
            }
            broken => self.warnings.note(place, format!("{broken}; {otherwise}")),
        }
    }

    /// A text of the document that says something, without the space around it.
    pub(super) fn text(&mut self, value: Option<&Value>) -> Option<String> {
        let text = value.and_then(Value::as_str)?.trim();
        self.spend(text.len());
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes);
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.spent > IMPORT_BYTES_LIMIT
    }

    /// Whether the import as a whole has to be refused.
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
