//! The cost of checking a value against a schema, computed before the schema is used.
//!
//! Alternatives and references can multiply, so that a small value takes exponential time. Such schemas are
//! refused when they are compiled.

use std::collections::{HashMap, HashSet};

use panpan_contract::schema::{Resolver, Same, cycles, references};
use serde_json::Value;

/// How many subschemas may apply to one value: the schema itself, its references and its alternatives, each
/// counted as often as it is reached.
pub const APPLIED_SUBSCHEMAS_LIMIT: usize = 10_000;

/// How many subschemas that apply to one value may be nested. Each takes stack space for each level of the
/// value.
pub const NESTED_SUBSCHEMAS_LIMIT: usize = 32;

/// The cost of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// The maximum number of subschemas that apply to one value.
    pub(super) subschemas: usize,
    /// Whether the list of violations is bounded: the schema has no alternatives and no recursion.
    pub(super) is_plain: bool,
}

impl Cost {
    /// The cost of a schema, or why the schema is refused.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let resolver = Resolver::new(schema);
        let mut count = Count {
            resolver: &resolver,
            known: HashMap::new(),
        };
        let (mut subschemas, mut is_plain) = (1, true);
        let (mut open, mut seen) = (vec![Same(schema)], HashSet::from([Same(schema)]));
        while let Some(Same(next)) = open.pop() {
            subschemas = subschemas.max(count.of(next, 0)?.0);
            is_plain &= !has_alternatives(next) && is_resolved(next, &resolver);
            open.extend(
                resolver
                    .next(next)
                    .into_iter()
                    .filter(|it| seen.insert(*it)),
            );
        }
        let next = |Same(schema)| resolver.next(schema);
        cycles([Same(schema)], next, |_| is_plain = false);
        Ok(Self {
            subschemas,
            is_plain,
        })
    }
}

fn has_alternatives(schema: &Value) -> bool {
    let keywords = ["anyOf", "oneOf", "if"];
    keywords.iter().any(|name| schema.get(name).is_some())
}

/// Whether all references of a schema have one known target.
fn is_resolved(schema: &Value, resolver: &Resolver<'_>) -> bool {
    references(schema)
        .all(|(keyword, reference)| keyword == "$ref" && resolver.find(schema, reference).is_some())
}

/// Counts the subschemas that apply to one value.
struct Count<'r, 's> {
    resolver: &'r Resolver<'s>,
    /// How many subschemas a schema applies, and how many of them are nested; zero while that is
    /// being counted, because a recursive reference is not followed, as in the library.
    known: HashMap<Same<'s>, (usize, usize)>,
}

impl<'s> Count<'_, 's> {
    fn of(&mut self, schema: &'s Value, depth: usize) -> Result<(usize, usize), String> {
        if let Some(known) = self.known.get(&Same(schema)) {
            return Ok(*known);
        }
        self.known.insert(Same(schema), (0, 0));
        if !schema.is_object() {
            return Ok((0, 0));
        }
        let (mut subschemas, mut nested) = (1, 0);
        // The depth keeps the recursion from taking all stack space.
        if depth < NESTED_SUBSCHEMAS_LIMIT {
            for part in self.resolver.in_place(schema) {
                let inner = self.of(part, depth + 1)?;
                subschemas += inner.0;
                nested = nested.max(inner.1);
            }
        }
        nested += 1;
        if subschemas > APPLIED_SUBSCHEMAS_LIMIT {
            return Err(format!(
                "more than {APPLIED_SUBSCHEMAS_LIMIT} subschemas apply to one value"
            ));
        }
        if nested.max(depth + 1) > NESTED_SUBSCHEMAS_LIMIT {
            return Err(format!(
                "more than {NESTED_SUBSCHEMAS_LIMIT} nested subschemas apply to one value"
            ));
        }
        self.known.insert(Same(schema), (subschemas, nested));
        Ok((subschemas, nested))
    }
}
