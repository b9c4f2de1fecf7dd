//! The log: a JSON log is only JSON, its ids match the responses, and it contains no secrets.

use panpan_testkit::{Folder, Server};
use serde_json::{Value, json};

fn events(server: &Server) -> Vec<Value> {
    let parsed = |line: &String| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let events: Vec<Value> = server.lines().iter().map(parsed).collect();
    assert!(events.iter().all(Value::is_object), "{events:?}");
    events
}

fn about<'a>(events: &'a [Value], id: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["failure"] == id)
        .collect()
}

#[test]
fn every_line_of_a_json_log_is_an_object() {
    let folder = Folder::new();
    let token = folder.token("ann");
    assert!(!token.is_empty());
    for (flags, is_quiet) in [
        (&["--listen", "0.0.0.0:0"][..], false),
        (&["--log-level", "debug"], false),
        (&["--log-level", "warn", "--listen", "0.0.0.0:0"], true),
    ] {
        let flags = [&["--log-format", "json"], flags].concat();
        let mut server = Server::start(&folder, &flags);
        server.address = server.address.replace("0.0.0.0", "127.0.0.1");
        server.stop();
        let events = events(&server);
        let is_logged = |part: &str| {
            let contains = |event: &Value| event["message"].as_str().unwrap().contains(part);
            events.iter().any(contains)
        };
        for part in ["listening", "stopping", "stopped"] {
            assert_eq!(is_logged(part), !is_quiet, "{flags:?} {part}: {events:?}");
        }
    }
}

#[test]
fn the_logged_cause_of_a_failure_has_the_id_of_the_response() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--log-format", "json"]);
    assert_eq!(server.order("before").status, 200);
    std::fs::rename(folder.data(), folder.0.join("elsewhere")).unwrap();
    let mut answer = server.order("after-0");
    let mut number = 0;
    panpan_testkit::until("a failure of the store", || {
        number += 1;
        answer = server.order(&format!("after-{number}"));
        answer.status == 503
    });
    let failure = answer.json();
    assert_eq!(failure["code"], "ERR_STORE_UNAVAILABLE");
    let id = failure["panpan"]["id"].as_str().unwrap();
    assert_eq!(answer.header("panpan-error-id"), Some(id));
    server.stop();
    let events = events(&server);
    let [cause, failed] = about(&events, id)[..] else {
        panic!("{events:?}");
    };
    let cause = cause["cause"].as_str().unwrap();
    assert!(cause.contains("the key could not be claimed"), "{cause}");
    assert!(!answer.text().contains(cause));
    assert_eq!(failed["code"], "ERR_STORE_UNAVAILABLE");
    assert_eq!(failed["operation"], "demo/order");
}

#[test]
fn responses_metrics_and_the_log_contain_no_secrets() {
    let folder = Folder::new();
    let token = folder.token("ann");
    let secret = token.rsplit('_').next().unwrap();
    let server = Server::start(&folder, &["--log-level", "trace"]);
    let bearer = format!("authorization: Bearer {token}\r\n");
    let broken = format!("authorization: Bearer {token}x\r\n");
    let other = format!("authorization: Basic {token}\r\n");
    let password = r#"{"operation": "demo/divide", "input": {"password": "hunter2-zebra"}}"#;
    let message = format!(
        r#"{{"operation": "demo/fail", "input": {{"code": "ERR_TIMEOUT", "message": "{token} password=hunter2-zebra"}}}}"#
    );
    let key = r#"{"operation": "demo/divide", "input": {"password": "hunter2-zebra"}, "idempotency_key": "k"}"#;
    let unreadable = format!(r#"{{"password": "hunter2-zebra", "token": "{token}""#);
    let mut seen = String::new();
    for headers in ["", &bearer, &broken, &other] {
        for body in [password, &message, key, &unreadable] {
            let answer = server.call(headers, body);
            assert!(answer.status >= 400, "{answer:?}");
            seen.push_str(&format!("{answer:?}\n{}\n", answer.text()));
        }
    }
    let path = format!("/errors/{token}?password=hunter2-zebra");
    seen.push_str(&server.get(&path).text());
    seen.push_str(&server.get("/metrics").text());
    seen.push_str(&server.lines().join("\n"));
    for planted in [secret, "hunter2-zebra"] {
        let at = seen.find(planted);
        let around = at.map(|at| &seen[at.saturating_sub(300)..at]);
        assert_eq!(around, None, "{planted}");
    }
    assert!(seen.contains("[REDACTED]"));
}

#[test]
fn failed_tasks_are_counted_and_logged() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--log-format", "json"]);
    let task = |method: &str, inputs: Value| {
        let task = json!({"name": "one", "schemas": {"method": method}, "inputs": inputs});
        let call = json!({"operation": "tasks/execute", "input": {"tasks": [task]}});
        let started = server.call("", &call.to_string()).json();
        started["output"]["root_task_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let failing = task("demo/fail", json!({"code": "ERR_HTTP_404_NOT_FOUND"}));
    let cancelled = task("demo/wait", json!({"ms": 60_000}));
    let cancel = json!({"operation": "tasks/cancel", "input": {"task_id": cancelled}});
    assert_eq!(server.call("", &cancel.to_string()).status, 200);
    task("demo/echo", json!({"a": 1}));
    let counted = |operation: &str, code: &str| {
        let labels = format!(r#"surface="task",operation="{operation}",code="{code}""#);
        format!("panpan_calls_total{{{labels}}} 1\n")
    };
    let expected = [
        counted("demo/fail", "ERR_HTTP_404_NOT_FOUND"),
        counted("demo/echo", "OK"),
    ];
    panpan_testkit::until("the tasks are counted", || {
        let metrics = server.get("/metrics").text();
        expected.iter().all(|line| metrics.contains(line))
    });
    let read = json!({"operation": "tasks/get", "input": {"task_id": failing}});
    let failed = server.call("", &read.to_string()).json();
    let id = failed["output"]["failure"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.stop();
    let events = events(&server);
    let [line] = about(&events, &id)[..] else {
        panic!("{events:?}");
    };
    assert!(
        events
            .iter()
            .all(|event| event["task"] != cancelled.as_str())
    );
    assert_eq!(line["task"], failing);
    assert_eq!(line["surface"], "task");
    assert_eq!(line["operation"], "demo/fail");
}
