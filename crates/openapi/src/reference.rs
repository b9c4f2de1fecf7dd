//! Local references (`$ref`): resolves a value through its chain of references.
//!
//! The length of a chain is limited, because a document may refer to itself. Nothing is fetched.

use std::collections::HashMap;

use panpan_failure::pointer::joined;
use serde_json::Value;

use crate::location::Location;

/// The longest chain of references that is resolved.
pub const REFERENCES_LIMIT: usize = 16;

/// An error that prevents a reference from being resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReferenceError {
    /// It refers to another document.
    #[error("{0:?} refers to another document")]
    Remote(String),
    /// It has no target.
    #[error("reference {0:?} not found: add its target or correct it")]
    NotFound(String),
    /// The chain is too long, or endless.
    #[error("more than {REFERENCES_LIMIT} references refer to one another: shorten the chain")]
    TooLong,
}

/// A value after its references were resolved.
#[derive(Clone, Debug)]
pub(crate) struct Resolved<'a> {
    /// The value itself.
    pub(crate) value: &'a Value,
    /// The pointer of the value, if it was reached through a reference.
    pointer: Option<String>,
}

impl<'a> Resolved<'a> {
    /// A value that is not a reference.
    pub(crate) fn direct(value: &'a Value) -> Self {
        Self {
            value,
            pointer: None,
        }
    }

    /// The location of the value, where `origin` is the location of the reference.
    pub(crate) fn location<'p>(&'p self, origin: &Location<'p>) -> Location<'p> {
        self.pointer.as_deref().map_or(*origin, Location::at)
    }
}

/// Resolves a value: itself, or the target of its chain of references.
pub(crate) fn resolve<'a>(
    document: &'a Value,
    value: &'a Value,
) -> Result<Resolved<'a>, ReferenceError> {
    let mut found = Resolved::direct(value);
    for _ in 0..=REFERENCES_LIMIT {
        let Some(reference) = found.value.get("$ref").and_then(Value::as_str) else {
            return Ok(found);
        };
        let (value, pointer) = target(document, reference)?;
        found = Resolved {
            value,
            pointer: Some(pointer),
        };
    }
    Err(ReferenceError::TooLong)
}

/// The target of a reference, and its pointer.
pub(crate) fn target<'a>(
    document: &'a Value,
    reference: &str,
) -> Result<(&'a Value, String), ReferenceError> {
    let remote = || ReferenceError::Remote(reference.to_owned());
    let not_found = || ReferenceError::NotFound(reference.to_owned());
    let fragment = reference.strip_prefix('#').ok_or_else(remote)?;
    let pointer = decoded(fragment).ok_or_else(not_found)?;
    if let Some(value) = document.pointer(&pointer) {
        return Ok((value, pointer));
    }
    // Names with an escape are written in both ways; try the literal name too.
    let value = document.pointer(fragment).ok_or_else(not_found)?;
    Ok((value, fragment.to_owned()))
}

/// The shared schemas with an anchor, by anchor.
pub(crate) fn anchors(document: &Value) -> HashMap<&str, (&Value, String)> {
    let mut found = HashMap::new();
    let location = "/components/schemas";
    let mut open: Vec<(&Value, String)> = Vec::new();
    open.extend(
        document
            .pointer(location)
            .map(|it| (it, location.to_owned())),
    );
    while let Some((value, pointer)) = open.pop() {
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = value.get(keyword).and_then(Value::as_str) {
                found.insert(anchor, (value, pointer.clone()));
            }
        }
        match value {
            Value::Object(members) => open.extend(members.iter().map(|(name, inner)| {
                let pointer = joined(&pointer, name);
                (inner, pointer)
            })),
            Value::Array(items) => open.extend(items.iter().enumerate().map(|(index, inner)| {
                let pointer = format!("{pointer}/{index}");
                (inner, pointer)
            })),
            _ => {}
        }
    }
    found
}

/// Decodes the percent escapes of a URI fragment.
fn decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return None;
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = digit(*high)? * 16 + digit(*low)?;
        bytes.push(u8::try_from(byte).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn chain(length: usize) -> Value {
        let mut steps = Map::new();
        for step in 0..length {
            let next = format!("#/steps/{}", step + 1);
            steps.insert(step.to_string(), json!({"$ref": next}));
        }
        steps.insert(length.to_string(), json!({"found": true}));
        json!({"steps": steps})
    }

    #[test]
    fn a_chain_of_references_is_resolved_up_to_its_limit() {
        let start = json!({"$ref": "#/steps/0"});
        let found = |length| resolve(&chain(length), &start).map(|found| found.value.clone());
        assert_eq!(found(REFERENCES_LIMIT - 1), Ok(json!({"found": true})));
        assert_eq!(found(REFERENCES_LIMIT), Err(ReferenceError::TooLong));
    }

    #[test]
    fn a_reference_to_itself_is_an_error() {
        let document = json!({"a": {"$ref": "#/a"}});
        assert_eq!(
            resolve(&document, &document["a"]).unwrap_err(),
            ReferenceError::TooLong
        );
    }

    #[test]
    fn a_remote_or_unknown_reference_is_an_error() {
        for reference in [
            "other.yaml#/a",
            "https://example.com/x.json",
            "#/missing",
            "#/a%4",
            "#/a%ff",
            "#anchor",
        ] {
            let value = json!({"$ref": reference});
            assert!(resolve(&json!({}), &value).is_err(), "{reference}");
        }
    }

    #[test]
    fn escapes_of_both_kinds_are_decoded() {
        let document = json!({"paths": {"/a/{id}": {"x~y": 1, "per%20cent": 2, "é": 3}}});
        for (reference, expected) in [
            ("#/paths/~1a~1{id}/x~0y", 1),
            ("#/paths/~1a~1%7Bid%7D/x~0y", 1),
            ("#/paths/%2fa%2f%7Bid%7D", 0),
            ("#/paths/~1a~1%7bid%7d/per%2520cent", 2),
            ("#/paths/~1a~1{id}/per%20cent", 2),
            ("#/paths/~1a~1{id}/%C3%A9", 3),
        ] {
            let found = target(&document, reference);
            let found = found.map_or(0, |(value, _)| value.as_i64().unwrap_or_default());
            assert_eq!(found, expected, "{reference}");
        }
    }
}
