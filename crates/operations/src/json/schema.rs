//! Validates a document against a JSON Schema that the caller sent.
//!
//! Such a schema could cause unbounded work, by recursion or by repeating alternatives at every level. Its work
//! is bounded before it is used.

use std::collections::{HashMap, HashSet};

use panpan_contract::schema::{Place, Resolver, Same, references, subschemas_at};
use panpan_runtime::check_once;
use serde_json::Value;

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
    resolver: Resolver<'s>,
    /// By schema and the number of levels of the data below.
    known: HashMap<(Same<'s>, usize), u64>,
    /// The subschemas that are being computed.
    open: HashSet<(Same<'s>, usize)>,
}

impl<'s> Walk<'s> {
    fn over(root: &'s Value) -> Self {
        Self {
            root,
            resolver: Resolver::new(root),
            known: HashMap::new(),
            open: HashSet::new(),
        }
    }

    fn work(&mut self, schema: &'s Value, levels: usize) -> Result<u64, String> {
        if !schema.is_object() {
            return Ok(1);
        }
        let key = (Same(schema), levels);
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
        self.refuse_unsupported(schema)?;
        let here = self.here(schema, levels)?;
        let below = match levels.checked_sub(1) {
            Some(below) => self.below(schema, below)?,
            None => 0,
        };
        let work = here.saturating_add(below);
        self.open.remove(&key);
        self.known.insert(key, work);
        Ok(work)
    }

    /// The work of subschemas that apply to the same value.
    fn here(&mut self, schema: &'s Value, levels: usize) -> Result<u64, String> {
        let options = schema.get("enum").and_then(Value::as_array);
        let mut work = options.map_or(0, |options| options.len() as u64);
        for part in self.resolver.in_place(schema) {
            work = work.saturating_add(self.work(part, levels)?);
        }
        let reevaluating = ["unevaluatedProperties", "unevaluatedItems"];
        if reevaluating.iter().any(|it| schema.get(it).is_some()) {
            work = work.saturating_mul(UNEVALUATED_WEIGHT);
        }
        Ok(work.saturating_add(1))
    }

    /// The work of subschemas that apply to nested values. A value is only one of several members or items.
    fn below(&mut self, schema: &'s Value, levels: usize) -> Result<u64, String> {
        let is_below = |place| !matches!(place, Place::Same | Place::Nowhere);
        let (mut most, mut others) = (0_u64, 0_u64);
        for inner in subschemas_at(schema, is_below) {
            let work = self.work(inner.schema, levels)?;
            match inner.place {
                Place::Part => others = others.saturating_add(work),
                _ => most = most.max(work),
            }
        }
        Ok(most.saturating_add(others))
    }

    fn refuse_unsupported(&self, schema: &Value) -> Result<(), String> {
        // Below another base URI, the same reference has another target.
        let is_base = |keyword: &&str| schema.get(keyword).is_some_and(Value::is_string);
        let base = ["$id", "id"].into_iter().find(is_base);
        if let Some(keyword) = base.filter(|_| !std::ptr::eq(schema, self.root)) {
            return Err(format!("only the top of a schema may have {keyword}"));
        }
        for (keyword, reference) in references(schema) {
            if keyword != "$ref" {
                return Err(format!("{keyword} is not supported; use $ref"));
            }
            if !reference.starts_with('#') {
                return Err(format!(
                    "the reference {reference} is not supported; use a pointer such as #/$defs/name"
                ));
            }
            if self.resolver.find(schema, reference).is_none() {
                return Err(format!("the reference {reference} has no target"));
            }
        }
        Ok(())
    }
}
