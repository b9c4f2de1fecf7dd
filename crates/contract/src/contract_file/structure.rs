//! Whether a document has the shape the published schema asks for.
//!
//! The schema is read here rather than handed to a validator, so that every problem is a sentence
//! with a remedy, and none of a million is kept in memory. Only the keywords that schema uses are
//! understood (a test holds it to that), and any `pattern` but that of texts which must not be blank
//! is left to the types that own the syntax.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::path::Path;
use super::problem::Problems;
use super::{ContractFile, rule, sentence};
use crate::retry::OFF;
use panpan_failure::EXTENSION_PREFIX;
use panpan_failure::read::type_name;

/// The published schema.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(ContractFile::SCHEMA).expect("the published schema is JSON")
});

/// Notes everything in the document that is not of its shape.
pub(super) fn check(document: &Value, problems: &mut Problems<'_>) {
    let mut note = |path: &Path<'_>, rule, message| problems.note(path, rule, message);
    Shape::of(&SCHEMA).check(document, &Path::top(), &mut note);
}

/// The shape of a named part: `operation`, `error`, `retry` and so on.
pub(super) fn part(name: &str) -> Shape {
    Shape::of(&SCHEMA["$defs"][name])
}

/// Where problems go.
type Note<'a> = dyn FnMut(&Path<'_>, &'static str, String) + 'a;

