//! Converts schemas to JSON Schema 2020-12, with shared definitions under `$defs`.
//!
//! A referenced schema is written once, under a unique name. The valid values of keywords are in `keywords`,
//! the keywords of OpenAPI 3.0 in `openapi30`.

mod cycles;
mod definitions;
mod keywords;
mod openapi30;

use panpan_contract::contract_file::is_usable_pattern;
use panpan_contract::path::Path;
use serde_json::{Map, Value, json};

use super::reader::{Reader, VALUE_WEIGHT};
pub(super) use definitions::Definitions;
use keywords::KeywordKind;

/// The deepest schema that is read; below it, any value is accepted.
pub const SCHEMA_DEPTH_LIMIT: usize = 100;
/// The JSON Schema dialects that are supported.
const DIALECTS: [&str; 2] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.",
];

/// Whether a dialect is supported.
pub(super) fn is_known_dialect(dialect: &str) -> bool {
    DIALECTS.iter().any(|known| dialect.starts_with(known))
}

/// The schema that accepts any value.
pub(super) fn anything() -> Value {
    json!({})
}

impl<'a> Reader<'a> {
    /// Converts a schema.
    pub(super) fn schema(&mut self, schema: &'a Value, location: &Path<'_>) -> Value {
        self.definitions.current = None;
        self.normalised(schema, location, 0)
    }

    fn normalised(&mut self, schema: &'a Value, location: &Path<'_>, depth: usize) -> Value {
        let members = match schema {
            Value::Bool(_) => return schema.clone(),
            Value::Object(members) if depth <= SCHEMA_DEPTH_LIMIT => members,
            _ => {
                let message = if schema.is_object() {
                    format!(
                        "schema nested more than {SCHEMA_DEPTH_LIMIT} levels deep: move its inner schemas to components"
                    )
                } else {
                    "not a schema: write an object or a boolean".to_owned()
                };
                self.warnings
                    .note(location, format!("{message}; any value is accepted"));
                return anything();
            }
        };
        let names: usize = members.keys().map(String::len).sum();
        self.spend(names + VALUE_WEIGHT * members.len());
        if self.is_too_large() {
            return anything();
        }
        let mut written = self.keywords(members, location, depth);
        if is_bytes(schema) {
            written.remove("format");
            written.insert("type".to_owned(), "string".into());
            written.insert("contentEncoding".to_owned(), "base64".into());
        }
        self.relax_required(members, &mut written);
        if self.is_openapi30 {
            openapi30::drop_type_next_to_reference(&mut written);
        }
        openapi30::translate(members, written)
    }

    fn keywords(
        &mut self,
        members: &'a Map<String, Value>,
        location: &Path<'_>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut written = Map::new();
        for (keyword, value) in members {
            let location = location.name(keyword);
            if openapi30::is_translated(keyword, value) {
                self.note_openapi30(keyword, &location);
            } else if self.is_openapi30 && openapi30::is_ignored_next_to_reference(keyword, members)
            {
                let message = "OpenAPI 3.0 ignores members next to $ref: combine them with allOf; it is ignored";
                self.warnings.note(&location, message);
            } else {
                self.keyword(keyword, value, &location, depth, &mut written);
            }
        }
        written
    }

    /// Documents of later versions still use keywords of 3.0.
    fn note_openapi30(&mut self, keyword: &str, location: &Path<'_>) {
        if !self.is_openapi30 && keyword != "example" {
            let message =
                "keyword of OpenAPI 3.0 in a later version: replace it; it is read as in 3.0";
            self.warnings.note(location, message);
        }
    }

    fn keyword(
        &mut self,
        keyword: &'a str,
        value: &'a Value,
        location: &Path<'_>,
        depth: usize,
        written: &mut Map<String, Value>,
    ) {
        let (name, kept) = match (keyword, KeywordKind::of(keyword)) {
            ("$ref" | "$dynamicRef", _) => ("$ref", self.reference(value, location)),
            ("$recursiveRef", _) => ("$ref", self.self_reference(location)),
            // Before 2020-12, `items` could be a list of schemas.
            ("items", _) if value.is_array() => {
                let message =
                    "\"items\" is a list of schemas: use prefixItems; it is read as prefixItems";
                self.warnings.note(location, message);
                let converted = self.convert_value(KeywordKind::Schemas, value, location, depth);
                (
                    "prefixItems",
                    self.check_value(keyword, KeywordKind::Schemas, converted, location),
                )
            }
            ("discriminator", _) => ("x-discriminator", Some(discriminator(value))),
            (_, KeywordKind::Definitions) => return,
            (_, KeywordKind::Identity) => return self.identity(keyword, value, location),
            (_, kind) => {
                let converted = self.convert_value(kind, value, location, depth);
                (
                    keyword,
                    self.check_value(keyword, kind, converted, location),
                )
            }
        };
        written.extend(kept.map(|kept| (name.to_owned(), kept)));
    }

