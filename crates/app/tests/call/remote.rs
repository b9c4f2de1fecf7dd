//! Calls on a server, which is a socket with canned responses.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use panpan_testkit::{Then, http_response as http, refusing_url, run, server_in_thread, signal};
use serde_json::{Value, json};

use crate::{call, parts, program};

/// A server that answers one request with each response. Returns its URL, and the requests when joined.
fn server(responses: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let responses = responses.into_iter().map(|it| (it, Then::Closes));
    server_in_thread(responses.collect())
}

fn success(headers: &str) -> String {
    let body = json!({"request_id": "1", "result": "ok", "output": {"quotient": 2}});
    http("200 OK", headers, &body.to_string())
}

fn failure(code: &str, message: &str, details: &Value) -> String {
    let body = json!({
        "code": code, "message": message, "retryable": false, "details": details, "panpan": {},
    });
    http("400 Bad Request", "", &body.to_string())
}

#[test]
fn all_options_are_sent_to_the_server() {
    let (url, serving) = server(vec![success("")]);
    let arguments = [
        "demo/divide",
        "a.b=1",
        "--key",
        "k-1",
        "--seed",
        "-3",
        "--timeout",
        "5s",
        "--server",
        &url,
    ];
    let output = run(program(&arguments).env("PANPAN_TOKEN", "pp_1"), b"");
    assert_eq!(parts(&output), (0, json!({"quotient": 2}), String::new()));
    let request = &serving.join().unwrap()[0];
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /call "), "{head}");
    assert!(head.contains("authorization: Bearer pp_1"), "{head}");
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "operation": "demo/divide", "input": {"a": {"b": 1}}, "idempotency_key": "k-1",
            "retry_seed": -3, "timeout_ms": 5000,
        })
    );
}

#[test]
fn the_server_can_come_from_a_variable_and_the_token_from_a_file() {
    let (url, serving) = server(vec![success("")]);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("call-token");
    fs::write(&path, "pp_file\n").unwrap();
    let arguments = ["demo/echo", "--token-file", path.to_str().unwrap()];
    let mut command = program(&arguments);
    command
        .env("PANPAN_SERVER", &url)
        .env("PANPAN_TOKEN", "pp_1");
    assert_eq!(run(&mut command, b"").status.code(), Some(0));
    let requests = serving.join().unwrap();
    assert!(requests[0].contains("authorization: Bearer pp_file\r\n"));
}

#[test]
fn a_failure_is_printed_without_the_token() {
    let (url, _) = server(vec![failure(
        "LOGIN_FAILED",
        "who is zebra-crossing-9?",
        &json!({}),
    )]);
    let mut command = program(&["demo/echo", "--server", &url]);
    let output = run(command.env("PANPAN_TOKEN", "zebra-crossing-9"), b"");
    let (exit_code, document, messages) = parts(&output);
    assert_eq!(exit_code, 1);
    assert_eq!(document["code"], "LOGIN_FAILED");
    assert_eq!(document["message"], "who is [REDACTED]?");
    assert_eq!(messages, "panpan: LOGIN_FAILED: who is [REDACTED]?\n");
}

#[test]
fn a_replay_is_reported() {
    let (url, _) = server(vec![success("Idempotent-Replayed: true\r\n")]);
    let (exit_code, _, messages) = parts(&call(&["demo/order", "--key", "k-1", "--server", &url]));
    assert_eq!(exit_code, 0);
    assert!(
        messages.contains("recorded under the key k-1"),
        "{messages}"
    );
}

#[test]
fn a_missing_or_invalid_response_exits_with_2() {
    let refused = refusing_url();
    let whole = success("");
    for (url, code, message) in [
        (
            refused.clone(),
            "ERR_CONNECTION_REFUSED",
            format!("panpan: no server answers at {refused}\n\nhint: start a server"),
        ),
        (
            server(vec![whole[..whole.len() - 1].to_owned()]).0,
            "ERR_OUTCOME_UNKNOWN",
            "broke before the response was complete".to_owned(),
        ),
        (
            server(vec![http(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>",
            )])
            .0,
            "ERR_JSON_INVALID",
            "not a response of a panpan server".to_owned(),
        ),
        (
            server(vec![http("502 Bad Gateway", "", "<html>")]).0,
            "ERR_HTTP_502_BAD_GATEWAY",
            "answered HTTP 502".to_owned(),
        ),
    ] {
        let (exit_code, document, messages) = parts(&call(&["demo/echo", "--server", &url]));
        assert_eq!(exit_code, 2, "{messages}");
        assert_eq!(document["code"], code);
        assert!(messages.contains(&message), "{messages}");
    }
}

#[test]
fn the_items_of_a_subscription_are_printed() {
    let refusal = failure(
        "INVALID_OPERATION_TYPE",
        "it is a stream",
        &json!({"op_type": "subscription"}),
    );
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let items = "data: {\"n\":1}\n\n: still here\n\ndata: 2\n\n";
    let broken = "event: error\ndata: {\"code\":\"ERR_TIMEOUT\",\"message\":\"late\",\"retryable\":true,\"panpan\":{}}\n\n";
    for (events, exit_code, printed) in [
        (items.to_owned(), 0, "{\"n\":1}\n2\n"),
        (
            format!("{items}{broken}"),
            1,
            "{\"n\":1}\n2\n{\"code\":\"ERR_TIMEOUT\"",
        ),
    ] {
        let (url, serving) = server(vec![refusal.clone(), format!("{stream}{events}")]);
        let output = call(&["test/items", "a=1", "--server", &url]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(printed), "{text}");
        assert_eq!(output.status.code(), Some(exit_code));
        let requests = serving.join().unwrap();
        assert!(requests[1].starts_with("POST /subscribe "));
        assert!(requests[1].ends_with(r#"{"operation":"test/items","input":{"a":1}}"#));
    }
}

#[test]
fn ctrl_c_interrupts_a_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requested) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        sender.send(stream.read(&mut [0; 1024])).unwrap();
        // Sends no response and waits for the end of the connection.
        let _ = stream.read(&mut [0]);
    });
    let child = program(&["demo/order", "--key", "k-1", "--server", &url]).spawn();
    let child = child.unwrap();
    requested.recv().unwrap().unwrap();
    signal(child.id(), "INT");
    let (exit_code, _, messages) = parts(&child.wait_with_output().unwrap());
    assert_eq!(exit_code, 130);
    assert_eq!(
        messages,
        "panpan: the call was interrupted; call again with --key k-1 to get its outcome\n"
    );
}
