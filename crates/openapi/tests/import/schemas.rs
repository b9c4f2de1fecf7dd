//! Import of schemas and references.

use panpan_openapi::{ImportOptions, import};
use serde_json::json;

use super::{imported, operation};

#[test]
fn schemas_of_3_0_become_json_schema() {
    let definitions = imported("pets.yaml").definitions;
    assert_eq!(
        definitions["NewPet"],
        json!({
            "type": "object", "required": ["name", "kind"],
            "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"type": ["string", "null"]},
                "kind": {"type": ["string", "null"], "enum": ["cat", "dog", null]},
                "weight": {"type": "number", "exclusiveMinimum": 0},
                "owner": {"anyOf": [{"allOf": [{"$ref": "#/$defs/Owner"}]}, {"type": "null"}]},
                "secret": {"type": "string", "format": "password", "writeOnly": true},
            },
        })
    );
    assert_eq!(
        definitions["Pet"],
        json!({
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "x-discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat", "dog": "Dog"}},
        })
    );
    let message = &definitions["Problem"]["properties"]["message"];
    assert_eq!(
        *message,
        json!({"type": "string", "examples": ["too long"]})
    );
    let beside = json!({
        "openapi": "3.0.0",
        "components": {"schemas": {"A": {"type": "object"}}},
        "paths": {"/a": {"get": {"responses": {"200": {"description": "", "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/A", "maxProperties": 1, "description": "kept", "nullable": true},
        }}}}}}},
    });
    let import = import(&beside, &ImportOptions::new("api")).unwrap();
    assert_eq!(
        import.operations[0].output_schema,
        json!({"description": "kept", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]})
    );
    assert_eq!(import.warnings.len(), 1, "{:?}", import.warnings);
}

#[test]
fn references_to_any_part_of_the_document_are_resolved() {
    let library = imported("library.json");
    let get = operation(&library, "api/books/get");
    assert_eq!(
        get.input_schema["properties"]["book-id"],
        json!({"$ref": "#/$defs/Book_Id"})
    );
    assert_eq!(
        get.output_schema["properties"]["shelf"],
        json!({"$ref": "#/$defs/Shelf", "description": "Where it stands."})
    );
    assert_eq!(get.output_schema.get("$defs"), None);
    let codes: Vec<_> = get
        .error_schemas
        .iter()
        .map(|it| it.code.as_str())
        .collect();
    assert_eq!(codes, ["HTTP_404", "HTTP_410"]);
    assert_eq!(
        get.error_schemas[1].schema,
        json!({"$ref": "#/$defs/Problem"})
    );
    let delete = operation(&library, "api/delete_books_book-id");
    let lent = delete.definition("HTTP_409").unwrap();
    let name = lent.schema["$ref"]
        .as_str()
        .unwrap()
        .replace("#/$defs/", "");
    assert_eq!(library.definitions[&name], get.output_schema);
    let row = json!({"$ref": "#/$defs/Shelf.defs.Row"});
    assert_eq!(operation(&library, "api/get_copies").output_schema, row);
    assert_eq!(operation(&library, "api/post_news").output_schema, row);
    assert_eq!(
        library.definitions["Shelf.defs.Row"],
        json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": false})
    );
    assert_eq!(
        library.definitions["Problem"]["properties"]["inner"],
        json!({"$ref": "#/$defs/Problem"})
    );
}

#[test]
fn a_schema_behind_an_anchor_is_read_like_one_behind_a_pointer() {
    for reference in ["#/components/schemas/File", "#file"] {
        let document = json!({
            "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
            "paths": {"/a": {"post": {
                "operationId": "a",
                "requestBody": {"content": {"multipart/form-data": {"schema": {
                    "type": "object",
                    "required": ["photo"],
                    "properties": {"photo": {"$ref": reference}},
                }}}},
                "responses": {},
            }}},
            "components": {"schemas": {"File": {
                "$anchor": "file", "type": "string", "format": "binary", "readOnly": true,
            }}},
        });
        let import = import(&document, &ImportOptions::new("api")).unwrap();
        let spec = operation(&import, "api/a");
        let binding = &spec.extensions.get("x-panpan-http").unwrap();
        assert_eq!(
            binding["body"]["encoding"],
            json!({"photo": {"bytes": true}})
        );
        let body = &spec.input_schema["properties"]["body"];
        assert_eq!(body["properties"]["photo"], json!({"$ref": "#/$defs/File"}));
        assert_eq!(body.get("required"), None, "{reference}");
    }
}
