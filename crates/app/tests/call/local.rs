//! Calls with --local.

use std::fs;
use std::path::PathBuf;

use panpan_testkit::run;
use serde_json::{Value, json};

use crate::{call, parts, program};

fn local(arguments: &[&str]) -> (i32, Value, String) {
    parts(&call(&[&["--local"], arguments].concat()))
}

#[test]
fn a_success_prints_only_the_output() {
    let output = call(&["--local", "demo/divide", "dividend=4", "divisor=2"]);
    assert_eq!(output.stdout, b"{\"quotient\":2.0}\n");
    assert!(output.stderr.is_empty());
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_declared_failure_is_typed_and_exits_with_1() {
    let (exit_code, failure, messages) =
        local(&["demo/divide", r#"{"dividend": 1, "divisor": 0}"#]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "DIVISION_BY_ZERO");
    assert_eq!(failure["retryable"], false);
    assert_eq!(
        messages,
        "panpan: DIVISION_BY_ZERO: cannot divide 1 by zero\n"
    );
}

#[test]
fn every_violation_is_reported() {
    let (exit_code, failure, _) = local(&["demo/divide", "dividend=four"]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "INVALID_INPUT");
    let violations = failure["panpan"]["violations"].as_array().unwrap();
    assert_eq!(violations.len(), 2, "{failure}");
}

#[test]
fn arguments_in_a_list_get_their_declared_names() {
    let (exit_code, output, _) = local(&["demo/divide", "[4, 2]"]);
    assert_eq!((exit_code, output), (0, json!({"quotient": 2.0})));
    let (exit_code, failure, _) = local(&["demo/divide", "[]", "--dialect", "flat"]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "missing_argument");
    assert_eq!(
        failure["details"]["required"],
        json!(["dividend", "divisor"])
    );
}

#[test]
fn a_dialect_is_used_for_both_outcomes() {
    let (exit_code, success, _) = local(&["demo/echo", "a=1", "--dialect", "flat"]);
    assert_eq!((exit_code, success), (0, json!({"success": true, "a": 1})));
    let (exit_code, failure, _) = local(&["demo/fail", "code=ERR_TIMEOUT", "--dialect", "problem"]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["status"], 504, "{failure}");
}

#[test]
fn an_unknown_operation_gets_suggestions() {
    let (exit_code, failure, messages) = local(&["demo/ecko"]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "NOT_FOUND");
    assert_eq!(failure["details"]["nearest"][0], "demo/echo");
    assert!(messages.contains("there is no operation"), "{messages}");
}

#[test]
fn input_is_read_from_stdin_or_a_file() {
    let output = run(
        &mut program(&["--local", "demo/echo", "-"]),
        b"{\"a\": [1]}\n",
    );
    assert_eq!(parts(&output), (0, json!({"a": [1]}), String::new()));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("call-input.json");
    fs::write(&path, "{\"b\": null}").unwrap();
    let argument = format!("@{}", path.display());
    let (exit_code, output, _) = local(&["demo/echo", &argument]);
    assert_eq!((exit_code, output), (0, json!({"b": null})));
}

#[test]
fn the_same_key_gives_the_same_outcome_across_processes() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("call-keys.db");
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", path.display()));
    }
    let store = format!("sqlite:{}", path.display());
    let order = |key: &str, item: &str| {
        let item = format!("item={item}");
        local(&["--store", &store, "--key", key, "demo/order", &item])
    };
    let (exit_code, first, messages) = order("order-7", "tea");
    assert_eq!((exit_code, messages.as_str()), (0, ""));
    let (exit_code, again, messages) = order("order-7", "tea");
    assert_eq!((exit_code, &again), (0, &first));
    assert!(
        messages.contains("recorded under the key order-7"),
        "{messages}"
    );
    // By position, it is the same call.
    let by_position = [
        "--store",
        &store,
        "--key",
        "order-7",
        "demo/order",
        "[\"tea\"]",
    ];
    assert_eq!(local(&by_position).1, first);
    let (_, other, _) = order("order-8", "tea");
    assert_ne!(other["order"], first["order"]);
    let (exit_code, failure, _) = order("order-7", "coffee");
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "ERR_IDEMPOTENCY_KEY_REUSED");
    // The variable sets the store too.
    let arguments = ["--local", "--key", "order-7", "demo/order", "item=tea"];
    let output = run(program(&arguments).env("PANPAN_STORE", &store), b"");
    assert_eq!(parts(&output).1, first);
}

#[test]
fn an_operation_that_needs_a_principal_refuses_anonymous_callers() {
    let (exit_code, failure, _) = local(&["calls/recent"]);
    assert_eq!(exit_code, 1);
    assert_eq!(failure["code"], "FORBIDDEN");
}
