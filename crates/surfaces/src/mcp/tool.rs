//! An operation as a tool: its name, schemas, description, annotations and declared failures.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::undeclared;
use panpan_failure::ErrorDefinition;
use panpan_mcp::names::{DEFINITION_EXTENSION, ERRORS_META_KEY, NAME_EXTENSION};
use panpan_mcp::output;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::gateway_tools::GatewayTool;
use super::tool_name::{is_free_name, tool_name};
use super::{key, schema_root};

/// The longest tool name that is taken over from an upstream server.
const SERVER_NAME_LENGTH_LIMIT: usize = 128;

/// The largest number of codes in a description; the rest is only in `_meta`.
pub const DESCRIBED_CODES_LIMIT: usize = 12;

/// The tool for an operation; `None` for a subscription, or if the input is not an object.
///
/// Does not check who may call it.
pub(super) fn from_spec(spec: &OperationSpec) -> Option<Tool> {
    let returns_once = spec.op_type != OperationType::Subscription;
    let mut input = object_schema(&spec.input_schema).filter(|_| returns_once)?;
    key::describe(spec, &mut input);
    let name = server_name(spec).or_else(|| requested_name(spec));
    let name = name.unwrap_or_else(|| tool_name(spec.name.as_str()));
    let mut tool =
        Tool::new(name, description(spec), Arc::new(input)).with_annotations(annotations(spec));
    if let Some(title) = &spec.title {
        tool = tool.with_title(title);
    }
    let definition = definition(spec);
    if let Some(output) = output_schema(&spec.output_schema) {
        tool = tool.with_raw_output_schema(match definition {
            Some(_) => output,
            None => Arc::new(undeclared::allow_undeclared(&output)),
        });
    }
    if let Some(meta) = meta(&spec.error_schemas) {
        tool = tool.with_meta(meta);
    }
    Some(match definition {
        Some(definition) => with_definition(tool, definition, spec),
        None => tool,
    })
}

/// The definition of the tool by the upstream MCP server.
pub(super) fn definition(spec: &OperationSpec) -> Option<&Value> {
    spec.extensions.get(DEFINITION_EXTENSION)
}

/// The name that the upstream server gave the tool, if it is to be used.
pub(super) fn server_name(spec: &OperationSpec) -> Option<String> {
    let name = definition(spec)?.get("name")?.as_str()?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let is_usable =
        (1..=SERVER_NAME_LENGTH_LIMIT).contains(&name.len()) && name.bytes().all(is_word);
    is_usable.then(|| name.to_owned())
}

/// Takes over the members that the upstream server defines.
fn with_definition(mut tool: Tool, definition: &Value, spec: &OperationSpec) -> Tool {
    tool.title = member(definition, "title");
    tool.annotations = member(definition, "annotations");
    tool.icons = member(definition, "icons");
    if spec.description.is_none() && spec.error_schemas.is_empty() {
        tool.description = None;
    }
    let upstream: Option<Map<String, Value>> = member(definition, "_meta");
    if let Some(mut upstream) = upstream {
        upstream.remove(ERRORS_META_KEY);
        let meta = tool.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0.extend(upstream);
    }
    tool
}

fn member<T: DeserializeOwned>(definition: &Value, name: &str) -> Option<T> {
    serde_json::from_value(definition.get(name)?.clone()).ok()
}

/// The output schema, if it describes an object: it promises structured content, which must be one.
fn output_schema(schema: &Value) -> Option<Arc<Map<String, Value>>> {
    if output::is_content(schema) {
        return output::structured_schema(schema).cloned().map(Arc::new);
    }
    let members = schema_root::resolved(schema)?;
    let is_object = members.get("type").and_then(Value::as_str) == Some("object");
    is_object.then(|| Arc::new(members.into_owned()))
}

/// The name that an operation requests, if it is free. The names of the gateway tools are not: they
/// would change their meaning once there are enough operations for those to be listed.
fn requested_name(spec: &OperationSpec) -> Option<String> {
    let requested = spec.extensions.get(NAME_EXTENSION)?.as_str()?;
    let is_free = is_free_name(requested) && GatewayTool::from_name(requested).is_none();
    is_free.then(|| requested.to_owned())
}

