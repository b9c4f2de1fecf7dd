//! Tests for the JSON-RPC dialect: the numbers of both tables and every example of the task protocol.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::native;
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Kind, Violation, catalogue, codes};
use serde_json::{Value, json};

#[test]
fn every_code_of_both_tables_has_its_number_and_name() {
    for (code, number, name) in [
        ("PARSE_ERROR", -32700, "Parse error"),
        ("INVALID_REQUEST", -32600, "Invalid Request"),
        ("NOT_FOUND", -32601, "Method not found"),
        ("INVALID_INPUT", -32602, "Invalid params"),
        ("INTERNAL", -32603, "Internal error"),
        ("TASK_NOT_FOUND", -32001, "Task not found"),
        ("CIRCULAR_DEPENDENCY", -32002, "Circular dependency"),
        ("EXECUTOR_NOT_FOUND", -32003, "Executor not found"),
        ("UNAUTHORIZED", -32004, "Unauthorized"),
        ("INVALID_TASK_SCHEMA", -32005, "Invalid task schema"),
        (
            "INVALID_STATE_TRANSITION",
            -32006,
            "Invalid state transition",
        ),
        (
            "DEPENDENCY_NOT_SATISFIED",
            -32007,
            "Dependency not satisfied",
        ),
        ("TASK_ALREADY_EXECUTING", -32008, "Task already executing"),
        ("CANNOT_DELETE_TASK", -32009, "Cannot delete task"),
        (
            "INVALID_PARENT_REFERENCE",
            -32010,
            "Invalid parent reference",
        ),
        (
            "INVALID_DEPENDENCY_REFERENCE",
            -32011,
            "Invalid dependency reference",
        ),
        (
            "TASK_TREE_VALIDATION_FAILED",
            -32012,
            "Task tree validation failed",
        ),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap()).with_message("the specific sentence");
        let error = &native(Dialect::JsonRpc, failure)["error"];
        assert_eq!(error["code"], number, "{code}");
        assert_eq!(
            error["message"],
            format!("{name}: the specific sentence"),
            "{code}"
        );
        assert_eq!(catalogue::for_jsonrpc(number).unwrap().code(), code);
    }
}

#[test]
fn codes_that_share_a_number_are_read_back() {
    for (code, number) in [
        ("INVALID_OPERATION_TYPE", -32600),
        ("TIMEOUT", -32603),
        ("FORBIDDEN", -32004),
        ("ERR_HTTP_429_RATE_LIMITED", 215),
        ("HTTP_404", 9404),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap()).redacted();
        let document = Dialect::JsonRpc.render_failure(&failure, Envelope::default());
        assert_eq!(document["error"]["code"], number, "{code}");
        let read = Dialect::JsonRpc
            .read(document)
            .unwrap()
            .outcome
            .unwrap_err();
        assert_eq!(read.code().as_str(), code);
    }
}

/// Checks one example of the protocol: the failure and its JSON. The protocol allows further members in `data`;
/// the code is always one.
fn check(id: &str, failure: Failure, error: Value) {
    let id = json!(id);
    let envelope = Envelope {
        request_id: Some(&id),
        ..Envelope::default()
    };
    let code = json!(failure.code().as_str());
    let mut document = Dialect::JsonRpc.render_failure(&failure.redacted(), envelope);
    common::delete_residual(Dialect::JsonRpc, &mut document);
    let data = document["error"]["data"].as_object_mut().unwrap();
    assert_eq!(data.remove("code"), Some(code));
    assert_eq!(
        document,
        json!({"jsonrpc": "2.0", "error": error, "id": id})
    );
}

/// The example of the protocol writes the expected value as `details: "Expected UUID v4 format"`; the next
/// example of the same code uses `expected`, like every violation here. All violations are in `errors`.
#[test]
fn a_malformed_identifier() {
    let violation = Violation::value("/task_id", "Invalid UUID format").expected("UUID v4 format");
    check(
        "request-id",
        Failure::new(codes::INVALID_INPUT)
            .with_message("Invalid params")
            .with_violation(violation),
        json!({"code": -32602, "message": "Invalid params", "data": {
            "field": "task_id",
            "reason": "Invalid UUID format",
            "expected": "UUID v4 format",
            "errors": [{"pointer": "/task_id", "expected": "UUID v4 format", "reason": "Invalid UUID format"}],
        }}),
    );
}

