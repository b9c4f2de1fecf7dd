//! Webhooks over loopback, with a receiver that verifies the signature as Standard Webhooks describes it.

use std::io::Write as _;
use std::net::TcpListener;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use panpan_testkit::{
    Folder, Server, Then, http, http_response, refusing_url, server_in_thread, until,
};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::{Flow, new_id, task};

const KEY: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn start(folder: Folder, flags: &[&str]) -> Flow {
    let mut command = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(flags).env("PANPAN_TASKS_WEBHOOK_SECRET", KEY);
    command.env("PANPAN_TASKS_LEASE_SECONDS", "3");
    let server = Server::run(&mut command);
    Flow {
        server,
        _folder: folder,
    }
}

fn responses(statuses: &[&str]) -> Vec<(String, Then)> {
    let response = |status: &&str| {
        (
            http_response(status, "", "secret of the receiver"),
            Then::Closes,
        )
    };
    statuses.iter().map(response).collect()
}

/// Executes a task with a webhook; returns its id.
fn execute(flow: &Flow, url: &str) -> String {
    let id = new_id();
    let tasks = json!([task(&id, "demo/echo", json!({}))]);
    let params = json!({"tasks": tasks, "webhook_config": {"url": url}});
    flow.result("tasks.execute", params);
    id
}

/// Waits until the message about a flow has this status.
fn wait_for_message(flow: &Flow, root: &str, status: &str) -> Value {
    let mut message = Value::Null;
    until(status, || {
        let children = flow.result("tasks.children", json!({"parent_id": root}));
        message = children["children"][0].clone();
        message["status"] == status
    });
    message
}

fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let lines = request.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(it, _)| it.eq_ignore_ascii_case(name));
    found.next().unwrap().1
}

fn is_signed(request: &str) -> bool {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let (id, at) = (
        header(request, "webhook-id"),
        header(request, "webhook-timestamp"),
    );
    let key = BASE64_STANDARD.decode(KEY).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
    header(request, "webhook-signature") == format!("v1,{signature}")
}

#[test]
fn a_message_is_signed_and_sent_again_after_a_503() {
    let (url, requests) = server_in_thread(responses(&["503 Service Unavailable", "200 OK"]));
    let flow = start(
        Folder::new(),
        &["--store", "memory:", "--allow-host", "127.0.0.1"],
    );
    let root = execute(&flow, &format!("{url}/hook?token=k3y"));
    let message = wait_for_message(&flow, &root, "completed");
    assert_eq!(
        (&message["attempts"], &message["result"]),
        (&json!(2), &json!({"status_code": 200}))
    );
    let requests = requests.join().unwrap();
    assert!(
        requests.iter().all(|request| is_signed(request)),
        "{requests:?}"
    );
    assert_eq!(
        header(&requests[0], "webhook-id"),
        header(&requests[1], "webhook-id")
    );
    assert!(requests[0].starts_with("POST /hook?token=k3y "));
    assert!(!is_signed(&requests[0].replace("completed", "failed")));
    assert!(!flow.task(&root).to_string().contains("k3y"));
}

#[test]
fn a_message_is_sent_although_the_process_was_killed() {
    let url = refusing_url();
    let folder = Folder::new();
    let store = format!("sqlite:{}", folder.path("flow.db").display());
    let flags = ["--store", store.as_str(), "--allow-host", "127.0.0.1"];
    let mut flow = start(folder, &flags);
    let root = execute(&flow, &url);
    let message = wait_for_message(&flow, &root, "in_progress");
    flow.server.signal("KILL");
    flow.server.wait_for_end();
    let Flow {
        _folder: folder, ..
    } = flow;
    let receiver = TcpListener::bind(url.strip_prefix("http://").unwrap()).unwrap();
    let flow = start(folder, &flags);
    let (mut stream, _) = receiver.accept().unwrap();
    let request = http::read_until(&mut stream, "\"flow.rested\"}");
    let response = http_response("200 OK", "", "");
    stream.write_all(response.as_bytes()).unwrap();
    drop(stream);
    assert!(is_signed(&request), "{request}");
    assert_eq!(
        header(&request, "webhook-id"),
        message["id"].as_str().unwrap()
    );
    wait_for_message(&flow, &root, "completed");
    assert_eq!(flow.task(&root)["status"], "completed");
}

#[test]
fn a_private_address_is_refused_and_reads_nothing() {
    let (url, _requests) = server_in_thread(responses(&["200 OK"]));
    let flow = start(Folder::new(), &["--store", "memory:"]);
    let root = execute(&flow, &format!("{url}/services/k3y"));
    let message = wait_for_message(&flow, &root, "failed");
    assert!(!message.to_string().contains("services"), "{message}");
    assert_eq!(message["failure"]["code"], "ERR_BLOCKED_HOST");
    assert!(!message.to_string().contains("secret of the receiver"));
    assert_eq!(flow.task(&root)["status"], "completed");
    // Only webhooks use the operation.
    let called = flow.error("http/call", json!({"method": "GET", "url": url}));
    assert_eq!(called["code"], -32601);
}

#[test]
fn a_server_without_a_key_has_no_webhooks() {
    let flow = Flow::start();
    let params = json!({
        "tasks": [task(&new_id(), "demo/echo", json!({}))],
        "webhook_config": {"url": "https://hooks.example.com"},
    });
    let refused = flow.error("tasks.execute", params);
    assert_eq!(refused["code"], -32602);
    assert!(
        refused.to_string().contains("tasks.webhook_secret"),
        "{refused}"
    );
}
