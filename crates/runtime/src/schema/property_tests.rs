//! Properties over random schemas and values: a value has violations exactly if it is invalid, and every
//! reported location is real.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;

/// Nested schemas: in members, in lists, in place, and recursive.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(true),
        json!(false),
        json!({"type": "string"}),
        json!({"type": ["integer", "null"]}),
        json!({"type": "object", "required": ["a"]}),
        json!({"const": 1}),
        json!({"enum": ["a", 2, null]}),
        json!({"minimum": 2, "maxLength": 1}),
        json!({"pattern": "^(?=(a+)+$)a*b"}),
        json!({"maxItems": 1, "uniqueItems": true}),
        json!({"additionalProperties": false, "properties": {"a": {}}}),
        json!({"$ref": "#/$defs/f"}),
        json!({"$ref": "#/$defs/g"}),
        json!({"$dynamicRef": "#n"}),
    ]);
    leaf.prop_recursive(3, 24, 3, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 1..4);
        let one = || inner.clone();
        prop_oneof![
            (select(vec!["allOf", "anyOf", "oneOf"]), list())
                .prop_map(|(keyword, parts)| json!({keyword: parts})),
            (select(vec!["not", "items", "additionalProperties", "contains", "propertyNames",
                "unevaluatedProperties", "unevaluatedItems"]), one())
                .prop_map(|(keyword, part)| json!({keyword: part})),
            (one(), one()).prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}})),
            (one(), one(), one())
                .prop_map(|(a, b, c)| json!({"properties": {"a": a}, "patternProperties": {"^b": b}, "additionalProperties": c})),
            (one(), one(), one())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (list(), one()).prop_map(|(first, rest)| json!({"prefixItems": first, "items": rest})),
            (one(), one())
                .prop_map(|(a, b)| json!({"dependentSchemas": {"a": a}, "$ref": "#/$defs/f", "anyOf": [b]})),
        ]
    })
}

/// Schemas that are recursive only below a member or an item. The specification does not define recursion in
/// place.
fn documents() -> impl Strategy<Value = Value> {
    (schemas(), schemas(), schemas()).prop_map(|(root, f, g)| {
        let below = |part: Value| json!({"properties": {"a": part, "b": part}, "items": part});
        let mut document = below(root);
        document["$dynamicAnchor"] = json!("n");
        document["$defs"] = json!({"f": below(f), "g": below(g)});
        document
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(null),
        json!(1),
        json!(3),
        json!("a"),
        json!("aaaaaaaab"),
    ]);
    leaf.prop_recursive(4, 16, 3, |inner| {
        let names = select(vec!["a".to_owned(), "b".to_owned(), "bc".to_owned()]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(names, inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The locations that the library lists, in unbounded time.
fn listed(validator: &Validator, value: &Value) -> BTreeSet<String> {
    let violations = validator
        .iter_errors(value)
        .flat_map(|error| violations_of(&error));
    violations.map(|it| it.pointer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn violations_are_real_and_exist_if_the_value_is_invalid(schema in documents(), value in values()) {
        let Ok(compiled) = Schema::compile(&schema) else {
            return Ok(());
        };
        let checked = compiled.check(&schema, &value);
        prop_assert_eq!(checked.violations.is_empty(), compiled.accepts(&value));
        if checked.violations.is_empty() {
            return Ok(());
        }
        let searched = compiled.searched(&schema, &value);
        let known = listed(&compiled.validator, &value);
        for violation in &searched.violations {
            let is_whole = violation.pointer.is_empty();
            prop_assert!(is_whole || known.contains(&violation.pointer), "{} of {known:?}", violation.pointer);
        }
    }
}
