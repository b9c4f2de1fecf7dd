//! Parses a document: JSON, or YAML if it is not JSON, both with limits.

use panpan_contract::contract_file::FILE_BYTES_LIMIT;
use panpan_failure::read::{self, ReadError};
use serde_json::Value;
use serde_saphyr::Options;
use serde_saphyr::options::DuplicateKeyPolicy;

/// The largest document that is parsed, in bytes.
pub const DOCUMENT_BYTES_LIMIT: usize = FILE_BYTES_LIMIT;
/// The deepest nesting of a YAML document; its parser needs more memory for each level.
pub const YAML_DEPTH_LIMIT: usize = 64;
/// The most values of a YAML document.
pub const YAML_VALUES_LIMIT: usize = 2_000_000;
/// The most events (values, and ends of lists and objects) that the aliases of a YAML document may expand to.
pub const YAML_ALIASED_LIMIT: usize = 200_000;

/// The document could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It looks like JSON but is invalid, too large or too deep.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// It is not YAML, or is too large or too deep.
    #[error("neither JSON nor YAML: {0}")]
    Yaml(String),
}

/// Parses a JSON or YAML document.
pub fn parse(text: &[u8]) -> Result<Value, ParseError> {
    // Some editors write a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let looks_like_json = matches!(first, Some(b'{' | b'[' | b'"'));
    if looks_like_json || text.len() > DOCUMENT_BYTES_LIMIT {
        let read = read::document_within(text, DOCUMENT_BYTES_LIMIT);
        // YAML may start with a brace too; if both fail, the JSON error is reported.
        return match read {
            Err(error @ ReadError::Syntax { .. }) => {
                yaml(text, YAML_VALUES_LIMIT).map_err(|_| error.into())
            }
            read => Ok(read?),
        };
    }
    yaml(text, YAML_VALUES_LIMIT)
}

fn yaml(text: &[u8], values_limit: usize) -> Result<Value, ParseError> {
    let value = serde_saphyr::from_slice_with_options(text, options(values_limit));
    let value: Value = value.map_err(|error| ParseError::Yaml(error.to_string()))?;
    // The parser's depth limit does not count the nesting that aliases add.
    if is_too_deep(&value) {
        let message = format!("nested more than {YAML_DEPTH_LIMIT} levels deep");
        return Err(ParseError::Yaml(message));
    }
    Ok(value)
}

fn options(values_limit: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: YAML_DEPTH_LIMIT,
            max_nodes: values_limit,
            max_events: 3 * values_limit,
            max_documents: 1,
            // An anchor may be used often; the limit below counts what its aliases expand to.
            enforce_alias_anchor_ratio: false,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: YAML_ALIASED_LIMIT,
            max_replay_stack_depth: YAML_DEPTH_LIMIT,
        },
        strict_booleans: true,
        with_snippet: false,
    }
}

fn is_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        let is_nested = value.is_object() || value.is_array();
        if is_nested && depth > YAML_DEPTH_LIMIT {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|it| (it, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|it| (it, depth + 1))),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_values_in_yaml_has_a_limit() {
        let list = |count: usize| format!("a: [{}]", vec!["1"; count].join(","));
        // The list, the object around it and its key count too.
        let parsed = |count: usize| yaml(list(count).as_bytes(), 1_000);
        assert!(parsed(1_000 - 3).is_ok());
        assert!(parsed(1_000 - 2).is_err());
    }
}
