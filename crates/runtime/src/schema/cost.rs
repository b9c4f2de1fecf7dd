//! The cost of checking a value against a schema, computed before the schema is used.
//!
//! Alternatives and references can multiply, so that a small value takes exponential time. Such schemas are
//! refused when they are compiled.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use panpan_contract::schema::{Resolver, Same, cycles, references};
use serde_json::Value;

/// How many subschemas may apply to one value: the schema itself, its references and its alternatives, each
/// counted as often as it is reached.
pub const APPLIED_SUBSCHEMAS_LIMIT: usize = 10_000;

/// How many schemas may be visited to count that. Only cycles need many: each way through a cycle is walked.
const VISITS_LIMIT: usize = 5_000_000;

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
        let mut count = Count::new(&resolver);
        let (mut subschemas, mut is_plain) = (1, true);
        let (mut open, mut seen) = (vec![Same(schema)], HashSet::from([Same(schema)]));
        while let Some(Same(next)) = open.pop() {
            subschemas = subschemas.max(count.of(next, 0)?.subschemas);
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
    /// The schemas that another one applies to the same value.
    parts: HashMap<Same<'s>, Rc<[&'s Value]>>,
    /// The counts of schemas outside of cycles.
    known: HashMap<Same<'s>, Counted>,
    /// The schemas that are being counted, with their depth.
    open: HashMap<Same<'s>, usize>,
    visits: usize,
}

/// What a schema applies to one value, itself included.
#[derive(Clone, Copy, Default)]
struct Counted {
    subschemas: usize,
    nested: usize,
    /// The depth of the outermost schema that is being counted and that this one refers to. Then the count holds
    /// only here, because a schema is not entered again below itself, as in the library.
    refers_to: Option<usize>,
}

impl<'r, 's> Count<'r, 's> {
    fn new(resolver: &'r Resolver<'s>) -> Self {
        Self {
            resolver,
            parts: HashMap::new(),
            known: HashMap::new(),
            open: HashMap::new(),
            visits: 0,
        }
    }

    fn of(&mut self, schema: &'s Value, depth: usize) -> Result<Counted, String> {
        if let Some(known) = self.known.get(&Same(schema)) {
            return Ok(*known);
        }
        if let Some(open) = self.open.get(&Same(schema)) {
            return Ok(Counted {
                refers_to: Some(*open),
                ..Counted::default()
            });
        }
        if !schema.is_object() {
            return Ok(Counted::default());
        }
        self.visit(depth)?;
        self.open.insert(Same(schema), depth);
        let mut counted = self.with_parts(schema, depth)?;
        self.open.remove(&Same(schema));
        match counted.refers_to {
            None => _ = self.known.insert(Same(schema), counted),
            Some(outermost) if outermost == depth => counted.refers_to = None,
            Some(_) => {}
        }
        Ok(counted)
    }

    /// The depth keeps the recursion from taking all stack space, the visits keep it from taking all time.
    fn visit(&mut self, depth: usize) -> Result<(), String> {
        self.visits += 1;
        if self.visits > VISITS_LIMIT {
            return Err("its subschemas refer to each other in too many ways".to_owned());
        }
        match depth < NESTED_SUBSCHEMAS_LIMIT {
            true => Ok(()),
            false => Err(too_nested()),
        }
    }

    fn with_parts(&mut self, schema: &'s Value, depth: usize) -> Result<Counted, String> {
        let mut counted = Counted {
            subschemas: 1,
            ..Counted::default()
        };
        for part in self.parts_of(schema).iter() {
            let inner = self.of(part, depth + 1)?;
            counted.subschemas += inner.subschemas;
            if counted.subschemas > APPLIED_SUBSCHEMAS_LIMIT {
                return Err(format!(
                    "more than {APPLIED_SUBSCHEMAS_LIMIT} subschemas apply to one value"
                ));
            }
            counted.nested = counted.nested.max(inner.nested);
            let outermost = [counted.refers_to, inner.refers_to];
            counted.refers_to = outermost.into_iter().flatten().min();
        }
        counted.nested += 1;
        match counted.nested <= NESTED_SUBSCHEMAS_LIMIT {
            true => Ok(counted),
            false => Err(too_nested()),
        }
    }

    fn parts_of(&mut self, schema: &'s Value) -> Rc<[&'s Value]> {
        let resolver = self.resolver;
        let parts = self.parts.entry(Same(schema));
        let parts = parts.or_insert_with(|| resolver.in_place(schema).into_iter().collect());
        Rc::clone(parts)
    }
}

fn too_nested() -> String {
    format!("more than {NESTED_SUBSCHEMAS_LIMIT} nested subschemas apply to one value")
}
