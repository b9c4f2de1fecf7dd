//! Violations, their limits, and the limits of the work to find them.

use serde_json::json;

use super::violations::cut;
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
        .check(&schema, &value)
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
    let source = json!({"items": {"type": "string"}});
    let schema = Schema::compile(&source).unwrap();
    let numbers = |count: usize| Value::from_iter(0..count);
    let at = schema.check(&source, &numbers(VIOLATIONS_LIMIT));
    assert_eq!((at.violations.len(), at.more), (VIOLATIONS_LIMIT, false));
    let beyond = schema.check(&source, &numbers(VIOLATIONS_LIMIT + 1));
    assert_eq!(
        (beyond.violations.len(), beyond.more),
        (VIOLATIONS_LIMIT, true)
    );
}

#[test]
fn the_first_violations_of_a_large_value_are_listed() {
    let plain = json!({"items": {"type": "string"}});
    let either = json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}});
    let numbers = |count: usize| Value::from_iter(0..count);
    for (schema, expected) in [
        (&plain, "string"),
        (&either, "one of the 2 forms the schema lists"),
    ] {
        for count in [LISTED_VALUES_LIMIT - 1, LISTED_VALUES_LIMIT, 100_000] {
            let compiled = Schema::compile(schema).unwrap();
            let checked = compiled.check(schema, &numbers(count));
            assert_eq!(
                checked.violations.len(),
                VIOLATIONS_LIMIT,
                "{schema} {count}"
            );
            assert!(checked.more);
            let first = &checked.violations[0];
            let found = (first.pointer.as_str(), first.expected.as_deref());
            assert_eq!(found, ("/0", Some(expected)), "{schema} {count}");
        }
    }
}

#[test]
fn the_size_of_a_value_is_checked_against_a_limit() {
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
        assert_eq!(is_within(&value, limit), small);
    }
}

#[test]
fn backtracking_of_patterns_is_limited() {
    // Backtracks once for every letter.
    let counting = json!({"pattern": "^(?:(?!b).)*c$"});
    let schema = Schema::compile(&counting).unwrap();
    let steps = |length: usize| "a".repeat(length) + "c";
    assert!(schema.accepts(&json!(steps(BACKTRACKS_LIMIT / 2))));
    let beyond = json!(steps(2 * BACKTRACKS_LIMIT));
    let checked = schema.check(&counting, &beyond);
    let reasons: Vec<&str> = checked.violations.iter().map(|it| &*it.reason).collect();
    assert_eq!(
        reasons,
        ["matching the schema's pattern takes too many steps"]
    );
    // These would backtrack exponentially.
    for pattern in ["^(?=(a+)+$)a*b", "^(a|aa)+\\1b$", "^((a+)(?!c))+b$"] {
        let source = json!({"items": {"pattern": pattern}});
        let schema = Schema::compile(&source).unwrap();
        let value = json!(["a".repeat(30), "a".repeat(31)]);
        assert!(!schema.accepts(&value), "{pattern}");
        assert!(
            !schema.check(&source, &value).violations.is_empty(),
            "{pattern}"
        );
    }
}

#[test]
fn a_schema_from_a_caller_may_only_use_linear_patterns() {
    for (pattern, usable) in [
        ("^(a+)+$", true),
        ("(a)\\1", false),
        ("(?=a)", false),
        ("a{1000}", true),
        ("(a{1000}){1000}", false),
    ] {
        let built = check_once(&json!({"pattern": pattern}), &json!(""));
        assert_eq!(built.is_ok(), usable, "{pattern}");
    }
    for schema in [json!({"type": 3}), json!({"$ref": "file:///etc/passwd"})] {
        assert!(check_once(&schema, &json!("")).is_err());
    }
}

