//! Import of requests: parameters, bodies, servers, credentials and keys.

use panpan_contract::operation::KeyRule;
use panpan_openapi::{ImportOptions, import};
use serde_json::{Value, json};

use super::{binding, imported, operation, written};

#[test]
fn parameters_of_path_and_operation_are_merged() {
    let pets = imported("pets.yaml");
    let sent = |name: &str, wire_name: &str, place: &str, style: &str, explode: bool| json!({"name": name, "wire_name": wire_name, "place": place, "style": style, "explode": explode});
    let mut content = sent("where", "where", "query", "form", true);
    content["content"] = json!("application/json");
    let list = operation(&pets, "api/listPets");
    assert_eq!(
        written(&pets, "api/listPets")["parameters"],
        json!([
            sent("limit", "limit", "query", "form", true),
            sent("tags", "tags", "query", "pipeDelimited", false),
            sent("filter_age", "filter[age]", "query", "deepObject", true),
            content,
            sent("session", "session", "cookie", "form", true),
            sent("TRACE", "TRACE", "header", "simple", false),
        ])
    );
    assert_eq!(
        list.input_schema,
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "limit": {"type": "integer", "exclusiveMaximum": 10, "description": "The own one."},
                "tags": {"type": "array", "items": {"type": "string"}},
                "filter_age": {"type": "object"},
                "where": {"type": ["object", "null"]},
                "session": {"type": "string"},
                "TRACE": {"type": "string", "deprecated": true, "examples": ["abc"]},
            },
        })
    );
    let photo = &written(&pets, "api/get_pets_id_photo")["parameters"];
    assert_eq!(*photo, json!([sent("id", "id", "path", "label", true)]));
}

#[test]
fn parameters_with_the_same_name_get_their_location_as_a_suffix() {
    let pets = imported("pets.yaml");
    let names = |name: &str| {
        let schema = &operation(&pets, name).input_schema;
        let members = schema["properties"].as_object().unwrap().keys().cloned();
        (members.collect::<Vec<_>>(), schema["required"].clone())
    };
    let texts = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        names("api/getPet"),
        (texts(&["body", "id_path", "id_query"]), json!(["id_path"]))
    );
    assert_eq!(
        names("api/getPet_2"),
        (texts(&["body", "body_query", "id"]), json!(["id"]))
    );
    assert_eq!(names("api/createPet").1, json!(["body"]));
}

#[test]
fn each_kind_of_body_has_its_form() {
    let pets = imported("pets.yaml");
    let body = |media_type: &str, form: &str| json!({"name": "body", "media_type": media_type, "form": form});
    let mut form = body("application/x-www-form-urlencoded", "form");
    form["encoding"] = json!({"tags": {"style": "spaceDelimited", "explode": false}});
    let mut multipart = body("multipart/form-data", "multipart");
    multipart["encoding"] = json!({
        "others": {"bytes": true},
        "photo": {"bytes": true, "content_type": "image/png, image/jpeg"},
    });
    let base64 = json!({"type": "string", "contentEncoding": "base64"});
    for (name, sent, schema) in [
        (
            "api/createPet",
            body("application/json", "json"),
            json!({"$ref": "#/$defs/NewPet", "description": "The new pet."}),
        ),
        (
            "api/getPet_2",
            form,
            json!({"type": "object", "properties": {
                "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
            }}),
        ),
        (
            "api/put_pets_id_photo",
            multipart,
            json!({"$ref": "#/$defs/Upload"}),
        ),
        (
            "api/patch_pets_id_photo",
            body("image/png", "bytes"),
            base64.clone(),
        ),
        (
            "api/post_pets_id_photo",
            body("text/markdown", "text"),
            json!({"type": "string", "maxLength": 100}),
        ),
    ] {
        assert_eq!(written(&pets, name)["body"], sent, "{name}");
        let input = &operation(&pets, name).input_schema;
        assert_eq!(input["properties"]["body"], schema, "{name}");
    }
    assert_eq!(pets.definitions["Upload"]["properties"]["photo"], base64);
    assert_eq!(
        pets.definitions["Upload"]["properties"]["others"]["items"],
        base64
    );
}

