//! Tests for the derived implementations: definitions and failures as JSON.

mod unusual_enums;

use std::error::Error as _;
use std::time::Duration;

use panpan_failure::{DeclareFailures, Effect, Failure};
use serde_json::{Value, json};

#[derive(Debug, Failure)]
enum ReadFileError {
    /// The file does not exist.
    #[failure(code = "FILE_NOT_FOUND", message = "file not found: {path}")]
    FileNotFound { path: String },
    #[failure(
        code = PERMISSION_DENIED,
        description = "OS-level read permission denied",
        category = "AUTH_FAIL",
        http = 403,
        remedy = [reauthenticate, "ask_human"],
        effect = none,
        jsonrpc = 1403,
        actions = ["Ask the owner of {path}", "Read another file"],
        alternative = "Read the public copy",
    )]
    PermissionDenied {
        /// The requested path.
        path: String,
        errno: Option<i32>,
    },
    #[failure(code = "QUOTA_REACHED", category = RATE_LIMIT, http = 429, retryable = true)]
    #[failure(remedy = "wait, use_alternative", retry_after_ms = 2000)]
    #[failure(message = "{used} of {limit:>4} reads used, {{so}} wait")]
    QuotaReached {
        used: u64,
        limit: u64,
        #[failure(retry_after_ms, rename = "waitMs")]
        wait_ms: Option<u64>,
        #[failure(skip)]
        secret: String,
    },
    #[failure(code = "ERR_TIMEOUT")]
    Timeout,
    #[failure(transparent)]
    Disk(DiskError),
}

#[derive(Debug, Failure)]
enum DiskError {
    #[failure(code = "DISK_FULL", http = 507, effect = "applied")]
    Full(
        #[failure(rename = "device")] String,
        #[failure(source)] std::io::Error,
    ),
    /// No answer in time
    #[failure(code = ERR_TIMEOUT)]
    Timeout {},
}

fn failed(error: impl Into<Failure>) -> Value {
    let failure: Failure = error.into();
    serde_json::to_value(failure.redacted()).expect("a redacted failure is JSON")
}

fn quota(wait_ms: Option<u64>) -> ReadFileError {
    ReadFileError::QuotaReached {
        used: 7,
        limit: 7,
        wait_ms,
        secret: "hunter2".to_owned(),
    }
}

fn full() -> ReadFileError {
    let source = std::io::Error::other("no space left");
    ReadFileError::Disk(DiskError::Full("sda1".to_owned(), source))
}

#[test]
fn every_variant_is_a_definition() {
    let text = json!({"type": "string"});
    let count = json!({"type": "integer", "format": "uint64", "minimum": 0});
    let definitions = serde_json::to_value(ReadFileError::definitions()).unwrap();
    let expected = json!([
        {
            "code": "FILE_NOT_FOUND",
            "description": "The file does not exist",
            "schema": {"type": "object", "properties": {"path": text}, "required": ["path"]},
            "http_status": null,
        },
        {
            "code": "PERMISSION_DENIED",
            "description": "OS-level read permission denied",
            "schema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The requested path"},
                    "errno": {"type": "integer", "format": "int32"},
                },
                "required": ["path"],
            },
            "http_status": 403,
            "category": "AUTH_FAIL",
            "remedy": ["reauthenticate", "ask_human"],
            "effect": "none",
            "jsonrpc_code": 1403,
        },
        {
            "code": "QUOTA_REACHED",
            "description": "Quota reached",
            "schema": {
                "type": "object",
                "properties": {"used": count, "limit": count, "waitMs": count},
                "required": ["used", "limit"],
            },
            "http_status": 429,
            "category": "RATE_LIMIT",
            "retryable": true,
            "remedy": ["wait", "use_alternative"],
        },
        {
            "code": "ERR_TIMEOUT",
            "description": "No answer in time",
            "schema": {"type": "object"},
            "http_status": null,
        },
        {
            "code": "DISK_FULL",
            "description": "Disk full",
            "schema": {"type": "object", "properties": {"device": text}, "required": ["device"]},
            "http_status": 507,
            "effect": "applied",
        },
    ]);
    assert_eq!(definitions, expected);
}

#[test]
fn every_definition_is_valid_and_has_the_kind_of_its_value() {
    let values = [
        ReadFileError::FileNotFound {
            path: String::new(),
        },
        ReadFileError::PermissionDenied {
            path: String::new(),
            errno: None,
        },
        quota(None),
        ReadFileError::Timeout,
        full(),
    ];
    let definitions = ReadFileError::definitions();
    assert_eq!(values.len(), definitions.len());
    for (value, definition) in values.iter().zip(definitions) {
        assert_eq!(definition.kind(), Ok(value.kind()));
    }
}

