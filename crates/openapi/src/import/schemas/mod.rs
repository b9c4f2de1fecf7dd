//! Schemas as a contract holds them: JSON Schema 2020-12, what they refer to shared under `$defs`.
//!
//! A schema that is referred to is written once, under a name of its own; whoever refers to it keeps a
//! reference. What a keyword may hold is in `keywords`, what 3.0 says in its own way in `old`.

mod definitions;
mod endless;
mod keywords;
mod old;

use panpan_contract::contract_file::is_usable_pattern;
use serde_json::{Map, Value, json};

use super::reader::{Reader, VALUE_WEIGHT};
use crate::place::Place;
use crate::reference;
pub(super) use definitions::Definitions;
use keywords::Holds;

/// The deepest schema that is walked; what is deeper may be anything.
pub const SCHEMA_DEPTH_LIMIT: usize = 100;
/// The dialects of JSON Schema that are read as they are.
const DIALECTS: [&str; 2] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.",
];

/// Whether schemas of a dialect are read as they are.
pub(super) fn is_known_dialect(dialect: &str) -> bool {
    DIALECTS.iter().any(|known| dialect.starts_with(known))
}

/// The schema everything fits.
pub(super) fn anything() -> Value {
    json!({})
}

impl<'a> Reader<'a> {
    /// A schema as a contract holds it.
    pub(super) fn schema(&mut self, schema: &'a Value, place: &Place<'_>) -> Value {
        self.definitions.current = None;
        self.normalised(schema, place, 0)
    }

    fn normalised(&mut self, schema: &'a Value, place: &Place<'_>, depth: usize) -> Value {
        let members = match schema {
            Value::Bool(_) => return schema.clone(),
            Value::Object(members) if depth <= SCHEMA_DEPTH_LIMIT => members,
            _ => {
                let message = if schema.is_object() {
                    format!("is nested more than {SCHEMA_DEPTH_LIMIT} levels deep")
                } else {
                    "is no schema".to_owned()
                };
                self.warnings
                    .note(place, format!("{message}; anything is taken here"));
                return anything();
            }
        };
        let names: usize = members.keys().map(String::len).sum();
        self.spend(names + VALUE_WEIGHT * members.len());
        if self.is_too_large() {
            return anything();
        }
        let mut written = self.keywords(members, place, depth);
        if is_bytes(schema) {
            written.remove("format");
            written.insert("type".to_owned(), "string".into());
            written.insert("contentEncoding".to_owned(), "base64".into());
        }
        self.relax_required(members, &mut written);
        if self.is_old {
            old::forget_beside_reference(&mut written);
        }
        old::translate(members, written)
    }

    fn keywords(
        &mut self,
        members: &'a Map<String, Value>,
        place: &Place<'_>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut written = Map::new();
        for (keyword, value) in members {
            let place = place.name(keyword);
            if old::is_translated(keyword, value) {
                self.note_old(keyword, &place);
            } else if self.is_old && old::is_hidden_by_reference(keyword, members) {
                let message = "stands beside a $ref, where OpenAPI 3.0 takes no notice of it";
                self.warnings.note(&place, message);
            } else {
                self.keyword(keyword, value, &place, depth, &mut written);
            }
        }
        written
    }

    /// Documents of later versions still say some things in the way of 3.0, and mean them.
    fn note_old(&mut self, keyword: &str, place: &Place<'_>) {
        if !self.is_old && keyword != "example" {
            let message = "means something else or nothing since OpenAPI 3.1; it is read as in 3.0";
            self.warnings.note(place, message);
        }
    }

    fn keyword(
        &mut self,
        keyword: &'a str,
        value: &'a Value,
        place: &Place<'_>,
        depth: usize,
        written: &mut Map<String, Value>,
    ) {
        let (name, kept) = match (keyword, Holds::of(keyword)) {
            ("$ref" | "$dynamicRef", _) => ("$ref", self.reference(value, place)),
            ("$recursiveRef", _) => ("$ref", self.own_reference(place)),
            // Before 2020-12 a list of schemas stood there.
            ("items", _) if value.is_array() => {
                let message = "is a list of schemas; it is read as prefixItems";
                self.warnings.note(place, message);
                let held = self.held(Holds::Schemas, value, place, depth);
                (
                    "prefixItems",
                    self.sound(keyword, Holds::Schemas, held, place),
                )
            }
            ("discriminator", _) => ("x-discriminator", Some(discriminator(value))),
            (_, Holds::Definitions) => return,
            (_, Holds::Identity) => return self.identity(keyword, value, place),
            (_, holds) => {
                let held = self.held(holds, value, place, depth);
                (keyword, self.sound(keyword, holds, held, place))
            }
        };
        written.extend(kept.map(|kept| (name.to_owned(), kept)));
    }

