//! The keywords of JSON Schema that contain schemas, in all drafts from 4 to 2020-12.

use serde_json::{Map, Value};

use super::is_schema;
use crate::contract_file::path::Step;

/// A schema inside another.
pub(super) struct Subschema<'a> {
    /// The schema.
    pub(super) schema: &'a Value,
    /// The keyword that contains it.
    pub(super) keyword: &'a str,
    /// The step below the keyword, if the keyword contains several schemas.
    pub(super) step: Option<Step<'a>>,
    /// Whether it applies to the same value as the enclosing schema, and not to a part of it.
    pub(super) is_in_place: bool,
}

/// The schemas directly inside a schema.
pub(super) fn subschemas(schema: &Value) -> impl Iterator<Item = Subschema<'_>> {
    let members = schema.as_object().into_iter().flatten();
    members.flat_map(|(keyword, value)| held(keyword, value))
}

/// Visits a schema and every schema inside it, to change them. If the visitor returns `false`, the
/// schemas inside are skipped.
pub fn each_mut(schema: &mut Value, mut visit: impl FnMut(&mut Map<String, Value>) -> bool) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Some(members) = schema.as_object_mut() else {
            continue;
        };
        if visit(members) {
            open.extend(
                members
                    .iter_mut()
                    .flat_map(|(name, held)| held_mut(name, held)),
            );
        }
    }
}

/// Visits a schema and every schema inside it.
pub(super) fn each<'a>(schema: &'a Value, mut visit: impl FnMut(&'a Value)) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        visit(schema);
        open.extend(subschemas(schema).map(|inner| inner.schema));
    }
}

/// How a keyword contains schemas.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    One,
    Several,
    Named,
}

fn held<'a>(keyword: &'a str, value: &'a Value) -> Vec<Subschema<'a>> {
    let Some((form, is_in_place)) = applicator(keyword) else {
        return Vec::new();
    };
    let found = |schema: &'a Value, step| Subschema {
        schema,
        keyword,
        step,
        is_in_place,
    };
    let candidates: Vec<_> = match (form, value) {
        (Form::Named, Value::Object(members)) => {
            let members = members.iter();
            members
                .map(|(name, schema)| found(schema, Some(Step::Name(name))))
                .collect()
        }
        // Before 2020-12, `items` could be one schema or a list.
        (Form::Several | Form::One, Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, schema)| found(schema, Some(Step::Index(index))))
                .collect()
        }
        (Form::One, schema) => vec![found(schema, None)],
        _ => Vec::new(),
    };
    candidates
        .into_iter()
        .filter(|it| is_schema(it.schema))
        .collect()
}

fn held_mut<'a>(keyword: &str, value: &'a mut Value) -> Vec<&'a mut Value> {
    let form = applicator(keyword).map(|(form, _)| form);
    match (form, value) {
        (Some(Form::Named), Value::Object(members)) => members.values_mut().collect(),
        (Some(Form::Several | Form::One), Value::Array(items)) => items.iter_mut().collect(),
        (Some(Form::One), schema) => vec![schema],
        _ => Vec::new(),
    }
}

/// The form of a keyword, and whether its schemas apply in place.
fn applicator(keyword: &str) -> Option<(Form, bool)> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" => (Form::Several, true),
        "not" | "if" | "then" | "else" => (Form::One, true),
        "dependentSchemas" | "dependencies" => (Form::Named, true),
        "prefixItems" => (Form::Several, false),
        "items"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contentSchema" => (Form::One, false),
        "properties" | "patternProperties" | "$defs" | "definitions" => (Form::Named, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_look_like_schemas_are_not_changed() {
        let mut schema = json!({
            "properties": {"a": {}, "items": {"items": [{}, {"const": {"not": {}}}]}},
            "not": {"enum": [{"not": {}}]}, "default": {"not": {}}, "oneOf": {"not": {}},
            "$defs": {"stop": {"not": {}}, "any": true},
        });
        each_mut(&mut schema, |members| {
            members.insert("seen".to_owned(), json!(1));
            !members.contains_key("not") || members.contains_key("$defs")
        });
        let expected = json!({
            "properties": {
                "a": {"seen": 1},
                "items": {"seen": 1, "items": [{"seen": 1}, {"seen": 1, "const": {"not": {}}}]},
            },
            "not": {"seen": 1, "enum": [{"not": {}}]},
            "default": {"not": {}}, "oneOf": {"not": {}}, "seen": 1,
            "$defs": {"stop": {"seen": 1, "not": {}}, "any": true},
        });
        assert_eq!(schema, expected);
    }
}
