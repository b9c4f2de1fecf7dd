//! Builds the schema of a variant's details from the types of its fields.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// Builder of the schema of a variant's details.
///
/// The schema is open: a field that is added later breaks no client that validates.
#[derive(Debug)]
pub struct Details {
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            generator: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
            properties: Map::new(),
            required: Vec::new(),
        }
    }
}

impl Details {
    /// Adds a field that is always present.
    pub fn required<T: JsonSchema>(mut self, name: &'static str, docs: &'static str) -> Self {
        self.required.push(name.into());
        self.optional::<T>(name, docs)
    }

    /// Adds a field that may be absent.
    pub fn optional<T: JsonSchema>(mut self, name: &'static str, docs: &'static str) -> Self {
        let mut schema = self.generator.subschema_for::<T>();
        if !docs.is_empty() {
            schema.insert("description".to_owned(), docs.into());
        }
        self.properties.insert(name.to_owned(), schema.to_value());
        self
    }

    /// The finished schema.
    pub(super) fn schema(mut self) -> Value {
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        for (name, part) in [
            ("properties", Value::Object(self.properties)),
            ("required", Value::Array(self.required)),
            (
                "$defs",
                Value::Object(self.generator.take_definitions(true)),
            ),
        ] {
            let empty = part == json!({}) || part == json!([]);
            if !empty {
                schema.insert(name.to_owned(), part);
            }
        }
        Value::Object(schema)
    }
}
