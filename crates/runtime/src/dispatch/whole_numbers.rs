//! Whole numbers that a caller wrote with a decimal point: `2.0` where the schema demands an integer.
//!
//! JSON Schema accepts them as integers, but handlers and services often do not. So the value becomes `2` before the
//! input is used. Where the schema demands no integer, numbers stay as they were written.

use std::collections::HashSet;
use std::sync::Arc;

use panpan_contract::schema::{Resolver, Same};
use serde_json::{Number, Value};

use super::request::CallRequest;
use crate::registry::Operation;

/// The largest whole number that is exact as a number with a decimal point.
const EXACT_LIMIT: f64 = 9_007_199_254_740_991.0;

/// How many schemas are looked at for one input. What is left stays as it was written.
const SCHEMAS_LIMIT: usize = 200_000;

/// Rewrites the whole numbers in the input of a call.
pub(super) fn rewrite_whole_numbers(operation: Option<&Operation>, request: &mut CallRequest) {
    let Some(operation) = operation.filter(|_| has_whole_number(&request.input)) else {
        return;
    };
    let schema = &operation.spec().input_schema;
    let mut rewrite = Rewrite {
        resolver: Resolver::new(schema),
        left: SCHEMAS_LIMIT,
    };
    rewrite.value(Arc::make_mut(&mut request.input), vec![schema]);
}

/// Whether a value has a whole number with a decimal point in it.
fn has_whole_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => whole(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole_number),
        Value::Object(members) => members.values().any(has_whole_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The integer for a number with a decimal point.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a whole number that is exact"
)]
fn whole(number: &Number) -> Option<i64> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT_LIMIT;
    is_whole.then_some(value as i64)
}

struct Rewrite<'a> {
    resolver: Resolver<'a>,
    left: usize,
}

impl<'a> Rewrite<'a> {
    fn value(&mut self, value: &mut Value, schemas: Vec<&'a Value>) {
        let applied = match schemas.is_empty() {
            true => return,
            false => self.applied(schemas),
        };
        match value {
            Value::Number(number) => {
                let integer = whole(number).filter(|_| applied.iter().any(|it| is_integer(it)));
                if let Some(integer) = integer {
                    *number = integer.into();
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    let of_item = applied.iter().filter_map(|it| item_schema(it, position));
                    self.value(item, of_item.collect());
                }
            }
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    let of_member = applied.iter().filter_map(|it| member_schema(it, name));
                    self.value(member, of_member.collect());
                }
            }
            _ => {}
        }
    }

    /// These schemas, and those that they apply to the same value.
    fn applied(&mut self, schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let (mut open, mut seen, mut applied) = (schemas, HashSet::new(), Vec::new());
        while let Some(next) = open.pop() {
            if self.left == 0 {
                break;
            }
            if seen.insert(Same(next)) {
                self.left -= 1;
                open.extend(self.resolver.in_place(next));
                applied.push(next);
            }
        }
        applied
    }
}

fn is_integer(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "integer",
        Some(Value::Array(names)) => {
            let has = |name: &str| names.iter().any(|it| it == name);
            has("integer") && !has("number")
        }
        _ => false,
    }
}

fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let named = schema.get("properties").and_then(|it| it.get(name));
    named.or_else(|| schema.get("additionalProperties"))
}

fn item_schema(schema: &Value, position: usize) -> Option<&Value> {
    let items = schema.get("items");
    // Before 2020-12, `items` could be a list.
    let listed = schema
        .get("prefixItems")
        .or(items.filter(|it| it.is_array()));
    let listed = listed.and_then(|it| it.get(position));
    listed.or_else(|| items.filter(|it| !it.is_array()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, input: Value, expected: Value) {
        let mut rewrite = Rewrite {
            resolver: Resolver::new(&schema),
            left: SCHEMAS_LIMIT,
        };
        let mut rewritten = input.clone();
        rewrite.value(&mut rewritten, vec![&schema]);
        assert_eq!(rewritten.to_string(), expected.to_string(), "{input}");
    }

    #[test]
    fn a_whole_number_is_an_integer_where_the_schema_demands_one() {
        let integer = || json!({"type": "integer"});
        for (schema, input, expected) in [
            (
                json!({"properties": {"a": integer()}}),
                json!({"a": 2.0}),
                json!({"a": 2}),
            ),
            (
                json!({"properties": {"a": integer()}}),
                json!({"a": -2.0}),
                json!({"a": -2}),
            ),
            (json!({"items": integer()}), json!([1.0, 2]), json!([1, 2])),
            (
                json!({"prefixItems": [{}, integer()]}),
                json!([1.0, 2.0]),
                json!([1.0, 2]),
            ),
            (
                json!({"additionalProperties": integer()}),
                json!({"a": 2.0}),
                json!({"a": 2}),
            ),
            (json!({"type": ["integer", "null"]}), json!(2.0), json!(2)),
            (
                json!({"anyOf": [integer(), {"type": "null"}]}),
                json!(2.0),
                json!(2),
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": integer()}}),
                json!({"a": 404.0}),
                json!({"a": 404}),
            ),
        ] {
            check(schema, input, expected);
        }
    }

    #[test]
    fn other_numbers_stay_as_they_were_written() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "number"}),
            json!({"type": ["integer", "number"]}),
        ] {
            check(schema, json!(2.0), json!(2.0));
        }
        for value in [json!(2.5), json!(1e300), json!("2.0")] {
            check(json!({"type": "integer"}), value.clone(), value);
        }
        let cycle = json!({"$ref": "#"});
        check(cycle, json!({"a": 2.0}), json!({"a": 2.0}));
    }
}
