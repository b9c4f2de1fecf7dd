//! The input of an operation: one member for each parameter, and one for the body.

use std::collections::HashMap;

use panpan_contract::binding::{Parameter, ParameterLocation, RequestBody};
use serde_json::{Map, Value, json};

use super::body::Body;
use super::names;
use super::parameters::InputParameter;
use crate::unique_names::UniqueNames;

/// The member of an input for the body.
pub(super) const BODY: &str = "body";

/// The input schema, and where each member is sent.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) schema: Value,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<RequestBody>,
}

/// Combines parameters and body into one object. If several parameters, or a parameter and the body, have the
/// same name, the location of the parameter is appended to its name.
pub(super) fn input(parameters: Vec<InputParameter>, body: Option<Body>) -> Input {
    let mut unique = UniqueNames::default();
    let mut members = Members::default();
    let body = body.map(|body| {
        members.add(
            unique.assign(BODY.to_owned(), '_'),
            body.schema,
            body.is_required,
        );
        body.sent
    });
    let mut preferred: HashMap<String, usize> = HashMap::new();
    preferred.extend(body.iter().map(|_| (BODY.to_owned(), 1)));
    for parameter in &parameters {
        *preferred
            .entry(names::member(&parameter.sent.wire_name))
            .or_default() += 1;
    }
    let mut sent = Vec::with_capacity(parameters.len());
    for mut parameter in parameters {
        let mut name = names::member(&parameter.sent.wire_name);
        if preferred.get(&name).is_some_and(|times| *times > 1) {
            name = format!("{name}_{}", suffix(parameter.sent.place));
        }
        parameter.sent.name = unique.assign(name, '_');
        members.add(
            parameter.sent.name.clone(),
            parameter.schema,
            parameter.is_required,
        );
        sent.push(parameter.sent);
    }
    Input {
        schema: members.into_schema(),
        parameters: sent,
        body,
    }
}

fn suffix(location: ParameterLocation) -> &'static str {
    match location {
        ParameterLocation::Path => "path",
        ParameterLocation::Query => "query",
        ParameterLocation::Querystring => "querystring",
        ParameterLocation::Header => "header",
        ParameterLocation::Cookie => "cookie",
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
