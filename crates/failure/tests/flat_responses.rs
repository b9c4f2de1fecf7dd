//! Tests for the flat dialect: codes, categories, factories and examples.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::native;
use panpan_failure::dialect::Dialect;
use panpan_failure::factories::{
    ExecutionCode, PermissionCode, ResourceCode, SystemCode, ValidationCode, execution_error,
    permission_error, resource_error, system_error, validation_error,
};
use panpan_failure::{Failure, Kind, Violation, codes};
use serde_json::json;

#[test]
fn every_code_has_its_name_category_and_retriability() {
    for (code, name, category, retriable) in [
        ("MISSING_ARGUMENT", "missing_argument", "validation", false),
        ("INVALID_ARGUMENT", "invalid_argument", "validation", false),
        ("INVALID_TYPE", "invalid_type", "validation", false),
        ("NOT_OWNER", "not_owner", "permission", false),
        ("NOT_AUTHORIZED", "not_authorized", "permission", false),
        (
            "INSUFFICIENT_FUNDS",
            "insufficient_funds",
            "permission",
            false,
        ),
        ("ARTIFACT_NOT_FOUND", "not_found", "resource", false),
        ("ALREADY_EXISTS", "already_exists", "resource", false),
        ("ALREADY_LISTED", "already_listed", "resource", false),
        ("EXECUTION_TIMEOUT", "timeout", "execution", true),
        ("RUNTIME_ERROR", "runtime_error", "execution", false),
        ("SYNTAX_ERROR", "syntax_error", "execution", false),
        ("INTERNAL_ERROR", "internal_error", "system", false),
        ("NOT_CONFIGURED", "not_configured", "system", false),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap()).with_message("m");
        let expected = json!({"success": false, "error": "m", "code": name, "category": category, "retriable": retriable});
        assert_eq!(native(Dialect::Flat, failure), expected, "{code}");
    }
}

#[test]
fn the_five_categories_are_these() {
    use panpan_failure::catalogue::FlatCategory;
    let words: Vec<_> = FlatCategory::ALL
        .iter()
        .map(|category| category.word())
        .collect();
    assert_eq!(
        words,
        [
            "validation",
            "permission",
            "resource",
            "execution",
            "system"
        ]
    );
}

#[test]
fn factories_default_to_the_most_common_code_of_their_category() {
    for (failure, name, category) in [
        (
            validation_error(ValidationCode::default(), "m"),
            "invalid_argument",
            "validation",
        ),
        (
            permission_error(PermissionCode::default(), "m"),
            "not_authorized",
            "permission",
        ),
        (
            resource_error(ResourceCode::default(), "m"),
            "not_found",
            "resource",
        ),
        (
            execution_error(ExecutionCode::default(), "m"),
            "runtime_error",
            "execution",
        ),
        (
            system_error(SystemCode::default(), "m"),
            "internal_error",
            "system",
        ),
    ] {
        let flat = native(Dialect::Flat, failure);
        assert_eq!(
            (&flat["code"], &flat["category"]),
            (&json!(name), &json!(category))
        );
    }
}

#[test]
fn a_missing_argument_lists_what_is_required() {
    let failure = validation_error(
        ValidationCode::MissingArgument,
        "transfer requires [from_id, to_id, amount]",
    )
    .with_detail("required", json!(["from_id", "to_id", "amount"]));
    let expected = json!({
        "success": false,
        "error": "transfer requires [from_id, to_id, amount]",
        "code": "missing_argument",
        "category": "validation",
        "retriable": false,
        "details": {"required": ["from_id", "to_id", "amount"]},
    });
    assert_eq!(native(Dialect::Flat, failure), expected);
}

#[test]
fn details_are_left_out_when_empty() {
    let failure = resource_error(ResourceCode::NotFound, "m").with_details(serde_json::Map::new());
    assert!(native(Dialect::Flat, failure).get("details").is_none());
}

#[test]
fn the_code_of_an_invalid_input_depends_on_its_violations() {
    let missing = Violation::missing("/to_id");
    let wrong_type = Violation::wrong_type("/amount", "integer", json!("ten"));
    let out_of_range = Violation::value("/amount", "must be positive").actual(-10);
    for (violations, name, details) in [
        (
            vec![missing, wrong_type.clone()],
            "missing_argument",
            Some(json!({"required": ["to_id"]})),
        ),
        (vec![out_of_range.clone(), wrong_type], "invalid_type", None),
        (vec![out_of_range], "invalid_argument", None),
        (vec![], "invalid_argument", None),
    ] {
        let failure = Failure::new(codes::INVALID_INPUT).with_violations(violations);
        let flat = native(Dialect::Flat, failure);
        assert_eq!(
            (&flat["code"], flat.get("details")),
            (&json!(name), details.as_ref())
        );
    }
}

#[test]
fn a_failure_without_a_code_is_read_and_marked_as_inferred() {
    let reply = Dialect::Flat
        .read(json!({"success": false, "error": "Some error message"}))
        .unwrap();
    let failure = reply.outcome.unwrap_err();
    assert_eq!(failure.message(), "Some error message");
    assert_eq!(failure.code().as_str(), "TOOL_FAILED");
    let inferred: Vec<_> = failure.inferred().iter().map(|fact| fact.word()).collect();
    assert!(inferred.contains(&"code"), "{inferred:?}");
}

#[test]
fn unknown_codes_keep_their_name_and_get_the_nearest_category() {
    for (name, flat_category, retriable, code, category) in [
        (
            "quota_exceeded",
            "resource",
            true,
            "QUOTA_EXCEEDED",
            "TRANSIENT",
        ),
        ("deleted", "resource", false, "DELETED", "CLIENT_ERROR"),
        (
            "not_enabled",
            "permission",
            false,
            "NOT_ENABLED",
            "AUTH_FAIL",
        ),
        ("odd_thing", "system", false, "ODD_THING", "PERMANENT"),
    ] {
        let document = json!({"success": false, "error": "m", "code": name, "category": flat_category, "retriable": retriable});
        let failure = Dialect::Flat.read(document).unwrap().outcome.unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        assert_eq!(failure.category().word(), category, "{name}");
        assert_eq!(failure.retryable(), retriable, "{name}");
    }
}
