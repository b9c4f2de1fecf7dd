//! What each keyword of JSON Schema 2020-12 holds, so that one that holds something else is told and
//! left out instead of making the whole schema useless.

use serde_json::{Number, Value};

/// What a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// One schema.
    Schema,
    /// A list of schemas, at least one.
    Schemas,
    /// Schemas by name.
    Named,
    /// Schemas by regular expression.
    ByPattern,
    /// A regular expression.
    Pattern,
    /// A text.
    Text,
    /// Yes or no.
    Flag,
    /// A whole number from 0.
    Count,
    /// A number.
    Number,
    /// A number above 0.
    Positive,
    /// The name of a type, or several.
    Types,
    /// A list of names, each once.
    Names,
    /// Lists of names by name.
    NamesByName,
    /// A list of values.
    Values,
    /// Where or what the schema is; it has no meaning in another place.
    Identity,
    /// Definitions, which are carried along when they are referred to.
    Definitions,
    /// Anything, also in a keyword nobody knows.
    Anything,
}

impl Holds {
    /// What a keyword holds.
    pub(super) fn of(keyword: &str) -> Self {
        match keyword {
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Holds::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::Schemas,
            "properties" | "dependentSchemas" => Holds::Named,
            "patternProperties" => Holds::ByPattern,
            "pattern" => Holds::Pattern,
            "$comment" | "contentEncoding" | "contentMediaType" | "description" | "format"
            | "title" => Holds::Text,
            "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => Holds::Flag,
            "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains"
            | "minItems" | "minLength" | "minProperties" => Holds::Count,
            "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" => Holds::Number,
            "multipleOf" => Holds::Positive,
            "type" => Holds::Types,
            "required" => Holds::Names,
            "dependentRequired" => Holds::NamesByName,
            "enum" | "examples" => Holds::Values,
            "$anchor" | "$dynamicAnchor" | "$id" | "$recursiveAnchor" | "$recursiveRef"
            | "$schema" | "$vocabulary" | "additionalItems" | "dependencies" => Holds::Identity,
            "$defs" | "definitions" => Holds::Definitions,
            _ => Holds::Anything,
        }
    }

    /// A value without schemas in it as it may stand, if it may.
    pub(super) fn sound(self, value: &Value) -> Option<Value> {
        let is_sound = match self {
            Holds::Pattern | Holds::Text => value.is_string(),
            Holds::Flag => value.is_boolean(),
            Holds::Number => value.is_number(),
            Holds::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Holds::Values => value.as_array().is_some_and(|it| !it.is_empty()),
            Holds::Count => return count(value),
            Holds::Types => return types(value),
            Holds::Names => return names(value),
            Holds::NamesByName => {
                let lists = value.as_object()?.values();
                lists.clone().all(|it| names(it).as_ref() == Some(it))
            }
            _ => true,
        };
        is_sound.then(|| value.clone())
    }
}

fn count(value: &Value) -> Option<Value> {
    if value.is_u64() {
        return Some(value.clone());
    }
    // A count written as 5.0 is one, and few readers know.
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
    fn a_keyword_keeps_what_it_may_hold() {
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
                Holds::of(keyword).sound(&value),
                expected,
                "{keyword} {value}"
            );
        }
    }
}
