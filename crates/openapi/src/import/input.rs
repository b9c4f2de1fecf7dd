//! The input of an operation: one member for each parameter, and one for the body.

use std::collections::HashMap;

use panpan_contract::binding::{Parameter, ParameterLocation as Where, RequestBody};
use serde_json::{Map, Value, json};

use super::body::Body;
use super::names::{self, Unique};
use super::parameters::Given;

/// The member of an input that is the body.
pub(super) const BODY: &str = "body";

/// What goes in, and where each member of it is sent.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) schema: Value,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<RequestBody>,
}

/// Puts parameters and body into one object. A name wanted by parameters in several places, or by the
/// body, is told apart by the place.
pub(super) fn input(given: Vec<Given>, body: Option<Body>) -> Input {
    let mut unique = Unique::default();
    let mut members = Members::default();
    let body = body.map(|body| {
        members.add(unique.free(BODY.to_owned()), body.schema, body.is_required);
        body.sent
    });
    let mut wanted: HashMap<String, usize> = HashMap::new();
    wanted.extend(body.iter().map(|_| (BODY.to_owned(), 1)));
    for parameter in &given {
        *wanted
            .entry(names::member(&parameter.sent.wire_name))
            .or_default() += 1;
    }
    let mut parameters = Vec::with_capacity(given.len());
    for mut parameter in given {
        let mut name = names::member(&parameter.sent.wire_name);
        if wanted.get(&name).is_some_and(|times| *times > 1) {
            name = format!("{name}_{}", suffix(parameter.sent.place));
        }
        parameter.sent.name = unique.free(name);
        members.add(
            parameter.sent.name.clone(),
            parameter.schema,
            parameter.is_required,
        );
        parameters.push(parameter.sent);
    }
    Input {
        schema: members.into_schema(),
        parameters,
        body,
    }
}

fn suffix(place: Where) -> &'static str {
    match place {
        Where::Path => "path",
        Where::Query => "query",
        Where::Querystring => "querystring",
        Where::Header => "header",
        Where::Cookie => "cookie",
    }
}

#[derive(Debug, Default)]
struct Members {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Members {
    fn add(&mut self, name: String, schema: Value, is_required: bool) {
        if is_required {
            self.required.push(name.clone());
        }
        self.properties.insert(name, schema);
    }

    fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "additionalProperties": false});
        if !self.properties.is_empty() {
            schema["properties"] = self.properties.into();
        }
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }
}
