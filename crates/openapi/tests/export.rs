//! Checks an exported document with a walk that is independent of the export.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use panpan_contract::operation::OperationSpec;
use panpan_openapi::{DocumentInfo, export};
use serde_json::{Map, Value, json};

const ABOUT: DocumentInfo<'_> = DocumentInfo {
    title: "files",
    version: "2.1.0",
    server: Some("http://127.0.0.1:7077"),
};

fn specs() -> Vec<OperationSpec> {
    let schema = "https://json-schema.org/draft/2020-12/schema";
    let written = json!([
        {
            "name": "fs/read", "op_type": "query", "title": "Read", "description": "Gives the text.",
            "input_schema": {
                "$schema": schema, "$id": "urn:example:input",
                "type": "object", "required": ["path"], "properties": {"path": {"$ref": "#/$defs/Path"}},
                "$defs": {"Path": {"type": "string", "pattern": "^/"}},
            },
            "output_schema": {"type": "string"},
            "error_schemas": [
                {"code": "NO_FILE", "description": "None there.", "http_status": 404,
                 "schema": {"type": "object", "required": ["at"], "properties": {"at": {"$ref": "#/$defs/At"}},
                            "$defs": {"At": {"type": "string", "maxLength": 3}}}},
                {"code": "NO_FOLDER", "description": "No folder.", "http_status": 404},
                {"code": "HTTP_429", "description": "Too many."},
                {"code": "ODD", "description": "Odd.", "http_status": "4XX"},
                {"code": "OTHER", "description": "Anything.", "http_status": "default"},
            ],
            "access_control": {"required_scopes": ["fs"], "required_scopes_any": ["a", "b"]},
        },
        {
            "name": "fs/write", "op_type": "mutation", "idempotency": {"key": "required"},
            "input_schema": {
                "$ref": "#/$defs/Path",
                "$defs": {"Path": {"$anchor": "path", "properties": {"inner": {"$ref": "#path"}}}},
            },
            "output_schema": {"properties": {"children": {"items": {"$ref": "#"}}, "name": {"type": "string"}}},
            "error_schemas": [{"code": "NO_FOLDER", "description": "No folder.", "http_status": 404}],
        },
        {
            "name": "fs/write.all", "op_type": "mutation",
            "idempotency": {"key": "required", "by_input": {"pointer": "/a", "idempotent_values": [1]}},
            "input_schema": {"$dynamicAnchor": "node", "type": "object",
                             "properties": {"next": {"$dynamicRef": "#node"}}},
        },
        {"name": "fs.write/all", "op_type": "query", "input_schema": false},
        {"name": "fs/watch", "op_type": "subscription", "output_schema": {"type": "integer"}},
        {"name": "fs/hidden", "op_type": "query", "visibility": "internal"},
    ]);
    serde_json::from_value(written).unwrap()
}

fn document() -> Value {
    export(specs().iter(), &ABOUT)
}

/// Every object of the document.
fn objects(value: &Value) -> Vec<&Map<String, Value>> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                found.push(members);
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// The target of a reference as a standalone schema.
fn extracted(document: &Value, reference: &str) -> Value {
    let text = document["components"]["schemas"].to_string();
    let definitions = text.replace("#/components/schemas/", "#/$defs/");
    let definitions: Value = serde_json::from_str(&definitions).unwrap();
    let reference = reference.replace("#/components/schemas/", "#/$defs/");
    json!({"$ref": reference, "$defs": definitions})
}

fn operation<'a>(document: &'a Value, name: &str) -> &'a Value {
    &document["paths"][format!("/operations/{name}")]["post"]
}

/// A response, with its reference resolved.
fn response_of<'a>(document: &'a Value, name: &str, status: &str) -> &'a Value {
    let written = &operation(document, name)["responses"][status];
    match written["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => written,
    }
}

