//! Compares the items of a list, for filtering and sorting.
//!
//! Values of different types cannot be compared: the transformation fails and names the item.

use std::cmp::Ordering;

use panpan_failure::pointer::joined;
use panpan_failure::read::type_name;
use serde_json::{Number, Value};

use super::path::Path;
use super::problem::Problem;

/// The part of an item that is compared.
#[derive(Debug)]
pub(super) enum Field {
    /// The item itself.
    Whole,
    /// One of its members.
    Member(String),
    /// The value that a path from the item selects.
    Path(Path),
}

impl Field {
    /// Reads a parameter: a singular path if it starts with `$`, otherwise the name of a member.
    pub(super) fn read(
        text: &str,
        pointer: &'static str,
        operation: &'static str,
    ) -> Result<Self, Problem> {
        if !text.starts_with('$') {
            return Ok(Field::Member(text.to_owned()));
        }
        let path = Path::read(text, pointer)?;
        if !path.is_singular() {
            return Err(Problem::PathNotSingular {
                pointer,
                operation,
                path: text.to_owned(),
            });
        }
        Ok(Field::Path(path))
    }

    fn of<'v>(&self, item: &'v Value) -> Option<&'v Value> {
        match self {
            Field::Whole => Some(item),
            Field::Member(name) => item.as_object()?.get(name),
            Field::Path(path) => path.value(item),
        }
    }

    fn pointer(&self, index: usize) -> String {
        let item = format!("/data/{index}");
        match self {
            Field::Member(name) => joined(&item, name),
            Field::Whole | Field::Path(_) => item,
        }
    }
}

/// How the field of an item is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Ordered(Ordering, bool),
    Contains,
    StartsWith,
    EndsWith,
    Exists,
}

/// The operators by name; the first is the default.
pub(super) const OPERATORS: [(&str, Operator); 10] = [
    ("eq", Operator::Equal),
    ("ne", Operator::NotEqual),
    ("gt", Operator::Ordered(Ordering::Greater, false)),
    ("gte", Operator::Ordered(Ordering::Greater, true)),
    ("lt", Operator::Ordered(Ordering::Less, false)),
    ("lte", Operator::Ordered(Ordering::Less, true)),
    ("contains", Operator::Contains),
    ("startswith", Operator::StartsWith),
    ("endswith", Operator::EndsWith),
    ("exists", Operator::Exists),
];

/// The condition of a filter.
#[derive(Debug)]
pub(super) struct Condition<'a> {
    pub(super) field: Field,
    pub(super) operator: Operator,
    pub(super) value: &'a Value,
}

impl Condition<'_> {
    /// Whether an item meets it. A missing field is unequal to everything.
    pub(super) fn is_met(&self, index: usize, item: &Value) -> Result<bool, Problem> {
        let found = self.field.of(item);
        if self.operator == Operator::Exists {
            // With `false`, the field has to be missing.
            return Ok(found.is_some() == (*self.value != Value::Bool(false)));
        }
        let Some(found) = found else {
            return Ok(self.operator == Operator::NotEqual);
        };
        let met = match self.operator {
            Operator::Equal => Some(equal(found, self.value)),
            Operator::NotEqual => Some(!equal(found, self.value)),
            Operator::Ordered(expected, or_equal) => order(found, self.value)
                .map(|order| order == expected || or_equal && order == Ordering::Equal),
            Operator::Contains => contains(found, self.value),
            Operator::StartsWith => {
                texts(found, self.value).map(|(text, start)| text.starts_with(start))
            }
            Operator::EndsWith => texts(found, self.value).map(|(text, end)| text.ends_with(end)),
            Operator::Exists => Some(true),
        };
        met.ok_or_else(|| Problem::Incomparable {
            operation: "filter",
            pointer: self.field.pointer(index),
            left: type_name(found),
            right: type_name(self.value),
        })
    }
}

fn contains(found: &Value, value: &Value) -> Option<bool> {
    match found {
        Value::Array(items) => Some(items.iter().any(|item| equal(item, value))),
        _ => texts(found, value).map(|(text, part)| text.contains(part)),
    }
}

fn texts<'v>(found: &'v Value, value: &'v Value) -> Option<(&'v str, &'v str)> {
    Some((found.as_str()?, value.as_str()?))
}

/// Sorts the items; those where the field is missing or null come last, in their original order.
pub(super) fn sorted(
    items: &[Value],
    field: &Field,
    descending: bool,
) -> Result<Vec<Value>, Problem> {
    let key = |item| field.of(item).filter(|key| !key.is_null());
    let keys: Vec<Option<&Value>> = items.iter().map(key).collect();
    if let Some(first) = keys.iter().copied().flatten().next() {
        let of_one_type = keys.iter().enumerate().map(|(index, key)| match key {
            Some(key) if order(key, first).is_none() => Err(Problem::Incomparable {
                operation: "sort",
                pointer: field.pointer(index),
                left: type_name(key),
                right: type_name(first),
            }),
            _ => Ok(()),
        });
        of_one_type.collect::<Result<(), Problem>>()?;
    }
    let mut keyed: Vec<(Option<&Value>, &Value)> = keys.into_iter().zip(items).collect();
    keyed.sort_by(|(left, _), (right, _)| match (left, right) {
        (Some(left), Some(right)) if descending => in_order(right, left),
        (Some(left), Some(right)) => in_order(left, right),
        // Items with the field come first.
        (left, right) => right.is_some().cmp(&left.is_some()),
    });
    Ok(keyed.into_iter().map(|(_, item)| item.clone()).collect())
}

fn in_order(left: &Value, right: &Value) -> Ordering {
    order(left, right).unwrap_or(Ordering::Equal)
}

/// The order of two values of one type that has an order.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Some(numbers(left, right)),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right).is_eq(),
        _ => left == right,
    }
}

/// Compares integers and floats exactly: sorting needs a total order.
fn numbers(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => against(left, fraction(right)),
        (None, Some(right)) => against(right, fraction(left)).reverse(),
        (None, None) => {
            let order = fraction(left).partial_cmp(&fraction(right));
            order.unwrap_or(Ordering::Equal)
        }
    }
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

fn fraction(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

fn against(whole: i128, float: f64) -> Ordering {
    // The cast saturates at the limits of i128, which are beyond every integer of JSON.
    let rest = float.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal);
    whole.cmp(&(float.trunc() as i128)).then(rest.reverse())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        let check = |left: Value, right: Value, expected: Ordering| {
            assert_eq!(order(&left, &right), Some(expected), "{left} {right}");
            assert_eq!(
                order(&right, &left),
                Some(expected.reverse()),
                "{right} {left}"
            );
        };
        check(json!(1), json!(1.0), Ordering::Equal);
        check(json!(-1), json!(-1.5), Ordering::Greater);
        check(json!(1), json!(1.5), Ordering::Less);
        check(json!(0.0), json!(-0.0), Ordering::Equal);
        check(json!(-1), json!(u64::MAX), Ordering::Less);
        check(
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            Ordering::Greater,
        );
        check(json!(u64::MAX), json!(1e300), Ordering::Less);
        check(json!(i64::MIN), json!(-1e300), Ordering::Greater);
        check(json!("B"), json!("a"), Ordering::Less);
        check(json!(false), json!(true), Ordering::Less);
    }
}
