//! JSON Schemas as documents, in all drafts from 4 to 2020-12: which keywords contain schemas, what
//! references refer to, and where they form cycles. Nothing is validated and nothing is fetched.

mod cycles;
mod keywords;
mod references;

pub use cycles::{Same, cycles};
pub use keywords::{
    Form, PathStep, Place, Subschema, each, each_mut, is_schema, keyword, subschemas,
    subschemas_at, subschemas_mut,
};
pub use references::{REFERENCES, Resolver, decoded, definition_names, references};

use serde_json::Value;

/// Whether a value contains at most this many values, itself included.
pub fn is_within(value: &Value, limit: usize) -> bool {
    let (mut open, mut seen) = (vec![value], 1);
    while let Some(next) = open.pop() {
        let before = open.len();
        let rest = limit + 1 - seen;
        match next {
            Value::Array(items) => open.extend(items.iter().take(rest)),
            Value::Object(members) => open.extend(members.values().take(rest)),
            _ => {}
        }
        seen += open.len() - before;
        if seen > limit {
            return false;
        }
    }
    true
}
