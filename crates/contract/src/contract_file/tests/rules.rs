//! Every rule about operations and their errors, violated once; the rules about schemas are in
//! `schemas`.

use serde_json::{Value, json};

use super::{full, problems_of};
use crate::contract_file::{ContractFile, check, rule};

/// The problems of the full file with one value replaced.
pub(super) fn problems_with(pointer: &str, value: Value) -> Vec<String> {
    let mut document = full();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(above).expect(pointer) {
        Value::Array(items) => items.push(value),
        object => object[name.replace("~1", "/")] = value,
    }
    problems_of(&document)
}

/// The problems of the full file with an error added to its first operation.
fn problems_with_error(mut members: Value) -> Vec<String> {
    let mut error = json!({"code": "NEW_CODE", "description": "When"});
    let members = members.as_object_mut().unwrap();
    error.as_object_mut().unwrap().append(members);
    problems_with("/operations/0/error_schemas/-", error)
}

#[test]
fn an_invalid_value_is_reported_at_its_pointer() {
    for (pointer, value, rule) in [
        ("/panpan", json!("2"), rule::MEMBER_WORD),
        ("/service/name", json!(""), rule::MEMBER_EMPTY),
        ("/service/licence", json!("MIT"), rule::MEMBER_UNKNOWN),
        ("/operations/0/opType", json!(1), rule::MEMBER_UNKNOWN),
        ("/operations/0/timeout_ms", json!(1.0), rule::MEMBER_TYPE),
        ("/operations/0/timeout_ms", json!(-1), rule::MEMBER_RANGE),
        ("/operations/0/timeout_ms", json!(0), rule::MEMBER_RANGE),
        (
            "/operations/0/name",
            json!("readFile"),
            rule::OPERATION_NAME,
        ),
        (
            "/operations/0/namespace",
            json!("f"),
            rule::OPERATION_NAMESPACE,
        ),
        (
            "/operations/1/name",
            json!("/fs/readFile"),
            rule::OPERATION_REPEATED,
        ),
        (
            "/operations/0/idempotency/key",
            json!("required"),
            rule::IDEMPOTENCY_KEY,
        ),
        (
            "/operations/1/idempotency/by_input/pointer",
            json!("mode"),
            rule::IDEMPOTENCY_POINTER,
        ),
        (
            "/operations/0/access_control/required_scopes_any",
            json!([]),
            rule::MEMBER_EMPTY,
        ),
        (
            "/operations/0/retry/jitter_range",
            json!(1.5),
            rule::MEMBER_RANGE,
        ),
        ("/operations/0/retry", json!("on"), rule::MEMBER_WORD),
        ("/operations/0/circuit", json!("on"), rule::MEMBER_WORD),
        ("/operations/0/circuit", json!(3), rule::MEMBER_TYPE),
        ("/operations/0/outputs", json!("loose"), rule::MEMBER_WORD),
        ("/operations/0/redaction", json!("some"), rule::MEMBER_WORD),
        (
            "/operations/0/circuit",
            json!({"open_ms": 5, "open_ms_max": 4}),
            rule::CIRCUIT,
        ),
        (
            "/operations/1/error_schemas/0/category",
            json!("VALIDATION"),
            rule::ERROR_CONFLICT,
        ),
    ] {
        let expected = [format!("{pointer} {rule}")];
        assert_eq!(problems_with(pointer, value.clone()), expected, "{value}");
    }
}

