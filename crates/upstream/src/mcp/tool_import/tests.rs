//! Listed tools, and the operations and warnings that they become.

use super::*;

fn imported(tools: Value) -> (Vec<ImportedTool>, Vec<String>) {
    let (tools_imported, warnings) =
        operations("files", tools.as_array().unwrap(), true, McpNames::Own);
    (
        tools_imported,
        warnings.iter().map(ToString::to_string).collect(),
    )
}

fn one(tool: Value) -> OperationSpec {
    let (mut tools_imported, warnings) = imported(json!([tool]));
    assert_eq!(warnings, Vec::<String>::new());
    tools_imported.remove(0).spec
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

#[test]
fn annotations_determine_the_operation_type() {
    for (annotations, op_type, idempotent) in [
        (json!({"readOnlyHint": true}), OperationType::Query, false),
        (
            json!({"idempotentHint": true}),
            OperationType::Mutation,
            true,
        ),
        (
            json!({"readOnlyHint": false}),
            OperationType::Mutation,
            false,
        ),
        (
            json!({"readOnlyHint": "yes"}),
            OperationType::Mutation,
            false,
        ),
        (json!(null), OperationType::Mutation, false),
    ] {
        let mut listed = tool("x");
        listed["annotations"] = annotations.clone();
        let spec = one(listed);
        let found = (spec.op_type, spec.idempotency.idempotent);
        assert_eq!(found, (op_type, idempotent), "{annotations}");
    }
}

#[test]
fn title_description_schemas_and_failures_are_imported() {
    let spec = one(json!({
        "name": "read file",
        "title": "Read",
        "description": "Reads a file.\nErrors: NO_FILE.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "idempotency_key": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "_meta": {ERRORS_META_KEY: [{"code": "NO_FILE", "description": "None there", "category": "RESOURCE"}]},
    }));
    assert_eq!(spec.name.as_str(), "files/read_file");
    assert_eq!(
        spec.extensions.get(TOOL_EXTENSION),
        Some(&json!("read file"))
    );
    assert_eq!(spec.title.as_deref(), Some("Read"));
    assert_eq!(spec.description.as_deref(), Some("Reads a file."));
    assert_eq!(spec.error_schemas[0].code.as_str(), "NO_FILE");
    let properties = spec.input_schema["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["path"]);
    assert_eq!(spec.output_schema["properties"]["text"]["type"], "string");
}

#[test]
fn the_definition_of_a_tool_is_kept_unchanged() {
    let listed = json!([
        {
            "name": "z.last", "title": "Z", "inputSchema": {"type": "object"},
            "annotations": {"destructiveHint": false, "openWorldHint": true},
            "icons": [{"src": "https://example.com/z.png"}], "_meta": {"example.com/a": 1},
        },
        {"name": "a first", "inputSchema": {"type": "object"}},
    ]);
    let (tools_imported, _) = imported(listed.clone());
    let definition = |at: usize| {
        tools_imported[at]
            .spec
            .extensions
            .get(DEFINITION_EXTENSION)
            .unwrap()
    };
    assert_eq!(definition(0), &json!({"order": 1, "name": "a first"}));
    let mut last = listed[0].clone();
    last.as_object_mut().unwrap().remove("inputSchema");
    last["order"] = json!(0);
    assert_eq!(definition(1), &last);
    let tools = listed.as_array().unwrap();
    let (tools_imported, _) = operations("files", tools, false, McpNames::Prefixed);
    let definition = tools_imported[0].spec.extensions.get(DEFINITION_EXTENSION);
    assert_eq!(definition, Some(&json!({"order": 1})));
}

#[test]
fn a_required_key_argument_is_kept() {
    let mut listed = tool("pay");
    listed["inputSchema"]["properties"] = json!({"idempotency_key": {"type": "string"}});
    listed["inputSchema"]["required"] = json!(["idempotency_key"]);
    let spec = one(listed.clone());
    assert!(spec.input_schema["properties"]["idempotency_key"].is_object());
    listed["inputSchema"]["required"] = json!([]);
    let (tools_imported, _) = operations("files", &[listed], false, McpNames::Prefixed);
    let schema = &tools_imported[0].spec.input_schema;
    assert!(schema["properties"]["idempotency_key"].is_object());
}

#[test]
fn unusable_parts_are_left_out_with_a_warning() {
    let broken = |member: &str, schema: Value| {
        let mut listed = tool("x");
        listed[member] = schema;
        json!([listed])
    };
    let errors = |errors: Value| {
        let mut listed = tool("x");
        listed["_meta"] = json!({ERRORS_META_KEY: errors});
        json!([listed])
    };
    let wrong = json!({"type": "object", "properties": {"a": {"type": 7}}});
    let remote = json!({"type": "object", "$ref": "http://127.0.0.1:1/schema.json"});
    let fact =
        |category: &str| json!([{"code": "NO_FILE", "description": "", "category": category}]);
    let mut other = tool("y");
    other["_meta"] = json!({ERRORS_META_KEY: fact("VALIDATION")});
    let mut first = tool("x");
    first["_meta"] = json!({ERRORS_META_KEY: fact("RESOURCE")});
    for (tools, operations, warning) in [
        (json!([{"inputSchema": {}}]), 0, "has no name"),
        (json!([7]), 0, "has no name"),
        (
            broken("_meta", json!({REQUIRES_TASK_META_KEY: true})),
            0,
            "can only be called as a task",
        ),
        (json!([tool("x"), tool("x")]), 1, "is listed twice"),
        (json!([{"name": "x"}]), 1, "has no input schema"),
        (
            broken("inputSchema", wrong.clone()),
            1,
            "the schema of the input does not compile",
        ),
        (
            broken("inputSchema", remote),
            1,
            "the schema of the input does not compile",
        ),
        (
            broken("outputSchema", wrong.clone()),
            1,
            "the schema of the output does not compile",
        ),
        (errors(json!([7])), 1, "a published failure is invalid"),
        (
            errors(json!([{"code": "TIMEOUT", "description": ""}])),
            1,
            "failure TIMEOUT is left out",
        ),
        (
            errors(json!([{"code": "NO_FILE", "description": "", "schema": wrong}])),
            1,
            "the schema of NO_FILE does not compile",
        ),
        (
            json!([first, other]),
            2,
            "failure NO_FILE is left out: its category is",
        ),
    ] {
        let (tools_imported, warnings) = imported(tools.clone());
        assert_eq!(tools_imported.len(), operations, "{tools}");
        assert!(
            warnings.len() == 1 && warnings[0].contains(warning),
            "{tools}: {warnings:?}"
        );
        assert!(
            registry(&tools_imported)
                .unwrap()
                .schema_problems()
                .is_empty()
        );
    }
}

#[test]
fn failures_beyond_the_limit_are_not_imported() {
    for (count, read, warned) in [
        (ERRORS_LIMIT, ERRORS_LIMIT, 0),
        (ERRORS_LIMIT + 1, ERRORS_LIMIT, 1),
    ] {
        let errors: Vec<Value> = (0..count)
            .map(|number| json!({"code": format!("CODE_{number}"), "description": ""}))
            .collect();
        let mut listed = tool("x");
        listed["_meta"] = json!({ERRORS_META_KEY: errors});
        let (tools_imported, warnings) = imported(json!([listed]));
        assert_eq!(
            (tools_imported[0].spec.error_schemas.len(), warnings.len()),
            (read, warned)
        );
    }
}
