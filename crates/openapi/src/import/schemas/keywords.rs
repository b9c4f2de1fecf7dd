//! The kind of value of each JSON Schema 2020-12 keyword. A keyword with an invalid value is reported and
//! ignored, so that the rest of the schema stays usable.

use panpan_contract::schema::{self, Form};
use serde_json::{Number, Value};

/// The kind of value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordKind {
    /// One schema.
    Schema,
    /// A non-empty list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// Schemas by regular expression.
    ByPattern,
    /// A regular expression.
    Pattern,
    /// A text.
    Text,
    /// A boolean.
    Flag,
    /// A non-negative integer.
    Count,
    /// A number.
    Number,
    /// A number above 0.
    Positive,
    /// A type name, or a list of them.
    Types,
    /// A list of unique names.
    Names,
    /// Lists of names by name.
    NamesByName,
    /// A list of values.
    Values,
    /// The identity or location of the schema, which has no meaning in a contract.
    Identity,
    /// Definitions, which are copied only if they are referenced.
    Definitions,
    /// Any value, also of unknown keywords.
    Anything,
}

impl KeywordKind {
    /// The kind of value of a keyword.
    pub(super) fn of(keyword: &str) -> Self {
        match keyword {
            "patternProperties" => KeywordKind::ByPattern,
            "pattern" => KeywordKind::Pattern,
            "$comment" | "contentEncoding" | "contentMediaType" | "description" | "format"
            | "title" => KeywordKind::Text,
            "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => KeywordKind::Flag,
            "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains"
            | "minItems" | "minLength" | "minProperties" => KeywordKind::Count,
            "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" => KeywordKind::Number,
            "multipleOf" => KeywordKind::Positive,
            "type" => KeywordKind::Types,
            "required" => KeywordKind::Names,
            "dependentRequired" => KeywordKind::NamesByName,
            "enum" | "examples" => KeywordKind::Values,
            "$anchor" | "$dynamicAnchor" | "$id" | "$recursiveAnchor" | "$recursiveRef"
            | "$schema" | "$vocabulary" | "additionalItems" | "dependencies" => {
                KeywordKind::Identity
            }
            "$defs" | "definitions" => KeywordKind::Definitions,
            _ => match schema::keyword(keyword) {
                Some((Form::One, _)) => KeywordKind::Schema,
                Some((Form::Several, _)) => KeywordKind::Schemas,
                Some((Form::Named, _)) => KeywordKind::Named,
                None => KeywordKind::Anything,
            },
        }
    }

    /// A valid value without schemas, normalised; `None` if it is invalid.
    pub(super) fn valid(self, value: &Value) -> Option<Value> {
        let is_valid = match self {
            KeywordKind::Pattern | KeywordKind::Text => value.is_string(),
            KeywordKind::Flag => value.is_boolean(),
            KeywordKind::Number => value.is_number(),
            KeywordKind::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            KeywordKind::Values => value.as_array().is_some_and(|it| !it.is_empty()),
            KeywordKind::Count => return count(value),
            KeywordKind::Types => return types(value),
            KeywordKind::Names => return names(value),
            KeywordKind::NamesByName => {
                let lists = value.as_object()?.values();
                lists.clone().all(|it| names(it).as_ref() == Some(it))
            }
            _ => true,
        };
        is_valid.then(|| value.clone())
    }
}

fn count(value: &Value) -> Option<Value> {
    if value.is_u64() {
        return Some(value.clone());
    }
    // 5.0 is a valid count, but few validators accept it.
    let number = value.as_f64().filter(|it| it.fract() == 0.0)?;
    let is_exact = (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_exact.then(|| Value::Number(Number::from(number as u64)))
}

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn types(value: &Value) -> Option<Value> {
    let is_type = |it: &Value| it.as_str().is_some_and(|it| TYPES.contains(&it));
    match value {
        Value::Array(several) => {
            let mut kept = Vec::new();
            for name in several {
                if !is_type(name) {
                    return None;
                }
                if !kept.contains(name) {
                    kept.push(name.clone());
                }
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        one => is_type(one).then(|| one.clone()),
    }
}

fn names(value: &Value) -> Option<Value> {
    let items = value.as_array()?;
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if seen.insert(item.as_str()?) {
            kept.push(item.clone());
        }
    }
    Some(Value::Array(kept))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_keyword_keeps_valid_values() {
        for (keyword, value, expected) in [
            ("type", json!("string"), Some(json!("string"))),
            (
                "type",
                json!(["string", "null", "null"]),
                Some(json!(["string", "null"])),
            ),
            ("type", json!("file"), None),
            ("type", json!([]), None),
            ("required", json!(true), None),
            ("required", json!(["a", "b", "a"]), Some(json!(["a", "b"]))),
            ("required", json!([]), Some(json!([]))),
            ("maxLength", json!(5.0), Some(json!(5))),
            ("maxLength", json!(-1), None),
            ("maxLength", json!("5"), None),
            ("minimum", json!(-1.5), Some(json!(-1.5))),
            ("minimum", json!("1"), None),
            ("multipleOf", json!(0), None),
            ("multipleOf", json!(0.1), Some(json!(0.1))),
            ("enum", json!([]), None),
            ("title", json!(5), None),
            ("readOnly", json!("true"), None),
            (
                "dependentRequired",
                json!({"a": ["b"]}),
                Some(json!({"a": ["b"]})),
            ),
            ("dependentRequired", json!({"a": "b"}), None),
            ("x-own", json!([{}]), Some(json!([{}]))),
        ] {
            assert_eq!(
                KeywordKind::of(keyword).valid(&value),
                expected,
                "{keyword} {value}"
            );
        }
    }
}
