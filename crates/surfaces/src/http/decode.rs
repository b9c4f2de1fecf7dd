//! Decodes the body of a call: `{operation, input, idempotency_key?, retry_seed?, timeout_ms?}`.
//!
//! Unknown members are refused: a misspelt idempotency key could mean a second payment.

use panpan_failure::catalogue::nearest;
use panpan_failure::pointer::joined;
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{CallRequest, shown};
use serde_json::{Value, json};

use crate::json;
use crate::options::{OptionNames, TIMEOUT_FORM};

/// A member, its expected type, and the check.
type Member = (&'static str, &'static str, fn(&Value) -> bool);

const MEMBERS: [Member; 5] = [
    ("operation", "a string", Value::is_string),
    ("input", "a value", |_| true),
    ("idempotency_key", "a string", |it| {
        it.is_string() || it.is_null()
    }),
    ("retry_seed", "a whole number", |it| {
        it.is_i64() || it.is_null()
    }),
    ("timeout_ms", TIMEOUT_FORM, |it| {
        it.as_u64().is_some_and(|it| it > 0) || it.is_null()
    }),
];

/// The members with call options.
pub(super) const IN_BODY: OptionNames = OptionNames::plain("");

/// The input of a call without an input member.
pub(super) fn empty_input() -> Value {
    json!({})
}

/// Decodes a body.
pub(super) fn call(body: &[u8], limit: usize) -> Result<CallRequest, Failure> {
    call_in(document(body, limit)?)
}

/// Decodes one item of a batch.
pub(super) fn call_in(mut document: Value) -> Result<CallRequest, Failure> {
    let violations = violations(&document);
    let members = document.as_object_mut().filter(|_| violations.is_empty());
    let Some(members) = members else {
        return Err(Failure::new(codes::INVALID_REQUEST)
            .with_message("the body is not a valid call")
            .with_violations(violations));
    };
    let operation = match members.remove("operation") {
        Some(Value::String(operation)) => operation,
        _ => String::new(),
    };
    let input = members.remove("input").unwrap_or_else(empty_input);
    let mut request = CallRequest::from_wire(operation, input);
    IN_BODY.apply(members, &mut request)?;
    Ok(request)
}

/// Parses a body as JSON without duplicate members.
pub(super) fn document(body: &[u8], limit: usize) -> Result<Value, Failure> {
    match read::request(body, limit).map_err(|error| unreadable(&error))? {
        (_, Some(pointer)) => Err(json::duplicate_member(&pointer)),
        (document, None) => Ok(document),
    }
}

fn unreadable(error: &ReadError) -> Failure {
    let code = match error {
        ReadError::TooLarge { .. } => codes::ERR_JSON_SIZE_EXCEEDED,
        ReadError::TooDeep { .. } => codes::ERR_JSON_DEPTH_EXCEEDED,
        ReadError::WideNumber { .. } => codes::INVALID_INPUT,
        _ => codes::PARSE_ERROR,
    };
    let failure = Failure::new(code).with_message(error.to_string());
    match *error {
        ReadError::TooDeep { line, column }
        | ReadError::WideNumber { line, column }
        | ReadError::Syntax { line, column, .. } => failure
            .with_detail("line", line)
            .with_detail("column", column),
        _ => failure,
    }
}

fn violations(document: &Value) -> Vec<Violation> {
    let Value::Object(members) = document else {
        return vec![wrong_type("", "an object", document)];
    };
    let mut violations = Vec::new();
    if !members.contains_key("operation") {
        violations.push(Violation::missing("/operation").expected("the name of an operation"));
    }
    let is_unknown = |name: &&String| !MEMBERS.iter().any(|(known, ..)| known == name);
    let unknown = members.keys().filter(is_unknown);
    violations.extend(unknown.map(|name| unknown_member(name)));
    violations.extend(MEMBERS.iter().filter_map(|(name, expected, fits)| {
        let value = members.get(*name).filter(|value| !fits(value))?;
        Some(wrong_type(&format!("/{name}"), expected, value))
    }));
    violations
}

fn wrong_type(pointer: &str, expected: &str, found: &Value) -> Violation {
    let mut violation = Violation::wrong_type(pointer, expected, Value::Null);
    violation.actual = shown(found);
    violation
}

fn unknown_member(name: &str) -> Violation {
    let names = MEMBERS.map(|(name, ..)| name);
    let near = nearest(name, names);
    let expected = match near.as_slice() {
        [] => format!("one of {}", names.join(", ")),
        near => near.join(" or "),
    };
    let shown: String = name.chars().take(64).collect();
    Violation::value(joined("", &shown), "unknown member").expected(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (String, Vec<String>) {
        let failure = call(body.as_bytes(), 1000).unwrap_err();
        let pointers = failure.violations().iter().map(|it| it.pointer.clone());
        (failure.code().to_string(), pointers.collect())
    }

    #[test]
    fn all_violations_of_a_body_are_reported_together() {
        for (body, code, pointers) in [
            ("", "PARSE_ERROR", &[][..]),
            ("{", "PARSE_ERROR", &[]),
            ("[]", "INVALID_REQUEST", &[""]),
            ("{}", "INVALID_REQUEST", &["/operation"]),
            (
                r#"{"operation": 1, "retry_seed": 1.5}"#,
                "INVALID_REQUEST",
                &["/operation", "/retry_seed"],
            ),
            (
                r#"{"operation": "a/b", "idempotency-key": "k"}"#,
                "INVALID_REQUEST",
                &["/idempotency-key"],
            ),
            (
                r#"{"operation": "a/b", "operation": "c/d"}"#,
                "INVALID_INPUT",
                &["/operation"],
            ),
            (
                r#"{"operation": "a/b", "input": {"n": 1, "n": 2}}"#,
                "INVALID_INPUT",
                &["/input/n"],
            ),
            (
                r#"{"operation": "a/b", "idempotency_key": "a b"}"#,
                "INVALID_INPUT",
                &["/idempotency_key"],
            ),
            (
                r#"{"operation": "a/b", "timeout_ms": -1}"#,
                "INVALID_REQUEST",
                &["/timeout_ms"],
            ),
        ] {
            let expected: Vec<String> = pointers.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(refused(body), (code.to_owned(), expected), "{body}");
        }
        let deep = format!(
            r#"{{"operation": "a/b", "input": {}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(refused(&deep).0, "ERR_JSON_DEPTH_EXCEEDED");
    }

    #[test]
    fn a_body_is_accepted_up_to_the_size_limit() {
        let body = |size: usize| {
            let padding = " ".repeat(size - r#"{"operation":"a/b"}"#.len());
            format!(r#"{{"operation":"a/b"}}{padding}"#)
        };
        call(body(1000).as_bytes(), 1000).unwrap();
        assert_eq!(refused(&body(1001)).0, "ERR_JSON_SIZE_EXCEEDED");
    }

    #[test]
    fn an_option_that_is_null_is_absent() {
        let body = r#"{"operation": "a/b", "idempotency_key": null, "retry_seed": null, "timeout_ms": null}"#;
        let call = call(body.as_bytes(), 1000).unwrap();
        assert!(call.key.is_none() && call.retry_seed.is_none() && call.timeout_ms.is_none());
    }

    #[test]
    fn an_absent_input_is_an_empty_object_and_null_is_null() {
        let input = |body: &str| call(body.as_bytes(), 1000).unwrap().input;
        assert_eq!(*input(r#"{"operation": "a/b"}"#), json!({}));
        assert_eq!(
            *input(r#"{"operation": "a/b", "input": null}"#),
            json!(null)
        );
    }
}
