//! Validates a document against a JSON Schema that the caller sent.
//!
//! Such a schema could cause unbounded work, by recursion or by repeating alternatives at every level. Its work
//! is bounded before it is used.

use std::collections::{HashMap, HashSet};

use panpan_runtime::check_once;
use serde_json::{Map, Value};

use super::document::{Document, bytes_within};
use super::problem::Problem;

/// The largest schema, in bytes of JSON.
pub(super) const SCHEMA_BYTES_LIMIT: usize = 256 * 1024;
/// How many subschemas may be nested.
const SCHEMA_NESTING_LIMIT: usize = 300;
/// How many values a check may visit.
pub(super) const SCHEMA_WORK_LIMIT: u64 = 200_000_000;
/// `unevaluated*` evaluates its sibling keywords again at every level.
const UNEVALUATED_WEIGHT: u64 = 50;

/// Refuses invalid data and invalid schemas.
pub(super) fn check(document: &Document<'_>, schema: &Value) -> Result<(), Problem> {
    if bytes_within(schema, SCHEMA_BYTES_LIMIT).is_none() {
        return Err(Problem::Schema {
            problem: format!("it is larger than {SCHEMA_BYTES_LIMIT} bytes as JSON"),
        });
    }
    // Unused parts of the schema may be nested deeply, too.
    Document::read(schema, "schema")?;
    let mut walk = Walk::over(schema);
    let per_value = walk
        .work(schema, document.depth)
        .map_err(|problem| Problem::Schema { problem })?;
    let steps = per_value.saturating_mul(document.steps as u64);
    if steps > SCHEMA_WORK_LIMIT {
        return Err(Problem::TooMuchWork {
            pointer: "/schema",
            steps,
            limit: SCHEMA_WORK_LIMIT,
        });
    }
    let checked = check_once(schema, &document.value);
    let mut checked = checked.map_err(|problem| Problem::Schema { problem })?;
    if checked.violations.is_empty() {
        return Ok(());
    }
    for violation in &mut checked.violations {
        violation.pointer.insert_str(0, "/data");
    }
    Err(Problem::Mismatch(checked))
}

/// Computes how many subschemas apply to a value and its ancestors.
struct Walk<'s> {
    root: &'s Value,
    /// By the address of a schema and the number of levels of the data below.
    known: HashMap<(*const Value, usize), u64>,
    /// The subschemas that are being computed.
    open: HashSet<(*const Value, usize)>,
}

impl<'s> Walk<'s> {
    fn over(root: &'s Value) -> Self {
        Self {
            root,
            known: HashMap::new(),
            open: HashSet::new(),
        }
    }

    fn work(&mut self, schema: &'s Value, levels: usize) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        let key = (std::ptr::from_ref(schema), levels);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if !self.open.insert(key) {
            return Err("it refers to itself without descending into the data".to_owned());
        }
        if self.open.len() > SCHEMA_NESTING_LIMIT {
            let problem = format!(
                "on this data, more than {SCHEMA_NESTING_LIMIT} of its subschemas are nested"
            );
            return Err(problem);
        }
        if !std::ptr::eq(schema, self.root) {
            refuse_bases(keywords)?;
        }
        let here = self.here(keywords, levels)?;
        let below = match levels.checked_sub(1) {
            Some(below) => self.below(keywords, below)?,
            None => 0,
        };
        let work = here.saturating_add(below);
        self.open.remove(&key);
        self.known.insert(key, work);
        Ok(work)
    }

    /// The work of subschemas that apply to the same value.
    fn here(&mut self, keywords: &'s Map<String, Value>, levels: usize) -> Result<u64, String> {
        let mut work = 0_u64;
        for (keyword, value) in keywords {
            let more = match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let target = self.target(reference)?;
                    self.work(target, levels)?
                }
                ("$dynamicRef" | "$recursiveRef", _) => {
                    return Err(format!("{keyword} is not supported; use $ref"));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => self.sum(parts, levels)?,
                ("not" | "if" | "then" | "else", part) => self.work(part, levels)?,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    self.sum(parts.values(), levels)?
                }
                ("enum", Value::Array(options)) => options.len() as u64,
                _ => 0,
            };
            work = work.saturating_add(more);
        }
        let reevaluating = ["unevaluatedProperties", "unevaluatedItems"];
        if reevaluating
            .iter()
            .any(|keyword| keywords.contains_key(*keyword))
        {
            work = work.saturating_mul(UNEVALUATED_WEIGHT);
        }
        Ok(work.saturating_add(1))
    }

    /// The work of subschemas that apply to nested values. A value is only one of several members or items.
    fn below(&mut self, keywords: &'s Map<String, Value>, levels: usize) -> Result<u64, String> {
        let (mut members, mut items, mut others) = (0_u64, 0_u64, 0_u64);
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(parts)) => {
                    members = members.max(self.max(parts.values(), levels)?);
                }
                ("additionalProperties" | "unevaluatedProperties", part) => {
                    members = members.max(self.work(part, levels)?);
                }
                ("prefixItems" | "items", Value::Array(parts)) => {
                    items = items.max(self.max(parts, levels)?);
                }
                ("items" | "additionalItems" | "unevaluatedItems", part) => {
                    items = items.max(self.work(part, levels)?);
                }
                ("patternProperties", Value::Object(parts)) => {
                    others = others.saturating_add(self.sum(parts.values(), levels)?);
                }
                ("contains" | "propertyNames", part) => {
                    others = others.saturating_add(self.work(part, levels)?);
                }
                _ => {}
            }
        }
        Ok(members.max(items).saturating_add(others))
    }

    fn sum(
        &mut self,
        parts: impl IntoIterator<Item = &'s Value>,
        levels: usize,
    ) -> Result<u64, String> {
        let mut parts = parts.into_iter();
        parts.try_fold(0_u64, |sum, part| {
            Ok(sum.saturating_add(self.work(part, levels)?))
        })
    }

    fn max(
        &mut self,
        parts: impl IntoIterator<Item = &'s Value>,
        levels: usize,
    ) -> Result<u64, String> {
        let mut parts = parts.into_iter();
        parts.try_fold(0_u64, |most, part| Ok(most.max(self.work(part, levels)?)))
    }

    fn target(&self, reference: &str) -> Result<&'s Value, String> {
        let fragment = reference.strip_prefix('#');
        let plain = |pointer: &&str| {
            (pointer.is_empty() || pointer.starts_with('/')) && !pointer.contains('%')
        };
        let pointer = fragment.filter(plain);
        let Some(pointer) = pointer else {
            return Err(format!(
                "the reference {reference} is not supported; use a plain pointer such as #/$defs/name"
            ));
        };
        let found = self.root.pointer(pointer);
        found.ok_or_else(|| format!("the reference {reference} has no target"))
    }
}

/// Below another base URI, the same reference has another target.
fn refuse_bases(keywords: &Map<String, Value>) -> Result<(), String> {
    let base = ["$id", "id"]
        .into_iter()
        .find(|keyword| keywords.get(*keyword).is_some_and(Value::is_string));
    match base {
        Some(keyword) => Err(format!("only the top of a schema may have {keyword}")),
        None => Ok(()),
    }
}
