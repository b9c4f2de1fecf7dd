//! How much work a schema can make, known before it is used.
//!
//! A schema may list the same alternatives at every level, or refer to itself, so that a small value is
//! held against it in more ways than there is time for. Those are refused when they are compiled.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// In how many ways a schema may be held against one value: itself, what it refers to, and its
/// alternatives, each counted as often as it is reached.
pub const WAYS_LIMIT: usize = 10_000;

/// How many schemas may be held against one value inside each other. Each takes a piece of the stack, and
/// does so again for each level of the value.
pub const IN_A_ROW_LIMIT: usize = 32;

/// How many steps it may take to find that out for all parts of a schema together.
const STEPS_LIMIT: usize = 5_000_000;

/// How schemas may be held against the same value by another one.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];

/// What has to be known of a schema to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// In how many ways it is held against one value at most.
    pub(super) ways: usize,
    /// Whether a list of all that is wrong cannot be longer than the value and the schema allow: it has
    /// no alternatives, and does not refer to itself.
    pub(super) is_plain: bool,
}

impl Shape {
    /// The shape of a schema, or why it cannot be used.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut count = Count {
            root: schema,
            steps: 0,
        };
        let (mut open, mut ways, mut has_alternatives) = (vec![schema], 1, false);
        while let Some(next) = open.pop() {
            match next {
                Value::Object(keywords) => {
                    has_alternatives |= ["anyOf", "oneOf", "if"]
                        .iter()
                        .any(|name| keywords.contains_key(*name));
                    ways = ways.max(count.ways(next)?);
                    open.extend(keywords.values());
                }
                Value::Array(parts) => open.extend(parts),
                _ => {}
            }
        }
        Ok(Self {
            ways,
            is_plain: !has_alternatives && !refers_to_itself(schema),
        })
    }
}

/// Counts the ways in which parts of a schema are held against one value.
struct Count<'s> {
    root: &'s Value,
    steps: usize,
}

impl<'s> Count<'s> {
    fn ways(&mut self, schema: &'s Value) -> Result<usize, String> {
        let mut ways = 0;
        self.below(schema, &mut Vec::new(), &mut ways)?;
        Ok(ways)
    }

    /// A schema that is reached by itself is not looked at again, as in the library.
    fn below(
        &mut self,
        schema: &'s Value,
        path: &mut Vec<*const Value>,
        ways: &mut usize,
    ) -> Result<(), String> {
        let (Value::Object(keywords), place) = (schema, std::ptr::from_ref(schema)) else {
            return Ok(());
        };
        if path.contains(&place) {
            return Ok(());
        }
        *ways += 1;
        self.steps += 1;
        if *ways > WAYS_LIMIT || self.steps > STEPS_LIMIT {
            return Err(format!(
                "it would be held against one value in more than {WAYS_LIMIT} ways"
            ));
        }
        if path.len() >= IN_A_ROW_LIMIT {
            return Err(format!(
                "more than {IN_A_ROW_LIMIT} of its parts are held against one value inside each other"
            ));
        }
        path.push(place);
        for part in in_place(keywords, self.root) {
            self.below(part, path, ways)?;
        }
        path.pop();
        Ok(())
    }
}

/// The schemas that another one holds against the same value.
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

/// What a reference within the schema leads to.
pub(super) fn target<'s>(reference: &Value, root: &'s Value) -> Option<&'s Value> {
    let pointer = local_pointer(reference)?;
    root.pointer(&pointer)
}

/// The pointer of a reference within the schema.
pub(super) fn local_pointer(reference: &Value) -> Option<String> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    let decoded = percent_encoding::percent_decode_str(fragment)
        .decode_utf8()
        .ok()?;
    (decoded.is_empty() || decoded.starts_with('/')).then(|| decoded.into_owned())
}

/// Whether some part of a schema refers to what it is in. References that are not followed here may.
fn refers_to_itself(schema: &Value) -> bool {
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
    // A target within another is reached with it, so that a cycle is one of what lies below.
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

/// The pointers of all references in a schema; `None` where one is not a plain pointer.
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