#[test]
fn a_value_becomes_a_failure() {
    let missing = ReadFileError::FileNotFound {
        path: "/etc/none".to_owned(),
    };
    let denied = ReadFileError::PermissionDenied {
        path: "/etc/shadow".to_owned(),
        errno: Some(13),
    };
    for (error, expected) in [
        (
            missing,
            json!({
                "code": "FILE_NOT_FOUND",
                "category": "CLIENT_ERROR",
                "retryable": false,
                "message": "file not found: /etc/none",
                "details": {"path": "/etc/none"},
            }),
        ),
        (
            denied,
            json!({
                "code": "PERMISSION_DENIED",
                "category": "AUTH_FAIL",
                "remedy": ["reauthenticate", "ask_human"],
                "effect": "none",
                "message": "OS-level read permission denied",
                "details": {"path": "/etc/shadow", "errno": 13},
                "recovery": {
                    "alternatives": [{"description": "Read the public copy"}],
                    "required_actions": ["Ask the owner of {path}", "Read another file"],
                },
            }),
        ),
        (
            quota(None),
            json!({
                "code": "QUOTA_REACHED",
                "retryable": true,
                "message": "7 of    7 reads used, {so} wait",
                "details": {"used": 7, "limit": 7},
            }),
        ),
        (
            ReadFileError::Timeout,
            json!({
                "code": "ERR_TIMEOUT",
                "category": "TIMEOUT",
                "retryable": true,
                "message": "No answer in time",
                "details": null,
            }),
        ),
        (
            full(),
            json!({
                "code": "DISK_FULL",
                "effect": "applied",
                "message": "Disk full",
                "details": {"device": "sda1"},
                "causes": [{"message": "no space left"}],
            }),
        ),
    ] {
        let failure = failed(error);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(
                failure.get(name).unwrap_or(&Value::Null),
                value,
                "{failure:#}"
            );
        }
    }
}

#[test]
fn the_delay_of_the_occurrence_overrides_the_declaration() {
    for (wait_ms, expected) in [(Some(9), 9), (None, 2000)] {
        let failure = failed(quota(wait_ms));
        assert_eq!(failure["recovery"]["retry_after_ms"], expected);
    }
}

#[test]
fn skipped_fields_are_not_in_the_failure() {
    let error = quota(Some(1));
    let ReadFileError::QuotaReached { secret, .. } = &error else {
        panic!("quota() returns QuotaReached");
    };
    let secret = secret.clone();
    assert!(!failed(error).to_string().contains(&secret));
}

#[test]
fn display_shows_the_message_and_source_returns_the_cause() {
    for (error, text, source) in [
        (quota(None), "7 of    7 reads used, {so} wait", None),
        (ReadFileError::Timeout, "No answer in time", None),
        (full(), "Disk full", Some("no space left")),
        (
            ReadFileError::Disk(DiskError::Timeout {}),
            "No answer in time",
            None,
        ),
    ] {
        assert_eq!(error.to_string(), text);
        let found = error.source().map(ToString::to_string);
        assert_eq!(found.as_deref(), source, "{text}");
    }
}

#[test]
fn a_delay_can_have_any_supported_type() {
    #[derive(Debug, Failure)]
    enum Busy {
        #[failure(code = "BUSY_SHORT", category = TRANSIENT)]
        Short(#[failure(retry_after_ms, skip)] u16),
        #[failure(code = "BUSY_LONG", category = TRANSIENT)]
        Long(#[failure(retry_after_ms, rename = "wait")] Duration),
        #[failure(code = "BUSY_MAYBE", category = TRANSIENT)]
        Maybe(#[failure(retry_after_ms, skip)] Option<Duration>),
    }
    for (busy, expected) in [
        (Busy::Short(5), 5),
        (Busy::Long(Duration::from_secs(3)), 3000),
        (Busy::Long(Duration::MAX), u64::MAX),
        (Busy::Maybe(Some(Duration::from_millis(7))), 7),
    ] {
        let failure: Failure = busy.into();
        assert_eq!(failure.recovery().retry_after_ms, Some(expected));
    }
}

#[test]
fn the_effect_is_the_default_of_the_code_unless_declared() {
    let failure: Failure = ReadFileError::Timeout.into();
    assert_eq!(failure.effect(), Effect::Unknown);
    let failure: Failure = full().into();
    assert_eq!(failure.effect(), Effect::Applied);
}
