//! An operation as a tool: its schemas, what it does, and the failures it declares.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::undeclared;
use panpan_failure::ErrorDefinition;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::general::General;
use super::name::{is_free_name, tool_name};
use super::{content, key, root};

/// The key in a tool's `_meta` that holds the declared failures.
pub const ERRORS_META_KEY: &str = "dev.panpan/errors";

/// The extension of an operation that names its tool, in place of the name made from its own. It has no
/// `__` in it, which is what stands for a slash in the others, and is not `search`, `schema`, `call` or
/// `batch`.
pub const NAME_EXTENSION: &str = "x-mcp-tool-name";

/// The extension of an operation with what the MCP server behind it says of its tool.
const DEFINITION_EXTENSION: &str = "x-mcp-definition";

/// The longest name of a tool that a server gave it.
const OWN_NAME_LENGTH_LIMIT: usize = 128;

/// The most codes named in a description; the others are only in `_meta`.
pub const DESCRIBED_CODES_LIMIT: usize = 12;

/// The tool for an operation; `None` when it cannot be called as one.
///
/// Left out are streams, which no tool can give, and operations whose input is not an object, since
/// the arguments of a tool always are. Who may call it is not asked here.
pub(super) fn of(spec: &OperationSpec) -> Option<Tool> {
    let answers = spec.op_type != OperationType::Subscription;
    let mut input = object_schema(&spec.input_schema).filter(|_| answers)?;
    key::describe(spec, &mut input);
    let name = own_name(spec).or_else(|| given_name(spec));
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
        Some(definition) => as_defined(tool, definition, spec),
        None => tool,
    })
}

/// What the MCP server behind an operation says of its tool.
pub(super) fn definition(spec: &OperationSpec) -> Option<&Value> {
    spec.extensions.get(DEFINITION_EXTENSION)
}

/// The name that the server gave the tool, where it is known by that.
pub(super) fn own_name(spec: &OperationSpec) -> Option<String> {
    let name = definition(spec)?.get("name")?.as_str()?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let is_usable = (1..=OWN_NAME_LENGTH_LIMIT).contains(&name.len()) && name.bytes().all(is_word);
    is_usable.then(|| name.to_owned())
}

/// The tool with everything that is not panpan's to say as its server wrote it.
fn as_defined(mut tool: Tool, definition: &Value, spec: &OperationSpec) -> Tool {
    tool.title = stated(definition, "title");
    tool.annotations = stated(definition, "annotations");
    tool.icons = stated(definition, "icons");
    if spec.description.is_none() && spec.error_schemas.is_empty() {
        tool.description = None;
    }
    let theirs: Option<Map<String, Value>> = stated(definition, "_meta");
    if let Some(mut theirs) = theirs {
        theirs.remove(ERRORS_META_KEY);
        let meta = tool.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0.extend(theirs);
    }
    tool
}

fn stated<T: DeserializeOwned>(definition: &Value, name: &str) -> Option<T> {
    serde_json::from_value(definition.get(name)?.clone()).ok()
}

/// An output schema says that there will be structured content, which has to be an object.
fn output_schema(schema: &Value) -> Option<Arc<Map<String, Value>>> {
    if content::is_declared(schema) {
        return content::structured_schema(schema);
    }
    let members = root::inlined(schema.as_object()?);
    let is_object = members.get("type").and_then(Value::as_str) == Some("object");
    is_object.then(|| Arc::new(members.into_owned()))
}

/// The name an operation asks for, if it may have it. Those of the tools that stand for all operations
/// would mean another tool as soon as there are enough operations for them to be shown.
fn given_name(spec: &OperationSpec) -> Option<String> {
    let given = spec.extensions.get(NAME_EXTENSION)?.as_str()?;
    let is_free = is_free_name(given) && General::from_name(given).is_none();
    is_free.then(|| given.to_owned())
}

