//! Import of each part of a document, with the documents of these tests and small inline ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod requests;
mod responses;
mod schemas;

use panpan_contract::binding::HttpBinding;
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_openapi::{
    DEPRECATED_EXTENSION, EXTENSION_BYTES_LIMIT, Filters, Import, ImportError, ImportOptions,
    Selection, TAGS_EXTENSION, import, parse,
};
use serde_json::{Value, json};

fn document(name: &str) -> Value {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    parse(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

fn imported(name: &str) -> Import {
    import(&document(name), &ImportOptions::new("api")).unwrap()
}

fn operation<'a>(import: &'a Import, name: &str) -> &'a OperationSpec {
    let found = import.operations.iter().find(|it| it.name.as_str() == name);
    found.unwrap_or_else(|| panic!("{name} is missing"))
}

fn binding(import: &Import, name: &str) -> HttpBinding {
    HttpBinding::of(operation(import, name)).unwrap().unwrap()
}

fn written(import: &Import, name: &str) -> Value {
    serde_json::to_value(binding(import, name)).unwrap()
}

/// Imports a document with one operation.
fn small(operation: Value, rest: Value) -> Import {
    let mut document = json!({
        "openapi": "3.1.0", "info": {"title": "Small", "version": "1"},
        "paths": {"/a": {"get": operation}},
    });
    document
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    import(&document, &ImportOptions::new("api")).unwrap()
}

#[test]
fn operations_have_names_types_and_descriptions() {
    let pets = imported("pets.yaml");
    let found: Vec<_> = pets
        .operations
        .iter()
        .map(|it| (it.name.as_str(), it.op_type, it.idempotency.idempotent))
        .collect();
    use OperationType::{Mutation, Query, Subscription};
    assert_eq!(
        found,
        [
            ("api/listPets", Query, false),
            ("api/createPet", Mutation, false),
            ("api/getPet", Query, false),
            ("api/getPet_2", Mutation, true),
            ("api/delete_pets_id", Mutation, true),
            ("api/get_pets_id_photo", Query, false),
            ("api/put_pets_id_photo", Mutation, true),
            ("api/post_pets_id_photo", Mutation, false),
            ("api/patch_pets_id_photo", Mutation, false),
        ]
    );
    assert_eq!(pets.service.name, "Pets");
    assert_eq!(pets.service.version.as_deref(), Some("1.4.0"));
    let list = operation(&pets, "api/listPets");
    assert_eq!(list.title.as_deref(), Some("List pets"));
    assert_eq!(list.description.as_deref(), Some("All pets, page by page."));
    assert_eq!(
        list.extensions.get(TAGS_EXTENSION),
        Some(&json!(["pets", "public"]))
    );
    let create = operation(&pets, "api/createPet");
    assert_eq!(
        create.extensions.get(DEPRECATED_EXTENSION),
        Some(&json!(true))
    );
    let library = imported("library.json");
    assert_eq!(operation(&library, "api/books/get").op_type, Query);
    let openapi32 = imported("openapi32.yaml");
    let news = [(&library, "api/get_news"), (&openapi32, "api/query_things")];
    for (import, name) in news {
        assert_eq!(operation(import, name).op_type, Subscription);
    }
    assert_eq!(
        operation(&openapi32, "api/query_things").output_schema,
        json!({"type": "integer"})
    );
    assert_eq!(binding(&openapi32, "api/copyThings").method, "COPY");
}

#[test]
fn every_invalid_part_is_reported_with_its_location() {
    let import = imported("invalid.yaml");
    let document = document("invalid.yaml");
    let get = "/paths/~1invalid~1{missing}/get";
    let output = format!("{get}/responses/200/content/application~1json/schema");
    let property = |rest: &str| format!("{output}/properties/{rest}");
    for pointer in [
        "/paths/~1invalid~1{missing}/unknown".to_owned(),
        "/paths/invalid-path".to_owned(),
        "/paths/invalid-path/trace".to_owned(),
        "/paths/invalid-path/post/requestBody/content".to_owned(),
        "/components/schemas/Loop".to_owned(),
        get.to_owned(),
        format!("{get}/extra"),
        format!("{get}/security/0/nobody"),
        format!("{get}/parameters/0"),
        format!("{get}/parameters/2/in"),
        format!("{get}/parameters/4"),
        format!("{get}/parameters/6/style"),
        format!("{get}/parameters/7/$ref"),
        format!("{get}/parameters/8"),
        format!("{get}/parameters/9"),
        format!("{get}/responses/404/$ref"),
        format!("{get}/responses/600"),
        format!("{get}/responses/teapot"),
        format!("{output}/required"),
        property("bad/enum"),
        property("bad/maxLength"),
        property("bad/pattern"),
        property("bad/type"),
        property("gone/$ref"),
        property("id/$id"),
        property("list/items"),
        property("old/nullable"),
        property("text"),
    ] {
        let is_reported = import.warnings.iter().any(|it| it.pointer == pointer);
        assert!(is_reported, "{pointer} is not reported");
        let is_there = document.pointer(&pointer).is_some();
        assert!(
            is_there || pointer.ends_with("content"),
            "{pointer} does not exist"
        );
    }
    let properties = &operation(&import, "api/invalid_thing").output_schema["properties"];
    assert_eq!(properties["bad"], json!({}));
    assert_eq!(properties["gone"], json!({}));
    assert_eq!(properties["old"], json!({"type": ["string", "null"]}));
    assert_eq!(
        properties["list"]["prefixItems"],
        json!([{"type": "string"}])
    );
}

