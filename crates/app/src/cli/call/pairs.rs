//! Input written as `name=value` pairs: a value that is valid JSON is JSON, any other a string. Dots in a name lead
//! into objects.

use panpan_failure::read::{self, DOCUMENT_DEPTH_LIMIT, ReadError};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::super::error::Hinted;

/// Builds the object of these pairs.
pub(super) fn object(pairs: Vec<(&str, &str)>) -> Result<Value, Hinted> {
    let mut object = Map::new();
    for (name, text) in pairs {
        let inserted = value(text).and_then(|value| insert(&mut object, name, value));
        inserted.map_err(|(problem, hint)| {
            Hinted::new(format!("{:?} {problem}", format!("{name}={text}")), hint)
        })?;
    }
    Ok(Value::Object(object))
}

/// Why a pair is invalid, and what to do.
type PairProblem = (&'static str, &'static str);

const EMPTY_NAME: PairProblem = (
    "has an empty name",
    "write name=value, or outer.inner=value for a nested member",
);
const DUPLICATE: PairProblem = (
    "sets a member twice",
    "set every member once; write a list as name=[1,2]",
);
const NOT_AN_OBJECT: PairProblem = (
    "sets a member of a value that is not an object",
    "write the outer member as an object, or omit it",
);
const TOO_DEEP: PairProblem = (
    "is nested too deeply",
    "use fewer levels; no operation takes input this deep",
);
const WIDE_NUMBER: PairProblem = (
    "contains an integer of more than 64 bits, which would be rounded",
    "write the number as a string in quotes, or use a smaller one",
);

/// A value that is valid JSON is JSON, any other a string.
fn value(text: &str) -> Result<Value, PairProblem> {
    let document = read::request(text.as_bytes(), text.len());
    let is_structure = text.trim_start().starts_with(['{', '[']);
    match document {
        Ok((value, None)) => Ok(value),
        Ok(_) => Err(DUPLICATE),
        Err(ReadError::WideNumber { .. }) if is_structure => Err(WIDE_NUMBER),
        Err(ReadError::TooDeep { .. }) if is_structure => Err(TOO_DEEP),
        // A number that would be rounded stays a string.
        Err(_) => Ok(Value::from(text)),
    }
}

fn insert(object: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), PairProblem> {
    let steps: Vec<&str> = name.split('.').collect();
    if steps.len() > DOCUMENT_DEPTH_LIMIT {
        return Err(TOO_DEEP);
    }
    if steps.iter().any(|step| step.is_empty()) {
        return Err(EMPTY_NAME);
    }
    let (last, outer) = steps.split_last().ok_or(EMPTY_NAME)?;
    let mut target = object;
    for step in outer {
        let inner = target.entry(*step).or_insert_with(|| Map::new().into());
        target = inner.as_object_mut().ok_or(NOT_AN_OBJECT)?;
    }
    match target.entry(*last) {
        Entry::Occupied(_) => Err(DUPLICATE),
        Entry::Vacant(free) => {
            free.insert(value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_up_to_the_depth_limit_are_accepted() {
        let name = |steps: usize| vec!["a"; steps].join(".");
        assert!(object(vec![(&name(DOCUMENT_DEPTH_LIMIT), "1")]).is_ok());
        let error = object(vec![(&name(DOCUMENT_DEPTH_LIMIT + 1), "1")]).unwrap_err();
        assert!(error.to_string().ends_with("is nested too deeply"));
    }

    #[test]
    fn a_number_that_would_be_rounded_is_a_string_or_refused_inside_a_list() {
        let alone = object(vec![("a", "36893488147419103233")]).unwrap();
        assert_eq!(alone["a"], "36893488147419103233");
        for text in ["[36893488147419103233]", r#"{"b": 36893488147419103233}"#] {
            let error = object(vec![("a", text)]).unwrap_err();
            assert!(error.to_string().contains("more than 64 bits"), "{error}");
        }
    }
}
