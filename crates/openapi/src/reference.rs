//! Local references: what one leads to, followed where one thing stands for another.
//!
//! Every walk is bounded, because a document may refer to itself. Nothing is fetched.

use std::collections::HashMap;

use panpan_failure::pointer::joined;
use serde_json::Value;

use crate::place::Place;

/// The longest chain of references that is followed.
pub const REFERENCES_LIMIT: usize = 16;

/// Why a reference cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// It leads out of the document.
    #[error("{0:?} leads out of the document")]
    Remote(String),
    /// It leads to nothing.
    #[error("{0:?} leads nowhere")]
    Nowhere(String),
    /// It leads to others without end.
    #[error("more than {REFERENCES_LIMIT} references lead to one another")]
    Endless,
}

/// What a value stands for.
#[derive(Clone, Debug)]
pub(crate) struct Found<'a> {
    /// The value itself.
    pub(crate) value: &'a Value,
    /// Where it stands, if not where it was looked for.
    pointer: Option<String>,
}

impl<'a> Found<'a> {
    /// A value that stands for itself.
    pub(crate) fn here(value: &'a Value) -> Self {
        Self {
            value,
            pointer: None,
        }
    }

    /// Where it stands, when it was looked for here.
    pub(crate) fn place<'p>(&'p self, looked_for: &Place<'p>) -> Place<'p> {
        self.pointer.as_deref().map_or(*looked_for, Place::at)
    }
}

/// What a value stands for: itself, or what its chain of references leads to.
pub(crate) fn follow<'a>(document: &'a Value, value: &'a Value) -> Result<Found<'a>, Broken> {
    let mut found = Found::here(value);
    for _ in 0..=REFERENCES_LIMIT {
        let Some(reference) = found.value.get("$ref").and_then(Value::as_str) else {
            return Ok(found);
        };
        let (value, pointer) = target(document, reference)?;
        found = Found {
            value,
            pointer: Some(pointer),
        };
    }
    Err(Broken::Endless)
}

/// What a reference leads to, and where that stands.
pub(crate) fn target<'a>(
    document: &'a Value,
    reference: &str,
) -> Result<(&'a Value, String), Broken> {
    let remote = || Broken::Remote(reference.to_owned());
    let nowhere = || Broken::Nowhere(reference.to_owned());
    let fragment = reference.strip_prefix('#').ok_or_else(remote)?;
    let pointer = decoded(fragment).ok_or_else(nowhere)?;
    if let Some(value) = document.pointer(&pointer) {
        return Ok((value, pointer));
    }
    // Names with an escape in them are written both ways; the document decides.
    let value = document.pointer(fragment).ok_or_else(nowhere)?;
    Ok((value, fragment.to_owned()))
}

/// The shared schemas that name themselves, by their anchors.
pub(crate) fn anchors(document: &Value) -> HashMap<&str, (&Value, String)> {
    let mut found = HashMap::new();
    let place = "/components/schemas";
    let mut open: Vec<(&Value, String)> = Vec::new();
    open.extend(document.pointer(place).map(|it| (it, place.to_owned())));
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

/// The fragment of a URI with its percent escapes undone.
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
    fn a_chain_of_references_is_followed_up_to_its_limit() {
        let start = json!({"$ref": "#/steps/0"});
        let found = |length| follow(&chain(length), &start).map(|found| found.value.clone());
        assert_eq!(found(REFERENCES_LIMIT - 1), Ok(json!({"found": true})));
        assert_eq!(found(REFERENCES_LIMIT), Err(Broken::Endless));
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let document = json!({"a": {"$ref": "#/a"}});
        assert_eq!(
            follow(&document, &document["a"]).unwrap_err(),
            Broken::Endless
        );
    }

    #[test]
    fn a_reference_that_leads_out_or_nowhere_is_refused() {
        for reference in [
            "other.yaml#/a",
            "https://example.com/x.json",
            "#/missing",
            "#/a%4",
            "#/a%ff",
            "#anchor",
        ] {
            let value = json!({"$ref": reference});
            assert!(follow(&json!({}), &value).is_err(), "{reference}");
        }
    }

    #[test]
    fn escapes_of_both_kinds_are_undone() {
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