#[test]
fn long_text_is_truncated_and_an_external_reference_is_refused() {
    let exact = "é".repeat(SHOWN_CHARACTERS_LIMIT);
    assert_eq!(cut(&exact), exact);
    assert_eq!(cut(&format!("{exact}é")), format!("{exact}…"));
    let options = |count: usize| Value::from_iter((0..count).map(|it| format!("é{it}")));
    for count in [2, 3, 100, 10_000] {
        let schema = json!({"enum": options(count)});
        let checked = Schema::compile(&schema).unwrap().check(&schema, &json!(1));
        let expected = format!("one of {}", options(count));
        assert_eq!(
            checked.violations[0].expected.as_deref(),
            Some(&*cut(&expected))
        );
    }
    assert!(Schema::compile(&json!({"$ref": "http://169.254.169.254/x.json"})).is_err());
}

/// A recursive schema of filters with several alternatives.
fn filters() -> Value {
    let form = |flag: &str| {
        let below = json!({"$ref": "#/$defs/filter"});
        json!({"type": "object", "required": ["of", flag], "properties": {"of": below}})
    };
    let text = json!({"type": "string"});
    json!({
        "$ref": "#/$defs/filter",
        "$defs": {"filter": {"oneOf": [form("and"), form("or"), form("not"), text]}},
    })
}

/// Objects nested to this depth around a number.
fn nested(depth: usize, members: &Value) -> Value {
    (0..depth).fold(json!(5), |inner, _| {
        let mut outer = members.clone();
        outer["of"] = inner;
        outer
    })
}

#[test]
fn recursive_alternatives_are_checked_at_any_depth() {
    let schema = filters();
    let compiled = Schema::compile(&schema).unwrap();
    for depth in [1, 10, 40, 120] {
        let several = json!({"and": 1, "or": 1, "not": 1});
        for beside in [json!({}), json!({"and": 1}), several] {
            let checked = compiled.check(&schema, &nested(depth, &beside));
            let found: Vec<_> = checked.violations.iter().map(|it| &*it.pointer).collect();
            assert_eq!(found, [""], "{depth} {beside}");
            let expected = checked.violations[0].expected.as_deref();
            assert_eq!(expected, Some("one of the 4 forms the schema lists"));
        }
    }
}

#[test]
fn a_violation_of_several_equal_subschemas_is_reported_once() {
    let below = json!({"properties": {"of": {"$ref": "#"}}});
    let schema = json!({
        "allOf": [below, below, {"if": {"type": "object"}, "then": below, "else": {"type": "string"}}],
    });
    let compiled = Schema::compile(&schema).unwrap();
    for depth in [1, 30, 120] {
        let checked = compiled.check(&schema, &nested(depth, &json!({})));
        let found: Vec<_> = checked.violations.iter().map(|it| &*it.pointer).collect();
        assert_eq!(found, ["/of".repeat(depth)], "{depth}");
        assert_eq!(checked.violations[0].expected.as_deref(), Some("string"));
    }
}

#[test]
fn a_schema_with_too_many_applied_subschemas_is_refused() {
    // Each part refers to the one before twice.
    let doubling = |parts: usize, keyword: &str, prefix: &str| {
        let part = |number: usize| match number.checked_sub(1) {
            Some(before) => {
                let before = json!({"$ref": format!("{prefix}{before}")});
                json!({keyword: [before, before], "$anchor": format!("a{number}")})
            }
            None => json!({"type": "string", "$anchor": "a0"}),
        };
        let parts_of = (0..=parts).map(|number| (format!("d{number}"), part(number)));
        let defs: serde_json::Map<_, _> = parts_of.collect();
        json!({"$ref": format!("{prefix}{parts}"), "unevaluatedProperties": false, "$defs": defs})
    };
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for prefix in ["#/$defs/d", "#a"] {
            let compiled = |parts| Schema::compile(&doubling(parts, keyword, prefix));
            assert!(compiled(8).is_ok(), "{keyword} {prefix}");
            for parts in [14, 25, 400] {
                let refused = compiled(parts).unwrap_err();
                assert!(
                    refused.contains("one value"),
                    "{keyword} {parts}: {refused}"
                );
            }
        }
    }
    let forms = (0..APPLIED_SUBSCHEMAS_LIMIT).map(|number| json!({"const": number}));
    let many = json!({"oneOf": Value::from_iter(forms)});
    assert!(
        Schema::compile(&many)
            .unwrap_err()
            .contains("10000 subschemas")
    );
}