/// The schema as that of an object, which clients require; `None` if it describes anything else.
fn object_schema(schema: &Value) -> Option<Map<String, Value>> {
    let mut members = match schema {
        Value::Bool(true) => Map::new(),
        schema => schema_root::resolved(schema)?.into_owned(),
    };
    match members.get("type") {
        None => {
            members.insert("type".to_owned(), "object".into());
            Some(members)
        }
        Some(Value::String(word)) if word == "object" => Some(members),
        Some(_) => None,
    }
}

fn description(spec: &OperationSpec) -> String {
    let what = spec.description.as_deref().or(spec.title.as_deref());
    let what = what.unwrap_or(spec.name.as_str()).trim_end();
    match errors_line(&spec.error_schemas) {
        Some(errors) => format!("{what}\n{errors}"),
        None => what.to_owned(),
    }
}

fn errors_line(definitions: &[ErrorDefinition]) -> Option<String> {
    let codes = definitions
        .iter()
        .map(|definition| definition.code.as_str());
    let named: Vec<&str> = codes.take(DESCRIBED_CODES_LIMIT).collect();
    let more = match definitions.len() - named.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!named.is_empty()).then(|| format!("Errors: {}{more}.", named.join(", ")))
}

fn meta(definitions: &[ErrorDefinition]) -> Option<MetaObject> {
    if definitions.is_empty() {
        return None;
    }
    let declared = serde_json::to_value(definitions).ok()?;
    Some(MetaObject(Map::from_iter([(
        ERRORS_META_KEY.to_owned(),
        declared,
    )])))
}

