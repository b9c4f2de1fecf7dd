//! Malicious files: each is checked in bounded time and its problems are reported.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{full, problems_of};
use crate::contract_file::{
    MEMBER_NAME_LIMIT, OPERATIONS_LIMIT, PATTERN_BYTES_LIMIT, PROBLEMS_LIMIT, Problem, check, rule,
};
use panpan_failure::read::DOCUMENT_BYTES_LIMIT;

/// Far more than any file needs, and far less than quadratic time would take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn check_in_time(text: &[u8]) -> Vec<Problem> {
    let start = Instant::now();
    let problems = check(text).err().unwrap_or_default();
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
    assert!(problems.len() <= PROBLEMS_LIMIT + 1);
    problems
}

fn with_input(schema: &str) -> Vec<u8> {
    format!(
        r#"{{"panpan":"1","service":{{"name":"a"}},"operations":[{{"name":"a/b","op_type":"query","input_schema":{schema}}}]}}"#
    )
    .into_bytes()
}

fn with_definitions(definitions: &Value) -> Vec<u8> {
    let mut document = full();
    let shared = document["$defs"].as_object_mut().unwrap();
    shared.extend(definitions.as_object().unwrap().clone());
    serde_json::to_vec(&document).unwrap()
}

/// The size of a generated document: quadratic time would show, and the tests stay fast.
const FILLED_BYTES: usize = DOCUMENT_BYTES_LIMIT / 16;

/// A document that repeats one item.
fn filled(before: &str, item: &str, after: &str) -> Vec<u8> {
    let room = FILLED_BYTES - before.len() - after.len() - 1;
    let mut text = before.to_owned();
    for _ in 0..room / (item.len() + 1) {
        text.push_str(item);
        text.push(',');
    }
    text.pop();
    text.push_str(after);
    text.into_bytes()
}

#[test]
fn the_number_of_operations_is_limited() {
    let file = |count: usize| {
        let operations: Vec<_> = (0..count)
            .map(|number| json!({"name": format!("a/{number}"), "op_type": "query"}))
            .collect();
        json!({"panpan": "1", "service": {"name": "a"}, "operations": operations})
    };
    assert_eq!(problems_of(&file(OPERATIONS_LIMIT)), [""; 0]);
    let too_many = file(OPERATIONS_LIMIT + 1);
    assert_eq!(problems_of(&too_many), ["/operations member.long"]);
}

#[test]
fn the_number_of_problems_is_limited() {
    let file = |count: usize| json!({"panpan": "1", "service": {"name": "a"}, "operations": vec![1; count]});
    let exactly = check_in_time(&serde_json::to_vec(&file(PROBLEMS_LIMIT)).unwrap());
    assert_eq!(exactly.len(), PROBLEMS_LIMIT);
    let more = check_in_time(&serde_json::to_vec(&file(PROBLEMS_LIMIT + 2)).unwrap());
    assert_eq!(more[0].pointer, "/operations/0");
    assert_eq!(
        more[PROBLEMS_LIMIT - 1].pointer,
        format!("/operations/{}", PROBLEMS_LIMIT - 1)
    );
    let last = more.last().unwrap();
    assert_eq!(last.rule, rule::FILE_MORE);
    assert!(last.message.starts_with("2 more problems"), "{last}");
}

#[test]
fn the_length_of_member_names_is_limited() {
    let file = |bytes: usize| {
        with_input(&format!(
            r#"{{"properties":{{"{}":{{}}}}}}"#,
            "a".repeat(bytes)
        ))
    };
    assert!(check_in_time(&file(MEMBER_NAME_LIMIT)).is_empty());
    let problems = check_in_time(&file(MEMBER_NAME_LIMIT + 1));
    assert_eq!(problems[0].pointer, "/operations/0/input_schema/properties");
    assert_eq!(problems[0].rule, rule::FILE_MEMBER_NAME);
}

#[test]
fn the_length_of_patterns_is_limited() {
    let file = |bytes: usize| with_input(&format!(r#"{{"pattern":"{}"}}"#, "a".repeat(bytes)));
    assert!(check_in_time(&file(PATTERN_BYTES_LIMIT)).is_empty());
    assert_eq!(
        check_in_time(&file(PATTERN_BYTES_LIMIT + 1))[0].rule,
        rule::SCHEMA_PATTERN
    );
}

#[test]
fn long_lists_are_checked() {
    let operation =
        r#"{"panpan":"1","service":{"name":"a"},"operations":[{"name":"a/b","op_type":"query","#;
    for (before, item, after) in [
        ("[", "0", "]"),
        ("{\"operations\":[", "0", "]}"),
        ("{\"operations\":[", "{}", "]}"),
        ("{\"x-a\":[", "{\"a\":0,\"a\":0}", "]}"),
        (&format!("{operation}\"error_schemas\":["), "0", "]}]}"),
        (&format!("{operation}\"error_schemas\":["), "{}", "]}]}"),
        (
            &format!("{operation}\"error_schemas\":["),
            r#"{"code":"AAA","description":"a"}"#,
            "]}]}",
        ),
        (
            &format!("{operation}\"access_control\":{{\"required_scopes\":["),
            "0",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"required\":["),
            "1",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"required\":["),
            "\"a\"",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"enum\":["),
            "[]",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            "5",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            "{}",
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            r##"{"$ref":"#"}"##,
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            r##"{"$ref":"#/x"}"##,
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            r#"{"pattern":"("}"#,
            "]}}]}",
        ),
        (
            &format!("{operation}\"input_schema\":{{\"allOf\":["),
            r#"{"type":"x"}"#,
            "]}}]}",
        ),
    ] {
        check_in_time(&filled(before, item, after));
    }
}

