//! The one table of the keywords that contain schemas, and the walks over it.

use serde_json::{Map, Value};

/// How a keyword contains schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One schema.
    One,
    /// A list of schemas.
    Several,
    /// Schemas by name.
    Named,
}

/// The value that a schema inside another applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The same value.
    Same,
    /// A member of the value, to which one such schema applies.
    Member,
    /// An item of the value, to which one such schema applies.
    Item,
    /// A member, an item or a name, besides all other schemas that apply to it.
    Part,
    /// Nothing until a reference applies it, or the content of a text.
    Nowhere,
}

/// The form of a keyword that contains schemas, and the place of these schemas.
pub fn keyword(name: &str) -> Option<(Form, Place)> {
    Some(match name {
        "allOf" | "anyOf" | "oneOf" => (Form::Several, Place::Same),
        "not" | "if" | "then" | "else" => (Form::One, Place::Same),
        "dependentSchemas" | "dependencies" => (Form::Named, Place::Same),
        "properties" => (Form::Named, Place::Member),
        "additionalProperties" | "unevaluatedProperties" => (Form::One, Place::Member),
        "prefixItems" => (Form::Several, Place::Item),
        "items" | "additionalItems" | "unevaluatedItems" => (Form::One, Place::Item),
        "patternProperties" => (Form::Named, Place::Part),
        "contains" | "propertyNames" => (Form::One, Place::Part),
        "contentSchema" => (Form::One, Place::Nowhere),
        "$defs" | "definitions" => (Form::Named, Place::Nowhere),
        _ => return None,
    })
}

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// To a member of an object.
    Name(&'a str),
    /// To an item of a list.
    Index(usize),
}

/// A schema inside another.
#[derive(Clone, Copy, Debug)]
pub struct Subschema<'a> {
    /// The schema.
    pub schema: &'a Value,
    /// The keyword that contains it.
    pub keyword: &'a str,
    /// The step below the keyword, if the keyword contains several schemas.
    pub step: Option<PathStep<'a>>,
    /// The value that it applies to.
    pub place: Place,
}

/// Whether a value can be a schema.
pub fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// The schemas directly inside a schema.
pub fn subschemas(schema: &Value) -> impl Iterator<Item = Subschema<'_>> {
    subschemas_at(schema, |_| true)
}

/// The schemas directly inside a schema that have such a place.
pub fn subschemas_at(
    schema: &Value,
    is_wanted: impl Fn(Place) -> bool,
) -> impl Iterator<Item = Subschema<'_>> {
    let members = schema.as_object().into_iter().flatten();
    let held = members.filter_map(move |(name, value)| {
        let (form, place) = keyword(name).filter(|(_, place)| is_wanted(*place))?;
        let found = move |(step, schema)| Subschema {
            schema,
            keyword: name,
            step,
            place,
        };
        Some(held(form, value).into_iter().map(found))
    });
    held.flatten().filter(|it| is_schema(it.schema))
}

fn held(form: Form, value: &Value) -> Vec<(Option<PathStep<'_>>, &Value)> {
    match (form, value) {
        (Form::Named, Value::Object(members)) => {
            let members = members.iter();
            members
                .map(|(name, it)| (Some(PathStep::Name(name)), it))
                .collect()
        }
        // Before 2020-12, `items` could be one schema or a list.
        (Form::Several | Form::One, Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, it)| (Some(PathStep::Index(index)), it))
                .collect()
        }
        (Form::One, schema) => vec![(None, schema)],
        _ => Vec::new(),
    }
}

/// The schemas directly inside a schema, to change them, with their places.
pub fn subschemas_mut(
    schema: &mut Map<String, Value>,
) -> impl Iterator<Item = (Place, &mut Value)> {
    schema.iter_mut().flat_map(|(name, value)| {
        let held = keyword(name).map(|(form, place)| (place, held_mut(form, value)));
        held.into_iter()
            .flat_map(|(place, held)| held.into_iter().map(move |it| (place, it)))
    })
}

fn held_mut(form: Form, value: &mut Value) -> Vec<&mut Value> {
    match (form, value) {
        (Form::Named, Value::Object(members)) => members.values_mut().collect(),
        (Form::Several | Form::One, Value::Array(items)) => items.iter_mut().collect(),
        (Form::One, schema) => vec![schema],
        _ => Vec::new(),
    }
}

/// Visits a schema and every schema inside it.
pub fn each<'a>(schema: &'a Value, mut visit: impl FnMut(&'a Value)) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        visit(schema);
        open.extend(subschemas(schema).map(|inner| inner.schema));
    }
}

/// Visits a schema and every schema inside it, to change them. If the visitor returns `false`, the
/// schemas inside are skipped.
pub fn each_mut(schema: &mut Value, mut visit: impl FnMut(&mut Map<String, Value>) -> bool) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if let Some(members) = schema.as_object_mut()
            && visit(members)
        {
            open.extend(subschemas_mut(members).map(|(_, inner)| inner));
        }
    }
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
