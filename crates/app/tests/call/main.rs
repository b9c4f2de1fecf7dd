//! `panpan call` as a person or a script meets it: the built program, its output, its exit codes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod local;
mod remote;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program with these arguments, and nothing of the environment it reads.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panpan"));
    command
        .arg("call")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for variable in ["PANPAN_SERVER", "PANPAN_STORE", "PANPAN_TOKEN"] {
        command.env_remove(variable);
    }
    command
}

fn ran(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    // A program that stops reading closes the pipe; what it says then is what is tested.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn call(arguments: &[&str]) -> Output {
    ran(&mut program(arguments), b"")
}

/// The exit code, stdout as JSON, and stderr.
fn told(output: &Output) -> (i32, Value, String) {
    let talk = String::from_utf8(output.stderr.clone()).unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), document, talk)
}

#[test]
fn help_says_what_the_input_looks_like_and_what_the_exit_codes_mean() {
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
fn arguments_that_make_no_sense_are_refused_before_anything_is_asked() {
    for (arguments, said) in [
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
            "redis: is no kind of store",
        ),
        (&["demo/echo", "--local", "nonsense"], "neither JSON nor"),
        (&["demo/echo", "--local", "a=1", "{}"], "a whole input"),
        (
            &["demo/echo", "--server", "http://u:hunter3@h"],
            "a user name or password",
        ),
        (
            &["demo/echo", "--token-file", "/no/such/file"],
            "cannot open /no/such/file",
        ),
        (
            &["demo/echo", "--token-file", "/dev/null"],
            "there is no token in",
        ),
        (
            &[
                "demo/echo",
                "--server",
                "https://127.0.0.1:1",
                "--ca",
                "/dev/null",
            ],
            "there is no certificate",
        ),
    ] {
        let output = call(arguments);
        let (exit_code, _, talk) = told(&output);
        assert_eq!(exit_code, 2, "{arguments:?}: {talk}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(talk.contains(said), "{arguments:?}: {talk}");
        assert!(!talk.contains("hunter3"), "{talk}");
    }
}
