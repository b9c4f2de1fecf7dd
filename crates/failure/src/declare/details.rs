//! The schema of a variant's details, put together from the types of its fields.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a variant's details, field by field.
///
/// It stays open: a field added later breaks nobody who validates.
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
    /// A field that is always there.
    pub fn required<T: JsonSchema>(mut self, name: &'static str, about: &'static str) -> Self {
        self.required.push(name.into());
        self.optional::<T>(name, about)
    }

    /// A field that may be absent.
    pub fn optional<T: JsonSchema>(mut self, name: &'static str, about: &'static str) -> Self {
        let mut schema = self.generator.subschema_for::<T>();
        if !about.is_empty() {
            schema.insert("description".to_owned(), about.into());
        }
        self.properties.insert(name.to_owned(), schema.to_value());
        self
    }

    /// The schema, as a document of its own.
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
