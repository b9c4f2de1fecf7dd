//! What cannot be imported, and what is said then.

use panpan_contract::contract_file::FILE_BYTES_LIMIT;
use panpan_openapi::DOCUMENT_BYTES_LIMIT;
use serde_json::json;

use crate::folder::{Folder, SHOP, shop, told};

#[test]
fn what_cannot_be_imported_is_refused_with_the_file_and_a_hint() {
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
            "idle.yaml",
            "operations: [{match: shop/getorder, hide: true}]",
        )
        .with(
            "idle-too.yaml",
            "operations: [{match: 'shops/*', hide: true}]",
        )
        .with("misspelt.yaml", "operation: []");
    for (arguments, parts) in [
        (
            "missing.yaml",
            ["cannot read missing.yaml", "or - for standard input"],
        ),
        (".", ["cannot read .: ", "name an OpenAPI document"]),
        ("broken.json", ["line 3, column 2", "mend it there"]),
        ("broken.yaml", ["neither JSON nor YAML: ", "mend it there"]),
        ("broken.yaml", ["line 4", "mend it there"]),
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
            ["is a contract already", "panpan serve --openapi"],
        ),
        ("text.txt", ["has no member \"openapi\"", "check that"]),
        (
            "empty.yaml",
            ["there is nothing in empty.yaml", "name an OpenAPI document"],
        ),
        ("large.json", ["bytes", "mend it there"]),
        (
            "-",
            [
                "there is nothing in standard input",
                "name an OpenAPI document",
            ],
        ),
        (
            "shop.yaml -o shop.yaml",
            ["would be written over shop.yaml", "-o"],
        ),
        (
            "shop.yaml -o ./idle.yaml --overlay idle.yaml",
            ["would be written over idle.yaml", "-o"],
        ),
        (
            "shop.yaml -o no/folder.json",
            ["cannot write no/folder.json", "in a folder that exists"],
        ),
        (
            "shop.yaml -o .",
            ["cannot write .: ", "in a folder that exists"],
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
            "shop.yaml --overlay idle.yaml",
            [
                "/operations/0/match: no operation",
                "did you mean shop/getOrder?",
            ],
        ),
        (
            "shop.yaml --overlay idle-too.yaml",
            ["/operations/0/match: no operation", "mend or remove"],
        ),
        (
            "shop.yaml --overlay misspelt.yaml",
            ["unknown field `operation`", "an overlay is a list"],
        ),
    ] {
        let output = folder.import(arguments);
        let text = told(&output);
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
fn a_contract_that_could_not_be_read_again_is_not_written() {
    // What two operations refer to stands twice in a contract and once in the document.
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
    let beside = import(1).1.read("contract.json").len() - 2;
    let length = (FILE_BYTES_LIMIT - beside) / 2;
    let (output, folder) = import(length);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(folder.read("contract.json").len(), beside + 2 * length);
    let (output, folder) = import(length + 1);
    assert_eq!(output.status.code(), Some(2));
    let text = told(&output);
    assert!(
        text.contains("are read again\n\nhint: choose some operations"),
        "{text}"
    );
    assert!(!folder.0.join("contract.json").exists());
}