    /// The valid value of a keyword, with its schemas converted; `None` if it is invalid.
    fn convert_value(
        &mut self,
        kind: KeywordKind,
        value: &'a Value,
        location: &Path<'_>,
        depth: usize,
    ) -> Option<Value> {
        match kind {
            KeywordKind::Schema => Some(self.normalised(value, location, depth + 1)),
            KeywordKind::Schemas => {
                let items = value.as_array().filter(|it| !it.is_empty())?;
                let items = items.iter().enumerate();
                let schemas = items
                    .map(|(index, item)| self.normalised(item, &location.index(index), depth + 1));
                Some(schemas.collect())
            }
            KeywordKind::Named | KeywordKind::ByPattern => {
                let mut named = Map::new();
                for (name, member) in value.as_object()? {
                    let location = location.name(name);
                    if kind == KeywordKind::Named || self.is_pattern(name, &location) {
                        let schema = self.normalised(member, &location, depth + 1);
                        named.insert(name.clone(), schema);
                    }
                }
                Some(named.into())
            }
            _ => {
                self.spend(weight(value));
                kind.valid(value)
            }
        }
    }

    /// Reports a keyword with an invalid value.
    fn check_value(
        &mut self,
        keyword: &str,
        kind: KeywordKind,
        converted: Option<Value>,
        location: &Path<'_>,
    ) -> Option<Value> {
        let Some(converted) = converted else {
            let message =
                format!("invalid value of {keyword:?}: correct it; the keyword is ignored");
            self.warnings.note(location, message);
            return None;
        };
        let is_usable = match (&converted, kind) {
            (Value::String(pattern), KeywordKind::Pattern) => self.is_pattern(pattern, location),
            _ => true,
        };
        is_usable.then_some(converted)
    }

    fn reference(&mut self, value: &'a Value, location: &Path<'_>) -> Option<Value> {
        let Some(reference) = value.as_str() else {
            self.warnings
                .note(location, "$ref is not a string: correct it; it is ignored");
            return None;
        };
        self.definition_reference(reference, location)
            .map(Value::from)
    }

    /// Ignores keywords that identify the schema, and keywords that 2020-12 does not have.
    fn identity(&mut self, keyword: &str, value: &Value, location: &Path<'_>) {
        let is_known = match keyword {
            // References to anchors are rewritten.
            "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => true,
            "$schema" => value.as_str().is_some_and(is_known_dialect),
            _ => false,
        };
        if !is_known {
            let message =
                format!("keyword {keyword:?} is ignored: schemas are read as JSON Schema 2020-12");
            self.warnings.note(location, message);
        }
    }

    fn is_pattern(&mut self, pattern: &str, location: &Path<'_>) -> bool {
        let known = self.definitions.patterns.get(pattern).copied();
        let is_usable = known.unwrap_or_else(|| {
            let is_usable = is_usable_pattern(pattern);
            let patterns = &mut self.definitions.patterns;
            patterns.insert(pattern.to_owned(), is_usable);
            is_usable
        });
        if !is_usable {
            let message = "unsupported regular expression: simplify it; it is ignored";
            self.warnings.note(location, message);
        }
        is_usable
    }

    /// Removes read-only properties from `required`: only the service sets them, so callers cannot send them.
    fn relax_required(&self, members: &'a Map<String, Value>, written: &mut Map<String, Value>) {
        let Some(Value::Array(required)) = written.get_mut("required") else {
            return;
        };
        let properties = members.get("properties");
        required.retain(|name| {
            let property = name.as_str().and_then(|name| properties?.get(name));
            !property.is_some_and(|it| self.is_read_only(it))
        });
        if required.is_empty() {
            written.remove("required");
        }
    }

    fn is_read_only(&self, property: &'a Value) -> bool {
        let says = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        let meant = || self.references.resolve(property);
        says(property)
            || property.get("$ref").is_some() && meant().is_ok_and(|found| says(found.value))
    }
}

/// The approximate size of a value, in bytes.
pub(super) fn weight(value: &Value) -> usize {
    let mut weight = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        weight += VALUE_WEIGHT;
        match value {
            Value::String(text) => weight += text.len(),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                weight += members.keys().map(String::len).sum::<usize>();
                open.extend(members.values());
            }
            _ => {}
        }
    }
    weight
}

/// Whether a schema describes bytes, which a contract represents as base64.
pub(super) fn is_bytes(schema: &Value) -> bool {
    let word = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    if word("contentEncoding").is_some() || word("type").is_some_and(|it| it != "string") {
        return false;
    }
    let is_binary = |media: &str| super::media::Media::of(media) == super::media::Media::Bytes;
    word("format") == Some("binary") || word("contentMediaType").is_some_and(is_binary)
}

/// The discriminator, for readers: with names of definitions, because the variants are listed next to it.
fn discriminator(value: &Value) -> Value {
    let last_step = |target: &Value| {
        let target = target.as_str().unwrap_or_default();
        Value::from(target.rsplit('/').next().unwrap_or_default())
    };
    let mut listed = Map::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let member = match member {
            Value::Object(mapping) if name == "mapping" => mapping
                .iter()
                .map(|(value, target)| (value.clone(), last_step(target)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        };
        listed.insert(name.clone(), member);
    }
    listed.into()
}
