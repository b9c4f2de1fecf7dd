//! The cost of checking a value against a schema, computed before the schema is used.
//!
//! Alternatives and references can multiply, so that a small value takes exponential time. Such schemas are
//! refused when they are compiled.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// How many subschemas may apply to one value: the schema itself, its references and its alternatives, each
/// counted as often as it is reached.
pub const APPLIED_SUBSCHEMAS_LIMIT: usize = 10_000;

/// How many subschemas that apply to one value may be nested. Each takes stack space for each level of the
/// value.
pub const NESTED_SUBSCHEMAS_LIMIT: usize = 32;

/// The maximum number of steps to compute the cost of a schema.
const STEPS_LIMIT: usize = 5_000_000;

/// Keywords whose subschemas apply to the same value.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];

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
        let mut count = Count {
            root: schema,
            steps: 0,
        };
        let (mut open, mut subschemas, mut has_alternatives) = (vec![schema], 1, false);
        while let Some(next) = open.pop() {
            match next {
                Value::Object(keywords) => {
                    has_alternatives |= ["anyOf", "oneOf", "if"]
                        .iter()
                        .any(|name| keywords.contains_key(*name));
                    subschemas = subschemas.max(count.subschemas(next)?);
                    open.extend(keywords.values());
                }
                Value::Array(parts) => open.extend(parts),
                _ => {}
            }
        }
        Ok(Self {
            subschemas,
            is_plain: !has_alternatives && !is_recursive(schema),
        })
    }
}

/// Counts the subschemas that apply to one value.
struct Count<'s> {
    root: &'s Value,
    steps: usize,
}

impl<'s> Count<'s> {
    fn subschemas(&mut self, schema: &'s Value) -> Result<usize, String> {
        let mut count = 0;
        self.count(schema, &mut Vec::new(), &mut count)?;
        Ok(count)
    }

    /// A recursive reference is not followed, as in the library.
    fn count(
        &mut self,
        schema: &'s Value,
        path: &mut Vec<*const Value>,
        count: &mut usize,
    ) -> Result<(), String> {
        let (Value::Object(keywords), identity) = (schema, std::ptr::from_ref(schema)) else {
            return Ok(());
        };
        if path.contains(&identity) {
            return Ok(());
        }
        *count += 1;
        self.steps += 1;
        if *count > APPLIED_SUBSCHEMAS_LIMIT || self.steps > STEPS_LIMIT {
            return Err(format!(
                "more than {APPLIED_SUBSCHEMAS_LIMIT} subschemas apply to one value"
            ));
        }
        if path.len() >= NESTED_SUBSCHEMAS_LIMIT {
            return Err(format!(
                "more than {NESTED_SUBSCHEMAS_LIMIT} nested subschemas apply to one value"
            ));
        }
        path.push(identity);
        for part in in_place(keywords, self.root) {
            self.count(part, path, count)?;
        }
        path.pop();
        Ok(())
    }
}

/// The subschemas that apply to the same value.
fn in_place<'s>(keywords: &'s Map<String, Value>, root: &'s Value) -> Vec<&'s Value> {
    let mut parts = Vec::new();
    parts.extend(keywords.get("$ref").and_then(|it| target(it, root)));
    for name in LISTS {
        parts.extend(
            keywords
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
    }
    parts.extend(SINGLE.iter().filter_map(|name| keywords.get(*name)));
    for name in NAMED {
        let named = keywords.get(name).and_then(Value::as_object);
        parts.extend(named.into_iter().flat_map(Map::values));
    }
    parts
}

/// The target of a reference inside the schema.
pub(super) fn target<'s>(reference: &Value, root: &'s Value) -> Option<&'s Value> {
    let pointer = local_pointer(reference)?;
    root.pointer(&pointer)
}

/// The pointer of a reference inside the schema.
pub(super) fn local_pointer(reference: &Value) -> Option<String> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    let decoded = percent_encoding::percent_decode_str(fragment)
        .decode_utf8()
        .ok()?;
    (decoded.is_empty() || decoded.starts_with('/')).then(|| decoded.into_owned())
}

/// Whether a schema is recursive. Unresolved references count as recursive.
fn is_recursive(schema: &Value) -> bool {
    let mut targets: HashMap<String, Vec<String>> = HashMap::new();
    let mut open = match references_in(schema) {
        Some(first) => first,
        None => return true,
    };
    while let Some(pointer) = open.pop() {
        if targets.contains_key(&pointer) {
            continue;
        }
        let below = schema.pointer(&pointer).map(references_in);
        let Some(below) = below.unwrap_or_else(|| Some(Vec::new())) else {
            return true;
        };
        open.extend(below.iter().cloned());
        targets.insert(pointer, below);
    }
    // A target inside another is reached with it, so following the targets finds every cycle.
    let (mut ended, mut open) = (HashSet::new(), HashSet::new());
    targets
        .keys()
        .any(|pointer| is_in_cycle(pointer, &targets, &mut ended, &mut open))
}

fn is_in_cycle<'t>(
    pointer: &'t str,
    targets: &'t HashMap<String, Vec<String>>,
    ended: &mut HashSet<&'t str>,
    open: &mut HashSet<&'t str>,
) -> bool {
    if ended.contains(pointer) {
        return false;
    }
    if !open.insert(pointer) {
        return true;
    }
    let below = targets.get(pointer).into_iter().flatten();
    let is_in_cycle = below
        .into_iter()
        .any(|next| is_in_cycle(next, targets, ended, open));
    open.remove(pointer);
    ended.insert(pointer);
    is_in_cycle
}

/// The pointers of all references in a schema; `None` if one is not a plain pointer.
fn references_in(schema: &Value) -> Option<Vec<String>> {
    let (mut open, mut found) = (vec![schema], Vec::new());
    while let Some(next) = open.pop() {
        match next {
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    match (keyword.as_str(), value) {
                        ("$ref", Value::String(_)) => found.push(local_pointer(value)?),
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => return None,
                        (_, value) => open.push(value),
                    }
                }
            }
            Value::Array(parts) => open.extend(parts),
            _ => {}
        }
    }
    Some(found)
}