#[test]
fn a_schema_whose_subschemas_all_refer_to_each_other_is_refused() {
    let mutual = |kinds: usize| {
        let all = |number: usize| {
            let others = (0..kinds).filter(|other| *other != number);
            json!({"anyOf": others.map(|other| json!({"$ref": format!("#/$defs/k{other}")})).collect::<Vec<_>>()})
        };
        let defs = (0..kinds).map(|number| (format!("k{number}"), all(number)));
        let defs: serde_json::Map<_, _> = defs.collect();
        json!({"$ref": "#/$defs/k0", "$defs": defs})
    };
    assert!(Schema::compile(&mutual(6)).is_ok());
    for kinds in [8, 14, 40, 300] {
        let refused = Schema::compile(&mutual(kinds)).unwrap_err();
        assert!(refused.contains("one value"), "{kinds}: {refused}");
    }
}

#[test]
fn subtypes_that_refer_to_their_base_type_work() {
    let kind = |name: &str| {
        let own = json!({"required": [name], "properties": {"kind": {"const": name}}});
        json!({"allOf": [{"$ref": "#/$defs/pet"}, own]})
    };
    let kinds = ["cat", "dog"].map(|name| json!({"$ref": format!("#/$defs/{name}")}));
    let schema = json!({
        "$ref": "#/$defs/pet",
        "$defs": {
            "pet": {"type": "object", "required": ["kind"], "oneOf": kinds},
            "cat": kind("cat"),
            "dog": kind("dog"),
        },
    });
    let compiled = Schema::compile(&schema).unwrap();
    assert!(compiled.accepts(&json!({"kind": "cat", "cat": 1})));
    let checked = compiled.check(&schema, &json!({"kind": "cat", "dog": 1}));
    assert_eq!(checked.violations.len(), 1);
    let missing = compiled.check(&schema, &json!({"cat": 1, "dog": 1}));
    let found: Vec<_> = missing.violations.iter().map(|it| &*it.pointer).collect();
    assert_eq!(found, ["/kind", ""]);
}

#[test]
fn a_value_that_is_too_large_to_check_is_refused() {
    let forms = (0..2000).map(|number| json!({"const": number}));
    let schema = json!({"items": {"oneOf": Value::from_iter(forms)}});
    let compiled = Schema::compile(&schema).unwrap();
    let numbers = |count: usize| Value::from_iter((0..count).map(|number| number % 2000));
    let limit = CHECK_STEPS_LIMIT / 2001;
    let checked = compiled.check(&schema, &numbers(limit));
    assert_eq!(checked.violations.len(), 1);
    assert!(checked.violations[0].reason.contains("too large to check"));
    assert!(!compiled.accepts(&numbers(limit)));
    assert!(compiled.accepts(&numbers(1000)));
}

#[test]
fn an_object_with_too_many_names_for_the_patterns_of_its_schema_is_refused() {
    let patterns = (0..3000).map(|number| (format!("^k{number}.*z$"), json!(true)));
    let schema = json!({"patternProperties": patterns.collect::<serde_json::Map<_, _>>()});
    let compiled = Schema::compile(&schema).unwrap();
    let members = |count: usize| {
        let member = |number: usize| (format!("k{number}"), json!(1));
        Value::Object((0..count).map(member).collect())
    };
    assert!(compiled.accepts(&members(1000)));
    assert!(!compiled.accepts(&members(20_000)));
    let checked = compiled.check(&schema, &members(20_000));
    assert!(checked.violations[0].reason.contains("too large to check"));
    // Long names count as several.
    let long = |length: usize| json!({"k".repeat(length): 1});
    assert!(compiled.accepts(&long(10_000)));
    assert!(!compiled.accepts(&long(100_000)));
}

