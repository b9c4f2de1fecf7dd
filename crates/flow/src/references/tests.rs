use panpan_failure::Failure;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn id(number: u128) -> TaskId {
    TaskId::from_random(Uuid::from_u128(number))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The inputs with values of these results.
fn resolve(
    inputs: &Map<String, Value>,
    results: &[(u128, &Value)],
) -> Result<Map<String, Value>, ReferenceError> {
    let text = |(number, result): &(u128, &Value)| (id(*number), Some(result.to_string().into()));
    let results = results.iter().map(text).collect();
    match resolve_stored(inputs, &results) {
        Ok(inputs) => Ok(inputs),
        Err(Unresolved::Reference(error)) => Err(error),
        Err(Unresolved::Unreadable(error)) => panic!("{error}"),
    }
}

fn from(number: u128) -> Value {
    json!({"$from": id(number)})
}

fn at(number: u128, pointer: &str) -> Value {
    json!({"$from": id(number), "pointer": pointer})
}

fn found(inputs: &Map<String, Value>) -> Vec<(String, Result<Reference, InvalidReference>)> {
    let mut found = Vec::new();
    let _ = visit_references(inputs, |it| {
        found.push((it.pointer(), it.read()));
        ControlFlow::<()>::Continue(())
    });
    found
}

#[test]
fn references_are_found_wherever_they_are() {
    let inputs = object(json!({
        "a": from(1), "b/c": {"d": [0, at(2, "/x"), {"e": from(1)}]}, "plain": {"pointer": "/x", "$ref": "y"},
    }));
    let found = found(&inputs);
    let reference = |number, pointer: &str| Reference {
        task: id(number),
        pointer: pointer.to_owned(),
    };
    let expected = [
        ("/a".to_owned(), Ok(reference(1, ""))),
        ("/b~1c/d/1".to_owned(), Ok(reference(2, "/x"))),
        ("/b~1c/d/2/e".to_owned(), Ok(reference(1, ""))),
    ];
    assert_eq!(found, expected);
    assert!(!has_references(&Map::new()));
}

#[test]
fn an_invalid_reference_is_named_with_its_pointer() {
    for (value, pointer) in [
        (json!({"$from": "task1"}), "/a/$from"),
        (json!({"$from": null}), "/a/$from"),
        (json!({"$from": id(1), "path": "/x"}), "/a/path"),
        (json!({"$from": id(1), "pointer": "x"}), "/a/pointer"),
        (json!({"$from": id(1), "pointer": "/~2"}), "/a/pointer"),
        (json!({"$from": id(1), "pointer": null}), "/a/pointer"),
        (json!({"$from": id(1), "pointer": 0}), "/a/pointer"),
    ] {
        let inputs = object(json!({ "a": value }));
        let found = found(&inputs);
        let [(at, Err(invalid))] = found.as_slice() else {
            panic!("{value}: {found:?}");
        };
        assert_eq!(invalid.clone().below(at).pointer, pointer, "{value}");
        let resolved = resolve(&inputs, &[]);
        assert!(
            matches!(resolved, Err(ReferenceError::Invalid(_))),
            "{value}"
        );
    }
}

#[test]
fn references_become_the_values_they_stand_for() {
    let result = json!({"list": [{"a~b": 1}], "n": null});
    let inputs = object(json!({
        "whole": from(1), "one": at(1, "/list/0/a~0b"), "null": at(1, "/n"), "in": [{"x": at(1, "/list")}], "plain": 7,
    }));
    let resolved = resolve(&inputs, &[(1, &result)]).unwrap();
    let expected = json!({
        "whole": result, "one": 1, "null": null, "in": [{"x": [{"a~b": 1}]}], "plain": 7,
    });
    assert_eq!(json!(resolved), expected);
}

#[test]
fn a_reference_in_a_result_is_data() {
    let result = json!({"a": from(2)});
    let resolved = resolve(&object(json!({"x": from(1)})), &[(1, &result)]).unwrap();
    assert_eq!(json!(resolved), json!({"x": {"a": from(2)}}));
}

#[test]
fn a_dependency_without_a_result_is_null() {
    let inputs = object(json!({"a": at(1, "/x/y"), "b": [from(1)]}));
    let resolved = resolve(&inputs, &[]).unwrap();
    assert_eq!(json!(resolved), json!({"a": null, "b": [null]}));
}

#[test]
fn a_missing_value_names_the_task_and_the_pointer() {
    let result = json!({"x": {}});
    let inputs = object(json!({"in": [at(1, "/x/y")]}));
    let error = resolve(&inputs, &[(1, &result)]).unwrap_err();
    let reference = Reference {
        task: id(1),
        pointer: "/x/y".to_owned(),
    };
    let expected = ReferenceError::Missing {
        at: "/in/0".to_owned(),
        reference,
    };
    assert_eq!(error, expected);
    let failure = Failure::from(error).redacted();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT_ERROR");
    assert_eq!(failure.violations()[0].pointer, "/inputs/in/0");
    assert_eq!(failure.details().unwrap()["dependency_id"], json!(id(1)));
}

#[test]
fn references_cannot_multiply_a_result_beyond_the_limit() {
    // A text of these many letters has two quotes more.
    let piece = RESOLVED_BYTES_LIMIT / 4;
    let text = "x".repeat(piece - 2);
    let result = json!({"0": text, "1": text, "2": text, "3": text, "4": text});
    let same = |_| "/0".to_owned();
    let distinct = |number| format!("/{number}");
    for pointer in [same, distinct] as [fn(usize) -> String; 2] {
        let inputs = |count| {
            let list: Vec<Value> = (0..count).map(|it| at(1, &pointer(it))).collect();
            object(json!({ "list": list }))
        };
        assert!(resolve(&inputs(4), &[(1, &result)]).is_ok());
        let error = resolve(&inputs(5), &[(1, &result)]).unwrap_err();
        let ReferenceError::TooLarge { at, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(at, "/list/4");
    }
}

#[test]
fn a_definition_text_without_references_is_recognised() {
    let mut definition = crate::task::Definition::new("$from").unwrap();
    assert!(!may_have_references(&definition.to_text()));
    definition.inputs = object(json!({"a": [from(1)]}));
    assert!(may_have_references(&definition.to_text()));
}

/// Below keys of this many bytes together, `value`.
fn below_long_keys(bytes: usize, value: Value) -> Map<String, Value> {
    const LEVELS: usize = 90;
    let key = "k".repeat(bytes / LEVELS);
    let nest = |value: Value, _| Value::Object(Map::from_iter([(key.clone(), value)]));
    object((0..LEVELS).fold(value, nest))
}

/// A copy of the path for each of them would take 16 GB.
#[test]
fn many_references_below_a_long_path_cost_no_copy_of_it() {
    const PATH_BYTES: usize = 1_800_000;
    let at_limit = below_long_keys(PATH_BYTES, json!(vec![from(1); REFERENCES_LIMIT]));
    let mut count = 0;
    let mut last = String::new();
    let _ = visit_references(&at_limit, |it| {
        count += 1;
        last = it.pointer();
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(count, REFERENCES_LIMIT);
    assert_eq!(last.len(), SHOWN_POINTER_BYTES_LIMIT + "…".len());
    assert_eq!(referred(&at_limit), BTreeSet::from([id(1)]));
    let result = json!({});
    assert!(resolve(&at_limit, &[(1, &result)]).is_ok());
    let above = below_long_keys(PATH_BYTES, json!(vec![from(1); REFERENCES_LIMIT + 1]));
    let error = resolve(&above, &[(1, &result)]).unwrap_err();
    assert_eq!(error, ReferenceError::TooMany);
}

/// A copy of the path for each item would take 1.8 TB.
#[test]
fn many_items_below_a_long_path_cost_no_copy_of_it() {
    let mut inputs = below_long_keys(1_800_000, json!(vec![0; 1_000_000]));
    inputs.insert("r".to_owned(), from(1));
    let resolved = resolve(&inputs, &[]).unwrap();
    assert_eq!(resolved["r"], Value::Null);
}