/// One subschema of the published schema.
#[derive(Clone, Copy)]
pub(super) struct Shape(&'static Value);

impl Shape {
    fn of(schema: &'static Value) -> Self {
        let mut schema = schema;
        while let Some(reference) = schema["$ref"].as_str() {
            schema = SCHEMA
                .pointer(reference.trim_start_matches('#'))
                .expect("the published schema refers to itself");
        }
        Shape(schema)
    }

    /// Whether a value has this shape.
    pub(super) fn holds(self, value: &Value) -> bool {
        let mut sound = true;
        self.check(value, &Path::top(), &mut |_, _, _| sound = false);
        sound
    }

    /// The members that have their shape each for itself, whatever the others have.
    pub(super) fn sound_members(self, object: &Map<String, Value>) -> Map<String, Value> {
        let is_sound = |name: &str, value| self.member(name).is_some_and(|it| it.holds(value));
        let members = object.iter();
        members
            .filter(|(name, value)| is_sound(name, value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn member(self, name: &str) -> Option<Shape> {
        self.0["properties"].get(name).map(Shape::of)
    }

    fn check(self, value: &Value, path: &Path<'_>, note: &mut Note<'_>) {
        if !self.has_type(value) {
            let message = sentence::wrong_type(value, self.0);
            return note(path, rule::MEMBER_TYPE, message);
        }
        let words = self.0["enum"].as_array();
        if words.is_some_and(|words| !words.contains(value)) {
            let message = sentence::wrong_word(value, self.0);
            return note(path, rule::MEMBER_WORD, message);
        }
        match value {
            Value::Number(_) => self.check_range(value, path, note),
            Value::String(text) => self.check_text(text, path, note),
            Value::Array(items) => self.check_list(items, path, note),
            Value::Object(members) => self.check_object(members, path, note),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn has_type(self, value: &Value) -> bool {
        match &self.0["type"] {
            Value::String(name) => is_of_type(value, name),
            Value::Array(names) => {
                let mut names = names.iter().filter_map(Value::as_str);
                names.any(|name| is_of_type(value, name))
            }
            _ => true,
        }
    }

    fn check_range(self, value: &Value, path: &Path<'_>, note: &mut Note<'_>) {
        let bound = |keyword: &str| self.0[keyword].as_f64();
        // The bounds are far below where a double is no longer exact.
        let number = value.as_f64().unwrap_or_default();
        let below = bound("minimum").is_some_and(|minimum| number < minimum);
        let above = bound("maximum").is_some_and(|maximum| number > maximum);
        if below || above {
            note(
                path,
                rule::MEMBER_RANGE,
                sentence::out_of_range(value, self.0),
            );
        }
    }

    fn check_text(self, text: &str, path: &Path<'_>, note: &mut Note<'_>) {
        if self.0["pattern"] == SAYS_SOMETHING && is_blank(text) {
            note(path, rule::MEMBER_EMPTY, sentence::blank());
        }
        if self.0["pattern"] == ONLY_OFF && text != OFF {
            note(path, rule::MEMBER_WORD, sentence::not_off());
        }
    }

    fn check_list(self, items: &[Value], path: &Path<'_>, note: &mut Note<'_>) {
        if items.is_empty() && self.0["minItems"].is_u64() {
            note(path, rule::MEMBER_EMPTY, sentence::empty());
        }
        let limit = self.0["maxItems"].as_u64();
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        if items.len() > limit {
            let message = sentence::too_long(items.len(), limit);
            note(path, rule::MEMBER_LONG, message);
        }
        let Some(item_schema) = self.0.get("items") else {
            return;
        };
        for (index, item) in items.iter().take(limit).enumerate() {
            Shape::of(item_schema).check(item, &path.index(index), note);
        }
    }

    fn check_object(self, members: &Map<String, Value>, path: &Path<'_>, note: &mut Note<'_>) {
        let required = self.0["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let shape = self.member(name).map_or(&Value::Null, |it| it.0);
                let message = sentence::missing(name, shape, &self.0["properties"][name]);
                note(&path.name(name), rule::MEMBER_MISSING, message);
            }
        }
        for (name, value) in members {
            self.check_member(name, value, &path.name(name), note);
        }
    }

    fn check_member(self, name: &str, value: &Value, path: &Path<'_>, note: &mut Note<'_>) {
        if let Some(shape) = self.member(name) {
            return shape.check(value, path, note);
        }
        match &self.0["additionalProperties"] {
            schema @ Value::Object(_) => Shape::of(schema).check(value, path, note),
            Value::Bool(false) if !self.takes_extension(name) => {
                note(path, rule::MEMBER_UNKNOWN, sentence::unknown(name, self.0));
            }
            _ => {}
        }
    }

    fn takes_extension(self, name: &str) -> bool {
        self.0.get("patternProperties").is_some() && name.starts_with(EXTENSION_PREFIX)
    }
}

/// The pattern of texts that must not be blank.
const SAYS_SOMETHING: &str = r"\S";

/// The pattern of settings that can be switched off by a word.
const ONLY_OFF: &str = "^off$";

/// Whether a text has nothing but what `\s` is in the regular expressions of JSON Schema.
fn is_blank(text: &str) -> bool {
    let is_space = |it: char| it == '\u{feff}' || it.is_whitespace() && it != '\u{85}';
    text.chars().all(is_space)
}

/// As JSON Schema says, except that `404.0` is no integer: readers differ on it.
fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => type_name(value) == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract_file::OPERATIONS_LIMIT;

    const UNDERSTOOD: &[&str] = &[
        "$defs",
        "$id",
        "$ref",
        "$schema",
        "additionalProperties",
        "default",
        "description",
        "enum",
        "items",
        "maxItems",
        "maximum",
        "maxLength",
        "minItems",
        "minimum",
        "pattern",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
        "title",
        "type",
    ];

    fn for_each_subschema(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
        let Some(members) = schema.as_object() else {
            return;
        };
        visit(members);
        for keyword in ["properties", "$defs"] {
            let inner = members.get(keyword).and_then(Value::as_object);
            inner
                .into_iter()
                .flatten()
                .for_each(|(_, schema)| for_each_subschema(schema, visit));
        }
        for keyword in ["items", "additionalProperties"] {
            members
                .get(keyword)
                .into_iter()
                .for_each(|schema| for_each_subschema(schema, visit));
        }
    }

    #[test]
    fn the_published_schema_uses_only_what_is_understood_here() {
        for_each_subschema(&SCHEMA, &mut |schema| {
            for keyword in schema.keys() {
                assert!(UNDERSTOOD.contains(&keyword.as_str()), "{keyword}");
            }
            let least = schema.get("minItems");
            assert!(least.is_none_or(|limit| limit == 1), "{schema:?}");
        });
    }

    #[test]
    fn the_published_schema_is_a_valid_one_and_describes_every_member() {
        jsonschema::draft202012::meta::validate(&SCHEMA).unwrap();
        for_each_subschema(&SCHEMA, &mut |schema| {
            let members = schema.get("properties").and_then(Value::as_object);
            for (name, member) in members.into_iter().flatten() {
                assert!(member["description"].is_string(), "{name}");
            }
        });
    }

    #[test]
    fn the_published_schema_says_what_the_types_say() {
        use panpan_catalogue::{Category, Effect, Remedy};
        let error = &SCHEMA["$defs"]["error"]["properties"];
        let words = |schema: &'static Value| -> Vec<_> {
            let words = schema["enum"].as_array().unwrap().iter();
            words.filter_map(Value::as_str).collect()
        };
        let categories: Vec<_> = Category::ALL.iter().map(|it| it.word()).collect();
        let effects: Vec<_> = Effect::ALL.iter().map(|it| it.word()).collect();
        let remedies: Vec<_> = Remedy::ALL.iter().map(|it| it.word()).collect();
        assert_eq!(words(&error["category"]), categories);
        assert_eq!(words(&error["effect"]), effects);
        assert_eq!(words(&error["remedy"]["items"]), remedies);
        assert_eq!(
            SCHEMA["properties"]["operations"]["maxItems"],
            OPERATIONS_LIMIT
        );
        let retry = &SCHEMA["$defs"]["retry"]["properties"];
        assert_eq!(retry["max_delay_ms"]["maximum"], crate::retry::MAX_DELAY_MS);
        let defaults = serde_json::to_value(crate::retry::RetrySettings::default()).unwrap();
        for (name, value) in defaults.as_object().unwrap() {
            assert_eq!(&retry[name]["default"], value, "{name}");
        }
        assert_eq!(words(&retry["categories"]["items"]), categories);
        let circuit = &SCHEMA["$defs"]["circuit"]["properties"];
        let defaults = crate::circuit::CircuitSettings::default();
        let defaults = serde_json::to_value(defaults).unwrap();
        for (name, value) in defaults.as_object().unwrap() {
            assert_eq!(&circuit[name]["default"], value, "{name}");
        }
        for name in ["window_ms", "row_ms", "open_ms", "open_ms_max"] {
            let limit = &circuit[name]["maximum"];
            assert_eq!(*limit, crate::circuit::CIRCUIT_MS_LIMIT, "{name}");
        }
    }
}