/// Hints only. The contract does not say whether a change is destructive, so every change may be.
fn annotations(spec: &OperationSpec) -> ToolAnnotations {
    let changes = spec.op_type == OperationType::Mutation;
    ToolAnnotations::new()
        .read_only(!changes)
        .destructive(changes)
        .idempotent(!changes || spec.idempotency.idempotent)
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::CallSettings;
    use panpan_failure::Code;
    use serde_json::json;

    use super::*;

    fn spec() -> OperationSpec {
        OperationSpec::new("fs/read".parse().unwrap(), OperationType::Query)
    }

    fn declaring(count: usize) -> Vec<ErrorDefinition> {
        let code = |number| Code::new(format!("CODE_{number}")).unwrap();
        (0..count)
            .map(|number| ErrorDefinition::new(code(number), "when"))
            .collect()
    }

    #[test]
    fn mutations_take_the_key_as_an_argument_unless_the_operator_disables_it() {
        for (op_type, key_argument, takes_key) in [
            (OperationType::Mutation, None, true),
            (OperationType::Mutation, Some(true), true),
            (OperationType::Mutation, Some(false), false),
            (OperationType::Query, None, false),
        ] {
            let mut spec = OperationSpec::new("fs/write".parse().unwrap(), op_type);
            let settings = CallSettings {
                key_argument,
                ..CallSettings::default()
            };
            settings.apply(&mut spec);
            let tool = serde_json::to_value(from_spec(&spec).unwrap()).unwrap();
            let argument = tool.pointer("/inputSchema/properties/idempotency_key");
            assert_eq!(
                argument.is_some(),
                takes_key,
                "{op_type:?} {key_argument:?}"
            );
        }
    }

    #[test]
    fn declared_failures_are_in_meta_and_in_one_line_of_the_description() {
        let mut spec = spec();
        spec.description = Some("Reads a file.".to_owned());
        spec.error_schemas = declaring(2);
        let tool = serde_json::to_value(from_spec(&spec).unwrap()).unwrap();
        assert_eq!(
            tool["description"],
            json!("Reads a file.\nErrors: CODE_0, CODE_1.")
        );
        assert_eq!(tool["_meta"][ERRORS_META_KEY][1]["code"], json!("CODE_1"));
        assert_eq!(tool["annotations"]["readOnlyHint"], json!(true));
    }

    #[test]
    fn an_operation_may_request_the_name_of_its_tool() {
        for (requested, expected) in [
            ("read_file", "read_file"),
            ("fs__write", "fs__read"),
            ("search", "fs__read"),
            ("schema", "fs__read"),
            ("call", "fs__read"),
            ("batch", "fs__read"),
        ] {
            let mut spec = spec();
            spec.extensions
                .insert(NAME_EXTENSION, json!(requested))
                .unwrap();
            assert_eq!(from_spec(&spec).unwrap().name, expected);
        }
    }

    #[test]
    fn a_tool_of_an_upstream_server_keeps_its_definition() {
        let shown = |definition: Value| {
            let mut spec = OperationSpec::new("fs/write".parse().unwrap(), OperationType::Mutation);
            spec.title = Some("A title".to_owned());
            spec.output_schema = json!({"type": "object", "properties": {"a": {}}});
            let kept = spec.extensions.insert(DEFINITION_EXTENSION, definition);
            kept.unwrap();
            serde_json::to_value(from_spec(&spec).unwrap()).unwrap()
        };
        let bare = shown(json!({"order": 0}));
        assert_eq!(bare["name"], "fs__write");
        for absent in ["title", "description", "annotations", "icons", "_meta"] {
            assert_eq!(bare.get(absent), None, "{absent}");
        }
        let written = json!({
            "name": "fs.write", "title": "Write", "annotations": {"destructiveHint": false},
            "icons": [{"src": "https://example.com/a.png"}], "_meta": {"example.com/a": 1},
        });
        let whole = shown(written.clone());
        for (name, value) in written.as_object().unwrap() {
            assert_eq!(&whole[name], value, "{name}");
        }
        assert_eq!(
            whole["outputSchema"],
            json!({"type": "object", "properties": {"a": {}}})
        );
        for unusable in ["", "a b", "日本", &"n".repeat(129)] {
            let shown = shown(json!({"name": unusable}));
            assert_eq!(shown["name"], "fs__write", "{unusable}");
        }
    }

    #[test]
    fn the_line_of_codes_is_limited() {
        let at = errors_line(&declaring(DESCRIBED_CODES_LIMIT)).unwrap();
        assert!(at.ends_with("CODE_11."), "{at}");
        let beyond = errors_line(&declaring(DESCRIBED_CODES_LIMIT + 1)).unwrap();
        assert!(beyond.ends_with("CODE_11 and 1 more."), "{beyond}");
    }

    #[test]
    fn only_schemas_of_objects_are_shown() {
        for (schema, input, output) in [
            (json!({"type": "object"}), true, true),
            (json!({}), true, false),
            (json!(true), true, false),
            (json!({"type": "string"}), false, false),
            (json!({"type": ["object", "null"]}), false, false),
        ] {
            let mut taking = spec();
            taking.input_schema = schema.clone();
            assert_eq!(from_spec(&taking).is_some(), input, "{schema}");
            let mut giving = spec();
            giving.output_schema = schema.clone();
            assert_eq!(
                from_spec(&giving).unwrap().output_schema.is_some(),
                output,
                "{schema}"
            );
        }
    }

    #[test]
    fn a_root_reference_is_resolved() {
        let person = json!({
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/Elicitor"}},
        });
        let definitions = json!({"Elicitor": person, "Alias": {"$ref": "#/$defs/Elicitor"}});
        let behind = json!({"$ref": "#/$defs/Alias", "$defs": definitions});
        let mut spec = spec();
        spec.input_schema = behind.clone();
        spec.output_schema = behind;
        let tool = serde_json::to_value(from_spec(&spec).unwrap()).unwrap();
        let (input, output) = (&tool["inputSchema"], &tool["outputSchema"]);
        assert_eq!(input["type"], "object");
        assert_eq!(input["required"], json!(["name"]));
        assert_eq!(output["type"], "object");
        assert!(output.get("$ref").is_none(), "{output}");
        for (content, fits) in [
            (json!({"name": "ann", "boss": {"name": "bob"}}), true),
            (json!({"name": "ann", "boss": {"name": 7}}), false),
            (json!({}), false),
        ] {
            assert_eq!(jsonschema::is_valid(output, &content), fits, "{content}");
            assert_eq!(jsonschema::is_valid(input, &content), fits, "{content}");
        }
    }

    #[test]
    fn a_subscription_is_not_a_tool() {
        let stream = OperationSpec::new("fs/watch".parse().unwrap(), OperationType::Subscription);
        assert!(from_spec(&stream).is_none());
    }

    #[test]
    fn a_mutation_takes_a_key_unless_it_has_an_argument_of_that_name() {
        let keyed = |spec: &OperationSpec| {
            let tool = serde_json::to_value(from_spec(spec).unwrap()).unwrap();
            tool["inputSchema"]["properties"]["idempotency_key"]["minLength"] == json!(1)
        };
        let mut change = OperationSpec::new("fs/write".parse().unwrap(), OperationType::Mutation);
        assert!(keyed(&change));
        change.input_schema = json!({"properties": {"idempotency_key": {"type": "number"}}});
        assert!(!keyed(&change));
        assert!(!keyed(&spec()));
    }
}
