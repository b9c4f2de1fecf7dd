//! Headers the operator gives: no caller is asked for them.

use http::header::HeaderMap;
use panpan_contract::binding::{HttpBinding, Parameter, ParameterLocation};
use panpan_contract::operation::OperationSpec;
use serde_json::Value;

/// Takes the parameters out of an operation and its binding that are sent in a given header.
pub(super) fn leave_out(spec: &mut OperationSpec, binding: &mut HttpBinding, given: &HeaderMap) {
    let is_given =
        |it: &Parameter| it.place == ParameterLocation::Header && given.contains_key(&it.wire_name);
    let (pinned, asked): (Vec<_>, Vec<_>) = binding.parameters.drain(..).partition(is_given);
    binding.parameters = asked;
    for parameter in &pinned {
        leave_out_member(&mut spec.input_schema, &parameter.name);
    }
    if !pinned.is_empty() {
        binding.bind(spec);
    }
}

fn leave_out_member(schema: &mut Value, name: &str) {
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    members.and_then(|members| members.remove(name));
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|it| it != name);
    }
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;
    use panpan_contract::operation::OperationType;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_header_that_is_given_is_left_out() {
        let parameter = |name: &str, place: &str| {
            json!({
                "name": name, "wire_name": format!("X-{name}"), "place": place, "style": "simple", "explode": false,
            })
        };
        let written = json!({
            "method": "GET", "path": "/",
            "parameters": [parameter("tenant", "header"), parameter("team", "header"), parameter("tenant2", "query")],
        });
        let mut binding: HttpBinding = serde_json::from_value(written).unwrap();
        let mut spec = OperationSpec::new("shop/ask".parse().unwrap(), OperationType::Query);
        binding.bind(&mut spec);
        spec.input_schema = json!({
            "type": "object", "additionalProperties": false,
            "properties": {"tenant": {}, "team": {}, "tenant2": {}},
            "required": ["tenant", "tenant2"],
        });
        let value = HeaderValue::from_static("a");
        let given = HeaderMap::from_iter([("x-tenant".parse().unwrap(), value)]);
        leave_out(&mut spec, &mut binding, &given);
        let left: Vec<&str> = binding.parameters.iter().map(|it| &*it.name).collect();
        assert_eq!(left, ["team", "tenant2"]);
        assert_eq!(HttpBinding::of(&spec).unwrap().unwrap(), binding);
        let expected = json!({
            "type": "object", "additionalProperties": false,
            "properties": {"team": {}, "tenant2": {}}, "required": ["tenant2"],
        });
        assert_eq!(spec.input_schema, expected);
    }
}
