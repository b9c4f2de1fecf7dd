//! Finds output schemas that are too large together with all definitions they refer to.
//!
//! Only output schemas can be dropped: input schemas are needed to validate inputs and to find secrets in them.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::schema::definition_names;
use serde_json::{Map, Value};

/// The maximum size of an output schema with all definitions it refers to, in bytes of JSON. Without a limit, each
/// operation of a highly connected document would carry the whole document.
const OUTPUT_SCHEMA_BYTES_LIMIT: usize = 32 * 1024;

/// The size of each definition, and the definitions it refers to.
pub(super) struct DefinitionSizes<'a>(BTreeMap<&'a str, (usize, Vec<String>)>);

impl<'a> DefinitionSizes<'a> {
    pub(super) fn of(definitions: &'a Map<String, Value>) -> Self {
        let definitions = definitions.iter();
        let sizes = definitions.map(|(name, it)| (name.as_str(), (size(it), definition_names(it))));
        Self(sizes.collect())
    }

    /// Whether an output schema exceeds the limit. Dropping only parts of it is not possible: a looser part can make
    /// `oneOf` or `not` reject valid outputs.
    pub(super) fn exceed_limit(&self, output: &Value) -> bool {
        let (mut total, mut open) = (size(output), definition_names(output));
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop().filter(|_| total <= OUTPUT_SCHEMA_BYTES_LIMIT) {
            let known = self.0.get(name.as_str()).filter(|_| seen.insert(name));
            if let Some((size, references)) = known {
                total += size;
                open.extend(references.iter().cloned());
            }
        }
        total > OUTPUT_SCHEMA_BYTES_LIMIT
    }
}

fn size(schema: &Value) -> usize {
    schema.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_up_to_the_limit_is_kept() {
        let output = json!({"items": {"$ref": "#/$defs/A"}});
        let frame = size(&output) + size(&json!({"$ref": "#/$defs/A", "description": ""}));
        for (length, expected) in [
            (OUTPUT_SCHEMA_BYTES_LIMIT - frame, false),
            (OUTPUT_SCHEMA_BYTES_LIMIT - frame + 1, true),
        ] {
            let recursive = json!({"$ref": "#/$defs/A", "description": "a".repeat(length)});
            let definitions = Map::from_iter([("A".to_owned(), recursive)]);
            let sizes = DefinitionSizes::of(&definitions);
            assert_eq!(sizes.exceed_limit(&output), expected, "{length}");
            assert!(!sizes.exceed_limit(&json!({})));
        }
    }
}
