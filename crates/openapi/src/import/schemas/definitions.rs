//! Shared definitions: each referenced schema is written once, under a unique name.

use std::collections::HashMap;

use panpan_contract::path::Path;
use serde_json::{Map, Value};

use super::cycles;
use crate::import::names;
use crate::import::reader::Reader;
use crate::reference::ReferenceError;
use crate::unique_names::UniqueNames;

/// The shared definitions so far.
#[derive(Debug, Default)]
pub(in crate::import) struct Definitions<'a> {
    /// The completed definitions.
    written: Map<String, Value>,
    /// The names of referenced definitions, by their pointer in the document.
    names: HashMap<String, String>,
    unique: UniqueNames,
    /// Definitions that are not written yet.
    waiting: Vec<(String, String, &'a Value)>,
    /// The definition that is being written.
    pub(super) current: Option<String>,
    /// The known regular expressions, and whether each can be used.
    pub(super) patterns: HashMap<String, bool>,
}

impl<'a> Reader<'a> {
    /// Writes all definitions that were referenced so far.
    pub(in crate::import) fn take_definitions(&mut self) -> Map<String, Value> {
        while let Some((name, pointer, schema)) = self.definitions.waiting.pop() {
            self.definitions.current = Some(name.clone());
            let written = self.normalised(schema, &Path::At(&pointer), 0);
            self.definitions.written.insert(name, written);
        }
        let mut written = std::mem::take(&mut self.definitions.written);
        let locations: HashMap<_, _> = self
            .definitions
            .names
            .iter()
            .map(|(pointer, name)| (name.as_str(), pointer.as_str()))
            .collect();
        for name in cycles::break_cycles(&mut written) {
            let pointer = locations.get(name.as_str()).copied().unwrap_or_default();
            let message = "the schema refers to itself outside of properties and items: remove the cycle; \
                            the reference that closes it is ignored";
            self.warnings.note(&Path::At(pointer), message);
        }
        written
    }

    /// The reference of a schema to itself, as drafts before 2020-12 write it.
    pub(super) fn self_reference(&mut self, location: &Path<'_>) -> Option<Value> {
        let own = self.definitions.current.as_ref();
        let own = own.map(|name| reference_to(name).into());
        if own.is_none() {
            let message =
                "$recursiveRef in a schema without a name: use $ref; any value is accepted";
            self.warnings.note(location, message);
        }
        own
    }

    /// A reference to the definition of a target; the definition will be written later if needed.
    pub(super) fn definition_reference(
        &mut self,
        reference: &'a str,
        location: &Path<'_>,
    ) -> Option<String> {
        let found = match self.references.target(reference) {
            Ok((_, pointer)) if pointer.is_empty() => {
                Err(ReferenceError::NotFound(reference.to_owned()))
            }
            found => found,
        };
        let (schema, pointer) = match found {
            Ok(found) => found,
            Err(error) => {
                self.note_unresolved(&error, location, "any value is accepted");
                return None;
            }
        };
        if let Some(name) = self.definitions.names.get(&pointer) {
            return Some(reference_to(name));
        }
        let name = self
            .definitions
            .unique
            .assign(names::definition(&pointer), '_');
        let named = (name.clone(), pointer.clone(), schema);
        self.definitions.waiting.push(named);
        let reference = reference_to(&name);
        self.definitions.names.insert(pointer, name);
        Some(reference)
    }
}

fn reference_to(name: &str) -> String {
    format!("#/$defs/{name}")
}
