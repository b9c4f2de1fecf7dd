//! Checks the structure of a document against the published schema.
//!
//! The schema is interpreted here rather than by a validator, so that every problem gets a message
//! with a fix, and memory stays bounded for a file with a million problems. Only the keywords of
//! the published schema are supported (a test ensures it). Every `pattern` other than "not blank"
//! and "off" is left to the types that own the syntax.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::problem::Problems;
use super::{ContractFile, messages, rule};
use crate::path::Path;
use crate::retry::OFF;
use panpan_failure::EXTENSION_PREFIX;
use panpan_failure::read::type_name;

/// The published schema.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(ContractFile::SCHEMA).expect("the published schema is JSON")
});

/// Reports every structural problem of the document.
pub(super) fn check(document: &Value, problems: &mut Problems<'_>) {
    let mut note = |path: &Path<'_>, rule, message| problems.note(path, rule, message);
    SchemaPart::of(&SCHEMA).check(document, &Path::TOP, &mut note);
}

/// The subschema of a named part: `operation`, `error`, `retry` and so on.
pub(super) fn part(name: &str) -> SchemaPart {
    SchemaPart::of(&SCHEMA["$defs"][name])
}

/// The callback that receives problems.
type Note<'a> = dyn FnMut(&Path<'_>, &'static str, String) + 'a;

/// A subschema of the published schema.
#[derive(Clone, Copy)]
pub(super) struct SchemaPart(&'static Value);

impl SchemaPart {
    fn of(schema: &'static Value) -> Self {
        let mut schema = schema;
        while let Some(reference) = schema["$ref"].as_str() {
            schema = SCHEMA
                .pointer(reference.trim_start_matches('#'))
                .expect("the published schema refers to itself");
        }
        SchemaPart(schema)
    }

    /// Whether a value is valid.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let mut is_valid = true;
        self.check(value, &Path::TOP, &mut |_, _, _| is_valid = false);
        is_valid
    }

    /// The members that are valid on their own.
    pub(super) fn valid_members(self, object: &Map<String, Value>) -> Map<String, Value> {
        let is_valid = |name: &str, value| self.member(name).is_some_and(|it| it.accepts(value));
        let members = object.iter();
        members
            .filter(|(name, value)| is_valid(name, value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn member(self, name: &str) -> Option<SchemaPart> {
        self.0["properties"].get(name).map(SchemaPart::of)
    }

    fn check(self, value: &Value, path: &Path<'_>, note: &mut Note<'_>) {
        if !self.has_type(value) {
            let message = messages::wrong_type(value, self.0);
            return note(path, rule::MEMBER_TYPE, message);
        }
        let words = self.0["enum"].as_array();
        if words.is_some_and(|words| !words.contains(value)) {
            let message = messages::wrong_word(value, self.0);
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
        // The bounds are small enough for a double to be exact.
        let number = value.as_f64().unwrap_or_default();
        let below = bound("minimum").is_some_and(|minimum| number < minimum);
        let above = bound("maximum").is_some_and(|maximum| number > maximum);
        if below || above {
            note(
                path,
                rule::MEMBER_RANGE,
                messages::out_of_range(value, self.0),
            );
        }
    }

    fn check_text(self, text: &str, path: &Path<'_>, note: &mut Note<'_>) {
        if self.0["pattern"] == NOT_BLANK && is_blank(text) {
            note(path, rule::MEMBER_EMPTY, messages::blank());
        }
        if self.0["pattern"] == ONLY_OFF && text != OFF {
            note(path, rule::MEMBER_WORD, messages::not_off());
        }
    }

    fn check_list(self, items: &[Value], path: &Path<'_>, note: &mut Note<'_>) {
        if items.is_empty() && self.0["minItems"].is_u64() {
            note(path, rule::MEMBER_EMPTY, messages::empty());
        }
        let limit = self.0["maxItems"].as_u64();
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        if items.len() > limit {
            let message = messages::too_long(items.len(), limit);
            note(path, rule::MEMBER_LONG, message);
        }
        let Some(item_schema) = self.0.get("items") else {
            return;
        };
        for (index, item) in items.iter().take(limit).enumerate() {
            SchemaPart::of(item_schema).check(item, &path.index(index), note);
        }
    }

    fn check_object(self, members: &Map<String, Value>, path: &Path<'_>, note: &mut Note<'_>) {
        let required = self.0["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let part = self.member(name).map_or(&Value::Null, |it| it.0);
                let message = messages::missing(name, part, &self.0["properties"][name]);
                note(&path.name(name), rule::MEMBER_MISSING, message);
            }
        }
        for (name, value) in members {
            self.check_member(name, value, &path.name(name), note);
        }
    }

    fn check_member(self, name: &str, value: &Value, path: &Path<'_>, note: &mut Note<'_>) {
        if let Some(part) = self.member(name) {
            return part.check(value, path, note);
        }
        match &self.0["additionalProperties"] {
            schema @ Value::Object(_) => SchemaPart::of(schema).check(value, path, note),
            Value::Bool(false) if !self.takes_extension(name) => {
                note(path, rule::MEMBER_UNKNOWN, messages::unknown(name, self.0));
            }
            _ => {}
        }
    }

    fn takes_extension(self, name: &str) -> bool {
        self.0.get("patternProperties").is_some() && name.starts_with(EXTENSION_PREFIX)
    }
}

/// The pattern of texts that must not be blank.
const NOT_BLANK: &str = r"\S";

/// The pattern of settings that can be `off`.
const ONLY_OFF: &str = "^off$";

/// Whether a text has only characters that `\s` matches in the regular expressions of JSON Schema.
fn is_blank(text: &str) -> bool {
    let is_space = |it: char| it == '\u{feff}' || it.is_whitespace() && it != '\u{85}';
    text.chars().all(is_space)
}

/// As in JSON Schema, except that `404.0` is not an integer: readers differ on it.
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

    const SUPPORTED: &[&str] = &[
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
    fn the_published_schema_uses_only_supported_keywords() {
        for_each_subschema(&SCHEMA, &mut |schema| {
            for keyword in schema.keys() {
                assert!(SUPPORTED.contains(&keyword.as_str()), "{keyword}");
            }
            let least = schema.get("minItems");
            assert!(least.is_none_or(|limit| limit == 1), "{schema:?}");
        });
    }

    #[test]
    fn the_published_schema_is_valid_and_describes_every_member() {
        jsonschema::draft202012::meta::validate(&SCHEMA).unwrap();
        for_each_subschema(&SCHEMA, &mut |schema| {
            let members = schema.get("properties").and_then(Value::as_object);
            for (name, member) in members.into_iter().flatten() {
                assert!(member["description"].is_string(), "{name}");
            }
        });
    }

    #[test]
    fn the_published_schema_agrees_with_the_types() {
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
