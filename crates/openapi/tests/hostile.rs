//! Malicious and broken documents: everything ends in bounded time and memory, and nothing panics.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use panpan_contract::contract_file::{self, OPERATIONS_LIMIT};
use panpan_openapi::{
    DOCUMENT_BYTES_LIMIT, IMPORT_BYTES_LIMIT, Import, ImportError, ImportOptions,
    MEDIA_TYPES_LIMIT, SCHEMA_DEPTH_LIMIT, YAML_ALIASED_LIMIT, YAML_DEPTH_LIMIT, import, parse,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn imported(document: &Value) -> Result<Import, ImportError> {
    import(document, &ImportOptions::new("api"))
}

fn with_output(schema: Value) -> Value {
    json!({"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {
        "200": {"description": "", "content": {"application/json": {"schema": schema}}},
    }}}}})
}

/// Words that occur in documents, so that random documents have some meaning.
const WORDS: [&str; 44] = [
    "$ref",
    "get",
    "post",
    "parameters",
    "requestBody",
    "responses",
    "200",
    "404",
    "4XX",
    "default",
    "content",
    "application/json",
    "multipart/form-data",
    "text/event-stream",
    "schema",
    "type",
    "object",
    "string",
    "properties",
    "items",
    "allOf",
    "oneOf",
    "required",
    "nullable",
    "enum",
    "name",
    "in",
    "query",
    "path",
    "header",
    "style",
    "servers",
    "url",
    "variables",
    "security",
    "key",
    "encoding",
    "#/components/schemas/a",
    "#/paths/~1a/get",
    "operationId",
    "pattern",
    "$defs",
    "$recursiveRef",
    "x-panpan-errors",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..7)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_imported_or_refused(value in any_value()) {
        let _ = imported(&value);
    }

    #[test]
    fn every_import_gives_a_valid_contract(
        version in prop::sample::select(vec!["3.0.0", "3.1.0"]),
        operation in any_value(),
        responses in any_value(),
        schema in any_value(),
        component in any_value(),
    ) {
        let document = json!({
            "openapi": version,
            "paths": {
                "/a": {"get": operation, "post": {"responses": responses}},
                "/b": {"put": {
                    "requestBody": {"content": {"application/json": {"schema": schema}}},
                    "responses": {"200": {"content": {"application/json": {"schema": component}}}, "4XX": responses},
                }},
            },
            "components": {"schemas": {"a": component}},
        });
        if let Ok(import) = imported(&document) {
            let file = import.into_contract();
            let problems = contract_file::check(file.to_text().as_bytes()).err();
            prop_assert_eq!(problems, None, "{}", document);
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "[a-z:\\- \n\\[\\]{}&*!|>'\"#]{0,200}") {
        let _ = parse(text.as_bytes());
    }
}

#[test]
fn a_schema_is_read_up_to_the_depth_limit() {
    let nested =
        |depth| (0..depth).fold(json!({"type": "null"}), |inner, _| json!({"items": inner}));
    for (depth, warnings) in [(SCHEMA_DEPTH_LIMIT, 0), (SCHEMA_DEPTH_LIMIT + 1, 1)] {
        let import = imported(&with_output(nested(depth))).unwrap();
        assert_eq!(import.warnings.len(), warnings, "{depth}");
    }
    imported(&with_output(nested(500))).unwrap();
}

#[test]
fn a_small_document_cannot_become_a_huge_contract() {
    let document = |bytes: usize| {
        let mut paths = Map::new();
        for number in 0..1_000 {
            let path = json!({"get": {"responses": {"404": {"$ref": "#/components/responses/R"}}}});
            paths.insert(format!("/{number}"), path);
        }
        let response = json!({"description": "d".repeat(bytes)});
        json!({"openapi": "3.1.0", "paths": paths, "components": {"responses": {"R": response}}})
    };
    assert!(imported(&document(IMPORT_BYTES_LIMIT / 1_000 - 2_000)).is_ok());
    assert_eq!(
        imported(&document(IMPORT_BYTES_LIMIT / 1_000 + 2_000)),
        Err(ImportError::TooLarge)
    );
}

