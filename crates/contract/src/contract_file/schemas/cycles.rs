//! Finds reference cycles that never descend into the value.
//!
//! `{"$ref": "#"}` applies a schema to the same value again, without end. A schema that refers to
//! itself for a *part* of the value, such as a tree, is fine.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::keywords::subschemas;
use super::{REFERENCES, is_schema};
use crate::contract_file::path::Path;
use crate::contract_file::problem::Problems;
use crate::contract_file::rule;

/// A schema is identified by its address, because equal schemas can be in different locations.
type SchemaId = *const Value;

/// The schemas that each schema applies to the same value.
#[derive(Default)]
pub(super) struct Graph<'a> {
    applied: HashMap<SchemaId, Vec<&'a Value>>,
}

impl<'a> Graph<'a> {
    /// Registers a schema.
    pub(super) fn add(&mut self, schema: &'a Value) {
        self.applied.entry(schema).or_default();
    }

    /// Whether the schema was registered.
    pub(super) fn knows(&self, schema: &Value) -> bool {
        self.applied.contains_key(&std::ptr::from_ref(schema))
    }

    /// Records that the first schema applies the second to the same value.
    pub(super) fn connect(&mut self, schema: &'a Value, applied: &'a Value) {
        self.applied.entry(schema).or_default().push(applied);
    }

    /// Reports the references that form a cycle.
    pub(super) fn check<'r>(
        &self,
        roots: impl Iterator<Item = (&'a Value, &'r str)>,
        problems: &mut Problems<'_>,
    ) {
        let cyclic = self.cyclic();
        if cyclic.is_empty() {
            return;
        }
        for (schema, pointer) in roots {
            note_cycles(schema, &cyclic, &Path::at(pointer), problems);
        }
    }

    /// The schemas on a cycle.
    fn cyclic(&self) -> HashSet<SchemaId> {
        let mut cyclic = HashSet::new();
        let mut finished = HashSet::new();
        for &start in self.applied.keys() {
            self.follow(start, &mut finished, &mut cyclic);
        }
        cyclic
    }

    /// Searches depth-first from a schema with an explicit stack, because cycles can be long.
    fn follow(
        &self,
        start: SchemaId,
        finished: &mut HashSet<SchemaId>,
        cyclic: &mut HashSet<SchemaId>,
    ) {
        if finished.contains(&start) {
            return;
        }
        let mut path = vec![(start, 0)];
        let mut on_path = HashMap::from([(start, 0)]);
        while let Some((schema, tried)) = path.last_mut() {
            let schema = *schema;
            let applied = self.applied.get(&schema).and_then(|all| all.get(*tried));
            *tried += 1;
            let Some(&next) = applied else {
                path.pop();
                on_path.remove(&schema);
                finished.insert(schema);
                continue;
            };
            let next = std::ptr::from_ref(next);
            if let Some(&begin) = on_path.get(&next) {
                cyclic.extend(path[begin..].iter().map(|(schema, _)| *schema));
            } else if !finished.contains(&next) {
                on_path.insert(next, path.len());
                path.push((next, 0));
            }
        }
    }
}

fn note_cycles(
    schema: &Value,
    cyclic: &HashSet<SchemaId>,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) {
    if cyclic.contains(&std::ptr::from_ref(schema)) {
        for keyword in REFERENCES.into_iter().filter(|it| schema.get(it).is_some()) {
            let message = "the reference leads back to itself without descending into a property \
                           or an item; point to another schema";
            problems.note(&path.name(keyword), rule::SCHEMA_ENDLESS, message);
        }
    }
    for inner in subschemas(schema).filter(|inner| is_schema(inner.schema)) {
        let keyword = path.name(inner.keyword);
        match inner.step {
            Some(step) => note_cycles(inner.schema, cyclic, &keyword.down(step), problems),
            None => note_cycles(inner.schema, cyclic, &keyword, problems),
        }
    }
}
