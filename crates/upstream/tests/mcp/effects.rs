//! How often a failing tool runs: a counting server, so that an effect that happens twice is seen.

use std::io::{BufRead, Write, stdin, stdout};

use panpan_failure::{Effect, NextMove};
use panpan_runtime::CallRequest;
use serde_json::{Value, json};

use crate::fixture::{call, child, gateway, run};

/// The argument that starts the counting server.
pub(crate) const COUNTING: &str = "counting";

/// A server whose tools fail as their arguments say, and count their runs first.
pub(crate) fn serve() {
    let mut runs: u64 = 0;
    for line in stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
            return;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let params = &message["params"];
        let arguments = &params["arguments"];
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "counting", "version": "1"},
            }}),
            "tools/list" => json!({"result": {"tools": tools()}}),
            "tools/call" if params["name"] == "runs" => {
                let content = json!([{"type": "text", "text": runs.to_string()}]);
                json!({"result": {"content": content}})
            }
            "tools/call" if arguments["host"] == "good" => {
                json!({"result": {"content": [{"type": "text", "text": "good"}]}})
            }
            "tools/call" => {
                runs += 1;
                arguments["answer"].clone()
            }
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        let mut response = json!({"jsonrpc": "2.0", "id": id});
        let members = answer.as_object().unwrap().clone();
        response.as_object_mut().unwrap().extend(members);
        let mut out = stdout().lock();
        writeln!(out, "{response}").unwrap();
        out.flush().unwrap();
    }
}

fn tools() -> Value {
    let schema = json!({"type": "object"});
    let destructive = json!({"destructiveHint": true, "idempotentHint": false});
    json!([
        {"name": "write", "inputSchema": schema},
        {"name": "destroy", "inputSchema": schema, "annotations": destructive},
        {"name": "repeatable", "inputSchema": schema, "annotations": {"idempotentHint": true}},
        {"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "runs", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
    ])
}

/// A failing result with this text.
fn failing(text: &str) -> Value {
    json!({"result": {"isError": true, "content": [{"type": "text", "text": text}]}})
}

/// What failing writes say about calls that they make themselves.
fn inner_failures() -> Vec<Value> {
    let disguised = json!({"success": false, "error": "Connection refused"}).to_string();
    let texts = [
        "Error calling tool 'place_order': [Errno 111] Connection refused",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    order()\nConnectionRefusedError: [Errno 111] Connection refused",
        "429 Too Many Requests",
        "Request failed with status code 429",
        "getaddrinfo EAI_AGAIN",
        "getaddrinfo ENOTFOUND shop.example",
        "Receipt e-mail failed: AxiosError: Request failed with status code 429",
        "Failed after sending 2 of 3 messages: AxiosError: Request failed with status code 429",
        "Rate limited by upstream API, please retry later",
        "Rate limit exceeded. Try again in 1 second.",
        "Could not connect to payments.internal:443: connection refused",
        "An error occurred (SlowDown) when calling the PutObject operation: no",
        r#"{"created":["u1","u2"],"error":"rate limit exceeded","retry_after":1}"#,
        r#"{"ok":false,"error":"ratelimited","posted":["C1","C2"],"failed":["C3"]}"#,
        r#"{"status":429,"message":"slow down"}"#,
    ];
    let mut answers: Vec<Value> = texts.map(failing).into();
    answers.push(json!({"result": {"content": [{"type": "text", "text": disguised}]}}));
    let status = json!({"isError": true, "content": [], "structuredContent": {"status_code": 429}});
    answers.push(json!({"result": status}));
    for message in ["connect ECONNREFUSED 10.0.0.9:5432", "Rate limit exceeded"] {
        answers.push(json!({"error": {"code": -32603, "message": message}}));
    }
    answers
}

pub(crate) fn a_write_is_not_repeated_because_of_a_call_inside_it() {
    run(async {
        let upstream = child(COUNTING);
        let gateway = gateway(&upstream).await;
        let mut runs = 0;
        for answer in inner_failures() {
            for name in ["write", "destroy"] {
                let input = json!({"answer": answer});
                let failure = call(&gateway, name, input.clone()).await.unwrap_err();
                assert_eq!(failure.effect(), Effect::Unknown, "{answer} {failure:?}");
                assert!(!failure.may_repeat(), "{answer}");
                assert_eq!(failure.next_moves()[0], NextMove::CheckOutcome, "{answer}");
                let actions = failure.recovery().required_actions.join("; ");
                assert!(!actions.contains("the service says"), "{actions}");
                // A key that the server does not honour makes nothing safe, and keeps the failure.
                let key = gateway.new_key();
                for _ in 0..2 {
                    let mut request = CallRequest::from_wire(format!("test/{name}"), input.clone());
                    request.key = Some(key.clone());
                    let failure = gateway.dispatch(request).await.into_value().unwrap_err();
                    assert!(!failure.may_repeat(), "{answer}");
                }
                runs += 2;
                let counted = call(&gateway, "runs", json!({})).await.unwrap();
                assert_eq!(counted, json!(runs.to_string()), "{name} {answer}");
            }
        }
    });
}

pub(crate) fn a_call_is_repeatable_if_that_is_harmless() {
    run(async {
        let upstream = child(COUNTING);
        let gateway = gateway(&upstream).await;
        let answer = failing("Rate limit exceeded");
        let stated = failing(r#"{"error": "busy", "retryable": true, "effect": "none"}"#);
        for (name, answer) in [
            ("read", &answer),
            ("repeatable", &answer),
            ("write", &stated),
            (
                "write",
                &failing("Rate limit exceeded. Nothing was changed."),
            ),
        ] {
            let input = json!({"answer": answer});
            let failure = call(&gateway, name, input).await.unwrap_err();
            assert!(failure.may_repeat(), "{name} {answer}");
        }
    });
}

pub(crate) fn a_refused_write_did_nothing() {
    run(async {
        let upstream = child(COUNTING);
        let gateway = gateway(&upstream).await;
        for answer in [
            failing("Input validation error: 'title' is a required property"),
            failing("Request failed with status code 401"),
            failing("HTTP 403 Forbidden"),
            failing("ENOENT: no such file or directory, open '/a'"),
            json!({"error": {"code": -32602, "message": "Invalid arguments for tool write: no"}}),
            json!({"error": {"code": -32602, "message": "Unknown tool: write"}}),
        ] {
            let failure = call(&gateway, "write", json!({"answer": answer})).await;
            assert_eq!(failure.unwrap_err().effect(), Effect::None, "{answer}");
        }
    });
}

pub(crate) fn a_text_about_another_service_opens_no_circuit() {
    run(async {
        let upstream = child(COUNTING);
        let gateway = gateway(&upstream).await;
        for answer in [
            failing("Request failed with status code 503"),
            failing(r#"{"status": 503, "message": "down"}"#),
            json!({"error": {"code": -32603, "message": "HTTP 503"}}),
        ] {
            for _ in 0..12 {
                let failure = call(&gateway, "read", json!({"answer": answer})).await;
                let code = failure.unwrap_err().code().as_str().to_owned();
                assert_eq!(code, "ERR_HTTP_503_UNAVAILABLE", "{answer}");
            }
            let good = call(&gateway, "read", json!({"host": "good"})).await;
            assert_eq!(good.unwrap(), json!("good"), "{answer}");
        }
    });
}
