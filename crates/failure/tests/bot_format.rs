//! Tests for the bot dialect: default recoveries, required fields, examples of the guide.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::native;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Alternative, Failure, Kind, catalogue, codes};
use serde_json::{Map, Value, json};
use uuid::Uuid;

fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn stamped(failure: Failure, id: &str, at: &str) -> Failure {
    failure.stamped(Uuid::parse_str(id).unwrap(), at.parse().unwrap())
}

#[test]
fn a_network_failure_reads_as_in_the_guide() {
    let failure = Failure::new(codes::NETWORK_CONNECTION_ERROR)
        .with_message("Failed to connect to weather service")
        .with_source("weather_tool")
        .with_operation("get_weather")
        .with_parameters(parameters(
            json!({"location": "New York", "units": "metric"}),
        ))
        .with_actions([
            "Check internet connection",
            "Verify the weather service is operational",
        ]);
    let failure = stamped(
        failure,
        "550e8400-e29b-41d4-a716-446655440000",
        "2023-04-25T12:34:56.789Z",
    );
    let expected = json!({"error": {
        "code": "NETWORK_CONNECTION_ERROR",
        "category": "network",
        "source": "weather_tool",
        "message": "Failed to connect to weather service",
        "context": {"operation": "get_weather", "parameters": {"location": "New York", "units": "metric"}},
        "recovery": {
            "is_retryable": true,
            "retry_strategy": {"suggested_delay": 2000, "max_retries": 3},
            "required_actions": ["Check internet connection", "Verify the weather service is operational"],
        },
        "debug": {"error_id": "550e8400-e29b-41d4-a716-446655440000", "timestamp": "2023-04-25T12:34:56.789Z"},
    }});
    assert_eq!(native(Dialect::Bot, failure), expected);
}

fn past_date() -> Value {
    json!({"error": {
        "code": "INVALID_INPUT_ERROR",
        "category": "tool",
        "source": "reminder_tool",
        "message": "Cannot create reminder: date is in the past",
        "context": {
            "operation": "create_reminder",
            "parameters": {"title": "Doctor appointment", "date": "2023-01-01T10:00:00Z"},
        },
        "recovery": {
            "is_retryable": true,
            "retry_strategy": {"parameter_adjustments": {"date": "future date required"}},
            "alternatives": [{
                "description": "Create a note instead of a reminder for past events",
                "example": "Use notes_tool.create_note() for records of past events",
            }],
            "required_actions": ["Provide a future date and time"],
        },
        "debug": {"error_id": "550e8400-e29b-41d4-a716-446655440001", "timestamp": "2023-04-25T14:22:33.456Z"},
    }})
}

/// The guide's schema puts `parameter_adjustments` under `retry_strategy`, its example directly under
/// `recovery`. It is written under `retry_strategy` and read from both.
#[test]
fn an_invalid_input_reads_as_in_the_guide_with_adjustments_under_the_strategy() {
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message("Cannot create reminder: date is in the past")
        .with_source("reminder_tool")
        .with_operation("create_reminder")
        .with_parameters(parameters(
            json!({"title": "Doctor appointment", "date": "2023-01-01T10:00:00Z"}),
        ))
        .with_adjustment("date", "future date required")
        .with_alternatives([Alternative {
            description: "Create a note instead of a reminder for past events".to_owned(),
            example: Some("Use notes_tool.create_note() for records of past events".to_owned()),
        }])
        .with_actions(["Provide a future date and time"]);
    let failure = stamped(
        failure,
        "550e8400-e29b-41d4-a716-446655440001",
        "2023-04-25T14:22:33.456Z",
    );
    assert_eq!(native(Dialect::Bot, failure), past_date());
}

#[test]
fn adjustments_are_read_from_both_members() {
    let mut direct = past_date();
    let recovery = direct["error"]["recovery"].as_object_mut().unwrap();
    recovery.remove("retry_strategy");
    recovery.insert(
        "parameter_adjustments".to_owned(),
        json!({"date": "future date required"}),
    );
    let read = |document| Dialect::Bot.read(document).unwrap().outcome.unwrap_err();
    assert_eq!(read(direct), read(past_date()));
}

