//! The schemas that are referred to: each written once, under a name of its own.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::endless;
use crate::import::names::{self, Unique};
use crate::import::reader::Reader;
use crate::place::Place;
use crate::reference::{self, Broken};

/// The shared definitions so far.
#[derive(Debug, Default)]
pub(in crate::import) struct Definitions<'a> {
    /// The written ones.
    written: Map<String, Value>,
    /// The names of those that are referred to, by where they stand in the document.
    names: HashMap<String, String>,
    unique: Unique,
    /// Those that are not written yet.
    waiting: Vec<(String, String, &'a Value)>,
    /// The one that is being written.
    pub(super) current: Option<String>,
    /// Whether a regular expression can be used, of those met so far.
    pub(super) patterns: HashMap<String, bool>,
    anchors: Option<HashMap<&'a str, (&'a Value, String)>>,
}

impl<'a> Reader<'a> {
    /// The shared definitions everything so far refers to.
    pub(in crate::import) fn take_definitions(&mut self) -> Map<String, Value> {
        while let Some((name, pointer, schema)) = self.definitions.waiting.pop() {
            self.definitions.current = Some(name.clone());
            let written = self.normalised(schema, &Place::at(&pointer), 0);
            self.definitions.written.insert(name, written);
        }
        let mut written = std::mem::take(&mut self.definitions.written);
        let places: HashMap<_, _> = self
            .definitions
            .names
            .iter()
            .map(|(pointer, name)| (name.as_str(), pointer.as_str()))
            .collect();
        for name in endless::cut(&mut written) {
            let pointer = places.get(name.as_str()).copied().unwrap_or_default();
            let message = "leads back to itself without going into a property or an item; the \
                           reference that closes the circle is left out";
            self.warnings.note(&Place::at(pointer), message);
        }
        written
    }

    /// What a schema referred to itself by before 2020-12.
    pub(super) fn own_reference(&mut self, place: &Place<'_>) -> Option<Value> {
        let own = self.definitions.current.as_ref();
        let own = own.map(|name| reference_to(name).into());
        if own.is_none() {
            let message = "refers to a schema without a name; anything is taken here";
            self.warnings.note(place, message);
        }
        own
    }

    /// A reference to the definition that a reference leads to, which will be written if it is not yet.
    pub(super) fn carried(&mut self, reference: &'a str, place: &Place<'_>) -> Option<String> {
        let found = match reference::target(self.document, reference) {
            Err(Broken::Nowhere(_)) => self
                .anchored(reference)
                .ok_or_else(|| Broken::Nowhere(reference.to_owned())),
            Ok((_, pointer)) if pointer.is_empty() => Err(Broken::Nowhere(reference.to_owned())),
            found => found,
        };
        let (schema, pointer) = match found {
            Ok(found) => found,
            Err(broken) => {
                self.note_broken(&broken, place, "anything is taken here");
                return None;
            }
        };
        if let Some(name) = self.definitions.names.get(&pointer) {
            return Some(reference_to(name));
        }
        let name = self.definitions.unique.free(names::definition(&pointer));
        let named = (name.clone(), pointer.clone(), schema);
        self.definitions.waiting.push(named);
        let reference = reference_to(&name);
        self.definitions.names.insert(pointer, name);
        Some(reference)
    }

    fn anchored(&mut self, reference: &str) -> Option<(&'a Value, String)> {
        let anchor = reference.strip_prefix('#').filter(|it| !it.is_empty())?;
        let document = self.document;
        let anchors = &mut self.definitions.anchors;
        let anchors = anchors.get_or_insert_with(|| reference::anchors(document));
        anchors.get(anchor).cloned()
    }
}

fn reference_to(name: &str) -> String {
    format!("#/$defs/{name}")
}
