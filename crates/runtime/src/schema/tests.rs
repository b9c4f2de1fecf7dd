//! What is found, how much of it, and with how much work.

use serde_json::json;

use super::words::cut;
use super::*;

#[test]
fn every_violation_is_found_with_pointer_expected_and_actual() {
    let schema = json!({
        "type": "object",
        "required": ["a/b", "priority"],
        "additionalProperties": false,
        "properties": {
            "a/b": {},
            "priority": {"type": "integer", "minimum": 0, "maximum": 3},
            "name": {"type": ["string", "null"]},
            "colour": {"enum": ["red", "green"]},
        },
    });
    let value = json!({"priority": 5, "name": [1], "colour": "blue", "extra": 1});
    let mut found: Vec<_> = Schema::compile(&schema)
        .unwrap()
        .check(&value)
        .violations
        .into_iter()
        .map(|it| (it.pointer, it.kind.word(), it.expected, it.actual))
        .collect();
    found.sort_by(|left, right| left.0.cmp(&right.0));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            ("/a~1b".to_owned(), "missing", None, None),
            (
                "/colour".to_owned(),
                "value",
                text(r#"one of ["red","green"]"#),
                Some(json!("blue"))
            ),
            ("/extra".to_owned(), "value", text("no such member"), None),
            ("/name".to_owned(), "type", text("null or string"), None),
            (
                "/priority".to_owned(),
                "value",
                text("at most 3"),
                Some(json!(5))
            ),
        ]
    );
}

#[test]
fn the_list_of_violations_ends_at_its_limit() {
    let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
    let numbers = |count: usize| Value::from_iter(0..count);
    let at = schema.check(&numbers(VIOLATIONS_LIMIT));
    assert_eq!((at.violations.len(), at.more), (VIOLATIONS_LIMIT, false));
    let beyond = schema.check(&numbers(VIOLATIONS_LIMIT + 1));
    assert_eq!(
        (beyond.violations.len(), beyond.more),
        (VIOLATIONS_LIMIT, true)
    );
}

#[test]
fn of_a_value_with_many_parts_only_the_first_violation_is_gathered() {
    let plain = json!({"items": {"type": "string"}});
    let either = json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}});
    let numbers = |count: usize| Value::from_iter(0..count);
    let nested = |count: usize| json!([numbers(count)]);
    let limit = LISTED_VALUES_LIMIT;
    for (schema, value, violations, pointer) in [
        (&plain, numbers(limit - 1), VIOLATIONS_LIMIT, "/0"),
        (&plain, numbers(limit), 1, "/0"),
        (&plain, nested(limit - 2), 1, "/0"),
        (&either, numbers(limit - 1), VIOLATIONS_LIMIT, "/0"),
        (&either, numbers(limit), 1, ""),
    ] {
        let checked = Schema::compile(schema).unwrap().check(&value);
        assert_eq!(checked.violations.len(), violations, "{schema}");
        assert!(checked.violations.iter().any(|it| it.pointer == pointer));
    }
}

#[test]
fn how_large_a_value_is_is_known_without_looking_at_all_of_it() {
    let limit = LISTED_VALUES_LIMIT;
    let numbers = |count: usize| Value::from_iter(0..count);
    for (value, small) in [
        (numbers(limit - 1), true),
        (numbers(limit), false),
        (json!([numbers(limit - 2)]), true),
        (json!({"a": numbers(limit - 2)}), true),
        (json!({"a": numbers(limit - 3), "b": 1}), true),
        (json!({"a": numbers(limit - 2), "b": 1}), false),
        (
            json!({"a": numbers(3 * limit), "b": numbers(3 * limit)}),
            false,
        ),
    ] {
        assert_eq!(is_small(&value), small);
    }
}

#[test]
fn a_planted_pattern_goes_back_so_often_and_no_more() {
    // Each of these takes a step back for every letter.
    let counting = json!({"pattern": "^(?:(?!b).)*c$"});
    let schema = Schema::compile(&counting).unwrap();
    let steps = |length: usize| "a".repeat(length) + "c";
    assert!(schema.accepts(&json!(steps(BACKTRACKS_LIMIT / 2))));
    let beyond = json!(steps(2 * BACKTRACKS_LIMIT));
    let checked = schema.check(&beyond);
    let reasons: Vec<&str> = checked.violations.iter().map(|it| &*it.reason).collect();
    let told = "whether it matches the schema's pattern takes too long to tell";
    assert_eq!(reasons, [told]);
    // These would take a step for every way to part thirty letters.
    for pattern in ["^(?=(a+)+$)a*b", "^(a|aa)+\\1b$", "^((a+)(?!c))+b$"] {
        let schema = Schema::compile(&json!({"items": {"pattern": pattern}})).unwrap();
        let value = json!(["a".repeat(30), "a".repeat(31)]);
        assert!(!schema.accepts(&value), "{pattern}");
        assert!(!schema.check(&value).violations.is_empty(), "{pattern}");
    }
}

#[test]
fn a_schema_that_came_with_a_call_is_checked_with_linear_patterns_only() {
    for (pattern, usable) in [
        ("^(a+)+$", true),
        ("(a)\\1", false),
        ("(?=a)", false),
        ("a{1000}", true),
        ("(a{1000}){1000}", false),
    ] {
        let built = check_once(&json!({"pattern": pattern}), &json!(""), Listing::All);
        assert_eq!(built.is_ok(), usable, "{pattern}");
    }
    for schema in [json!({"type": 3}), json!({"$ref": "file:///etc/passwd"})] {
        assert!(check_once(&schema, &json!(""), Listing::All).is_err());
    }
}

#[test]
fn of_a_large_value_less_is_told() {
    let schema = json!({"items": {"type": "string"}});
    for (value, listing, pointers, more) in [
        (json!([1, "", 2]), Listing::All, &["/0", "/2"][..], false),
        (json!([1, "", 2]), Listing::First, &["/0"], true),
        (json!([1, "", 2]), Listing::Whole, &[""], true),
        (json!([""]), Listing::All, &[], false),
        (json!([""]), Listing::First, &[], false),
        (json!([""]), Listing::Whole, &[], false),
    ] {
        let checked = check_once(&schema, &value, listing).unwrap();
        let found: Vec<_> = checked.violations.iter().map(|it| &*it.pointer).collect();
        assert_eq!(
            (found, checked.more),
            (pointers.to_vec(), more),
            "{listing:?}"
        );
    }
}

#[test]
fn long_text_is_cut_and_an_outside_reference_is_refused() {
    let exact = "é".repeat(SHOWN_CHARACTERS_LIMIT);
    assert_eq!(cut(&exact), exact);
    assert_eq!(cut(&format!("{exact}é")), format!("{exact}…"));
    assert!(Schema::compile(&json!({"$ref": "http://169.254.169.254/x.json"})).is_err());
}
