//! Descriptions in which everything refers to everything: how much of it each operation carries.
//!
//! Only outputs are left out. An input is checked whole, and what is secret in it is known by its schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The longest schema of an output with all it refers to, in bytes of JSON. A description of a thousand
/// operations would be a thousand descriptions otherwise.
const OUTPUT_SCHEMA_BYTES_LIMIT: usize = 32 * 1024;

const WITHIN: &str = "#/$defs/";

/// How long each definition is, and what it refers to.
pub(super) struct Lengths<'a>(BTreeMap<&'a str, (usize, Vec<String>)>);

impl<'a> Lengths<'a> {
    pub(super) fn of(definitions: &'a Map<String, Value>) -> Self {
        let definitions = definitions.iter();
        let lengths = definitions.map(|(name, it)| (name.as_str(), (length(it), names(it))));
        Self(lengths.collect())
    }

    /// Whether there would be too much to say about an output. Parts of its schema cannot be left out
    /// instead: what fits more than it should does not fit `oneOf` or `not` any more.
    pub(super) fn is_too_long(&self, output: &Value) -> bool {
        let (mut total, mut open) = (length(output), names(output));
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop().filter(|_| total <= OUTPUT_SCHEMA_BYTES_LIMIT) {
            let known = self.0.get(name.as_str()).filter(|_| seen.insert(name));
            if let Some((length, names)) = known {
                total += length;
                open.extend(names.iter().cloned());
            }
        }
        total > OUTPUT_SCHEMA_BYTES_LIMIT
    }
}

fn length(schema: &Value) -> usize {
    schema.to_string().len()
}

/// The definitions a schema refers to.
fn names(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        match next {
            Value::Object(members) => {
                let named = members.get("$ref").and_then(Value::as_str);
                let named = named.and_then(|it| it.strip_prefix(WITHIN));
                let name = named.and_then(|it| it.split('/').next());
                found.extend(name.map(|it| it.replace("~1", "/").replace("~0", "~")));
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_is_described_up_to_a_limit_and_both_sides_of_it_are_known() {
        let output = json!({"items": {"$ref": "#/$defs/A"}});
        let frame = length(&output) + length(&json!({"$ref": "#/$defs/A", "description": ""}));
        for (length, expected) in [
            (OUTPUT_SCHEMA_BYTES_LIMIT - frame, false),
            (OUTPUT_SCHEMA_BYTES_LIMIT - frame + 1, true),
        ] {
            let recursive = json!({"$ref": "#/$defs/A", "description": "a".repeat(length)});
            let definitions = Map::from_iter([("A".to_owned(), recursive)]);
            let lengths = Lengths::of(&definitions);
            assert_eq!(lengths.is_too_long(&output), expected, "{length}");
            assert!(!lengths.is_too_long(&json!({})));
        }
    }
}
