//! Puts a dispatcher in front of third-party MCP servers and checks their results.
//!
//! Usage: upstreams PANPAN NODE PYTHON FASTMCP_SERVER FOLDER [URL...]
//!
//! FOLDER is an empty folder for the file server. A URL is that of the "everything" server or of
//! the FastMCP server over HTTP. Run by scripts/upstreams, which installs the servers. Prints a
//! line for each check; exits with 0 if all checks pass, otherwise with 1.

#![allow(clippy::unwrap_used, reason = "a check that cannot continue ends here")]
#![allow(clippy::print_stdout, reason = "it prints its results")]

use std::process::ExitCode;

use panpan_failure::Redacted;
use panpan_mcp::library::{List, Request};
use panpan_runtime::{CallRequest, Dispatcher, Registry, StateOwner};
use panpan_store::memory_ports;
use panpan_upstream::mcp::{
    McpAddress, McpCaller, McpCommand, McpSettings, McpTransport, McpUpstream,
};
use serde_json::{Map, Value, json};

const MODULES: &str = "conformance/node_modules/@modelcontextprotocol";

/// Calls of the "everything" server: the tool, its input, a pointer into the output, and the
/// expected value there.
const EVERYTHING: &[(&str, &str, &str, &str)] = &[
    ("echo", r#"{"message": "hi"}"#, "", r#""Echo: hi""#),
    (
        "get-sum",
        r#"{"a": 1, "b": 2}"#,
        "",
        r#""The sum of 1 and 2 is 3.""#,
    ),
    ("get-tiny-image", "{}", "/content/1/type", r#""image""#),
    (
        "get-structured-content",
        r#"{"location": "Chicago"}"#,
        "/humidity",
        "82",
    ),
    (
        "get-resource-links",
        "{}",
        "/content/1/type",
        r#""resource_link""#,
    ),
    ("get-sum", r#"{"a": "one"}"#, "failure", "INVALID_INPUT"),
];

/// Calls of the FastMCP server.
const FASTMCP: &[(&str, &str, &str, &str)] = &[
    ("add", r#"{"one": 1, "other": 2}"#, "/result", "3"),
    (
        "refuse",
        r#"{"reason": "it is locked"}"#,
        "failure",
        "TOOL_FAILED",
    ),
    ("crash", "{}", "failure", "TOOL_FAILED"),
    (
        "get_status",
        r#"{"status": 404}"#,
        "failure",
        "ERR_HTTP_404_NOT_FOUND",
    ),
    (
        "get_status",
        r#"{"status": 422}"#,
        "failure",
        "ERR_HTTP_422_UNPROCESSABLE",
    ),
    (
        "get_status",
        r#"{"status": 429}"#,
        "failure",
        "ERR_HTTP_429_RATE_LIMITED",
    ),
    (
        "get_status",
        r#"{"status": 503}"#,
        "failure",
        "ERR_HTTP_503_UNAVAILABLE",
    ),
];

/// Failures of an upstream panpan: the tool, its input, the code, the attempts made there, and
/// whether its details were checked against a declaration. One attempt is made here.
const PANPAN: &[(&str, &str, &str, Option<u32>, bool)] = &[
    (
        "demo__divide",
        r#"{"dividend": 1, "divisor": 0}"#,
        "DIVISION_BY_ZERO",
        Some(1),
        true,
    ),
    (
        "demo__fail",
        r#"{"code": "INTERNAL_ERROR"}"#,
        "INTERNAL_ERROR",
        Some(1),
        false,
    ),
    (
        "demo__flaky",
        r#"{"failures": 9}"#,
        "ERR_HTTP_503_UNAVAILABLE",
        Some(4),
        false,
    ),
];

/// A secret of the service behind the FastMCP server that must not be disclosed.
const SECRET: &str = "sk-live";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [panpan, node, python, fastmcp, folder, urls @ ..] = arguments.as_slice() else {
        println!("usage: upstreams PANPAN NODE PYTHON FASTMCP_SERVER FOLDER [URL...]");
        return ExitCode::from(2);
    };
    let module = |name: &str| format!("{MODULES}/server-{name}/dist/index.js");
    let mut checks = Checks::default();
    let server = started("inner", panpan, &["mcp", "--store", "memory:"]);
    checks.panpan(&server).await;
    let server = started("files", node, &[&module("filesystem"), folder]);
    checks.filesystem(&server, folder).await;
    let server = started("everything", node, &[&module("everything"), "stdio"]);
    checks.everything(&server).await;
    let server = started("fastmcp", python, &[fastmcp]);
    checks.fastmcp(&server).await;
    for url in urls {
        let server = at("web", McpTransport::Http(McpAddress::new(url)));
        match server
            .list(List::Prompts, &StateOwner::Anyone)
            .await
            .unwrap()
            .len()
        {
            1 => checks.fastmcp(&server).await,
            _ => checks.everything(&server).await,
        }
    }
    checks.end()
}

fn started(namespace: &str, program: &str, arguments: &[&str]) -> McpUpstream {
    let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
    let command = McpCommand {
        arguments,
        ..McpCommand::new(program)
    };
    at(namespace, McpTransport::Stdio(command))
}

fn at(namespace: &str, transport: McpTransport) -> McpUpstream {
    McpUpstream::new(McpSettings::new(namespace, transport)).unwrap()
}

/// The warning for the one tool of the server "everything" that clients can only call as a task.
const TASK_ONLY: &str = "tool \"simulate-research-query\": can only be called as a task, which panpan does not \
                         support; left out";

#[derive(Default)]
struct Checks {
    wrong: usize,
}

impl Checks {
    fn same(&mut self, what: &str, found: &Value, expected: &Value) {
        if found == expected {
            println!("ok     {what}");
            return;
        }
        println!("WRONG  {what}\n  expected {expected}\n  found    {found}");
        self.wrong += 1;
    }

    async fn calls(&mut self, server: &McpUpstream, table: &[(&str, &str, &str, &str)]) {
        let gateway = self.gateway(server).await;
        for (tool, input, pointer, expected) in table {
            let input: Value = serde_json::from_str(input).unwrap();
            let what = format!("{}/{tool} {input}", server.namespace());
            let found = call(&gateway, server, tool, input).await;
            let written = format!("{found:?}");
            self.same(
                &format!("{what} discloses no secret"),
                &json!(written.contains(SECRET)),
                &json!(false),
            );
            match (found, *pointer) {
                (Err(failure), "failure") => {
                    self.same(&what, &json!(failure.code().as_str()), &json!(expected));
                }
                (Ok(output), pointer) => {
                    let expected: Value = serde_json::from_str(expected).unwrap_or_default();
                    let found = output.pointer(pointer).cloned().unwrap_or_default();
                    self.same(&what, &found, &expected);
                }
                (Err(failure), _) => self.same(&what, &json!(failure.to_string()), &Value::Null),
            }
        }
    }

    async fn gateway(&mut self, server: &McpUpstream) -> Dispatcher {
        let operations = server.operations().await.unwrap();
        let warnings: Vec<String> = operations
            .warnings
            .iter()
            .map(ToString::to_string)
            // The server adds this tool some time after it has started.
            .filter(|warning| warning != TASK_ONLY)
            .collect();
        let what = format!("the usable tools of {} are imported", server.namespace());
        self.same(&what, &json!(warnings), &json!([]));
        let registrations = operations.registrations.into_iter();
        let builder = registrations.fold(Registry::builder(), |builder, it| builder.add(it));
        Dispatcher::new(builder.build().unwrap(), memory_ports())
    }

    async fn panpan(&mut self, server: &McpUpstream) {
        let gateway = self.gateway(server).await;
        let registry = gateway.registry();
        let order = registry.get("inner/demo__order").unwrap();
        let argument = &order.spec().input_schema["properties"]["idempotency_key"];
        self.same(
            "the key is not an argument of a panpan's tools",
            argument,
            &Value::Null,
        );
        for (tool, input, code, attempts, defined) in PANPAN {
            let input: Value = serde_json::from_str(input).unwrap();
            let name = format!("{}/{tool}", server.namespace());
            let what = format!("{name} {input} passes through a panpan unchanged");
            let answer = gateway.dispatch(CallRequest::from_wire(name, input)).await;
            let failure = answer.outcome.unwrap_err();
            let found = json!([
                failure.code().as_str(),
                failure.attempts(),
                failure.is_defined(),
                answer.attempts
            ]);
            self.same(&what, &found, &json!([code, attempts, defined, 1]));
        }
        let input = json!({"dividend": 6, "divisor": 4});
        let found = call(&gateway, server, "demo__divide", input).await;
        self.same(
            "an output passes through a panpan unchanged",
            &found.unwrap()["quotient"],
            &json!(1.5),
        );
    }

    async fn filesystem(&mut self, server: &McpUpstream, folder: &str) {
        let path = |name: &str| format!("{folder}/{name}");
        let gateway = self.gateway(server).await;
        for (tool, input, expected) in [
            (
                "write_file",
                json!({"path": path("a.txt"), "content": "hello"}),
                Ok(format!("Successfully wrote to {}", path("a.txt"))),
            ),
            (
                "read_text_file",
                json!({"path": path("a.txt")}),
                Ok("hello".to_owned()),
            ),
            (
                "read_text_file",
                json!({"path": path("b.txt")}),
                Err("ARTIFACT_NOT_FOUND"),
            ),
            (
                "read_text_file",
                json!({"path": "/etc/hostname"}),
                Err("TOOL_FAILED"),
            ),
            ("read_text_file", json!({}), Err("INVALID_INPUT")),
        ] {
            let what = format!("files/{tool} {input}");
            match (call(&gateway, server, tool, input).await, expected) {
                (Ok(output), Ok(text)) => self.same(&what, &output["content"], &json!(text)),
                (Err(failure), Err(code)) => {
                    self.same(&what, &json!(failure.code().as_str()), &json!(code));
                }
                (found, expected) => {
                    let found = json!(format!("{found:?}"));
                    self.same(&what, &found, &json!(format!("{expected:?}")));
                }
            }
        }
        let resources = server
            .list(List::Resources, &StateOwner::Anyone)
            .await
            .unwrap();
        self.same("files offers no resources", &json!(resources), &json!([]));
    }

    async fn everything(&mut self, server: &McpUpstream) {
        self.calls(server, EVERYTHING).await;
        let resources = server
            .list(List::Resources, &StateOwner::Anyone)
            .await
            .unwrap();
        let uri = resources[0]["uri"].as_str().unwrap();
        let read = server
            .request(&McpCaller::default(), Request::Read(uri.to_owned()))
            .await
            .unwrap();
        self.same(
            "a resource is read",
            &read["contents"][0]["uri"],
            &json!(uri),
        );
        let templates = server
            .list(List::Templates, &StateOwner::Anyone)
            .await
            .unwrap();
        self.same(
            "templates are listed",
            &json!(templates.is_empty()),
            &json!(false),
        );
        let read = server
            .request(
                &McpCaller::default(),
                Request::Read("demo://resource/dynamic/text/1".to_owned()),
            )
            .await;
        let text = read.unwrap()["contents"][0]["text"].is_string();
        self.same(
            "a resource of a template is read",
            &json!(text),
            &json!(true),
        );
        let prompts = server
            .list(List::Prompts, &StateOwner::Anyone)
            .await
            .unwrap();
        self.same(
            "prompts are listed",
            &prompts[0]["name"],
            &json!("simple-prompt"),
        );
        let arguments = json!({"city": "Bern"}).as_object().unwrap().clone();
        let prompt = server
            .request(&McpCaller::default(), prompt("args-prompt", arguments))
            .await
            .unwrap();
        let text = prompt["messages"][0]["content"]["text"].as_str();
        let named = text.unwrap_or_default().contains("Bern");
        self.same("a prompt is filled in", &json!(named), &json!(true));
        let asked = json!({
            "ref": {"type": "ref/prompt", "name": "completable-prompt"},
            "argument": {"name": "department", "value": "E"},
        });
        let asked = Request::Complete(serde_json::from_value(asked).unwrap());
        let completed = server.request(&McpCaller::default(), asked).await.unwrap();
        let values = &completed["completion"]["values"];
        self.same("an argument is completed", values, &json!(["Engineering"]));
        let error = server
            .request(
                &McpCaller::default(),
                Request::Read("demo://resource/none".to_owned()),
            )
            .await
            .unwrap_err();
        let failure = server.failure(error, jiff::Timestamp::now());
        let typed = failure.code().as_str() != "INTERNAL";
        self.same(
            "a missing resource is classified",
            &json!(typed),
            &json!(true),
        );
    }

    async fn fastmcp(&mut self, server: &McpUpstream) {
        self.calls(server, FASTMCP).await;
        let read = server
            .request(
                &McpCaller::default(),
                Request::Read("note://today".to_owned()),
            )
            .await
            .unwrap();
        let text = &read["contents"][0]["text"];
        self.same("a resource is read", text, &json!("Nothing happened."));
        let arguments = json!({"who": "Ada"}).as_object().unwrap().clone();
        let prompt = server
            .request(&McpCaller::default(), prompt("greet", arguments))
            .await
            .unwrap();
        let text = &prompt["messages"][0]["content"]["text"];
        self.same("a prompt is filled in", text, &json!("Greet Ada."));
    }

    fn end(self) -> ExitCode {
        match self.wrong {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

fn prompt(name: &str, arguments: Map<String, Value>) -> Request {
    Request::Prompt {
        name: name.to_owned(),
        arguments,
    }
}

async fn call(
    gateway: &Dispatcher,
    server: &McpUpstream,
    tool: &str,
    input: Value,
) -> Result<Value, Redacted> {
    let name = format!("{}/{tool}", server.namespace());
    gateway
        .dispatch(CallRequest::from_wire(name, input))
        .await
        .into_value()
}
