//! `panpan call`: the output and exit codes of the built program.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod local;
mod remote;

use std::process::{Command, Output};

use panpan_testkit::{panpan, run, stderr};
use serde_json::Value;

/// The program with these arguments; local calls leave no file.
fn program(arguments: &[&str]) -> Command {
    let mut command = panpan(["call"]);
    command.args(arguments).env("PANPAN_STORE", "memory:");
    command
}

fn call(arguments: &[&str]) -> Output {
    run(&mut program(arguments), b"")
}

/// The exit code, stdout as JSON, and stderr.
fn parts(output: &Output) -> (i32, Value, String) {
    let messages = stderr(output);
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), document, messages)
}

#[test]
fn help_describes_the_input_and_the_exit_codes() {
    let output = call(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).unwrap();
    for part in [
        "KEY=VALUE",
        "@FILE",
        "--server",
        "--local",
        "--token-file",
        "PANPAN_TOKEN",
        "Exit codes: 0",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn invalid_arguments_are_refused_before_the_call() {
    for (arguments, message) in [
        (&[][..], "<OPERATION>"),
        (&["demo/echo", "--token", "hunter2"], "--token"),
        (&["demo/echo", "--timeout", "5"], "500ms, 5s or 2m"),
        (&["demo/echo", "--key", ""], "the idempotency key is empty"),
        (&["demo/echo", "--dialect", "latin"], "flat, bot"),
        (
            &["demo/echo", "--local", "--server", "http://x"],
            "--server",
        ),
        (&["demo/echo", "--store", "memory:"], "--local"),
        (
            &["demo/echo", "--local", "--store", "redis://u:hunter2@h"],
            "unknown store scheme redis:",
        ),
        (&["demo/echo", "--local", "nonsense"], "neither JSON nor"),
        (&["demo/echo", "--local", "a=1", "{}"], "a complete input"),
        (
            &["demo/echo", "--server", "http://u:hunter3@h"],
            "a user name or password",
        ),
        (
            &["demo/echo", "--token-file", "/no/such/file"],
            "cannot read /no/such/file",
        ),
        (
            &["demo/echo", "--token-file", "/dev/null"],
            "contains no token",
        ),
        (
            &[
                "demo/echo",
                "--server",
                "https://127.0.0.1:1",
                "--ca",
                "/dev/null",
            ],
            "contains no certificate",
        ),
    ] {
        let output = call(arguments);
        let (exit_code, _, messages) = parts(&output);
        assert_eq!(exit_code, 2, "{arguments:?}: {messages}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(messages.contains(message), "{arguments:?}: {messages}");
        assert!(!messages.contains("hunter3"), "{messages}");
    }
}
