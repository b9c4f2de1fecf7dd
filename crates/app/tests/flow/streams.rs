//! Events of a flow as server-sent events.

use std::io::Read as _;
use std::net::TcpStream;

use panpan_testkit::http;
use serde_json::{Value, json};

use crate::{Flow, below, new_id, task};

/// The events in a response: id, name and data.
fn events(text: &str) -> Vec<(Option<u64>, String, Value)> {
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    let field = |block: &str, name: &str| {
        let prefix = format!("{name}: ");
        let line = block.lines().find_map(|line| line.strip_prefix(&prefix));
        line.map(str::to_owned)
    };
    let event = |block: &str| {
        let id = field(block, "id").map(|it| it.parse().unwrap());
        let name = field(block, "event").unwrap_or_default();
        let data = serde_json::from_str(&field(block, "data").unwrap()).unwrap();
        (id, name, data)
    };
    blocks.map(event).collect()
}

#[test]
fn execution_is_streamed_on_request() {
    let flow = Flow::start();
    let (root, child) = (new_id(), new_id());
    let tasks = json!([
        task(&root, "demo/echo", json!({})),
        below(
            task(&child, "demo/divide", json!({"dividend": 1, "divisor": 0})),
            &root
        ),
    ]);
    let request = |params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tasks.execute", "params": params});
    let body = request(json!({"tasks": tasks, "use_streaming": true})).to_string();
    let response = flow.post("/tasks", &body);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let all = events(&response.text());
    let (_, _, first) = &all[0];
    assert_eq!(first["id"], 7);
    assert_eq!(first["result"]["root_task_id"], root.as_str());
    let names: Vec<&str> = all[1..].iter().map(|(_, name, _)| name.as_str()).collect();
    for name in ["task_status_update", "task_completed", "task_failed"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for (id, _, data) in &all[1..] {
        assert!(id.is_some());
        assert_eq!(data["root_task_id"], root.as_str());
        assert!(
            data["task_id"].is_string()
                && data["status"].is_string()
                && data["progress"].is_number()
        );
    }
    assert_eq!(all.last().unwrap().2["final"], true);
    let refused = request(json!({"task_id": new_id(), "use_streaming": true})).to_string();
    assert_eq!(
        flow.post("/tasks", &refused).json()["error"]["code"],
        -32001
    );
}

#[test]
fn a_stream_continues_after_the_last_event_that_was_received() {
    let flow = Flow::start();
    let id = flow.execute(json!([task(&new_id(), "demo/echo", json!({}))]));
    flow.wait_for(&id, "completed");
    let path = format!("/tasks/{id}/events");
    let get = |headers: &str| http::request(&flow.server.address, "GET", &path, headers, "");
    let whole = events(&get("").text());
    assert_eq!(whole.len(), 3, "{whole:?}");
    let first = whole[0].0.unwrap();
    let rest = events(&get(&format!("last-event-id: {first}\r\n")).text());
    assert_eq!(rest, whole[1..]);
    // A client that reconnects after the last event, as browsers do.
    let last = whole[2].0.unwrap();
    let after_last = events(&get(&format!("last-event-id: {last}\r\n")).text());
    assert!(after_last.is_empty(), "{after_last:?}");
    assert_eq!(get("last-event-id: yesterday\r\n").status, 422);
    let unknown = format!("/tasks/{}/events", new_id());
    for (path, status, code) in [
        (unknown.as_str(), 404, "TASK_NOT_FOUND"),
        ("/tasks/x/events", 422, "INVALID_INPUT"),
    ] {
        let refused = http::request(&flow.server.address, "GET", path, "", "");
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.text().contains(code), "{}", refused.text());
    }
}