#[test]
fn a_value_out_of_range() {
    let violation = Violation::value("/priority", "Value out of range")
        .expected("0-3")
        .actual(5);
    check(
        "req-001",
        Failure::new(codes::INVALID_INPUT)
            .with_message("Invalid params")
            .with_violation(violation),
        json!({"code": -32602, "message": "Invalid params", "data": {
            "field": "priority",
            "reason": "Value out of range",
            "expected": "0-3",
            "actual": 5,
            "errors": [{"pointer": "/priority", "expected": "0-3", "actual": 5, "reason": "Value out of range"}],
        }}),
    );
}

#[test]
fn a_missing_task() {
    let id = "550e8400-e29b-41d4-a716-446655440000";
    check(
        "req-002",
        Failure::new(codes::TASK_NOT_FOUND).with_detail("task_id", id),
        json!({"code": -32001, "message": "Task not found", "data": {"task_id": id}}),
    );
}

#[test]
fn a_forbidden_transition() {
    let data = json!({
        "task_id": "task-uuid",
        "current_status": "completed",
        "attempted_transition": "pending -> in_progress",
        "reason": "Cannot transition from terminal state",
    });
    check(
        "req-003",
        Failure::new(codes::INVALID_STATE_TRANSITION)
            .with_details(data.as_object().cloned().unwrap()),
        json!({"code": -32006, "message": "Invalid state transition", "data": data}),
    );
}

#[test]
fn a_cycle() {
    let cycle = json!(["task-a", "task-b", "task-c", "task-a"]);
    check(
        "req-004",
        Failure::new(codes::CIRCULAR_DEPENDENCY)
            .with_message("Circular dependency detected")
            .with_detail("cycle", cycle.clone()),
        json!({"code": -32002, "message": "Circular dependency detected", "data": {"cycle": cycle}}),
    );
}

#[test]
fn a_bad_token() {
    check(
        "req-005",
        Failure::new(codes::UNAUTHORIZED).with_detail("reason", "Invalid authentication token"),
        json!({"code": -32004, "message": "Unauthorized", "data": {"reason": "Invalid authentication token"}}),
    );
}

#[test]
fn a_failing_executor() {
    let data = json!({"task_id": "task-uuid", "executor": "web_crawler", "error": "Connection timeout after 30 seconds"});
    check(
        "req-006",
        Failure::new(codes::INTERNAL)
            .with_message("Internal error")
            .with_details(data.as_object().cloned().unwrap()),
        json!({"code": -32603, "message": "Internal error", "data": data}),
    );
}

#[test]
fn the_examples_are_read_without_a_residual() {
    for (error, code, violations) in [
        (
            json!({"code": -32602, "message": "Invalid params", "data": {"field": "task_id", "reason": "Invalid UUID format", "details": "Expected UUID v4 format"}}),
            "INVALID_INPUT",
            1,
        ),
        (
            json!({"code": -32602, "message": "Invalid params", "data": {"field": "priority", "reason": "Value out of range", "expected": "0-3", "actual": 5}}),
            "INVALID_INPUT",
            1,
        ),
        (
            json!({"code": -32006, "message": "Invalid state transition", "data": {"reason": "x"}}),
            "INVALID_STATE_TRANSITION",
            0,
        ),
        (
            json!({"code": -32601, "message": "Method not found"}),
            "NOT_FOUND",
            0,
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": "a primitive"}),
            "INTERNAL",
            0,
        ),
        (json!({"code": 4711, "message": "boom"}), "TOOL_FAILED", 0),
    ] {
        let reply = Dialect::JsonRpc
            .read(json!({"jsonrpc": "2.0", "error": error, "id": 1}))
            .unwrap();
        let failure = reply.outcome.unwrap_err();
        assert_eq!(failure.code().as_str(), code, "{error}");
        assert_eq!(failure.violations().len(), violations, "{error}");
    }
}
