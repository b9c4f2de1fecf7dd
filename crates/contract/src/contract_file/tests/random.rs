//! Random bytes and random changes of a valid file: the check never panics and always agrees with
//! the published schema.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::full;
use crate::contract_file::{ContractFile, Problem, check, rule};

static PUBLISHED: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(ContractFile::SCHEMA).unwrap();
    jsonschema::validator_for(&schema).unwrap()
});

/// A change of a document.
#[derive(Clone, Debug)]
enum Change {
    Delete,
    Replace(Value),
    Insert(String, Value),
}

fn any_change() -> impl Strategy<Value = Change> {
    let name = prop::sample::select(vec![
        "name",
        "code",
        "retry",
        "$ref",
        "$defs",
        "x-own",
        "type",
        "$id",
        "schema",
        "properties",
        "category",
        "items",
        "__proto__",
        "$schema",
        "not",
        "pattern",
        "description",
        "key",
    ]);
    prop_oneof![
        Just(Change::Delete),
        any_value().prop_map(Change::Replace),
        (name, any_value()).prop_map(|(name, value)| Change::Insert(name.to_owned(), value)),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        json!("query"),
        json!("subscription"),
        json!("required"),
        json!("TIMEOUT"),
        json!("HTTP_404"),
        json!("FILE_NOT_FOUND"),
        json!("NETWORK"),
        json!("#"),
        json!("#/$defs/Tree"),
        json!("#/$defs/Where/properties/path"),
        json!("https://example.com"),
        json!("fs/readFile"),
        json!("4XX"),
        json!("/mode"),
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(404),
        json!(1e300),
        json!(0.5),
        json!(u64::MAX),
        json!([]),
        json!({}),
        json!([{}]),
        json!({"$ref": "#"}),
        json!({"type": "object"}),
        json!(["wait"]),
        json!({"code": "X_1", "description": ""}),
        json!({"code": "X_1", "description": "When"}),
        json!(" "),
        json!({"name": "a/b", "op_type": "query"}),
    ]);
    prop_oneof![4 => words, 1 => ".{0,12}".prop_map(Value::from)]
}

fn pointers(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(inner, format!("{here}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointers(inner, format!("{here}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(here);
}

fn apply(document: &mut Value, at: &Index, change: Change) {
    let mut locations = Vec::new();
    pointers(document, String::new(), &mut locations);
    let pointer = at.get(&locations).clone();
    let Some((above, step)) = pointer.rsplit_once('/') else {
        return;
    };
    match change {
        Change::Replace(value) => *document.pointer_mut(&pointer).unwrap() = value,
        Change::Delete => match document.pointer_mut(above).unwrap() {
            Value::Object(members) => drop(members.remove(step)),
            Value::Array(items) => drop(items.remove(step.parse().unwrap())),
            _ => {}
        },
        Change::Insert(name, value) => match document.pointer_mut(&pointer).unwrap() {
            Value::Object(members) => drop(members.insert(name, value)),
            Value::Array(items) => items.push(value),
            _ => {}
        },
    }
}

/// The rules that the published schema can express.
fn is_structural(problem: &Problem) -> bool {
    let by_type = [
        rule::OPERATION_NAME,
        rule::ERROR_CODE,
        rule::ERROR_HTTP_STATUS,
        rule::IDEMPOTENCY_POINTER,
        rule::SCHEMA_NAME,
    ];
    problem.rule.starts_with("member.") || by_type.contains(&problem.rule)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(&bytes);
    }

    #[test]
    fn no_text_that_is_nearly_the_file_panics(at in any::<Index>(), byte in any::<u8>()) {
        let mut text = serde_json::to_vec(&full()).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        let _ = check(&text);
    }

    #[test]
    fn the_check_agrees_with_the_published_schema(
        changes in prop::collection::vec((any::<Index>(), any_change()), 1..5)
    ) {
        let mut document = full();
        for (at, change) in changes {
            apply(&mut document, &at, change);
        }
        let result = check(&serde_json::to_vec(&document).unwrap());
        let structural = match &result {
            Ok(_) => 0,
            Err(problems) => {
                prop_assert!(problems.iter().all(|it| it.rule != rule::FILE_UNREADABLE), "{problems:?}");
                problems.iter().filter(|it| is_structural(it)).count()
            }
        };
        prop_assert_eq!(PUBLISHED.is_valid(&document), structural == 0, "{:?}\n{:#}", result, document);
        if let Ok(file) = result {
            let again = serde_json::to_vec(&file).unwrap();
            prop_assert_eq!(check(&again), Ok(file));
        }
    }

    #[test]
    fn accepted_schemas_can_be_compiled_without_the_file(
        changes in prop::collection::vec((any::<Index>(), any_change()), 1..5)
    ) {
        let mut document = full();
        for (at, change) in changes {
            let mut definitions = json!({"a": document["$defs"], "b": document["operations"][0]["input_schema"]});
            apply(&mut definitions, &at, change);
            if definitions["a"].is_object() {
                document["$defs"] = definitions["a"].take();
                document["operations"][0]["input_schema"] = definitions["b"].take();
            }
        }
        if let Ok(file) = check(&serde_json::to_vec(&document).unwrap()) {
            for operation in &file.operations {
                let schemas = [&operation.input_schema, &operation.output_schema];
                let errors = operation.error_schemas.iter().map(|it| &it.schema);
                for schema in schemas.into_iter().chain(errors) {
                    let whole = file.self_contained(schema);
                    let validator = jsonschema::validator_for(&whole);
                    prop_assert!(validator.is_ok(), "{:?} {}", validator.err(), whole);
                    let _ = validator.unwrap().is_valid(&json!({"children": [{}], "path": "/"}));
                }
            }
        }
    }
}
