//! Local references (`$ref`): resolves a value through its chain of references.
//!
//! The length of a chain is limited, because a document may refer to itself. Nothing is fetched.

use std::cell::OnceCell;

use panpan_contract::path::Path;
use panpan_contract::schema::{Resolver, decoded};
use panpan_failure::pointer::joined;
use serde_json::Value;

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
    pub(crate) fn location<'p>(&'p self, origin: &Path<'p>) -> Path<'p> {
        self.pointer.as_deref().map_or(*origin, Path::At)
    }
}

/// Finds the targets of references in a document.
#[derive(Debug)]
pub(crate) struct References<'a> {
    document: &'a Value,
    /// The anchors of the shared schemas, once they are needed.
    anchors: OnceCell<Resolver<'a>>,
}

impl<'a> References<'a> {
    pub(crate) fn new(document: &'a Value) -> Self {
        Self {
            document,
            anchors: OnceCell::new(),
        }
    }

    /// Resolves a value: itself, or the target of its chain of references.
    pub(crate) fn resolve(&self, value: &'a Value) -> Result<Resolved<'a>, ReferenceError> {
        let mut found = Resolved::direct(value);
        for _ in 0..=REFERENCES_LIMIT {
            let Some(reference) = found.value.get("$ref").and_then(Value::as_str) else {
                return Ok(found);
            };
            let (value, pointer) = self.target(reference)?;
            found = Resolved {
                value,
                pointer: Some(pointer),
            };
        }
        Err(ReferenceError::TooLong)
    }

    /// The target of a reference, and its pointer.
    pub(crate) fn target(&self, reference: &str) -> Result<(&'a Value, String), ReferenceError> {
        let remote = || ReferenceError::Remote(reference.to_owned());
        let fragment = reference.strip_prefix('#').ok_or_else(remote)?;
        // Names with an escape are written in both ways; try the literal name too.
        for pointer in [decoded(fragment), Some(fragment.into())]
            .into_iter()
            .flatten()
        {
            if let Some(value) = self.document.pointer(&pointer) {
                return Ok((value, pointer.into_owned()));
            }
        }
        let anchored = self.anchors().anchored(fragment);
        let (value, pointer) =
            anchored.ok_or_else(|| ReferenceError::NotFound(reference.to_owned()))?;
        Ok((value, pointer.to_owned()))
    }

    fn anchors(&self) -> &Resolver<'a> {
        self.anchors.get_or_init(|| {
            let top = "/components/schemas";
            let schemas = self.document.pointer(top).and_then(Value::as_object);
            let schemas = schemas.into_iter().flatten();
            let schemas = schemas.map(|(name, schema)| (joined(top, name), schema));
            Resolver::over(self.document, schemas.collect())
        })
    }
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
        let found = |length| {
            let document = chain(length);
            let found = References::new(&document).resolve(&start);
            found.map(|found| found.value.clone())
        };
        assert_eq!(found(REFERENCES_LIMIT - 1), Ok(json!({"found": true})));
        assert_eq!(found(REFERENCES_LIMIT), Err(ReferenceError::TooLong));
    }

    #[test]
    fn a_reference_to_itself_is_an_error() {
        let document = json!({"a": {"$ref": "#/a"}});
        assert_eq!(
            References::new(&document)
                .resolve(&document["a"])
                .unwrap_err(),
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
            let document = json!({});
            let references = References::new(&document);
            assert!(references.resolve(&value).is_err(), "{reference}");
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
            let found = References::new(&document).target(reference);
            let found = found.map_or(0, |(value, _)| value.as_i64().unwrap_or_default());
            assert_eq!(found, expected, "{reference}");
        }
    }
}
