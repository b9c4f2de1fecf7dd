//! Calls as tasks over MCP with the program: tasks outlive connections and processes, and belong to a token.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use panpan_testkit::{Folder, Server, until};
use serde_json::{Value, json};

const META: &str = "io.modelcontextprotocol";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A client of the stateless version that supports tasks.
struct Client<'a> {
    server: &'a Server,
    token: Option<&'a str>,
}

impl Client<'_> {
    fn sent(&self, method: &str, mut params: Value) -> Value {
        let name = params["name"].as_str().or(params["taskId"].as_str());
        let mut headers = format!(
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: {method}\r\nmcp-name: {}\r\n",
            name.unwrap_or_default()
        );
        if let Some(token) = self.token {
            headers += &format!("authorization: Bearer {token}\r\n");
        }
        params["_meta"] = json!({
            format!("{META}/protocolVersion"): "2026-07-28",
            format!("{META}/clientCapabilities"): {"extensions": {TASKS: {}}},
            "dev.panpan/task": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.server.post("/mcp", &headers, &body.to_string());
        let text = response.text();
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        match response.header("content-type") {
            Some("application/json") => response.json(),
            _ => serde_json::from_str(data.next_back().unwrap()).unwrap(),
        }
    }

    /// The id of a new task.
    fn created(&self, tool: &str, arguments: &Value) -> String {
        let created = self.sent("tools/call", json!({"name": tool, "arguments": arguments}));
        let id = created["result"]["taskId"].as_str();
        id.unwrap_or_else(|| panic!("{created}")).to_owned()
    }

    fn task(&self, id: &str) -> Value {
        self.sent("tasks/get", json!({"taskId": id}))
    }

    /// The task, once it has ended.
    fn ended(&self, id: &str) -> Value {
        let mut task = Value::Null;
        until("the end of the task", || {
            task = self.task(id)["result"].take();
            task["status"] != "working"
        });
        task
    }
}

/// Starts a server whose store is a file.
fn started(folder: &Folder) -> Server {
    let store = format!("sqlite:{}", folder.path("tasks.db").display());
    Server::start(folder, &["--store", &store])
}

#[test]
fn a_task_survives_a_crash_of_the_gateway_and_keeps_its_outcome() {
    let folder = Folder::new();
    let mut server = started(&folder);
    let client = Client {
        server: &server,
        token: None,
    };
    let ended = client.created("demo__echo", &json!({"a": 1}));
    let before = client.ended(&ended);
    let running = client.created("demo__wait", &json!({"ms": 2000}));
    until("the task to run", || {
        let task = server.post(
            "/call",
            "",
            &json!({"operation": "tasks/get", "input": {"task_id": running}}).to_string(),
        );
        task.text().contains("in_progress")
    });
    server.signal("KILL");
    server.wait_for_end();
    let server = started(&folder);
    let client = Client {
        server: &server,
        token: None,
    };
    assert_eq!(client.task(&ended)["result"], before);
    assert_eq!(client.task(&running)["result"]["status"], "working");
    // Taken over when the lease of the process that was killed ends.
    let task = client.ended(&running);
    assert_eq!(
        task["result"]["structuredContent"]["waited_ms"], 2000,
        "{task}"
    );
}

#[test]
fn a_task_belongs_to_the_owner_of_the_token_that_created_it() {
    let folder = Folder::new();
    let tokens = ["anna", "bert"].map(|name| folder.token(name));
    let server = Server::start(&folder, &[]);
    let [anna, bert] = tokens.each_ref().map(|token| Client {
        server: &server,
        token: Some(token.as_str()),
    });
    let id = anna.created("demo__divide", &json!({"dividend": 1, "divisor": 0}));
    let task = anna.ended(&id);
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["isError"], true);
    let unknown = "00000000-0000-4000-8000-000000000000";
    let (foreign, missing) = (bert.task(&id), bert.task(unknown));
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    let text = |answer: &Value| answer["error"].to_string();
    assert_eq!(text(&foreign).replace(&id, unknown), text(&missing));
}

#[test]
fn without_the_operations_of_tasks_there_are_no_tasks() {
    let folder = Folder::new();
    let server = Server::start(
        &folder,
        &["--store", "memory:", "--builtin", "json", "--demo"],
    );
    let client = Client {
        server: &server,
        token: None,
    };
    let discovered = client.sent("server/discover", json!({}));
    let capabilities = &discovered["result"]["capabilities"];
    assert!(capabilities["tools"].is_object(), "{discovered}");
    assert!(capabilities["extensions"].is_null(), "{discovered}");
    let called = client.sent("tools/call", json!({"name": "demo__echo", "arguments": {}}));
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
}

#[test]
fn an_overlay_says_which_tools_of_a_server_run_as_tasks() {
    let folder = Folder::new();
    let program = panpan_testkit::program();
    let inner = format!("--mcp-stdio=inner='{program}' mcp --store memory: --demo");
    let overlay = folder.file(
        "overlay.yaml",
        "operations:\n- {match: inner/demo__echo, task: forbidden}\n- {match: inner/demo__divide, task: preferred}\n",
    );
    let overlay = format!("--overlay={overlay}");
    let server = Server::start(&folder, &["--store", "memory:", &inner, &overlay]);
    let client = Client {
        server: &server,
        token: None,
    };
    let mut called = Value::Null;
    until("the tools of the server", || {
        let echo = json!({"name": "demo__echo", "arguments": {}});
        called = client.sent("tools/call", echo);
        called["result"].is_object()
    });
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    client.created("demo__divide", &json!({"dividend": 6, "divisor": 3}));
}
