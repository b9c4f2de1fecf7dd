//! Which keywords of JSON Schema hold schemas, over all drafts from 4 to 2020-12.

use serde_json::Value;

use super::is_schema;
use crate::contract_file::path::Step;

/// A schema inside another.
pub(super) struct Subschema<'a> {
    /// The schema.
    pub(super) schema: &'a Value,
    /// The keyword that holds it.
    pub(super) keyword: &'a str,
    /// Where under the keyword, if the keyword holds several.
    pub(super) step: Option<Step<'a>>,
    /// Whether it is applied to the same value as the schema around it, not to a part of that.
    pub(super) is_in_place: bool,
}

/// The schemas directly inside a schema.
pub(super) fn subschemas(schema: &Value) -> impl Iterator<Item = Subschema<'_>> {
    let members = schema.as_object().into_iter().flatten();
    members.flat_map(|(keyword, value)| held(keyword, value))
}

/// Visits a schema and all schemas in it, however deep.
pub(super) fn each<'a>(schema: &'a Value, mut visit: impl FnMut(&'a Value)) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        visit(schema);
        open.extend(subschemas(schema).map(|inner| inner.schema));
    }
}

/// How a keyword holds schemas.
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
        // Before 2020-12, `items` held one schema or several.
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

/// The form of a keyword, and whether what it holds is applied in place.
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