#[test]
fn the_error_of_a_refused_document_says_what_to_do() {
    let reference = json!({"$ref": "pets.yaml#/Pet"});
    let remote = json!({"openapi": "3.0.1", "paths": {"/a": {"get": {"responses": {
        "200": {"description": "", "content": {"application/json": {"schema": reference}}},
        "404": {"$ref": "https://example.com/errors.json"},
    }}}}});
    for (document, namespace, expected_text) in [
        (json!({"swagger": "2.0"}), "a", "swagger2openapi"),
        (
            json!({"openapi": "4.0.0", "paths": {}}),
            "a",
            "3.0, 3.1 or 3.2",
        ),
        (json!({"openapi": "3", "paths": {}}), "a", "3.0, 3.1 or 3.2"),
        (json!({"info": {}}), "a", "\"openapi\""),
        (json!([]), "a", "\"openapi\""),
        (json!({"openapi": "3.0.0"}), "a", "paths"),
        (json!({"openapi": "3.0.0", "paths": []}), "a", "paths"),
        (json!({"openapi": "3.1.0", "paths": {}}), "a/b", "namespace"),
        (json!({"openapi": "3.1.0", "paths": {}}), "", "namespace"),
        (remote.clone(), "a", "bundle"),
    ] {
        let error = import(&document, &ImportOptions::new(namespace)).unwrap_err();
        assert!(error.to_string().contains(expected_text), "{error}");
    }
    let Err(ImportError::RemoteReferences(found)) = import(&remote, &ImportOptions::new("a"))
    else {
        panic!("the document was imported");
    };
    let found: Vec<_> = found.iter().map(|it| it.reference.as_str()).collect();
    assert_eq!(found, ["pets.yaml#/Pet", "https://example.com/errors.json"]);
    let unquoted = json!({"openapi": 3.1, "webhooks": {}});
    assert_eq!(
        import(&unquoted, &ImportOptions::new("a"))
            .unwrap()
            .operations,
        []
    );
}

#[test]
fn filters_select_operations_and_do_not_change_names() {
    let filters = |include: Selection, exclude: Selection| ImportOptions {
        filters: Filters { include, exclude },
        ..ImportOptions::new("api")
    };
    let texts = |lines: &[&str]| lines.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let methods = Selection {
        methods: texts(&["put"]),
        ..Selection::default()
    };
    let photos = Selection {
        paths: texts(&["*/photo", "/nowhere"]),
        ..Selection::default()
    };
    let import = import(&document("pets.yaml"), &filters(methods, photos)).unwrap();
    let names: Vec<_> = import
        .operations
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["api/getPet_2"]);
    assert_eq!(import.summary.left_out, 8);
    let reported = import
        .warnings
        .iter()
        .filter(|it| it.message.contains("\"/nowhere\""));
    assert_eq!(reported.count(), 1);
    assert!(import.definitions.is_empty());
}

#[test]
fn extensions_of_authors_are_kept_unless_large_or_ours() {
    let weight_of_value = 8;
    let text = |bytes: usize| Value::from("t".repeat(bytes - weight_of_value));
    let import = small(
        json!({
            "x-team": {"a": [1]}, "x-large": text(EXTENSION_BYTES_LIMIT),
            "x-larger": text(EXTENSION_BYTES_LIMIT + 1), "x-panpan-http": {}, "x-panpan-note": 1,
            "parameters": [{"name": "pin", "in": "query", "x-sensitive": true}], "responses": {},
        }),
        json!({}),
    );
    let spec = &import.operations[0];
    let names: Vec<_> = spec.extensions.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["x-large", "x-panpan-http", "x-team"]);
    assert_eq!(spec.extensions.get("x-team"), Some(&json!({"a": [1]})));
    assert_eq!(HttpBinding::of(spec).unwrap().unwrap().path, "/a");
    assert_eq!(
        spec.input_schema["properties"]["pin"],
        json!({"x-sensitive": true})
    );
}