#[test]
fn a_value_that_makes_another_invalid_is_reported_at_the_other() {
    for (pointer, value, member, rule) in [
        ("/service", json!({}), "/service/name", rule::MEMBER_MISSING),
        (
            "/operations/0/access_control/resource_type",
            json!(null),
            "/operations/0/access_control/resource_action",
            rule::ACCESS_RESOURCE_TYPE,
        ),
        (
            "/operations/2/idempotency",
            json!({"key": "required"}),
            "/operations/2/idempotency/key",
            rule::IDEMPOTENCY_KEY,
        ),
        (
            "/operations/0/retry/max_delay_ms",
            json!(9),
            "/operations/0/retry",
            rule::RETRY_POLICY,
        ),
        (
            "/operations/0/retry/categories",
            json!(["SLOW"]),
            "/operations/0/retry/categories/0",
            rule::MEMBER_WORD,
        ),
        (
            "/operations/1/error_schemas/0/remedy",
            json!(null),
            "/operations/1/error_schemas/0",
            rule::ERROR_CONFLICT,
        ),
    ] {
        let expected = [format!("{member} {rule}")];
        assert_eq!(problems_with(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn an_invalid_error_is_reported_at_the_invalid_member() {
    for (members, member, rule) in [
        (json!({"code": "no_file"}), "code", rule::ERROR_CODE),
        (json!({"code": "HTTP_429"}), "code", rule::ERROR_REPEATED),
        (
            json!({"code": "NOT_FOUND"}),
            "code",
            rule::ERROR_PROTOCOL_CODE,
        ),
        (
            json!({"code": "PARSE_ERROR"}),
            "code",
            rule::ERROR_PROTOCOL_CODE,
        ),
        (
            json!({"code": "HTTP_404", "category": "TRANSIENT"}),
            "category",
            rule::ERROR_CATALOGUE_FACT,
        ),
        (
            json!({"code": "HTTP_404", "retryable": true}),
            "retryable",
            rule::ERROR_CATALOGUE_FACT,
        ),
        (
            json!({"code": "HTTP_404", "remedy": ["wait"]}),
            "remedy",
            rule::ERROR_CATALOGUE_FACT,
        ),
        (
            json!({"retryable": true}),
            "retryable",
            rule::ERROR_RETRYABLE,
        ),
        (
            json!({"http_status": "3XX"}),
            "http_status",
            rule::ERROR_HTTP_STATUS,
        ),
        (
            json!({"http_status": 399}),
            "http_status",
            rule::MEMBER_RANGE,
        ),
        (
            json!({"http_status": 600}),
            "http_status",
            rule::MEMBER_RANGE,
        ),
        (
            json!({"jsonrpc_code": 999}),
            "jsonrpc_code",
            rule::ERROR_JSONRPC_CODE,
        ),
        (
            json!({"jsonrpc_code": 2404}),
            "jsonrpc_code",
            rule::ERROR_JSONRPC_CODE,
        ),
        (
            json!({"jsonrpc_code": 1404}),
            "jsonrpc_code",
            rule::ERROR_JSONRPC_SHARED,
        ),
        (
            json!({"category": "CLIENT_ERROR", "remedy": ["wait"]}),
            "remedy",
            rule::ERROR_REMEDY,
        ),
        (
            json!({"category": "TRANSIENT", "remedy": ["change_input"]}),
            "remedy",
            rule::ERROR_REMEDY,
        ),
        (
            json!({"code": "HTTP_404", "http_status": 500}),
            "http_status",
            rule::ERROR_CATALOGUE_FACT,
        ),
        (
            json!({"category": "Transient"}),
            "category",
            rule::MEMBER_WORD,
        ),
        (json!({"remedy": ["sleep"]}), "remedy/0", rule::MEMBER_WORD),
        (json!({"colour": 1}), "colour", rule::MEMBER_UNKNOWN),
        // Whether waiting helps depends on the invalid member.
        (
            json!({"category": "TRANSIENT", "retryable": "no", "remedy": ["ask_human"]}),
            "retryable",
            rule::MEMBER_TYPE,
        ),
        // Whether it may be retryable depends on the category, which is unknown.
        (
            json!({"retryable": true, "category": "T"}),
            "category",
            rule::MEMBER_WORD,
        ),
    ] {
        let expected = [format!("/operations/0/error_schemas/3/{member} {rule}")];
        assert_eq!(problems_with_error(members.clone()), expected, "{members}");
    }
}

#[test]
fn all_problems_are_reported_for_every_code() {
    let rest = json!({
        "jsonrpc_code": -1, "retryable": true, "http_status": "3XX", "remedy": 1
    });
    let with_code = |code: Value| {
        let mut error = rest.clone();
        error["code"] = code;
        problems_with_error(error)
    };
    let messages = |rules: &[(&str, &str)]| -> Vec<String> {
        let messages = |(member, rule): &(&str, &str)| {
            format!("/operations/0/error_schemas/3/{member} {rule}")
        };
        rules.iter().map(messages).collect()
    };
    let always = [
        ("jsonrpc_code", rule::ERROR_JSONRPC_CODE),
        ("remedy", rule::MEMBER_TYPE),
        ("http_status", rule::ERROR_HTTP_STATUS),
    ];
    for (code, rule) in [
        (json!("x"), Some(rule::ERROR_CODE)),
        (json!(7), Some(rule::MEMBER_TYPE)),
        (json!("NOT_FOUND"), Some(rule::ERROR_PROTOCOL_CODE)),
        (json!("FILE_NOT_FOUND"), Some(rule::ERROR_REPEATED)),
        (json!("FILE_GONE"), None),
    ] {
        let mut expected = messages(&always);
        expected.extend(rule.map(|rule| messages(&[("code", rule)]).remove(0)));
        let mut found = with_code(code.clone());
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{code}");
    }
}

#[test]
fn an_error_without_a_valid_code_gets_the_same_messages() {
    let mut document = full();
    document["operations"] = json!([{
        "name": "a/b", "op_type": "query",
        "error_schemas": [{"code": "x", "description": "", "jsonrpc_code": -1}]
    }]);
    let problems = check(&serde_json::to_vec(&document).unwrap()).unwrap_err();
    let messages: Vec<_> = problems.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages[1..],
        [
            "text is blank; write at least one character that is not white space",
            "this error declares JSON-RPC code -1, which is reserved; use 1000 or above",
        ]
    );
}

#[test]
fn a_code_has_one_json_rpc_code_in_all_operations() {
    let member = "/operations/1/error_schemas/0";
    for (number, pointer) in [
        (json!(1405), format!("{member}/jsonrpc_code")),
        (json!(null), member.to_owned()),
    ] {
        let expected = [format!("{pointer} {}", rule::ERROR_CONFLICT)];
        let found = problems_with(&format!("{member}/jsonrpc_code"), number.clone());
        assert_eq!(found, expected, "{number}");
    }
}

#[test]
fn values_at_the_limits_are_accepted() {
    for (pointer, value) in [
        ("/operations/0/timeout_ms", json!(1)),
        ("/operations/0/timeout_ms", json!(null)),
        ("/operations/0/retry", json!(null)),
        ("/operations/1/error_schemas/0/http_status", json!(404)),
        ("/operations/1/idempotency/by_input/pointer", json!("")),
    ] {
        assert_eq!(
            problems_with(pointer, value.clone()),
            [""; 0],
            "{pointer} {value}"
        );
    }
    for members in [
        json!({"http_status": 400}),
        json!({"http_status": 599}),
        json!({"http_status": "default"}),
        json!({"jsonrpc_code": 1000}),
        json!({"code": "HTTP_404", "http_status": 404}),
        json!({"code": "HTTP_404", "http_status": "4XX"}),
        json!({"jsonrpc_code": 2399}),
        json!({"jsonrpc_code": 9600}),
        json!({"category": "TRANSIENT", "remedy": ["wait", "use_alternative"]}),
        json!({"category": "TRANSIENT", "retryable": false, "remedy": ["ask_human"]}),
        json!({"category": "TRANSIENT", "retryable": true}),
    ] {
        assert_eq!(problems_with_error(members.clone()), [""; 0], "{members}");
    }
}

#[test]
fn blank_texts_are_rejected() {
    let schema: Value = serde_json::from_str(ContractFile::SCHEMA).unwrap();
    let published = jsonschema::validator_for(&schema).unwrap();
    for pointer in [
        "/service/name",
        "/service/description",
        "/operations/0/title",
        "/operations/0/description",
        "/operations/0/error_schemas/0/description",
        "/operations/0/access_control/resource_type",
    ] {
        for (text, is_blank) in [
            ("", true),
            ("   ", true),
            ("\t\n\u{a0}\u{2028}\u{feff}", true),
            ("\u{85}", false),
            (" a", false),
        ] {
            let messages = format!("{pointer} {}", rule::MEMBER_EMPTY);
            let expected = Vec::from_iter(is_blank.then_some(messages));
            assert_eq!(problems_with(pointer, json!(text)), expected, "{text:?}");
            let mut document = full();
            *document.pointer_mut(pointer).unwrap() = json!(text);
            assert_eq!(published.is_valid(&document), !is_blank, "{text:?}");
        }
    }
}

#[test]
fn a_duplicate_member_is_reported() {
    let text = br#"{"panpan": "1", "service": {"name": "a", "name": "b"}, "operations": []}"#;
    let problems = check(text).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "at /service/name: duplicate member; keep one of them"
    );
}