#[test]
fn a_repeated_execution_is_streamed_without_the_earlier_ones() {
    let flow = Flow::start();
    let (root, child) = (new_id(), new_id());
    let tasks = json!([
        task(&root, "demo/echo", json!({})),
        below(task(&child, "demo/echo", json!({})), &root),
    ]);
    flow.result("tasks.create", json!({"tasks": tasks}));
    let mut last = 0;
    // One task alone, then what is left of the flow, then all of it again.
    for (id, ended) in [(&child, 1), (&root, 1), (&root, 2)] {
        let params = json!({"task_id": id, "use_streaming": true});
        let request =
            json!({"jsonrpc": "2.0", "id": 7, "method": "tasks.execute", "params": params});
        let all = events(&flow.post("/tasks", &request.to_string()).text());
        let events = &all[1..];
        assert!(events.iter().all(|(id, ..)| id.unwrap() > last), "{all:?}");
        let is_final = events.iter().map(|(_, _, data)| data["final"] == true);
        assert_eq!(is_final.filter(|it| *it).count(), 1, "{all:?}");
        assert_eq!(events.last().unwrap().2["final"], true);
        let completed = events
            .iter()
            .filter(|(_, name, _)| name == "task_completed");
        assert_eq!(completed.count(), ended, "{all:?}");
        last = events.last().unwrap().0.unwrap();
    }
}

/// A refusal would make the client execute its tasks again.
#[test]
fn an_execution_without_room_for_a_stream_is_answered_without_one() {
    let flow = Flow::configured("[limits]\nstreams = 1\n");
    let waiting = flow.execute(json!([task(
        &new_id(),
        "demo/wait",
        json!({"ms": 600_000})
    )]));
    let path = format!("/tasks/{waiting}/events");
    // The only stream, open until the end of the test.
    let mut first = http::open(&flow.server.address, "GET", &path, "", "");
    http::read_until(&mut first, "event: ");
    let id = new_id();
    let params = json!({"tasks": [task(&id, "demo/echo", json!({}))], "use_streaming": true});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tasks.execute", "params": params});
    let response = flow.post("/tasks", &body.to_string());
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["result"]["root_task_id"], id.as_str());
    flow.wait_for(&id, "completed");
    let path = format!("/tasks/{id}/events");
    let events = http::request(&flow.server.address, "GET", &path, "", "");
    assert_eq!(events.status, 503, "{}", events.text());
}

/// What failed is the stream: a client that executes its tasks again does everything twice.
#[test]
fn a_stream_that_breaks_off_does_not_invite_to_execute_again() {
    let flow = Flow::start();
    let id = new_id();
    let params = json!({
        "tasks": [task(&id, "demo/wait", json!({"ms": 600_000}))],
        "use_streaming": true,
    });
    let body = json!({"jsonrpc": "2.0", "id": 7.5, "method": "tasks.execute", "params": params});
    let address = &flow.server.address;
    let mut executed = http::open(address, "POST", "/tasks", http::JSON, body.to_string());
    http::read_until(&mut executed, "in_progress");
    let path = format!("/tasks/{id}/events");
    let mut followed = http::open(address, "GET", &path, "", "");
    http::read_until(&mut followed, "in_progress");
    flow.server.signal("TERM");
    let last_of = |stream: &mut TcpStream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let from_error = &text[text.find("event: error").unwrap()..];
        events(from_error).remove(0)
    };
    let (_, name, error) = last_of(&mut executed);
    assert_eq!((name.as_str(), &error["id"]), ("error", &json!(7.5)));
    let data = &error["error"]["data"];
    assert_eq!(data["code"], "ERR_OVERLOADED");
    let residual = &data["panpan"];
    assert_eq!(residual["retryable"], false, "{error}");
    assert_eq!(residual["effect"], "unknown", "{error}");
    let actions = residual["recovery"]["required_actions"].to_string();
    assert!(
        actions.contains(&format!("GET {path} and the header Last-Event-ID: ")),
        "{error}"
    );
    assert!(actions.contains("do not execute them again"), "{error}");
    // A stream that only reads may be opened again.
    let (_, _, error) = last_of(&mut followed);
    assert_eq!(error["retryable"], true, "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("GET {path} and the header Last-Event-ID: ")),
        "{error}"
    );
}