/// The declared codes of a response; the last choice is for undeclared codes.
fn codes(document: &Value, name: &str, status: &str) -> Vec<String> {
    let schema = &response_of(document, name, status)["content"]["application/json"]["schema"];
    let mut choices = schema["oneOf"].as_array().unwrap().clone();
    assert!(choices.pop().unwrap()["not"].is_object());
    let code = |choice: &Value| {
        let body = document
            .pointer(&choice["$ref"].as_str().unwrap()[1..])
            .unwrap();
        body["properties"]["code"]["const"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    choices.iter().map(code).collect()
}

#[test]
fn every_reference_has_a_target() {
    let document = document();
    let mut found = 0;
    for object in objects(&document) {
        let Some(reference) = object.get("$ref").and_then(Value::as_str) else {
            continue;
        };
        found += 1;
        let fragment = reference.strip_prefix('#').unwrap();
        let is_anchor = |object: &Map<_, _>| object.get("$anchor").is_some_and(|it| it == fragment);
        let is_there = document.pointer(fragment).is_some();
        assert!(
            is_there || objects(&document).into_iter().any(is_anchor),
            "{reference}"
        );
    }
    assert!(found > 50, "{found}");
}

#[test]
fn every_schema_compiles() {
    let document = document();
    for name in document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
    {
        let schema = extracted(&document, &format!("#/components/schemas/{name}"));
        let built = jsonschema::draft202012::options().build(&schema);
        assert!(built.is_ok(), "{name}: {}", built.unwrap_err());
    }
}

#[test]
fn an_exported_schema_accepts_the_same_values() {
    let document = document();
    for spec in specs() {
        let operation = operation(&document, spec.name.as_str());
        let request = &operation["requestBody"]["content"]["application/json"]["schema"];
        for instance in [
            json!({"path": "/etc"}),
            json!({"path": "etc"}),
            json!({"inner": {"inner": 5}}),
            json!({"next": {"next": 5}}),
            json!({"next": {"next": {}}}),
            json!(5),
        ] {
            let Some(reference) = request["$ref"].as_str() else {
                assert_eq!(spec.name.as_str(), "fs/hidden");
                continue;
            };
            assert_eq!(
                jsonschema::is_valid(&extracted(&document, reference), &instance),
                jsonschema::is_valid(&spec.input_schema, &instance),
                "{} {instance}",
                spec.name
            );
        }
    }
}

#[test]
fn every_external_operation_is_exported_once() {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let mut ids: Vec<_> = paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            "batch",
            "call",
            "fs.write/all",
            "fs/read",
            "fs/watch",
            "fs/write",
            "fs/write.all",
            "schema",
            "search",
            "subscribe"
        ]
    );
}

