//! Errors of `panpan import openapi`.

use panpan_contract::contract_file::FILE_BYTES_LIMIT;
use panpan_openapi::DOCUMENT_BYTES_LIMIT;
use serde_json::json;

use crate::folder::{Folder, SHOP, shop, stderr};

#[test]
fn an_error_names_the_file_and_has_a_hint() {
    let remote = SHOP.replace("{description: Gone.}", "{$ref: 'gone.yaml#/Gone'}");
    let folder = shop()
        .with("broken.json", "{\n \"openapi\": \"3.1.0\"\n \"info\": 1}")
        .with(
            "broken.yaml",
            "openapi: 3.1.0\ninfo:\n  title: [Shop\npaths: {}\n",
        )
        .with("swagger.json", r#"{"swagger": "2.0"}"#)
        .with("future.json", r#"{"openapi": "4.0.0", "paths": {}}"#)
        .with("remote.yaml", remote)
        .with("contract.json", r#"{"panpan": "1", "operations": []}"#)
        .with("text.txt", "hello")
        .with("empty.yaml", " \n")
        .with("large.json", vec![b'{'; DOCUMENT_BYTES_LIMIT + 1])
        .with(
            "unmatched.yaml",
            "operations: [{match: shop/getorder, hide: true}]",
        )
        .with(
            "unmatched-too.yaml",
            "operations: [{match: 'shops/*', hide: true}]",
        )
        .with("misspelt.yaml", "operation: []");
    for (arguments, parts) in [
        (
            "missing.yaml",
            ["cannot read missing.yaml", "or - for stdin"],
        ),
        (".", ["cannot read .: ", "name an OpenAPI document"]),
        ("broken.json", ["line 3, column 2", "fix the document"]),
        (
            "broken.yaml",
            ["neither JSON nor YAML: ", "fix the document"],
        ),
        ("broken.yaml", ["line 4", "fix the document"]),
        (
            "swagger.json",
            ["swagger.json is Swagger 2.0", "swagger2openapi"],
        ),
        (
            "future.json",
            ["OpenAPI \"4.0.0\" is not supported", "check that"],
        ),
        (
            "remote.yaml",
            ["\"gone.yaml#/Gone\" at /paths/", "npx @redocly/cli bundle"],
        ),
        (
            "contract.json",
            ["is already a contract file", "panpan serve --openapi"],
        ),
        ("text.txt", ["has no member \"openapi\"", "check that"]),
        (
            "empty.yaml",
            ["empty.yaml is empty", "name an OpenAPI document"],
        ),
        ("large.json", ["bytes", "fix the document"]),
        ("-", ["stdin is empty", "name an OpenAPI document"]),
        (
            "shop.yaml -o shop.yaml",
            ["would overwrite the input shop.yaml", "-o"],
        ),
        (
            "shop.yaml -o ./unmatched.yaml --overlay unmatched.yaml",
            ["would overwrite the input unmatched.yaml", "-o"],
        ),
        (
            "shop.yaml -o no/folder.json",
            ["cannot write no/folder.json", "in an existing folder"],
        ),
        (
            "shop.yaml -o .",
            ["cannot write .: ", "in an existing folder"],
        ),
        (
            "shop.yaml --namespace a/b",
            ["\"a/b\" is not a valid namespace", "--namespace"],
        ),
        (
            "shop.yaml --overlay missing.yaml",
            ["cannot read missing.yaml", "overlay"],
        ),
        (
            "shop.yaml --overlay unmatched.yaml",
            [
                "/operations/0/match: no operation",
                "did you mean shop/getOrder?",
            ],
        ),
        (
            "shop.yaml --overlay unmatched-too.yaml",
            ["/operations/0/match: no operation", "correct or remove"],
        ),
        (
            "shop.yaml --overlay misspelt.yaml",
            ["unknown field `operation`", "an overlay has a list"],
        ),
    ] {
        let output = folder.import(arguments);
        let text = stderr(&output);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments}: {text}"
        );
        assert!(text.starts_with("panpan: "), "{arguments}: {text}");
        let (sentence, hint) = text.split_once("\n\nhint: ").unwrap();
        assert!(sentence.contains(parts[0]), "{arguments}: {text}");
        assert!(hint.contains(parts[1]), "{arguments}: {text}");
        assert_eq!(folder.read("shop.yaml"), SHOP.as_bytes());
    }
}

#[test]
fn a_contract_above_the_size_limit_is_not_written() {
    // A shared response is once in the document, but in the contract once per operation.
    let import = |length: usize| {
        let operation =
            json!({"get": {"responses": {"404": {"$ref": "#/components/responses/Long"}}}});
        let document = json!({
            "openapi": "3.1.0", "info": {"title": "Long"}, "paths": {"/a": operation, "/b": operation},
            "components": {"responses": {"Long": {"description": "x".repeat(length)}}},
        });
        let folder = Folder::new().with("long.json", document.to_string());
        (folder.import("long.json -o contract.json"), folder)
    };
    let fixed = import(1).1.read("contract.json").len() - 2;
    let length = (FILE_BYTES_LIMIT - fixed) / 2;
    let (output, folder) = import(length);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(folder.read("contract.json").len(), fixed + 2 * length);
    let (output, folder) = import(length + 1);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains(" bytes\n\nhint: import fewer operations"),
        "{text}"
    );
    assert!(!folder.0.path("contract.json").exists());
}
