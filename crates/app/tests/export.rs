//! `panpan export`: the documents, their destinations, and errors.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::Output;

use panpan_contract::contract_file::{self, ContractFile, FILE_BYTES_LIMIT};
use panpan_testkit::{Folder, panpan, run};
use serde_json::{Value, json};

fn export(arguments: &[&str]) -> Output {
    run(panpan(["export"]).args(arguments), b"")
}

fn path(folder: &Folder, name: &str) -> String {
    folder.path(name).display().to_string()
}

fn printed(arguments: &[&str]) -> Value {
    let output = export(arguments);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), messages.as_str()), (Some(0), ""));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Two operations that share a definition; one is internal.
fn contract() -> Value {
    let failure = json!({
        "code": "NO_FILE", "description": "None there.", "http_status": 404,
        "schema": {"type": "object", "properties": {"path": {"$ref": "#/$defs/Path"}}},
    });
    json!({
        "panpan": "1",
        "service": {"name": "files", "version": "2.1.0"},
        "operations": [
            {
                "name": "fs/read", "op_type": "query",
                "input_schema": {"type": "object", "properties": {"path": {"$ref": "#/$defs/Path"}}},
                "error_schemas": [failure],
            },
            {"name": "fs/hidden", "op_type": "query", "visibility": "internal"},
        ],
        "$defs": {"Path": {"type": "string", "pattern": "^/"}},
    })
}

fn tool_names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn every_document_contains_the_built_in_operations() {
    let contract = printed(&["contract"]);
    let file = contract_file::check(contract.to_string().as_bytes()).unwrap();
    assert_eq!(file.service.name, "panpan");
    let (openapi, mcp) = (printed(&["openapi"]), printed(&["mcp"]));
    assert_eq!(openapi["openapi"], "3.1.0");
    assert_eq!(openapi["info"]["version"], env!("CARGO_PKG_VERSION"));
    let tools = tool_names(&mcp);
    for name in ["demo/divide", "json/transform", "calls/get"] {
        assert!(
            file.operations
                .iter()
                .any(|spec| spec.name.as_str() == name),
            "{name}"
        );
        assert!(
            openapi["paths"]
                .get(format!("/operations/{name}"))
                .is_some(),
            "{name}"
        );
        assert!(tools.contains(&name.replace('/', "__").as_str()), "{name}");
    }
    // A subscription is an operation but not a tool.
    assert!(openapi["paths"].get("/operations/demo/count").is_some());
    assert!(!tools.contains(&"demo__count"));
}

#[test]
fn a_contract_file_is_exported_with_its_shared_definitions() {
    let folder = Folder::new();
    let path = folder.file("panpan.contract.json", contract().to_string());
    let again = printed(&["contract", "--contract", &path]);
    let read = |value: &Value| contract_file::check(value.to_string().as_bytes()).unwrap();
    assert_eq!(read(&again), read(&contract()));

    let openapi = printed(&["openapi", "--contract", &path]);
    assert_eq!(
        openapi["info"],
        json!({"title": "files", "version": "2.1.0"})
    );
    assert!(openapi["paths"].get("/operations/fs/hidden").is_none());
    let responses = &openapi["paths"]["/operations/fs/read"]["post"]["responses"];
    assert!(responses.get("404").is_some(), "{responses}");
    let patterns = |document: &Value| document.to_string().matches("\"^/\"").count();
    assert!(patterns(&openapi) >= 2, "the input's and the failure's");

    let mcp = printed(&["mcp", "--contract", &path]);
    assert_eq!(tool_names(&mcp), ["fs__read"]);
    let tool = &mcp["tools"][0];
    assert_eq!(patterns(&tool["inputSchema"]), 1, "{tool}");
    assert_eq!(tool["_meta"]["dev.panpan/errors"][0]["code"], "NO_FILE");
}

#[test]
fn a_document_is_written_to_the_output_file() {
    let folder = Folder::new();
    let path = path(&folder, "tools.json");
    let output = export(&["mcp", "-o", &path]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let written: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(written, printed(&["mcp"]));
}

#[test]
fn an_exported_contract_can_be_exported_again() {
    let folder = Folder::new();
    let path = path(&folder, ContractFile::FILE_NAME);
    assert_eq!(
        export(&["contract", "--output", &path]).status.code(),
        Some(0)
    );
    for format in ["contract", "openapi", "mcp"] {
        assert_eq!(
            printed(&[format, "--contract", &path]),
            printed(&[format]),
            "{format}"
        );
    }
}

#[test]
fn an_invalid_contract_is_reported_with_its_file_its_location_and_a_hint() {
    let folder = Folder::new();
    let mut unknown = contract();
    unknown["operations"][0]["retires"] = json!(3);
    let many: Vec<Value> = (0..25).map(|_| json!({})).collect();
    let nothing = path(&folder, "nothing.json");
    let cases = [
        (
            folder.file("broken.json", "{\n \"panpan\": }"),
            "line 2, column 12",
        ),
        (folder.file("list.json", "[]"), "list.json"),
        (
            folder.file("unknown.json", unknown.to_string()),
            "at /operations/0/retires",
        ),
        (
            folder.file(
                "many.json",
                json!({"panpan": "1", "operations": many}).to_string(),
            ),
            "more",
        ),
        (
            folder.file("large.json", vec![b' '; FILE_BYTES_LIMIT + 1]),
            "bytes",
        ),
        (nothing, "cannot read"),
        (path(&folder, ""), "cannot read"),
    ];
    for (path, part) in cases {
        let output = export(&["openapi", "--contract", &path]);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{messages}"
        );
        assert!(
            messages.starts_with("panpan: ") && messages.contains(&path),
            "{messages}"
        );
        assert!(
            messages.contains(part) && messages.contains("\nhint: "),
            "{messages}"
        );
    }
}

#[test]
fn an_unwritable_file_and_an_unknown_format_are_refused() {
    let folder = Folder::new();
    let path = path(&folder, "no/such/folder.json");
    for (arguments, part) in [
        (vec!["mcp", "-o", &path], "cannot write"),
        (vec!["swagger"], "openapi"),
        (vec![], "FORMAT"),
    ] {
        let output = export(&arguments);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{messages}"
        );
        assert!(messages.contains(part), "{messages}");
    }
}
