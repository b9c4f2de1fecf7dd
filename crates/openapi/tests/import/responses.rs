//! Import of responses: outputs and failures.

use panpan_openapi::{HEADERS_EXTENSION, OTHER_RESPONSES_EXTENSION};
use serde_json::{Value, json};

use super::{imported, operation, small, written};

#[test]
fn the_output_combines_all_successful_responses() {
    let pets = imported("pets.yaml");
    let library = imported("library.json");
    for (import, name, schema, accepts) in [
        (
            &pets,
            "api/listPets",
            json!({"type": "array", "items": {"$ref": "#/$defs/Pet"}}),
            json!(["application/json"]),
        ),
        (
            &pets,
            "api/createPet",
            json!({"anyOf": [{"$ref": "#/$defs/Pet"}, {}]}),
            json!(["application/json", "application/problem+json"]),
        ),
        (
            &pets,
            "api/delete_pets_id",
            json!({"type": "null"}),
            Value::Null,
        ),
        (
            &pets,
            "api/get_pets_id_photo",
            json!({"type": "string", "contentEncoding": "base64"}),
            json!(["image/png"]),
        ),
        (
            &pets,
            "api/patch_pets_id_photo",
            json!({"type": "string"}),
            json!(["text/plain"]),
        ),
        (
            &library,
            "api/get_news",
            json!({"$ref": "#/$defs/Shelf.defs.Row"}),
            json!(["text/event-stream"]),
        ),
    ] {
        assert_eq!(operation(import, name).output_schema, schema, "{name}");
        assert_eq!(written(import, name)["accepts"], accepts, "{name}");
    }
}

#[test]
fn every_declared_failure_is_imported_with_status_and_body() {
    let pets = imported("pets.yaml");
    let failures = |name: &str| -> Vec<_> {
        let definitions = operation(&pets, name).error_schemas.iter();
        definitions
            .map(|it| {
                (
                    it.code.to_string(),
                    it.description.clone(),
                    it.schema.clone(),
                )
            })
            .collect()
    };
    let expected = |code: &str, description: &str, schema: Value| {
        (code.to_owned(), description.to_owned(), schema)
    };
    assert_eq!(
        failures("api/listPets"),
        [
            expected(
                "HTTP_400",
                "The request is wrong.",
                json!({"$ref": "#/$defs/Problem"})
            ),
            expected("HTTP_429", "Too many requests.", json!({})),
            expected(
                "HTTP_4XX",
                "Something else is wrong with the request.",
                json!({})
            ),
            expected(
                "HTTP_DEFAULT",
                "The service responds with a status that is not described.",
                json!({})
            ),
        ]
    );
    let in_body = |schema: Value| json!({"type": "object", "properties": {"body": schema}});
    assert_eq!(
        failures("api/createPet"),
        [
            expected(
                "HTTP_409",
                "There is such a pet.",
                json!({"anyOf": [
                    {"$ref": "#/$defs/Problem"},
                    {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}},
                    in_body(json!({"type": "string"})),
                ]}),
            ),
            expected("HTTP_5XX", "A text.", in_body(json!({"type": "string"}))),
        ]
    );
    let list = operation(&pets, "api/listPets");
    let limited = list.definition("HTTP_429").unwrap();
    assert_eq!(
        limited.extensions.get(HEADERS_EXTENSION),
        Some(&json!(["Retry-After", "X-RateLimit-Remaining"]))
    );
    for definition in &list.error_schemas {
        let kind = definition.kind().unwrap();
        assert_eq!(kind.retryable(), definition.code.as_str() == "HTTP_429");
    }
    assert_eq!(
        list.extensions.get(OTHER_RESPONSES_EXTENSION),
        Some(&json!({"304": "Nothing has changed."}))
    );
    assert_eq!(
        (pets.summary.failures, pets.summary.without_failures),
        (8, 5)
    );
}

#[test]
fn a_status_written_in_two_ways_is_one_failure() {
    let body = |kind: &str| json!({"description": kind, "content": {"application/json": {"schema": {"type": "object", "title": kind}}}});
    let import = small(
        json!({"responses": {"4XX": body("a"), "4xx": body("b")}}),
        json!({}),
    );
    let failures = &import.operations[0].error_schemas;
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].schema["anyOf"].as_array().unwrap().len(), 2);
}
