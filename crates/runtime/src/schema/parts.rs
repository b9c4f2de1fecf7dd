//! The parts of a schema that a search compiles, and keeps for the next search.

use std::collections::{HashMap, HashSet};

use jsonschema::{Registry, Validator};
use panpan_contract::schema::{Resolver, Same};
use serde_json::{Map, Value};

use super::options;
use super::places::SchemaPlaces;

/// The URI of the schema while parts of it are compiled.
pub(super) const ROOT: &str = "json-schema:///searched";

/// Keywords without subschemas.
pub(super) const ASSERTIONS: &str = "\
    $schema type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength \
    minLength pattern format maxItems minItems uniqueItems maxProperties minProperties required \
    dependentRequired";

/// How many compiled parts of a schema are kept for the next search.
const PARTS_LIMIT: usize = 4096;

/// How many subschemas a search compiles to compare alternatives, each with the ones that it contains and refers to.
/// Alternatives beyond that are not explained.
pub(super) const COMPILED_SUBSCHEMAS_LIMIT: usize = 200_000;

/// Parts of one schema, compiled on first use; `None` if a part does not compile.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) places: SchemaPlaces,
    /// Whole parts, by place.
    pub(super) whole: HashMap<usize, Option<Validator>>,
    /// How many subschemas the whole parts contain.
    compiled: usize,
    /// The assertions of parts, by place.
    pub(super) assertions: HashMap<usize, Option<Validator>>,
    /// Patterns for member names.
    patterns: HashMap<String, Option<Validator>>,
}

impl Parts {
    /// Clears full caches before another search.
    pub(super) fn with_room(&mut self) -> &mut Self {
        let parts = [
            self.places.len(),
            self.whole.len(),
            self.assertions.len(),
            self.patterns.len(),
        ];
        let is_large = parts.iter().any(|parts| *parts > PARTS_LIMIT);
        if is_large || self.compiled > COMPILED_SUBSCHEMAS_LIMIT / 2 {
            *self = Self::default();
        }
        self
    }

    /// Counts a part and the subschemas that it contains and refers to, unless they exceed what a search may compile.
    pub(super) fn add_compiled<'a>(&mut self, part: &'a Value, resolver: &Resolver<'a>) -> bool {
        let (mut open, mut seen) = (vec![Same(part)], HashSet::from([Same(part)]));
        while let Some(Same(next)) = open.pop() {
            if self.compiled + seen.len() > COMPILED_SUBSCHEMAS_LIMIT {
                return false;
            }
            let next = resolver.next(next).into_iter();
            open.extend(next.filter(|it| seen.insert(*it)));
        }
        self.compiled += seen.len();
        true
    }

    /// Whether a name matches a pattern; false if the pattern does not compile.
    pub(super) fn matches(&mut self, pattern: &str, name: &str) -> bool {
        if !self.patterns.contains_key(pattern) {
            let schema = serde_json::json!({"pattern": pattern});
            self.patterns
                .insert(pattern.to_owned(), options().build(&schema).ok());
        }
        let compiled = self.patterns.get(pattern).and_then(Option::as_ref);
        compiled.is_some_and(|it| it.is_valid(&Value::from(name)))
    }
}

/// Returns a compiled part, compiling it on first use.
pub(super) fn compiled_part(
    parts: &mut HashMap<usize, Option<Validator>>,
    place: usize,
    compile: impl FnOnce() -> Option<Validator>,
) -> Option<&Validator> {
    parts.entry(place).or_insert_with(compile).as_ref()
}

pub(super) fn registered(schema: &Value) -> Option<Registry<'_>> {
    let registry = Registry::new().add(ROOT, schema);
    registry.and_then(|registry| registry.prepare()).ok()
}

/// The characters that are escaped in the fragment of a reference.
pub(super) const FRAGMENT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'~')
    .remove(b'$')
    .remove(b'_')
    .remove(b'-')
    .remove(b'.');

/// The assertions of a schema without its subschemas: which members are allowed, not their values.
pub(super) fn assertions(keywords: &Map<String, Value>) -> Value {
    let mut kept = Map::new();
    for name in ASSERTIONS.split(' ') {
        if let Some(value) = keywords.get(name) {
            kept.insert(name.to_owned(), value.clone());
        }
    }
    if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
        for name in ["properties", "patternProperties"] {
            if let Some(Value::Object(parts)) = keywords.get(name) {
                let names = parts.keys().map(|name| (name.clone(), Value::Bool(true)));
                kept.insert(name.to_owned(), Value::Object(names.collect()));
            }
        }
    }
    Value::Object(kept)
}

/// Whether a schema is of a draft before 2019-09.
pub(super) fn is_old(schema: &Value) -> bool {
    let draft = schema.get("$schema").and_then(Value::as_str);
    draft.is_some_and(|it| it.contains("/draft-0"))
}
