//! The Flow protocol over HTTP, with a plain JSON-RPC client: one case for every MUST and every row of its code tables.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod advice;
mod bodies;
mod codes;
mod isolation;
mod methods;
mod streams;
mod webhooks;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use panpan_testkit::{Folder, Server, http, until};
use serde_json::{Value, json};

/// A server with the demo operations.
struct Flow {
    server: Server,
    _folder: Folder,
}

impl Flow {
    fn start() -> Self {
        Self::configured("")
    }

    /// A server with these settings.
    fn configured(settings: &str) -> Self {
        let folder = Folder::new();
        let config = folder.file("panpan.toml", settings);
        let server = Server::start(&folder, &["--store", "memory:", "--config", &config]);
        Self {
            server,
            _folder: folder,
        }
    }

    fn post(&self, path: &str, body: &str) -> http::Response {
        http::request(&self.server.address, "POST", path, http::JSON, body)
    }

    /// The response to one JSON-RPC request.
    fn rpc(&self, method: &str, params: Value) -> Value {
        self.rpc_with("", method, params)
    }

    /// The response to a request with further headers.
    fn rpc_with(&self, headers: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": "req-1"});
        let headers = format!("{}{headers}", http::JSON);
        let address = &self.server.address;
        let response = http::request(address, "POST", "/tasks", &headers, body.to_string());
        assert_eq!(response.status, 200);
        let response = response.json();
        assert_eq!(response["jsonrpc"], "2.0");
        assert_eq!(response["id"], "req-1");
        response
    }

    fn result(&self, method: &str, params: Value) -> Value {
        let response = self.rpc(method, params);
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    fn error(&self, method: &str, params: Value) -> Value {
        let response = self.rpc(method, params);
        assert!(response["result"].is_null(), "{response}");
        response["error"].clone()
    }

    fn task(&self, id: &str) -> Value {
        self.result("tasks.get", json!({"task_id": id}))
    }

    /// Waits until a task has this status.
    fn wait_for(&self, id: &str, status: &str) -> Value {
        let mut task = Value::Null;
        until(status, || {
            task = self.task(id);
            task["status"] == status
        });
        task
    }

    /// Creates and executes tasks; returns the id of the root.
    fn execute(&self, tasks: Value) -> String {
        let started = self.result("tasks.execute", json!({"tasks": tasks}));
        assert_eq!(started["status"], "started");
        started["root_task_id"].as_str().unwrap().to_owned()
    }
}

/// A new task id.
fn new_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    format!("10000000-0000-4000-8000-{number:012}")
}

/// A task that calls an operation.
fn task(id: &str, method: &str, inputs: Value) -> Value {
    json!({"id": id, "name": "a task", "schemas": {"method": method}, "inputs": inputs})
}

/// The same task below another one.
fn below(mut task: Value, parent: &str) -> Value {
    task["parent_id"] = json!(parent);
    task
}

fn after(mut task: Value, dependencies: Value) -> Value {
    task["dependencies"] = dependencies;
    task
}

/// Time for something that must not happen.
const MOMENT: Duration = Duration::from_millis(200);