/// The schema as one of an object, which is what clients insist on; `None` when it is of something else.
fn object_schema(schema: &Value) -> Option<Map<String, Value>> {
    let mut members = match schema {
        Value::Object(members) => root::inlined(members).into_owned(),
        Value::Bool(true) => Map::new(),
        _ => return None,
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

/// Hints only. Whether a change destroys something is not in the contract, so every change may.
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
    fn the_key_is_an_argument_of_changes_unless_the_operator_says_otherwise() {
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
            let tool = serde_json::to_value(of(&spec).unwrap()).unwrap();
            let argument = tool.pointer("/inputSchema/properties/idempotency_key");
            assert_eq!(
                argument.is_some(),
                takes_key,
                "{op_type:?} {key_argument:?}"
            );
        }
    }

    #[test]
    fn declared_failures_stand_in_meta_and_in_one_line() {
        let mut spec = spec();
        spec.description = Some("Reads a file.".to_owned());
        spec.error_schemas = declaring(2);
        let tool = serde_json::to_value(of(&spec).unwrap()).unwrap();
        assert_eq!(
            tool["description"],
            json!("Reads a file.\nErrors: CODE_0, CODE_1.")
        );
        assert_eq!(tool["_meta"][ERRORS_META_KEY][1]["code"], json!("CODE_1"));
        assert_eq!(tool["annotations"]["readOnlyHint"], json!(true));
    }

    #[test]
    fn an_operation_may_name_its_tool() {
        for (given, expected) in [
            ("read_file", "read_file"),
            ("fs__write", "fs__read"),
            ("search", "fs__read"),
            ("schema", "fs__read"),
            ("call", "fs__read"),
            ("batch", "fs__read"),
        ] {
            let mut spec = spec();
            spec.extensions
                .insert(NAME_EXTENSION, json!(given))
                .unwrap();
            assert_eq!(of(&spec).unwrap().name, expected);
        }
    }

    #[test]
    fn a_tool_of_a_server_is_shown_as_that_wrote_it() {
        let shown = |definition: Value| {
            let mut spec = OperationSpec::new("fs/write".parse().unwrap(), OperationType::Mutation);
            spec.title = Some("A title".to_owned());
            spec.output_schema = json!({"type": "object", "properties": {"a": {}}});
            let kept = spec.extensions.insert(DEFINITION_EXTENSION, definition);
            kept.unwrap();
            serde_json::to_value(of(&spec).unwrap()).unwrap()
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
    fn the_line_of_codes_ends_at_its_limit() {
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
            assert_eq!(of(&taking).is_some(), input, "{schema}");
            let mut giving = spec();
            giving.output_schema = schema.clone();
            assert_eq!(
                of(&giving).unwrap().output_schema.is_some(),
                output,
                "{schema}"
            );
        }
    }

    #[test]
    fn a_schema_behind_a_reference_is_shown_from_its_root() {
        let person = json!({
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/Person"}},
        });
        let definitions = json!({"Person": person, "Alias": {"$ref": "#/$defs/Person"}});
        let behind = json!({"$ref": "#/$defs/Alias", "$defs": definitions});
        let mut spec = spec();
        spec.input_schema = behind.clone();
        spec.output_schema = behind;
        let tool = serde_json::to_value(of(&spec).unwrap()).unwrap();
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
    fn a_stream_is_no_tool() {
        let stream = OperationSpec::new("fs/watch".parse().unwrap(), OperationType::Subscription);
        assert!(of(&stream).is_none());
    }

    #[test]
    fn a_tool_that_changes_something_takes_a_key_unless_it_has_an_argument_of_that_name() {
        let keyed = |spec: &OperationSpec| {
            let tool = serde_json::to_value(of(spec).unwrap()).unwrap();
            tool["inputSchema"]["properties"]["idempotency_key"]["minLength"] == json!(1)
        };
        let mut change = OperationSpec::new("fs/write".parse().unwrap(), OperationType::Mutation);
        assert!(keyed(&change));
        change.input_schema = json!({"properties": {"idempotency_key": {"type": "number"}}});
        assert!(!keyed(&change));
        assert!(!keyed(&spec()));
    }
}
