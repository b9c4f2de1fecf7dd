//! Headers that the operator fixes: they are removed from the input of operations.

use http::header::HeaderMap;
use panpan_contract::binding::{HttpBinding, Parameter, ParameterLocation};
use panpan_contract::operation::OperationSpec;
use serde_json::Value;

/// Removes the parameters of an operation and its binding whose header is fixed.
pub(super) fn remove_parameters(
    spec: &mut OperationSpec,
    binding: &mut HttpBinding,
    fixed: &HeaderMap,
) {
    let is_fixed =
        |it: &Parameter| it.place == ParameterLocation::Header && fixed.contains_key(&it.wire_name);
    let (removed, kept): (Vec<_>, Vec<_>) = binding.parameters.drain(..).partition(is_fixed);
    binding.parameters = kept;
    for parameter in &removed {
        remove_member(&mut spec.input_schema, &parameter.name);
    }
    if !removed.is_empty() {
        binding.bind(spec);
    }
}

fn remove_member(schema: &mut Value, name: &str) {
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
    fn only_parameters_of_fixed_headers_are_removed() {
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
        let mut spec = OperationSpec::new("shop/order".parse().unwrap(), OperationType::Query);
        binding.bind(&mut spec);
        spec.input_schema = json!({
            "type": "object", "additionalProperties": false,
            "properties": {"tenant": {}, "team": {}, "tenant2": {}},
            "required": ["tenant", "tenant2"],
        });
        let value = HeaderValue::from_static("a");
        let fixed = HeaderMap::from_iter([("x-tenant".parse().unwrap(), value)]);
        remove_parameters(&mut spec, &mut binding, &fixed);
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