#[test]
fn members_required_by_openapi_are_present() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(
        document["info"],
        json!({"title": "files", "version": "2.1.0"})
    );
    assert_eq!(document["servers"][0]["url"], "http://127.0.0.1:7077");
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it))
    };
    for (kind, members) in document["components"].as_object().unwrap() {
        for name in members.as_object().unwrap().keys() {
            assert!(is_name(name), "{kind}/{name}");
        }
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        assert!(path.starts_with('/'), "{path}");
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let reported = response.get("$ref").or_else(|| response.get("description"));
                assert!(reported.is_some_and(Value::is_string), "{path} {status}");
            }
            for requirement in operation["security"].as_array().unwrap() {
                let schemes = requirement.as_object().unwrap().keys();
                let known = &document["components"]["securitySchemes"];
                assert!(
                    schemes.into_iter().all(|it| known.get(it).is_some()),
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn every_failure_is_listed_under_its_status() {
    let document = document();
    for (name, status, expected) in [
        ("fs/read", "404", &["NO_FILE", "NO_FOLDER", "NOT_FOUND"][..]),
        ("fs/read", "429", &["HTTP_429", "ERR_RATE_LIMITED"]),
        ("fs/read", "4XX", &["ODD"]),
        ("fs/read", "default", &["OTHER"]),
        ("fs/read", "401", &["FORBIDDEN"]),
        ("fs/read", "403", &["FORBIDDEN", "INVALID_REQUEST"]),
        ("fs/read", "413", &["ERR_JSON_SIZE_EXCEEDED"]),
        (
            "fs/read",
            "422",
            &["INVALID_INPUT", "ERR_JSON_DEPTH_EXCEEDED"],
        ),
        ("fs/read", "500", &["INTERNAL"]),
        ("fs/read", "503", &["ERR_OVERLOADED", "ERR_CIRCUIT_OPEN"]),
        ("fs/read", "504", &["TIMEOUT"]),
        ("fs/write", "404", &["NO_FOLDER", "NOT_FOUND"]),
        (
            "fs/write",
            "409",
            &["ERR_IDEMPOTENCY_IN_FLIGHT", "ERR_OUTCOME_UNKNOWN"],
        ),
        (
            "fs/write",
            "422",
            &[
                "INVALID_INPUT",
                "ERR_JSON_DEPTH_EXCEEDED",
                "ERR_IDEMPOTENCY_KEY_REUSED",
            ],
        ),
        ("fs/watch", "404", &["NOT_FOUND"]),
        ("fs/watch", "401", &["FORBIDDEN"]),
        ("fs/watch", "403", &["INVALID_REQUEST"]),
    ] {
        assert_eq!(codes(&document, name, status), expected, "{name} {status}");
    }
}

/// Checks which bodies the response of a status accepts.
fn check_accepted(name: &str, status: &str, bodies: &[(&str, Value, bool, bool)]) {
    let document = document();
    let schema = &response_of(&document, name, status)["content"]["application/json"]["schema"];
    let text = schema.to_string();
    let text = text.replace("#/components/schemas/", "#/$defs/");
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    let reference = document["components"]["schemas"].to_string();
    let reference = reference.replace("#/components/schemas/", "#/$defs/");
    schema["$defs"] = serde_json::from_str(&reference).unwrap();
    for (code, details, is_defined, expected) in bodies {
        let body = json!({
            "code": code, "message": "m", "retryable": false, "details": details,
            "panpan": {"defined": is_defined},
        });
        let found = jsonschema::is_valid(&schema, &body);
        assert_eq!(found, *expected, "{name} {status}: {body}");
    }
}

#[test]
fn a_response_accepts_undeclared_failures() {
    let fitting = json!({"at": "a/b"});
    let other = json!({"at": "a/b/c"});
    check_accepted(
        "fs/read",
        "404",
        &[
            ("NO_FILE", fitting, true, true),
            // Details that do not match are delivered, but not marked as defined.
            ("NO_FILE", other.clone(), false, true),
            ("NO_FILE", other.clone(), true, false),
            ("HTTP_404", other.clone(), false, true),
            ("NOT_FOUND", other, false, true),
        ],
    );
    let undeclared = json!({"$ref": "#/components/responses/Undeclared"});
    let document = document();
    assert_eq!(
        operation(&document, "fs/write")["responses"]["default"],
        undeclared
    );
    assert_eq!(
        document["paths"]["/call"]["post"]["responses"]["default"],
        undeclared
    );
}

#[test]
fn a_range_accepts_the_codes_of_its_statuses() {
    let ranged: OperationSpec = serde_json::from_value(json!({
        "name": "a/b", "op_type": "query",
        "error_schemas": [
            {"code": "HTTP_4XX", "description": "d", "http_status": "4XX", "schema": {"required": ["a"]}},
            {"code": "HTTP_DEFAULT", "description": "d", "http_status": "default"},
        ],
    }))
    .unwrap();
    let document = export([&ranged].into_iter(), &ABOUT);
    for (component, member, code, expected) in [
        ("a.b.HTTP_4XX", "code", "HTTP_418", true),
        ("a.b.HTTP_4XX", "code", "HTTP_503", false),
        ("a.b.HTTP_4XX.problem", "type", "/errors/HTTP_418", true),
        ("a.b.HTTP_DEFAULT", "code", "HTTP_503", true),
        ("a.b.HTTP_DEFAULT", "code", "NOT_FOUND", false),
    ] {
        let schema = extracted(&document, &format!("#/components/schemas/{component}"));
        let mut body = json!({
            "message": "m", "retryable": false, "details": {"a": 1}, "panpan": {"defined": true},
            "title": "t", "status": 418, "detail": "d",
        });
        body[member] = code.into();
        assert_eq!(
            jsonschema::is_valid(&schema, &body),
            expected,
            "{component} {code}"
        );
    }
}

#[test]
fn failures_of_one_status_have_a_discriminator() {
    let document = document();
    let content = &response_of(&document, "fs/read", "404")["content"];
    for (media_type, member, value) in [
        ("application/json", "code", "NO_FILE"),
        ("application/problem+json", "type", "/errors/NO_FILE"),
    ] {
        let discriminator = &content[media_type]["schema"]["discriminator"];
        assert_eq!(discriminator["propertyName"], member);
        let reference = discriminator["mapping"][value].as_str().unwrap();
        let schema = extracted(&document, reference);
        let body = |at: &str, value: &str| {
            let mut body = json!({
                "code": "", "message": "m", "retryable": false, "details": {"at": at},
                "type": "", "title": "t", "status": 404, "detail": "d", "panpan": {"defined": true},
            });
            body[member] = value.into();
            body
        };
        assert!(jsonschema::is_valid(&schema, &body("a/b", value)));
        assert!(!jsonschema::is_valid(&schema, &body("a/b/c", value)));
        assert!(!jsonschema::is_valid(&schema, &body("a/b", "OTHER")));
    }
}

#[test]
fn keys_tokens_and_streams_are_exported() {
    let document = document();
    let key = |name: &str| {
        let parameters = operation(&document, name)["parameters"].as_array().unwrap();
        let key = parameters.iter().find(|it| it["name"] == "Idempotency-Key");
        key.map(|it| it["required"] == true)
    };
    assert_eq!(key("fs/write"), Some(true));
    assert_eq!(key("fs/write.all"), Some(false));
    assert_eq!(key("fs/read"), None);
    let security = |name: &str| operation(&document, name)["security"].clone();
    assert_eq!(
        security("fs/read"),
        json!([{"bearer": ["fs", "a"]}, {"bearer": ["fs", "b"]}])
    );
    assert_eq!(security("fs/write"), json!([{}, {"bearer": []}]));
    let watch = operation(&document, "fs/watch");
    assert_eq!(watch["x-panpan-op-type"], "subscription");
    let items = &watch["responses"]["200"]["content"]["text/event-stream"]["schema"];
    let items = items["anyOf"][0]["$ref"].as_str().unwrap();
    let schema = extracted(&document, items);
    assert!(jsonschema::is_valid(&schema, &json!(1)) && !jsonschema::is_valid(&schema, &json!("")));
}

#[test]
fn a_small_operation_matches_the_golden_file() {
    let spec: OperationSpec = serde_json::from_value(json!({
        "name": "demo/divide", "op_type": "query", "title": "Divide",
        "input_schema": {"type": "object"}, "output_schema": {"type": "number"},
        "error_schemas": [{"code": "DIVISION_BY_ZERO", "description": "Divided by zero.", "http_status": 422,
                           "schema": {"type": "object", "properties": {"dividend": {"type": "number"}}}}],
    }))
    .unwrap();
    let about = DocumentInfo {
        server: None,
        ..ABOUT
    };
    let document = export([&spec].into_iter(), &about);
    let small = json!({
        "operation": document["paths"]["/operations/demo/divide"]["post"],
        "failure": document["components"]["schemas"]["demo.divide.DIVISION_BY_ZERO"],
        "problem": document["components"]["schemas"]["demo.divide.DIVISION_BY_ZERO.problem"],
        "details": document["components"]["schemas"]["demo.divide.DIVISION_BY_ZERO.details"],
        "shared": document["components"]["responses"]["Status404"],
    });
    let written = serde_json::to_string_pretty(&small).unwrap() + "\n";
    assert_eq!(written, include_str!("export.golden.json"), "{written}");
}

/// Declared failures survive an export and an import that knows only the document.
#[test]
fn declared_failures_survive_an_export_and_an_import() {
    let specs = specs();
    let import = panpan_openapi::import(&document(), &panpan_openapi::ImportOptions::new("again"));
    let import = import.unwrap();
    assert_eq!(import.warnings, []);
    let mut compared = 0;
    for spec in specs.iter().filter(|it| it.name.as_str() != "fs/hidden") {
        let name = format!("again/{}", spec.name);
        let again = import.operations.iter().find(|it| it.name.as_str() == name);
        let again = again.unwrap_or_else(|| panic!("{name} is lost"));
        assert_eq!(again.error_schemas, spec.error_schemas, "{name}");
        assert_eq!(again.op_type, spec.op_type, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 5);
}

#[test]
fn the_document_as_text_is_the_same() {
    let about = DocumentInfo {
        server: Some("https://panpan.example.com"),
        ..ABOUT
    };
    for about in [ABOUT, about] {
        let text = panpan_openapi::export_text(specs().iter(), &about);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, export(specs().iter(), &about));
    }
}
