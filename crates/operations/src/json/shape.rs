//! Changing the shape of a document: its members, and lists in lists.

use std::collections::HashSet;

use panpan_failure::read::type_name;
use serde_json::{Map, Value};

use super::document::ITEMS_LIMIT;
use super::problem::Problem;

/// Keeps or leaves out members of an object, or of every object in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    Kept,
    LeftOut,
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
                    let made = members.map(|members| self.of_object(members, names));
                    made.ok_or_else(|| wrong(format!("/data/{index}"), item, "an object"))
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

/// All members of both; where both have one, the second's counts.
pub(super) fn merged(first: &Map<String, Value>, second: &Map<String, Value>) -> Value {
    let all = first.iter().chain(second);
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The items of lists in a list take the place of those lists, so many levels deep.
pub(super) fn flattened(items: &[Value], levels: usize) -> Result<Vec<Value>, Problem> {
    let mut flat = Vec::new();
    flatten_into(&mut flat, items, levels);
    match flat.len() {
        items if items > ITEMS_LIMIT => Err(Problem::ResultTooLong { items }),
        _ => Ok(flat.into_iter().cloned().collect()),
    }
}

/// Calls itself no deeper than a document is nested.
fn flatten_into<'v>(flat: &mut Vec<&'v Value>, items: &'v [Value], levels: usize) {
    for item in items {
        match (item, levels) {
            (Value::Array(inner), 1..) => flatten_into(flat, inner, levels - 1),
            _ => flat.push(item),
        }
    }
}