#[test]
fn the_patterns_of_a_sent_schema_share_a_limit_of_memory() {
    let patterns = |count: usize, pattern: &str| {
        let property = |number: usize| {
            let pattern = format!("{pattern}{number}");
            (format!("p{number}"), json!({ "pattern": pattern }))
        };
        let members = (0..count).map(property);
        json!({"properties": members.collect::<serde_json::Map<_, _>>()})
    };
    let refused = |schema: Value| check_once(&schema, &json!({})).err();
    assert_eq!(refused(patterns(100, "a{1,900}")), None);
    assert!(refused(patterns(4000, "a{1,900}")).is_some());
    assert_eq!(refused(patterns(1000, "^[a-z]+")), None);
    let refused = refused(patterns(6000, "a")).unwrap();
    assert!(refused.contains("5000 patterns"), "{refused}");
}

#[test]
fn objects_in_an_enum_count_as_several_subschemas() {
    let options = (0..3000).map(|number| json!({"a": number}));
    let schema = json!({"items": {"enum": Value::from_iter(options)}});
    let compiled = Schema::compile(&schema).unwrap();
    let items = |count: usize| Value::from_iter((0..count).map(|_| json!({"a": 0})));
    assert!(compiled.accepts(&items(1000)));
    assert!(!compiled.accepts(&items(20_000)));
}

#[test]
fn long_text_counts_as_several_values() {
    let forms = (0..2000).map(|number| json!({"pattern": format!("b{number}$")}));
    let schema = json!({"not": {"anyOf": Value::from_iter(forms)}});
    let compiled = Schema::compile(&schema).unwrap();
    assert!(compiled.accepts(&json!("a".repeat(10_000))));
    assert!(!compiled.accepts(&json!("a".repeat(4_000_000))));
}

#[test]
fn the_search_finds_the_violations_that_the_library_lists() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {
            "id": {"type": "integer"},
            "a/b": {"items": {"minimum": 3}, "prefixItems": [{"type": "string"}]},
            "map": {"additionalProperties": {"type": "string"}},
            "one": {"oneOf": [{"type": "string"}, {"type": "integer"}, {"const": 7}]},
            "either": {"not": {"type": "null"}, "$ref": "#/$defs/short"},
            "named": {"$ref": "#short"},
            "none": false,
        },
        "patternProperties": {"^x-": {"type": "boolean"}},
        "dependentSchemas": {"map": {"required": ["id", "one"]}},
        "$defs": {"short": {"maxLength": 2, "$anchor": "short"}},
    });
    let compiled = Schema::compile(&schema).unwrap();
    for value in [
        json!([]),
        json!({}),
        json!({"id": "1", "unknown": 1, "x-flag": 1}),
        json!({"id": 1, "a/b": [1, 2, 3]}),
        json!({"id": 1, "map": {"a": "", "b": 2}}),
        json!({"id": 1, "one": true}),
        json!({"id": 1, "one": 7}),
        json!({"id": 1, "either": null}),
        json!({"id": 1, "named": "long"}),
        json!({"id": 1, "either": "long", "none": 1}),
    ] {
        let pointers = |checked: Checked| {
            assert!(!checked.more, "{value}");
            let pointers = checked.violations.into_iter().map(|it| it.pointer);
            pointers.collect::<std::collections::BTreeSet<_>>()
        };
        let (searched, listed) = (compiled.searched(&schema, &value), compiled.listed(&value));
        assert_eq!(pointers(searched), pointers(listed), "{value}");
    }
}

#[test]
fn the_deepest_value_and_the_most_nested_subschemas_fit_the_stack_of_a_worker() {
    // Both a part and its reference apply to the value.
    let last = (NESTED_SUBSCHEMAS_LIMIT - 2) / 2;
    let part = |number: usize| match number {
        number if number == last => json!({"properties": {"of": {"$ref": "#/$defs/d0"}}}),
        number => json!({"allOf": [{"$ref": format!("#/$defs/d{}", number + 1)}]}),
    };
    let parts_of = (0..=last).map(|number| (format!("d{number}"), part(number)));
    let defs: serde_json::Map<_, _> = parts_of.collect();
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let worker = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let accepted = worker.spawn(move || {
        let compiled = Schema::compile(&schema).unwrap();
        compiled.accepts(&nested(127, &json!({})))
    });
    assert!(accepted.unwrap().join().unwrap());
}
