//! `panpan worker` as a process: it runs tasks that other processes accepted, and ends them before it stops.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use panpan_testkit::{Folder, PostgresServer, Server, run, stderr, until};
use serde_json::{Value, json};

/// Calls an operation in a process of its own, which runs no tasks.
fn call(folder: &Folder, store: &str, operation: &str, input: &Value) -> Value {
    let arguments = ["call", operation, &input.to_string(), "--local", "--json"];
    let output = folder.stdout(&[&arguments, &["--store", store][..]].concat());
    serde_json::from_str(&output).unwrap()
}

fn execute(folder: &Folder, store: &str, method: &str, inputs: &Value) -> String {
    let task = json!({"name": "one", "schemas": {"method": method}, "inputs": inputs});
    let started = call(folder, store, "tasks/execute", &json!({"tasks": [task]}));
    started["root_task_id"].as_str().unwrap().to_owned()
}

fn status(folder: &Folder, store: &str, task: &str) -> String {
    let found = call(folder, store, "tasks/get", &json!({"task_id": task}));
    found["status"].as_str().unwrap().to_owned()
}

fn check_tasks_run(store: &str) {
    let folder = Folder::new();
    let waiting = execute(&folder, store, "demo/order", &json!({"item": "tea"}));
    assert_eq!(status(&folder, store, &waiting), "pending");
    let mut worker = Server::worker(&folder, &["--store", store]);
    until("the first task", || {
        status(&folder, store, &waiting) == "completed"
    });
    let later = execute(&folder, store, "demo/order", &json!({"item": "tea"}));
    until("the second task", || {
        status(&folder, store, &later) == "completed"
    });
    worker.stop();
}

#[test]
fn a_worker_runs_tasks_of_a_database() {
    check_tasks_run(&PostgresServer::shared().new_database());
}

#[test]
fn a_worker_runs_tasks_of_a_file() {
    let folder = Folder::new();
    check_tasks_run(&format!("sqlite:{}", folder.path("tasks.db").display()));
}

fn check_sources_may_differ(store: &str) {
    let folder = Folder::new();
    let mut without = Server::worker(&folder, &["--store", store, "--demo=false"]);
    let waiting = execute(&folder, store, "demo/order", &json!({"item": "tea"}));
    // It has looked for tasks since.
    let group = json!({"tasks": [{"name": "group"}]});
    let started = call(&folder, store, "tasks/execute", &group);
    let group = started["root_task_id"].as_str().unwrap();
    until("the group", || status(&folder, store, group) == "completed");
    assert_eq!(status(&folder, store, &waiting), "pending");
    let mut with = Server::worker(&folder, &["--store", store]);
    until("the task", || {
        status(&folder, store, &waiting) == "completed"
    });
    without.stop();
    with.stop();
}

#[test]
fn workers_of_a_database_may_have_different_sources() {
    check_sources_may_differ(&PostgresServer::shared().new_database());
}

#[test]
fn workers_of_a_file_may_have_different_sources() {
    let folder = Folder::new();
    let file = folder.path("tasks.db");
    check_sources_may_differ(&format!("sqlite:{}", file.display()));
}

#[test]
fn a_worker_ends_running_tasks_before_it_stops() {
    let (folder, store) = (Folder::new(), PostgresServer::shared().new_database());
    let mut worker = Server::worker(&folder, &["--store", &store]);
    let task = execute(&folder, &store, "demo/wait", &json!({"ms": 3000}));
    until("the start", || {
        status(&folder, &store, &task) == "in_progress"
    });
    worker.signal("TERM");
    worker.wait_for_line("stopping: waiting for running tasks");
    assert_eq!(worker.wait_for_end(), Some(0), "{:?}", worker.lines());
    assert_eq!(status(&folder, &store, &task), "completed");
}

#[test]
fn servers_share_the_tasks_of_a_database() {
    let (folder, store) = (Folder::new(), PostgresServer::shared().new_database());
    let mut servers = [(); 2].map(|()| Server::start(&folder, &["--store", &store]));
    let task =
        json!({"name": "one", "schemas": {"method": "demo/order"}, "inputs": {"item": "tea"}});
    let body = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let execute = body("tasks.execute", json!({"tasks": [task]}));
    let started = servers[0].post("/tasks", "", &execute).json();
    let id = &started["result"]["root_task_id"];
    let get = body("tasks.get", json!({"task_id": id}));
    until("the task", || {
        let found = servers[1].post("/tasks", "", &get).json();
        found["result"]["status"] == "completed"
    });
    for server in &mut servers {
        server.stop();
    }
}

#[test]
fn a_worker_that_cannot_run_tasks_says_why() {
    let folder = Folder::new();
    let missing = PostgresServer::shared().address("panpan", "hunter2", "missing");
    let file = format!("sqlite:{}", folder.path("store.db").display());
    for (flags, message) in [
        (
            &["--store", "memory:"][..],
            "panpan: cannot run tasks: the store memory: belongs to one process",
        ),
        (
            &["--store", &missing],
            "there is no database postgres://panpan@127.0.0.1:",
        ),
        (
            &["--store", &file, "--builtin", "json"],
            "panpan: cannot run tasks: the setting builtin leaves the operations of tasks out",
        ),
        (&["--store", "hunter2"], "cannot run tasks"),
        (
            &["--listen", "127.0.0.1:0"],
            "unexpected argument '--listen'",
        ),
    ] {
        let output = run(&mut folder.panpan(&[&["worker"], flags].concat()), b"");
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(messages.contains(message), "{message}: {messages}");
        assert!(!messages.contains("hunter2"), "{messages}");
    }
}