#[test]
fn servers_come_from_the_operation_the_path_or_the_document() {
    let pets = imported("pets.yaml");
    for (name, server) in [
        ("api/listPets", "https://eu.pets.example.com/v1"),
        ("api/getPet", "/by-path"),
        ("api/delete_pets_id", "https://delete.example.com"),
    ] {
        assert_eq!(binding(&pets, name).servers, [server], "{name}");
    }
}

#[test]
fn credentials_are_never_input_of_a_caller() {
    let pets = imported("pets.yaml");
    let key = json!({"name": "key", "kind": "api_key", "place": "header", "key": "X-Api-Key"});
    assert_eq!(
        written(&pets, "api/listPets")["security"],
        json!([
            [key],
            [{"name": "account", "kind": "basic"}, {"name": "login", "kind": "bearer", "scopes": ["read"]}],
            [],
        ])
    );
    assert_eq!(written(&pets, "api/createPet")["security"], json!([[key]]));
    let invalid = imported("invalid.yaml");
    let invalid_thing = written(&invalid, "api/invalid_thing");
    assert_eq!(
        invalid_thing["security"][0],
        json!([{"name": "nobody", "kind": "other", "scheme": "nobody"}])
    );
    let names = invalid_thing["parameters"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|it| it["wire_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["twice", "styled", "missing"]);
}

#[test]
fn the_header_for_keys_is_not_part_of_the_input() {
    let pets = imported("pets.yaml");
    let header = binding(&pets, "api/getPet_2").idempotency_header;
    assert_eq!(header.as_deref(), Some("Idempotency-Key"));
    let document = json!({"openapi": "3.1.0", "paths": {"/a": {"post": {
        "parameters": [{"name": "idempotency-key", "in": "header", "required": true}], "responses": {},
    }}}});
    let import = import(&document, &ImportOptions::new("api")).unwrap();
    // Without a key of the caller, the gateway sends its own key, so no key is required.
    assert_eq!(import.operations[0].idempotency.key, KeyRule::Optional);
    assert_eq!(import.operations[0].input_schema.get("properties"), None);
}

#[test]
fn a_body_without_description_accepts_any_json() {
    let document = json!({"openapi": "3.1.0", "paths": {"/a": {"post": {
        "requestBody": {"$ref": "#/components/requestBodies/Gone"}, "responses": {},
    }}}});
    let import = import(&document, &ImportOptions::new("api")).unwrap();
    assert_eq!(
        import.operations[0].input_schema["properties"],
        json!({"body": {}})
    );
    assert_eq!(written(&import, "api/post_a")["body"]["form"], "json");
    assert_eq!(import.warnings.len(), 1);
}

#[test]
fn the_schema_decides_the_form_of_a_media_type_wildcard() {
    for (range, schema, media_type, form) in [
        ("*/*", json!({"type": "object"}), "application/json", "json"),
        (
            "*/*",
            json!({"type": "string", "format": "binary"}),
            "application/octet-stream",
            "bytes",
        ),
        ("text/*", json!({"type": "string"}), "text/plain", "text"),
        ("image/*", json!({}), "application/octet-stream", "bytes"),
    ] {
        let document = json!({"openapi": "3.0.0", "paths": {"/a": {"post": {
            "requestBody": {"content": {range: {"schema": schema}}}, "responses": {},
        }}}});
        let import = import(&document, &ImportOptions::new("api")).unwrap();
        let body = written(&import, "api/post_a")["body"].clone();
        assert_eq!(
            body,
            json!({"name": "body", "media_type": media_type, "form": form})
        );
    }
}

/// The binding and the input schema of one operation, and the pointers of its warnings.
fn described(parameters: Value, content: Value) -> (Value, Value, Vec<String>) {
    let document = json!({"openapi": "3.2.0", "paths": {"/a": {"post": {
        "parameters": parameters, "requestBody": {"content": content}, "responses": {},
    }}}});
    let import = import(&document, &ImportOptions::new("api")).unwrap();
    let noted = import.warnings.iter().map(|it| it.pointer.clone());
    let schema = import.operations[0].input_schema["properties"].clone();
    (written(&import, "api/post_a"), schema, noted.collect())
}

#[test]
fn a_parameter_that_may_be_empty_accepts_an_empty_string() {
    let json = json!({"application/json": {}});
    for (place, schema, expected, noted) in [
        (
            "query",
            json!({"type": "integer"}),
            json!({"anyOf": [{"type": "integer"}, {"const": ""}]}),
            0,
        ),
        (
            "query",
            json!({"type": "string"}),
            json!({"type": "string"}),
            0,
        ),
        ("query", json!({}), json!({}), 0),
        (
            "header",
            json!({"type": "integer"}),
            json!({"type": "integer"}),
            1,
        ),
    ] {
        let empty = json!({"name": "n", "in": place, "schema": schema, "allowEmptyValue": true});
        let (_, input, warnings) = described(json!([empty]), json.clone());
        assert_eq!(input["n"], expected, "{place}");
        assert_eq!(warnings.len(), noted, "{warnings:?}");
    }
}

#[test]
fn a_querystring_parameter_is_one_member_of_the_input() {
    let form = "application/x-www-form-urlencoded";
    let pairs = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    for (whole, schema, noted) in [
        (
            json!({"content": {form: {"schema": pairs}}}),
            Some(pairs.clone()),
            0,
        ),
        (
            json!({"content": {"application/json": {"schema": pairs}}}),
            Some(pairs.clone()),
            0,
        ),
        (
            json!({"content": {"text/plain": {"schema": pairs}}}),
            Some(json!({"type": "string"})),
            0,
        ),
        (json!({"schema": pairs}), None, 1),
    ] {
        let mut parameter = json!({"name": "whole", "in": "querystring"});
        parameter
            .as_object_mut()
            .unwrap()
            .extend(whole.as_object().unwrap().clone());
        let (binding, input, warnings) =
            described(json!([parameter]), json!({"application/json": {}}));
        assert_eq!(input.get("whole"), schema.as_ref(), "{whole}");
        assert_eq!(warnings.len(), noted, "{whole}: {warnings:?}");
        let place = binding.pointer("/parameters/0/place");
        assert_eq!(place, schema.map(|_| json!("querystring")).as_ref());
    }
}

#[test]
fn part_headers_with_a_fixed_value_are_sent() {
    let encoding = |headers: Value| json!({"note": {"headers": headers, "allowReserved": true}});
    let one = json!({"X-Kind": {"schema": {"const": "note"}}});
    let others = json!({
        "X-Open": {"schema": {"type": "string"}}, "Content-Type": {"schema": {"const": "a"}},
        "X-Gone": {"$ref": "#/components/headers/Gone"},
    });
    let form = "application/x-www-form-urlencoded";
    for (media_type, headers, expected, noted) in [
        (
            "multipart/form-data",
            &one,
            json!({"headers": {"X-Kind": "note"}}),
            1,
        ),
        ("multipart/form-data", &others, json!({}), 4),
        (form, &one, json!({"allow_reserved": true}), 1),
    ] {
        let content = json!({media_type: {"schema": {"type": "object"}, "encoding": encoding(headers.clone())}});
        let (binding, _, warnings) = described(json!([]), content);
        assert_eq!(
            binding["body"]["encoding"]["note"], expected,
            "{media_type}"
        );
        assert_eq!(warnings.len(), noted, "{media_type}: {warnings:?}");
    }
}
