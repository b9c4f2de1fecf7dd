//! Members written as `name=value`: a value that is JSON is that, any other is a text; dots in a name
//! lead into objects.

use std::marker::PhantomData;

use panpan_failure::read::{self, DOCUMENT_DEPTH_LIMIT, ReadError};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::super::error::Hinted;

/// The object these pairs make.
pub(super) fn object(pairs: Vec<(&str, &str)>) -> Result<Value, Hinted> {
    let mut object = Map::new();
    for (name, text) in pairs {
        let inserted = value(text).and_then(|value| insert(&mut object, name, value));
        inserted.map_err(|wrong| wrong.told(name, text))?;
    }
    Ok(Value::Object(object))
}

/// What is wrong with a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    NoName,
    Taken,
    NoObject,
    TooDeep,
    WideNumber,
}

impl Wrong {
    fn told(self, name: &str, text: &str) -> Hinted {
        let (what, hint) = match self {
            Self::NoName => (
                "names no member",
                "write name=value, or outer.inner=value for a member of a member",
            ),
            Self::Taken => (
                "gives a member that is there already",
                "give every member once; a list is written as name=[1,2]",
            ),
            Self::NoObject => (
                "goes into a member that is no object",
                "write that member as an object, or leave it out",
            ),
            Self::TooDeep => (
                "is nested too deeply",
                "write a name with fewer dots; no operation takes input this deep",
            ),
            Self::WideNumber => (
                "holds a whole number of more than 64 bits, which would be rounded",
                "write that number as a text, between quotes, or a smaller one",
            ),
        };
        Hinted::new(format!("{:?} {what}", format!("{name}={text}")), hint)
    }
}

/// A value that is JSON is that, any other is a text.
fn value(text: &str) -> Result<Value, Wrong> {
    let document = read::request_as(text.as_bytes(), text.len(), PhantomData::<Value>);
    let is_structure = text.trim_start().starts_with(['{', '[']);
    match document {
        Ok(value) => Ok(value),
        Err(ReadError::WideNumber { .. }) if is_structure => Err(Wrong::WideNumber),
        Err(ReadError::TooDeep { .. }) if is_structure => Err(Wrong::TooDeep),
        // A number that would be rounded is taken as the text it is.
        Err(_) => Ok(Value::from(text)),
    }
}

fn insert(object: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Wrong> {
    let steps: Vec<&str> = name.split('.').collect();
    if steps.len() > DOCUMENT_DEPTH_LIMIT {
        return Err(Wrong::TooDeep);
    }
    if steps.iter().any(|step| step.is_empty()) {
        return Err(Wrong::NoName);
    }
    let (last, outer) = steps.split_last().ok_or(Wrong::NoName)?;
    let mut place = object;
    for step in outer {
        let inner = place.entry(*step).or_insert_with(|| Map::new().into());
        place = inner.as_object_mut().ok_or(Wrong::NoObject)?;
    }
    match place.entry(*last) {
        Entry::Occupied(_) => Err(Wrong::Taken),
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
    fn dots_lead_only_so_deep_and_both_sides_of_the_limit_are_known() {
        let name = |steps: usize| vec!["a"; steps].join(".");
        assert!(object(vec![(&name(DOCUMENT_DEPTH_LIMIT), "1")]).is_ok());
        let error = object(vec![(&name(DOCUMENT_DEPTH_LIMIT + 1), "1")]).unwrap_err();
        assert!(error.to_string().ends_with("is nested too deeply"));
    }

    #[test]
    fn a_number_that_would_be_rounded_is_a_text_by_itself_and_refused_inside_a_list() {
        let alone = object(vec![("a", "36893488147419103233")]).unwrap();
        assert_eq!(alone["a"], "36893488147419103233");
        for text in ["[36893488147419103233]", r#"{"b": 36893488147419103233}"#] {
            let error = object(vec![("a", text)]).unwrap_err();
            assert!(error.to_string().contains("more than 64 bits"), "{error}");
        }
    }
}
