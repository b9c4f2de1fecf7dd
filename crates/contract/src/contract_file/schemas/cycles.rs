//! Finds reference cycles that never descend into the value.
//!
//! `{"$ref": "#"}` applies a schema to the same value again, without end. A schema that refers to
//! itself for a *part* of the value, such as a tree, is fine.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::visit_at;
use crate::contract_file::problem::Problems;
use crate::contract_file::rule;
use crate::path::Path;
use crate::schema::{Same, cycles, references};

/// The schemas that each schema applies to the same value.
#[derive(Default)]
pub(super) struct Graph<'a> {
    applied: HashMap<Same<'a>, Vec<Same<'a>>>,
}

impl<'a> Graph<'a> {
    /// Registers a schema.
    pub(super) fn add(&mut self, schema: &'a Value) {
        self.applied.entry(Same(schema)).or_default();
    }

    /// Whether the schema was registered.
    pub(super) fn knows(&self, schema: &'a Value) -> bool {
        self.applied.contains_key(&Same(schema))
    }

    /// Records that the first schema applies the second to the same value.
    pub(super) fn connect(&mut self, schema: &'a Value, applied: &'a Value) {
        let all = self.applied.entry(Same(schema)).or_default();
        all.push(Same(applied));
    }

    /// Reports the references that form a cycle.
    pub(super) fn check<'r>(
        &self,
        roots: impl Iterator<Item = (&'a Value, &'r str)>,
        problems: &mut Problems<'_>,
    ) {
        let mut cyclic: HashSet<Same<'a>> = HashSet::new();
        let next = |schema| self.applied.get(&schema).cloned().unwrap_or_default();
        cycles(self.applied.keys().copied(), next, |found| {
            cyclic.extend(found);
        });
        if cyclic.is_empty() {
            return;
        }
        for (schema, pointer) in roots {
            visit_at(schema, &Path::At(pointer), &mut |schema, path| {
                let references = references(schema).filter(|_| cyclic.contains(&Same(schema)));
                for (keyword, _) in references {
                    let message = "the reference leads back to itself without descending into a \
                                   property or an item; point to another schema";
                    problems.note(&path.name(keyword), rule::SCHEMA_ENDLESS, message);
                }
            });
        }
    }
}