#[test]
fn deep_schemas_are_checked() {
    // The limit of the document, minus the six levels around the schema.
    for (open, close) in [
        ("{\"not\":", "}"),
        ("{\"items\":", "}"),
        ("{\"allOf\":[", "]}"),
    ] {
        for depth in [55, 119, 500] {
            let schema = [
                open.repeat(depth),
                "{\"type\":1}".to_owned(),
                close.repeat(depth),
            ]
            .concat();
            let problems = check_in_time(&with_input(&schema));
            assert_eq!(problems.len(), 1, "{open} {depth}");
        }
    }
}

#[test]
fn reference_cycles_are_reported_and_trees_are_not() {
    let endless = |definitions: Value| {
        let problems = check_in_time(&with_definitions(&definitions));
        assert!(
            problems.iter().all(|it| it.rule == rule::SCHEMA_ENDLESS),
            "{problems:?}"
        );
        problems
            .into_iter()
            .map(|it| it.pointer)
            .collect::<Vec<_>>()
    };
    for (definitions, expected) in [
        (
            json!({"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}),
            &["/$defs/A/$ref", "/$defs/B/$ref"][..],
        ),
        (
            json!({"A": {"allOf": [{"not": {"$ref": "#/$defs/A"}}]}}),
            &["/$defs/A/allOf/0/not/$ref"],
        ),
        (
            json!({"A": {"$dynamicRef": "#/$defs/A"}}),
            &["/$defs/A/$dynamicRef"],
        ),
        (
            json!({"A": {"dependentSchemas": {"x": {"$ref": "#/$defs/A"}}}}),
            &["/$defs/A/dependentSchemas/x/$ref"],
        ),
        (json!({"A": {"items": {"$ref": "#/$defs/A"}}}), &[]),
        (
            json!({"A": {"items": {"$ref": "#/$defs/A/items"}}}),
            &["/$defs/A/items/$ref"],
        ),
        (
            json!({"A": {"$ref": "#/$defs/A/$defs/b", "$defs": {"b": {"$ref": "#/$defs/A"}}}}),
            &["/$defs/A/$ref", "/$defs/A/$defs/b/$ref"],
        ),
    ] {
        let mut found = endless(definitions.clone());
        let mut expected = expected.to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{definitions}");
    }
}

#[test]
fn a_long_chain_of_references_is_followed_to_its_end() {
    let count = 20_000;
    let chain = |last: &str| -> Value {
        let links = (0..count).map(|number| {
            let next = if number + 1 < count {
                format!("L{}", number + 1)
            } else {
                last.to_owned()
            };
            (
                format!("L{number}"),
                json!({"$ref": format!("#/$defs/{next}")}),
            )
        });
        Value::Object(links.collect())
    };
    assert!(check_in_time(&with_definitions(&chain("Path"))).is_empty());
    let problems = check_in_time(&with_definitions(&chain("L0")));
    assert_eq!(problems[0].rule, rule::SCHEMA_ENDLESS);
}

#[test]
fn names_with_a_meaning_elsewhere_are_ordinary_names() {
    let problems = problems_of(&json!({
        "__proto__": {"panpan": "1"}, "constructor": 1, "panpan": "1",
        "service": {"name": "a", "toString": 1}, "operations": {"length": 1},
    }));
    assert_eq!(
        problems,
        [
            "/__proto__ member.unknown",
            "/constructor member.unknown",
            "/operations member.type",
            "/service/toString member.unknown",
        ]
    );
}

#[test]
fn a_definition_cannot_change_what_a_reference_means() {
    let mut document = full();
    document["operations"][0]["input_schema"] = json!({
        "$defs": {"Path": {"type": "integer"}, "Tree": full()["$defs"]["Tree"]},
        "properties": {"where": {"$ref": "#/$defs/Where"}},
    });
    assert_eq!(
        problems_of(&document),
        ["/operations/0/input_schema/$defs/Path schema.shadowed"]
    );
}

#[test]
fn values_that_may_be_secret_are_not_quoted() {
    let secret = "hunter2";
    let text = json!({
        "panpan": [secret], "service": secret, "x-key": secret,
        "operations": [
            {"name": {"a": secret}, "op_type": [secret], "timeout_ms": secret, "retry": secret,
             "input_schema": {"default": secret, "minLength": secret, "$ref": format!("https://{secret}@x")},
             "error_schemas": [{"code": 1, "description": [secret], "retryable": secret}]}
        ],
    });
    let problems = check_in_time(&serde_json::to_vec(&text).unwrap());
    assert!(problems.len() > 8);
    for problem in problems {
        assert!(!problem.to_string().contains(secret), "{problem}");
    }
}
