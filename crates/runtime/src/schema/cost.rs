//! The cost of checking a value against a schema, computed before the schema is used.
//!
//! Alternatives and references can multiply, so that a small value takes exponential time. Such schemas are
//! refused when they are compiled.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use panpan_contract::schema::{Resolver, Same, cycles, references};
use panpan_failure::{pointer, size};
use serde_json::{Map, Value};

use super::parts::ASSERTIONS;

/// How many subschemas may apply to one value: the schema itself, its references and its alternatives, each
/// counted as often as it is reached.
pub const APPLIED_SUBSCHEMAS_LIMIT: usize = 10_000;

/// How many schemas may be visited to count that. Only cycles need many: each way through a cycle is walked.
const VISITS_LIMIT: usize = 5_000_000;

/// How many subschemas that apply to one value may be nested. Each takes stack space for each level of the
/// value.
pub const NESTED_SUBSCHEMAS_LIMIT: usize = 32;

/// The largest sum of the pointers of everything in a schema, in bytes: the library keeps each with what it compiles.
const SCHEMA_POINTERS_BYTES_LIMIT: usize = 32 * 1024 * 1024;

/// What matching the name of a member against one pattern costs, compared with checking a value against a subschema.
const PATTERN_STEPS: usize = 32;

/// What comparing a value with one object or list of an `enum` costs. Others are found by their hash.
const ENUM_STEPS: usize = 8;

/// How many patterns a schema may have: each takes memory of its own.
const PATTERNS_LIMIT: usize = 5000;

/// How many bytes of text cost as much to check as one value.
const STEP_BYTES: usize = 16;

/// The cost of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// The maximum number of steps to check one value: the subschemas that apply to it, with the patterns for its name and
    /// the values that it is compared with.
    pub(super) steps: usize,
    /// The maximum size of the assertions about one value, in bytes. An error can repeat each of them.
    pub(super) assertions_bytes: usize,
    /// How many patterns the schema has.
    pub(super) patterns: usize,
    /// Whether the list of violations is bounded: the schema has no alternatives and no recursion.
    pub(super) is_plain: bool,
}

impl Cost {
    /// The cost of a schema, or why the schema is refused.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if pointers_bytes(schema, 0, SCHEMA_POINTERS_BYTES_LIMIT) > SCHEMA_POINTERS_BYTES_LIMIT {
            return Err("its member names are too long for its nesting".to_owned());
        }
        let resolver = Resolver::new(schema);
        let mut count = Count::new(&resolver);
        let (mut steps, mut is_plain) = (1, true);
        let (mut subschemas, mut own_bytes, mut all_patterns) = (1, 0, 0);
        let (mut open, mut seen) = (vec![Same(schema)], HashSet::from([Same(schema)]));
        while let Some(Same(next)) = open.pop() {
            let counted = count.of(next, 0)?;
            subschemas = subschemas.max(counted.subschemas);
            steps = steps.max(counted.steps());
            own_bytes = own_bytes.max(assertions_bytes(next));
            all_patterns += patterns(next) + usize::from(next.get("pattern").is_some());
            if all_patterns > PATTERNS_LIMIT {
                return Err(format!("it has more than {PATTERNS_LIMIT} patterns"));
            }
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
            steps,
            assertions_bytes: own_bytes.saturating_mul(subschemas),
            patterns: all_patterns,
            is_plain,
        })
    }
}

/// The sum of the pointers of a value and of everything in it, and of `each` for every value, in bytes. Counting stops
/// beyond the limit.
pub(super) fn pointers_bytes(value: &Value, each: usize, limit: usize) -> usize {
    let (mut open, mut sum) = (vec![(value, 0)], 0_usize);
    while let Some((next, length)) = open.pop() {
        sum = sum.saturating_add(each).saturating_add(length);
        let left = limit.saturating_sub(sum) / (each + length + 2) + 1;
        match next {
            Value::Array(items) => {
                let items = items.iter().enumerate().take(left);
                let digits = |index: usize| index.checked_ilog10().unwrap_or_default() as usize + 1;
                open.extend(items.map(|(index, item)| (item, length + 1 + digits(index))));
            }
            Value::Object(members) => {
                let members = members.iter().take(left);
                open.extend(
                    members.map(|(name, value)| (value, length + 1 + pointer::escaped(name).len())),
                );
            }
            _ => {}
        }
        if sum > limit {
            break;
        }
    }
    sum
}

/// Whether checking a value takes at most this many steps for each way in which it is checked: one for each value in
/// it, and some for long texts and names.
pub(super) fn is_checked_within(value: &Value, limit: usize) -> bool {
    let (mut open, mut steps) = (vec![value], 0);
    while let Some(next) = open.pop() {
        steps += 1;
        let rest = limit.saturating_sub(steps) + 1;
        match next {
            Value::String(text) => steps += text.len() / STEP_BYTES,
            Value::Array(items) => open.extend(items.iter().take(rest)),
            Value::Object(members) => {
                let names = members.keys().take(rest);
                steps += names.map(|name| name.len() / STEP_BYTES).sum::<usize>();
                open.extend(members.values().take(rest));
            }
            _ => {}
        }
        if steps + open.len() > limit {
            return false;
        }
    }
    true
}

/// The size of the assertions of a schema, in bytes.
fn assertions_bytes(schema: &Value) -> usize {
    let stated = ASSERTIONS.split(' ').filter_map(|name| schema.get(name));
    let bytes =
        stated.map(|it| usize::MAX / 2 - size::remaining_bytes(it, usize::MAX / 2).unwrap_or(0));
    bytes.fold(0, usize::saturating_add)
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
    /// The steps that its patterns and its enum add.
    added_steps: usize,
    nested: usize,
    /// The depth of the outermost schema that is being counted and that this one refers to. Then the count holds
    /// only here, because a schema is not entered again below itself, as in the library.
    refers_to: Option<usize>,
}

impl Counted {
    fn steps(self) -> usize {
        self.subschemas.saturating_add(self.added_steps)
    }
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
            added_steps: added_steps(schema),
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
            counted.added_steps = counted.added_steps.saturating_add(inner.added_steps);
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

fn added_steps(schema: &Value) -> usize {
    let options = schema.get("enum").and_then(Value::as_array);
    let compared = options.into_iter().flatten();
    let compared = compared.filter(|it| it.is_array() || it.is_object());
    let patterns = PATTERN_STEPS.saturating_mul(patterns(schema));
    patterns.saturating_add(ENUM_STEPS * compared.count())
}

/// The patterns for the names of the members.
fn patterns(schema: &Value) -> usize {
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    patterns.map_or(0, Map::len)
}

fn too_nested() -> String {
    format!("more than {NESTED_SUBSCHEMAS_LIMIT} nested subschemas apply to one value")
}
