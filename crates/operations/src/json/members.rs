//! Picks, omits and merges members, and flattens lists.

use std::collections::HashSet;

use panpan_failure::read::type_name;
use serde_json::{Map, Value};

use super::document::ITEMS_LIMIT;
use super::problem::Problem;

/// Picks or omits members of an object, or of every object in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    Kept,
    Omitted,
}

impl Members {
    pub(super) fn of(
        self,
        data: &Value,
        names: &HashSet<&str>,
        operation: &'static str,
    ) -> Result<Value, Problem> {
        let wrong = |pointer: String, found: &Value, expected: &'static str| Problem::WrongType {
            operation,
            pointer,
            expected,
            found: type_name(found),
        };
        match data {
            Value::Object(members) => Ok(self.of_object(members, names)),
            Value::Array(items) => {
                let each = items.iter().enumerate().map(|(index, item)| {
                    let members = item.as_object();
                    let changed = members.map(|members| self.of_object(members, names));
                    changed.ok_or_else(|| wrong(format!("/data/{index}"), item, "an object"))
                });
                each.collect()
            }
            other => Err(wrong(
                "/data".to_owned(),
                other,
                "an object or a list of objects",
            )),
        }
    }

    fn of_object(self, members: &Map<String, Value>, names: &HashSet<&str>) -> Value {
        let keep = self == Members::Kept;
        let kept = members
            .iter()
            .filter(|(name, _)| names.contains(name.as_str()) == keep);
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// All members of both objects; the second one wins.
pub(super) fn merged(first: &Map<String, Value>, second: &Map<String, Value>) -> Value {
    let all = first.iter().chain(second);
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Replaces nested lists by their items, up to this many levels.
pub(super) fn flattened(items: &[Value], levels: usize) -> Result<Vec<Value>, Problem> {
    let mut flat = Vec::new();
    flatten_into(&mut flat, items, levels);
    match flat.len() {
        items if items > ITEMS_LIMIT => Err(Problem::ResultTooLong { items }),
        _ => Ok(flat.into_iter().cloned().collect()),
    }
}

/// Recursion is limited by the depth of the document.
fn flatten_into<'v>(flat: &mut Vec<&'v Value>, items: &'v [Value], levels: usize) {
    for item in items {
        match (item, levels) {
            (Value::Array(inner), 1..) => flatten_into(flat, inner, levels - 1),
            _ => flat.push(item),
        }
    }
}
