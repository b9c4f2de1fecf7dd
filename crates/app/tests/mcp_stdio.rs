//! `panpan mcp`, driven by an MCP client over a pipe.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::Stdio;

use panpan_failure::dialect::{Dialect, MCP_META_KEY};
use panpan_failure::{Category, Effect, Failure, ViolationKind};
use panpan_testkit::{Folder, panpan, run, stderr};
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode, ReadResourceRequestParams};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceError, ServiceExt};
use serde_json::{Value, json};
use tokio::process::Command;

struct Client(RunningService<RoleClient, ()>);

impl Client {
    async fn start() -> Self {
        Self::start_with(|command| command).await
    }

    async fn start_with(change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::from(panpan(["mcp", "--store", "memory:"]));
        change(&mut command);
        let child = TokioChildProcess::new(command).unwrap();
        Self(().serve(child).await.unwrap())
    }

    async fn try_call(
        &self,
        tool: &'static str,
        input: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = input else {
            panic!("arguments are an object");
        };
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        self.0.call_tool(request).await
    }

    async fn call(&self, tool: &'static str, input: Value) -> Value {
        let result = self.try_call(tool, input).await.unwrap();
        serde_json::to_value(result).unwrap()
    }

    /// The failure in the first text block, as an agent reads it, and the complete failure in `_meta`.
    async fn fails(&self, tool: &'static str, input: Value) -> (Failure, Failure) {
        let result = self.call(tool, input).await;
        assert_eq!(result["isError"], json!(true), "{result}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert!(result.get("structuredContent").is_none());
        assert!(result["_meta"][MCP_META_KEY].is_object());
        let text = result["content"][0]["text"].as_str().unwrap();
        let view = Dialect::Bot
            .parse(text.as_bytes())
            .unwrap()
            .outcome
            .unwrap_err();
        let whole = Dialect::Mcp.read(result).unwrap().outcome.unwrap_err();
        assert_eq!(view.code(), whole.code());
        (view, whole)
    }

    async fn leave(self) {
        self.0.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn the_form_of_tools_is_a_setting_on_stdio_too() {
    let client = Client::start_with(|it| it.env("PANPAN_MCP_TOOLS", "search")).await;
    let tools = client.0.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["search", "schema", "call", "batch"]);
    client.leave().await;
}

#[tokio::test]
async fn tools_are_listed_with_their_schemas_and_declared_failures() {
    let client = Client::start().await;
    let tools = client.0.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        [
            "demo__divide",
            "demo__echo",
            "demo__fail",
            "demo__flaky",
            "demo__order",
            "demo__wait",
            "json__transform",
            "services__list",
            "services__schema",
            "tasks__cancel",
            "tasks__children",
            "tasks__copy",
            "tasks__create",
            "tasks__delete",
            "tasks__execute",
            "tasks__generations",
            "tasks__get",
            "tasks__list",
            "tasks__running",
            "tasks__statistics",
            "tasks__tree",
            "tasks__update",
        ]
    );
    let divide = serde_json::to_value(&tools[0]).unwrap();
    assert_eq!(
        divide["inputSchema"]["required"],
        json!(["dividend", "divisor"])
    );
    assert_eq!(divide["outputSchema"]["type"], json!("object"));
    assert_eq!(divide["annotations"]["readOnlyHint"], json!(true));
    assert!(
        divide["description"]
            .as_str()
            .unwrap()
            .contains("DIVISION_BY_ZERO")
    );
    assert_eq!(
        divide["_meta"]["dev.panpan/errors"][0]["code"],
        json!("DIVISION_BY_ZERO")
    );
    client.leave().await;
}

#[tokio::test]
async fn a_declared_failure_is_in_the_first_text_block_and_complete_in_meta() {
    let client = Client::start().await;
    let (view, whole) = client
        .fails("demo__divide", json!({"dividend": 1, "divisor": 0}))
        .await;
    assert_eq!(view.code().as_str(), "DIVISION_BY_ZERO");
    assert!(!view.may_repeat());
    assert!(!view.recovery().required_actions.is_empty());
    assert_eq!(whole.category(), Category::Validation);
    assert!(whole.is_recoverable() && whole.is_defined());
    assert_eq!(view.violations()[0].pointer, "/divisor");
    assert_eq!(whole.source(), Some("demo/divide"));
    assert_eq!(whole.parameters().unwrap()["divisor"], json!(0));
    assert!(whole.id().is_some() && whole.at().is_some());
    client.leave().await;
}

#[tokio::test]
async fn a_retryable_failure_states_its_delay() {
    let client = Client::start().await;
    let (view, whole) = client
        .fails("demo__fail", json!({"code": "ERR_HTTP_429_RATE_LIMITED"}))
        .await;
    assert!(view.retryable());
    assert!(view.recovery().retry_after_ms.is_some());
    assert!(whole.may_repeat());
    client.leave().await;
}

#[tokio::test]
async fn a_success_has_text_and_structured_content() {
    let client = Client::start().await;
    let result = client
        .call("demo__divide", json!({"dividend": 6, "divisor": 4}))
        .await;
    assert_eq!(result["isError"], json!(false));
    assert_eq!(result["structuredContent"], json!({"quotient": 1.5}));
    assert_eq!(result["content"][0]["text"], json!(r#"{"quotient":1.5}"#));
    client.leave().await;
}

#[tokio::test]
async fn invalid_arguments_are_a_result_with_every_violation() {
    let client = Client::start().await;
    let (view, _) = client
        .fails("demo__divide", json!({"divisor": "two", "x": 1}))
        .await;
    assert_eq!(view.code().as_str(), "INVALID_INPUT");
    let mut violations: Vec<(&str, ViolationKind)> = view
        .violations()
        .iter()
        .map(|violation| (violation.pointer.as_str(), violation.kind))
        .collect();
    violations.sort_unstable_by_key(|(pointer, _)| *pointer);
    assert_eq!(
        violations,
        [
            ("/dividend", ViolationKind::Missing),
            ("/divisor", ViolationKind::Type),
            ("/x", ViolationKind::Value),
        ]
    );
    client.leave().await;
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let client = Client::start().await;
    let response = client.try_call("demo__divde", json!({})).await;
    let Err(ServiceError::McpError(error)) = response else {
        panic!("{response:?}");
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.data.unwrap()["nearest"], json!(["demo__divide"]));
    client.leave().await;
}

#[test]
fn a_client_that_disconnects_at_once_is_not_an_error() {
    let output = run(&mut panpan(["mcp", "--store", "memory:"]), b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn if_no_mcp_server_can_be_started_the_command_exits_with_2() {
    let missing = [
        "mcp",
        "--store",
        "memory:",
        "--mcp-stdio",
        "no-such-command",
    ];
    for (flags, exit_code) in [(&[][..], 2), (&["--demo"], 0)] {
        let output = run(panpan(missing).args(flags), b"");
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(exit_code), "{messages}");
        assert!(messages.contains("no-such-command"), "{messages}");
        let hint = "hint: correct the command in --mcp-stdio";
        assert_eq!(messages.contains(hint), exit_code == 2, "{messages}");
    }
}

#[test]
fn invalid_arguments_exit_with_2() {
    for arguments in [&["nonsense"][..], &["mcp", "--nonsense"], &[]] {
        let output = run(&mut panpan(arguments), b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[tokio::test]
async fn invalid_json_gets_an_error_and_the_next_message_is_served() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let mut child = Command::from(panpan(["mcp", "--store", "memory:"]));
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
    }});
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(format!("not JSON\n{initialize}\n").as_bytes())
        .await
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let refusal: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(
        (&refusal["error"]["code"], &refusal["id"]),
        (&json!(-32700), &Value::Null)
    );
    let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["serverInfo"]["name"]),
        (&json!(1), &json!("panpan"))
    );
    drop(stdin);
    assert!(child.wait().await.unwrap().success());
}

/// A server that answers every read, has no templates, and says what it knows of its client.
const SERVER: &str = r#"
import json, sys
client = None
def result_of(method, params):
    global client
    if method == "initialize":
        client = params["capabilities"]
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "odd", "version": "1"}}
    if method == "tools/list":
        at = {"type": "string", "format": "date-time"}
        schema = {"type": "object", "properties": {"at": at}}
        return {"tools": [{"name": "client", "inputSchema": schema}, {"name": "fail", "inputSchema": schema}]}
    if method == "resources/list":
        return {"resources": []}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "seventy-seven"}]}
    if method == "tools/call" and params["name"] == "fail":
        return {"isError": "true", "content": [{"type": "text", "text": "cut \ud83d"}], "_meta": {"vendor/trace": "t-1"}}
    if method == "tools/call":
        text = json.dumps({"capabilities": client, "meta": params.get("_meta")})
        return {"content": [{"type": "text", "text": text}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = result_of(message["method"], message.get("params"))
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

/// A client of panpan in front of that server.
async fn in_front_of_server(folder: &Folder) -> Client {
    folder.file("server.py", SERVER);
    let script = folder.path("server.py").display().to_string();
    let server = format!("--mcp-stdio=odd=python3 {script}");
    Client::start_with(|command| command.arg(server)).await
}

#[tokio::test]
async fn a_server_is_told_what_the_client_supports_and_gets_its_meta() {
    let folder = Folder::new();
    let client = in_front_of_server(&folder).await;
    let mut request = CallToolRequestParams::new("client");
    let meta = json!({"vendor/locale": "de-DE", "dev.panpan/timeout-ms": 20_000});
    request.meta = Some(serde_json::from_value(meta).unwrap());
    let result = client.0.call_tool(request).await.unwrap();
    let text = serde_json::to_value(result).unwrap()["content"][0]["text"].take();
    let known: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    for kind in ["elicitation", "sampling", "roots"] {
        assert!(known["capabilities"].get(kind).is_none(), "{known}");
    }
    assert_eq!(known["meta"]["vendor/locale"], "de-DE");
    assert!(known["meta"].get("dev.panpan/timeout-ms").is_none());
    client.leave().await;
}

#[tokio::test]
async fn what_a_server_accepts_is_not_refused_before_it() {
    let folder = Folder::new();
    let client = in_front_of_server(&folder).await;
    let local = client.call("client", json!({"at": "2026-11-19T10:00:00"}));
    assert_ne!(local.await["isError"], json!(true));
    let number = client.call("client", json!({"at": 7})).await;
    assert_eq!(number["isError"], json!(true));
    let read = ReadResourceRequestParams::new("report://77");
    let read = client.0.read_resource(read).await.unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["contents"][0]["text"], "seventy-seven");
    client.leave().await;
}

#[tokio::test]
async fn a_flag_of_another_type_and_half_a_character_hide_no_failure() {
    let folder = Folder::new();
    let client = in_front_of_server(&folder).await;
    let result = client.call("fail", json!({})).await;
    assert_eq!(result["_meta"]["vendor/trace"], "t-1");
    let (view, _) = client.fails("fail", json!({})).await;
    assert_eq!(view.message(), "cut \u{fffd}");
    client.leave().await;
}

#[tokio::test]
async fn a_server_that_exits_is_not_a_server_without_tools() {
    let server = "--mcp-stdio=files=sh -c 'exit 1'";
    let client = Client::start_with(|command| command.arg(server)).await;
    let about = client.0.peer_info().unwrap();
    let instructions = about.instructions.clone().unwrap_or_default();
    assert!(instructions.contains("MCP server files"), "{instructions}");
    let (view, whole) = client.fails("read_text_file", json!({"path": "a"})).await;
    for expected in [
        "files",
        "the process exited (exit status: 1)",
        "read_text_file",
    ] {
        assert!(view.message().contains(expected), "{}", view.message());
    }
    assert!(whole.retryable());
    assert_eq!(whole.effect(), Effect::None);
    client.leave().await;
}