    /// What a keyword holds as it may stand, if it may.
    fn held(
        &mut self,
        holds: Holds,
        value: &'a Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Option<Value> {
        match holds {
            Holds::Schema => Some(self.normalised(value, place, depth + 1)),
            Holds::Schemas => {
                let items = value.as_array().filter(|it| !it.is_empty())?;
                let items = items.iter().enumerate();
                let schemas = items
                    .map(|(index, item)| self.normalised(item, &place.index(index), depth + 1));
                Some(schemas.collect())
            }
            Holds::Named | Holds::ByPattern => {
                let mut named = Map::new();
                for (name, member) in value.as_object()? {
                    let place = place.name(name);
                    if holds == Holds::Named || self.is_pattern(name, &place) {
                        let schema = self.normalised(member, &place, depth + 1);
                        named.insert(name.clone(), schema);
                    }
                }
                Some(named.into())
            }
            _ => {
                self.spend(weight(value));
                holds.sound(value)
            }
        }
    }

    /// Tells of a keyword that holds something it must not.
    fn sound(
        &mut self,
        keyword: &str,
        holds: Holds,
        held: Option<Value>,
        place: &Place<'_>,
    ) -> Option<Value> {
        let Some(held) = held else {
            let message = format!("is not what {keyword:?} holds in JSON Schema; it is left out");
            self.warnings.note(place, message);
            return None;
        };
        let is_usable = match (&held, holds) {
            (Value::String(pattern), Holds::Pattern) => self.is_pattern(pattern, place),
            _ => true,
        };
        is_usable.then_some(held)
    }

    fn reference(&mut self, value: &'a Value, place: &Place<'_>) -> Option<Value> {
        let Some(reference) = value.as_str() else {
            self.warnings.note(place, "is no reference; it is left out");
            return None;
        };
        self.carried(reference, place).map(Value::from)
    }

    /// Keywords that say what the schema is called, or that 2020-12 does not have.
    fn identity(&mut self, keyword: &str, value: &Value, place: &Place<'_>) {
        let is_known = match keyword {
            // What refers to an anchor is led there by another name.
            "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => true,
            "$schema" => value.as_str().is_some_and(is_known_dialect),
            _ => false,
        };
        if !is_known {
            let message =
                format!("{keyword:?} is left out; schemas are read as JSON Schema 2020-12");
            self.warnings.note(place, message);
        }
    }

    fn is_pattern(&mut self, pattern: &str, place: &Place<'_>) -> bool {
        let known = self.definitions.patterns.get(pattern).copied();
        let is_usable = known.unwrap_or_else(|| {
            let is_usable = is_usable_pattern(pattern);
            let patterns = &mut self.definitions.patterns;
            patterns.insert(pattern.to_owned(), is_usable);
            is_usable
        });
        if !is_usable {
            let message = "is no regular expression that can be used here; it is left out";
            self.warnings.note(place, message);
        }
        is_usable
    }

    /// What only the service writes is not required of a caller, who could not give it.
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
        let meant = || reference::follow(self.document, property);
        says(property)
            || property.get("$ref").is_some() && meant().is_ok_and(|found| says(found.value))
    }
}

/// About how many bytes a value takes.
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

/// Whether a schema speaks of bytes, which a contract holds as base64.
pub(super) fn is_bytes(schema: &Value) -> bool {
    let word = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    if word("contentEncoding").is_some() || word("type").is_some_and(|it| it != "string") {
        return false;
    }
    let is_binary = |media: &str| super::media::Media::of(media) == super::media::Media::Bytes;
    word("format") == Some("binary") || word("contentMediaType").is_some_and(is_binary)
}

/// How variants are told apart, for readers: the names of the definitions, since the schemas
/// themselves are the alternatives beside it.
fn discriminator(value: &Value) -> Value {
    let last_step = |target: &Value| {
        let target = target.as_str().unwrap_or_default();
        Value::from(target.rsplit('/').next().unwrap_or_default())
    };
    let mut told = Map::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let member = match member {
            Value::Object(mapping) if name == "mapping" => mapping
                .iter()
                .map(|(value, target)| (value.clone(), last_step(target)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        };
        told.insert(name.clone(), member);
    }
    told.into()
}