#[test]
fn default_recoveries_are_those_of_the_guide() {
    for (code, delay_ms, retries, action, is_retryable) in [
        (
            "NETWORK_ERROR",
            Some(2000),
            Some(3),
            "Check network connection",
            true,
        ),
        (
            "RATE_LIMIT_ERROR",
            Some(5000),
            Some(2),
            "Wait before retrying",
            true,
        ),
        (
            "INVALID_INPUT_ERROR",
            None,
            None,
            "Correct the input parameters",
            true,
        ),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap());
        let recovery = failure.recovery();
        assert_eq!(
            (recovery.retry_after_ms, recovery.max_retries),
            (delay_ms, retries),
            "{code}"
        );
        assert_eq!(recovery.required_actions, [action], "{code}");
        assert_eq!(failure.is_recoverable(), is_retryable, "{code}");
    }
    // Recoverable, but not by repeating the identical call.
    assert!(!Failure::new(codes::INVALID_INPUT_ERROR).may_repeat());
}

#[test]
fn every_code_of_the_catalogue_has_all_required_fields() {
    let areas = [
        "system",
        "network",
        "auth",
        "tool",
        "data",
        "resource",
        "database",
        "workflow",
        "integration",
    ];
    for row in catalogue::entries() {
        let failure = stamped(
            Failure::new(row),
            "550e8400-e29b-41d4-a716-446655440000",
            "2023-04-25T12:34:56Z",
        );
        let document = native(Dialect::Bot, failure);
        let error = &document["error"];
        for required in [
            "/code",
            "/category",
            "/source",
            "/message",
            "/context/operation",
            "/debug/error_id",
            "/debug/timestamp",
        ] {
            let text = error.pointer(required).and_then(Value::as_str);
            assert!(
                text.is_some_and(|text| !text.is_empty()),
                "{} {required}",
                row.code
            );
        }
        let number = usize::from(row.number / 100);
        assert_eq!(error["category"], areas[number - 1], "{}", row.code);
        assert!(error["recovery"]["is_retryable"].is_boolean());
        assert!(error["debug"]["timestamp"].as_str().unwrap().ends_with('Z'));
        let ways = ["retry_strategy", "alternatives", "required_actions"];
        assert!(
            ways.iter().any(|way| error["recovery"].get(way).is_some()),
            "{} has no next step",
            row.code
        );
    }
}

#[test]
fn source_and_operation_have_the_defaults_of_the_guide() {
    let document = native(Dialect::Bot, Failure::new(codes::NETWORK_ERROR));
    assert_eq!(document["error"]["source"], "system");
    assert_eq!(
        document["error"]["context"],
        json!({"operation": "unknown"})
    );
}

#[test]
fn third_party_ids_and_times_are_kept() {
    let document = json!({"error": {"code": "X_FAILED", "message": "m", "debug": {"error_id": "abc", "timestamp": "yesterday"}}});
    let failure = Dialect::Bot.read(document).unwrap().outcome.unwrap_err();
    assert_eq!(
        failure.details().unwrap(),
        &parameters(json!({"error_id": "abc", "timestamp": "yesterday"}))
    );
}

#[test]
fn errors_of_model_providers_are_read() {
    for (document, code, message) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "ERR_LLM_API_ERROR",
            "Overloaded",
        ),
        (
            json!({"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": "context_length_exceeded"}}),
            "ERR_LLM_CONTEXT_LENGTH",
            "no",
        ),
    ] {
        let failure = Dialect::Bot.read(document).unwrap().outcome.unwrap_err();
        assert_eq!(
            (failure.code().as_str(), failure.message()),
            (code, message)
        );
        assert!(failure.upstream().unwrap().code.is_some());
    }
}

/// A failure that only a change outside the input can fix is not retryable, as the guide defines the field.
#[test]
fn missing_resources_credentials_conflicts_and_quotas_are_not_retryable() {
    for code in [
        "HTTP_404",
        "HTTP_402",
        "HTTP_401",
        "HTTP_409",
        "ERR_BLOCKED_HOST",
    ] {
        let document = native(Dialect::Bot, Failure::new(Kind::of(code).unwrap()));
        assert_eq!(
            document["error"]["recovery"]["is_retryable"], false,
            "{code}"
        );
    }
}