#[test]
fn the_number_of_operations_has_a_limit() {
    let document = |count: usize| {
        let paths = (0..count).map(|number| (format!("/{number}"), json!({"get": {}})));
        json!({"openapi": "3.1.0", "paths": paths.collect::<Map<_, _>>()})
    };
    let imported = |count| imported(&document(count)).map(|it| it.operations.len());
    assert_eq!(imported(OPERATIONS_LIMIT), Ok(OPERATIONS_LIMIT));
    let refused = ImportError::TooManyOperations(OPERATIONS_LIMIT + 1);
    assert_eq!(imported(OPERATIONS_LIMIT + 1), Err(refused));
}

#[test]
fn the_number_of_media_types_of_a_body_has_a_limit() {
    for (count, warnings) in [(MEDIA_TYPES_LIMIT, 0), (MEDIA_TYPES_LIMIT + 1, 1)] {
        let types = (0..count).map(|it| (format!("application/{it}+json"), json!({})));
        let response = json!({"description": "", "content": types.collect::<Map<_, _>>()});
        let operation = json!({"responses": {"404": response}});
        let document = json!({"openapi": "3.1.0", "paths": {"/a": {"get": operation}}});
        assert_eq!(
            imported(&document).unwrap().warnings.len(),
            warnings,
            "{count}"
        );
    }
}

#[test]
fn shared_schemas_are_written_once() {
    let mut schemas = Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", number + 1)});
        let schema = json!({"type": "object", "properties": {"a": next, "b": next}});
        schemas.insert(format!("S{number}"), schema);
    }
    schemas.insert("S40".to_owned(), json!({"type": "string"}));
    let mut document = with_output(json!({"$ref": "#/components/schemas/S0"}));
    document["components"] = json!({"schemas": schemas});
    assert_eq!(imported(&document).unwrap().definitions.len(), 41);
}

#[test]
fn json_and_yaml_give_the_same_value() {
    let yaml = "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses:\n        200: &a {description: 'yes'}\n        404: *a\n      x-no: no\n";
    let json = json!({"openapi": "3.0.0", "paths": {"/a": {"get": {
        "responses": {"200": {"description": "yes"}, "404": {"description": "yes"}}, "x-no": "no",
    }}}});
    assert_eq!(parse(yaml.as_bytes()).unwrap(), json);
    assert_eq!(parse(json.to_string().as_bytes()).unwrap(), json);
    assert_eq!(parse(b"\xef\xbb\xbf{\"a\": 1}").unwrap(), json!({"a": 1}));
    assert_eq!(parse(b"{a: 1}").unwrap(), json!({"a": 1}));
}

#[test]
fn an_invalid_document_is_refused_with_its_line() {
    for (text, expected_text) in [
        (&b"{\"a\": 1"[..], "line 1"),
        (b"a: [1", "YAML"),
        (b"a: 1\na: 2\n", "YAML"),
        (b"a: 1\n---\nb: 2\n", "YAML"),
        (b"\xff\xfe", "YAML"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected_text), "{error}");
    }
}

#[test]
fn documents_have_a_size_and_a_depth_limit() {
    let sized = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
    assert!(parse(sized(DOCUMENT_BYTES_LIMIT).as_bytes()).is_ok());
    assert!(parse(sized(DOCUMENT_BYTES_LIMIT + 1).as_bytes()).is_err());
    let flow = |depth: usize| format!("a: {}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let block = |depth: usize| {
        (0..depth)
            .map(|it| format!("{}a:\n", " ".repeat(it)))
            .collect::<String>()
    };
    for nested in [&flow as &dyn Fn(usize) -> String, &block] {
        assert!(parse(nested(YAML_DEPTH_LIMIT).as_bytes()).is_ok());
        assert!(parse(nested(YAML_DEPTH_LIMIT + 1).as_bytes()).is_err());
    }
}

#[test]
fn yaml_aliases_are_limited() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(parse(text.as_bytes()).is_err());
    // Aliases can nest what they expand to.
    let mut text = "a0: &a0 x\n".to_owned();
    for level in 1..2_000 {
        text.push_str(&format!("a{level}: &a{level} [[*a{}]]\n", level - 1));
    }
    assert!(parse(text.as_bytes()).is_err());
    // A row of 998 values has a thousand events, including its start and its end.
    let row = format!("- &r [{}]\n", vec!["1"; 998].join(","));
    let rows = |count: usize| row.clone() + &"- *r\n".repeat(count);
    assert!(parse(rows(YAML_ALIASED_LIMIT / 1_000).as_bytes()).is_ok());
    assert!(parse(rows(YAML_ALIASED_LIMIT / 1_000 + 1).as_bytes()).is_err());
}
