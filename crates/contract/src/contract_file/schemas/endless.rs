//! References that lead back to themselves without ever going into the value.
//!
//! `{"$ref": "#"}` asks of a value that it be what it is; whoever follows it never stops. A schema
//! that refers to itself for a *part* of the value, as a tree does, is fine.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::keywords::subschemas;
use super::{REFERENCES, is_schema};
use crate::contract_file::path::Path;
use crate::contract_file::problem::Problems;
use crate::contract_file::rule;

/// A schema is known by its place in memory, since equal schemas stand in different places.
type Place = *const Value;

/// Which schemas are applied to the same value as which others.
#[derive(Default)]
pub(super) struct Graph<'a> {
    applied: HashMap<Place, Vec<&'a Value>>,
}

impl<'a> Graph<'a> {
    /// Adds a schema.
    pub(super) fn add(&mut self, schema: &'a Value) {
        self.applied.entry(schema).or_default();
    }

    /// Whether the schema was added.
    pub(super) fn knows(&self, schema: &Value) -> bool {
        self.applied.contains_key(&std::ptr::from_ref(schema))
    }

    /// Says that whatever the first is applied to, the second is applied to.
    pub(super) fn connect(&mut self, schema: &'a Value, applied: &'a Value) {
        self.applied.entry(schema).or_default().push(applied);
    }

    /// Notes the references that close a circle.
    pub(super) fn check<'r>(
        &self,
        roots: impl Iterator<Item = (&'a Value, &'r str)>,
        problems: &mut Problems<'_>,
    ) {
        let endless = self.endless();
        if endless.is_empty() {
            return;
        }
        for (schema, pointer) in roots {
            locate(schema, &endless, &Path::at(pointer), problems);
        }
    }

    /// The schemas whose reference stands in a circle, one or more per circle.
    fn endless(&self) -> HashSet<Place> {
        let mut endless = HashSet::new();
        let mut ended = HashSet::new();
        for &start in self.applied.keys() {
            self.follow(start, &mut ended, &mut endless);
        }
        endless
    }

    /// Goes all ways from a schema, with a stack of its own: circles can be long.
    fn follow(&self, start: Place, ended: &mut HashSet<Place>, endless: &mut HashSet<Place>) {
        if ended.contains(&start) {
            return;
        }
        let mut way = vec![(start, 0)];
        let mut on_way = HashMap::from([(start, 0)]);
        while let Some((place, tried)) = way.last_mut() {
            let place = *place;
            let applied = self.applied.get(&place).and_then(|all| all.get(*tried));
            *tried += 1;
            let Some(&next) = applied else {
                way.pop();
                on_way.remove(&place);
                ended.insert(place);
                continue;
            };
            let next = std::ptr::from_ref(next);
            if let Some(&begin) = on_way.get(&next) {
                endless.extend(way[begin..].iter().map(|(place, _)| *place));
            } else if !ended.contains(&next) {
                on_way.insert(next, way.len());
                way.push((next, 0));
            }
        }
    }
}

fn locate(schema: &Value, endless: &HashSet<Place>, path: &Path<'_>, problems: &mut Problems<'_>) {
    if endless.contains(&std::ptr::from_ref(schema)) {
        for keyword in REFERENCES.into_iter().filter(|it| schema.get(it).is_some()) {
            let message = "leads back to itself without going into a property or an item, so \
                           following it never ends; point at another schema";
            problems.note(&path.name(keyword), rule::SCHEMA_ENDLESS, message);
        }
    }
    for inner in subschemas(schema).filter(|inner| is_schema(inner.schema)) {
        let keyword = path.name(inner.keyword);
        match inner.step {
            Some(step) => locate(inner.schema, endless, &keyword.down(step), problems),
            None => locate(inner.schema, endless, &keyword, problems),
        }
    }
}
