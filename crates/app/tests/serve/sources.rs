//! Operations of described services and MCP servers.

use std::fs;

use panpan_faulty::{Endpoint, Service};
use panpan_testkit::{Folder, Server, program, until};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A service that fails in many ways, with its description in a folder.
struct Faulty {
    service: Service,
    _runtime: Runtime,
}

impl Faulty {
    fn in_folder(folder: &Folder) -> Self {
        let runtime = Runtime::new().unwrap();
        let service = runtime.block_on(Service::start()).unwrap();
        let this = Self {
            service,
            _runtime: runtime,
        };
        this.write_description(folder, |_| {});
        this
    }

    fn write_description(&self, folder: &Folder, change: impl Fn(&mut Value)) {
        let mut document = self.service.document(Endpoint::Plain);
        change(&mut document);
        fs::write(folder.0.join("faulty.json"), document.to_string()).unwrap();
    }

    /// The flag that serves it.
    fn flag(&self) -> String {
        format!(
            "--openapi=faulty=faulty.json@{}",
            self.service.url(Endpoint::Plain)
        )
    }
}

fn call(server: &Server, headers: &str, operation: &str, input: Value) -> Value {
    let body = json!({"operation": operation, "input": input}).to_string();
    serde_json::from_str(&server.call(headers, &body).text()).unwrap()
}

#[test]
fn the_operations_of_a_service_are_served() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let server = Server::start(&folder, &[&faulty.flag()]);
    server.wait_for_line("stop with Ctrl-C");
    assert!(
        server.lines().join("\n").contains("faulty: "),
        "{:?}",
        server.lines()
    );
    let failure = call(&server, "", "faulty/rate-limited-seconds", json!({}));
    assert_eq!(failure["code"], "HTTP_429");
    assert_eq!(failure["panpan"]["recovery"]["retry_after_ms"], 120_000);
    let refusal = call(&server, "", "faulty/echo", json!({"unknown": 1}));
    assert_eq!(refusal["code"], "INVALID_INPUT");
}

#[test]
fn a_service_at_a_blocked_address_is_served_with_a_warning() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    faulty.write_description(&folder, |document| {
        document["servers"] = json!([{"url": url.to_string()}]);
    });
    for (flag, is_warned) in [
        ("--openapi=faulty.json".to_owned(), true),
        (format!("--openapi=faulty.json@{url}"), false),
    ] {
        let server = Server::start(&folder, &[&flag]);
        server.wait_for_line("stop with Ctrl-C");
        let messages = server.lines().join("\n");
        let advice = format!("--openapi faulty=faulty.json@{url}");
        assert_eq!(messages.contains(&advice), is_warned, "{messages}");
    }
}

#[test]
fn a_changed_description_is_reloaded_and_an_invalid_one_is_ignored() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let server = Server::start(&folder, &[&faulty.flag()]);
    let code = || call(&server, "", "faulty/new-name", json!({}))["code"].clone();
    assert_eq!(code(), "NOT_FOUND");
    faulty.write_description(&folder, |document| {
        document["paths"]["/fault/not-found"]["get"]["operationId"] = json!("new-name");
    });
    server.wait_for_line("sources reloaded");
    assert_eq!(code(), "HTTP_404");
    fs::write(folder.0.join("faulty.json"), "{").unwrap();
    server.signal("HUP");
    server.wait_for_line("the previous operations stay");
    assert_eq!(code(), "HTTP_404");
}

#[test]
fn credentials_are_sent_to_the_service_and_redacted_in_failures() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    let config = format!(
        "store = \"memory:\"\n[[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\n\
         credentials = {{ token = {{ env = \"FAULTY_TOKEN\" }} }}\n\
         headers = {{ X-Team = \"agents\" }}\n\
         pass_headers = {{ X-Mine = \"X-Theirs\" }}\n"
    );
    fs::write(folder.0.join("panpan.toml"), config).unwrap();
    let mut command = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::run(command.env("FAULTY_TOKEN", panpan_faulty::CREDENTIAL));
    let echoed = call(
        &server,
        "X-Mine: my-own-secret\r\n",
        "faulty/echo",
        json!({}),
    );
    let arrived = echoed["output"].to_string().to_lowercase();
    for part in [
        &format!("bearer {}", panpan_faulty::CREDENTIAL),
        "agents",
        "my-own-secret",
    ] {
        assert!(arrived.contains(part), "{part}: {echoed}");
    }
    let slug = "secret-the-caller-s-own-credential-bare";
    let failure = call(&server, "", &format!("faulty/{slug}"), json!({}));
    assert_eq!(failure["code"], "HTTP_401", "{failure}");
    assert!(!failure.to_string().contains(panpan_faulty::CREDENTIAL));
}

/// How many requests the service got for this row.
fn requests(faulty: &Faulty, slug: &str) -> u64 {
    faulty
        .service
        .calls(panpan_faulty::Row::of_slug(slug).unwrap())
}

#[test]
fn call_settings_of_a_source_are_applied() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    let config = format!(
        "store = \"sqlite:panpan.db\"\n[[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\n\
         retry = \"off\"\ncircuit = {{ row = 2, row_ms = 0, open_ms = 30000 }}\n\
         overlay = \"faulty.overlay.yaml\"\n\
         [openapi.operations.unavailable-read]\nretry = {{ max_retries = 1 }}\n\
         [openapi.operations.\"silence*\"]\ntimeout_ms = 200\ncircuit = \"off\"\n"
    );
    folder.file("panpan.toml", &config);
    folder.file(
        "faulty.overlay.yaml",
        "operations:\n- match: faulty/bad-gateway-read\n  retry: {max_retries: 2}\n",
    );
    let watcher = folder.run(&[
        "token",
        "new",
        "olga",
        "--scope",
        "panpan:watch",
        "--store",
        "sqlite:panpan.db",
    ]);
    let watcher = String::from_utf8(watcher.stdout).unwrap();
    let bearer = format!("Authorization: Bearer {}\r\n", watcher.trim());
    let server = Server::start(&folder, &[]);
    for (slug, times) in [
        ("server-error-read", 1),
        ("unavailable-read", 2),
        ("bad-gateway-read", 3),
    ] {
        call(&server, "", &format!("faulty/{slug}"), json!({}));
        assert_eq!(requests(&faulty, slug), times, "{slug}");
    }
    let silent = call(&server, "", "faulty/silence-read", json!({}));
    assert_eq!(silent["code"], "ERR_TIMEOUT", "{silent}");
    // After two failures the circuit of this operation opens; other operations continue.
    let failure = call(&server, "", "faulty/server-error-read", json!({}));
    assert_eq!(failure["code"], "HTTP_500");
    let refused = call(&server, "", "faulty/server-error-read", json!({}));
    assert_eq!(refused["code"], "ERR_CIRCUIT_OPEN", "{refused}");
    assert_eq!(refused["details"]["circuit"], "operation");
    assert_eq!(refused["details"]["operation"], "faulty/server-error-read");
    assert_eq!(refused["panpan"]["causes"][0]["code"], "HTTP_500");
    assert_eq!(requests(&faulty, "server-error-read"), 2);
    let other = call(&server, "", "faulty/not-found", json!({}));
    assert_eq!(other["code"], "HTTP_404");
    let line = "panpan_circuit_open{circuit=\"operation\",upstream=\"faulty\",\
                operation=\"faulty/server-error-read\",state=\"open\"} 1";
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains(line), "{metrics}");
    let listed = call(&server, &bearer, "calls/circuits", json!({}));
    let listed = listed["output"]["circuits"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["last_failure"]["code"], "HTTP_500");
    let denied = call(&server, "", "calls/circuits", json!({}));
    assert_eq!(denied["code"], "FORBIDDEN");
}

#[test]
fn settings_for_unknown_tools_of_an_mcp_server_are_reported() {
    let folder = Folder::new();
    let program = program();
    let config = format!(
        "store = \"memory:\"\n[[mcp_servers]]\nnamespace = \"inner\"\n\
         command = [\"{program}\", \"mcp\", \"--config\", \"inner.toml\", \"--store\", \"memory:\"]\n\
         [mcp_servers.operations.\"demo*wait\"]\ntimeout_ms = 100\nretry = \"off\"\n\
         [mcp_servers.operations.missing]\ntimeout_ms = 1\n"
    );
    // Without its own file, the inner panpan would read panpan.toml and serve no demo operations.
    folder.file("panpan.toml", &config);
    folder.file("inner.toml", "");
    let server = Server::start(&folder, &[]);
    server.wait_for_line("stop with Ctrl-C");
    let messages = server.lines().join("\n");
    assert!(
        messages.contains("does not have: inner/missing"),
        "{messages}"
    );
    let found = server.get("/search?query=wait&limit=20").text();
    let found: Value = serde_json::from_str(&found).unwrap();
    let names = found["operations"].as_array().unwrap().iter();
    let mut names = names.filter_map(|it| it["name"].as_str());
    let wait = names.find(|it| it.starts_with("inner/") && it.ends_with("wait"));
    let late = call(&server, "", wait.unwrap(), json!({"ms": 10_000}));
    assert_eq!(late["details"]["timeout_ms"], 100, "{late}");
}

#[test]
fn an_invalid_source_is_reported() {
    let folder = Folder::new();
    let _faulty = Faulty::in_folder(&folder);
    let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).unwrap();
    write("old.json", r#"{"swagger": "2.0", "paths": {}}"#);
    write(
        "overlay.json",
        r#"{"operations": [{"match": "unknown/*", "hide": true}]}"#,
    );
    write(
        "unmatched.toml",
        "[[openapi]]\nfile = \"faulty.json\"\n[openapi.operations.nothing]\nretry = \"off\"\n",
    );
    for (flags, message) in [
        (&["--openapi=none.json"][..], "cannot read none.json"),
        (&["--openapi=old.json"], "2.0"),
        (
            &["--openapi=faulty.json@https://"],
            "expected [NAME=]FILE[@URL]",
        ),
        (
            &["--openapi=faulty.json@https://me:hunter2@api.example.com"],
            "expected [NAME=]FILE[@URL]",
        ),
        (
            &["--openapi=faulty.json", "--overlay=overlay.json"],
            "unknown/*",
        ),
        (&["--config=unmatched.toml"], "faulty/nothing"),
        (&["--enable=http/cal"], "http/cal"),
        (&["--allow-host=10.0.0.0/99"], "expected hosts"),
        (&["--mcp=ftp://a"], "expected [NAME=]URL"),
        (&["--mcp-stdio=a 'b"], "expected [NAME=]COMMAND"),
    ] {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        let output = folder.panpan(&[&listen, flags].concat()).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {messages}");
        assert!(messages.contains(message), "{flags:?}: {messages}");
        assert!(messages.contains("cannot serve"), "{flags:?}: {messages}");
        assert!(!messages.contains("hunter2"), "{flags:?}: {messages}");
    }
}

#[test]
fn failures_of_mcp_tools_are_passed_on_unchanged() {
    let folder = Folder::new();
    let inner = format!("--mcp-stdio=inner='{}' mcp --store memory:", program());
    let server = Server::start(&folder, &[&inner, "--demo"]);
    server.wait_for_line("stop with Ctrl-C");
    let messages = server.lines().join("\n");
    assert!(messages.contains("inner: "), "{messages}");
    let found = server.get("/search?query=divide&limit=5").text();
    let found: Value = serde_json::from_str(&found).unwrap();
    let names = found["operations"].as_array().unwrap().iter();
    let mut names = names.filter_map(|it| it["name"].as_str());
    let divide = names
        .find(|name| name.starts_with("inner/"))
        .unwrap()
        .to_owned();
    let input = json!({"dividend": 1, "divisor": 0});
    let inner = call(&server, "", &divide, input.clone());
    let outer = call(&server, "", "demo/divide", input);
    for part in ["code", "message", "retryable", "details"] {
        assert_eq!(inner[part], outer[part], "{part}: {inner}");
    }
    assert_eq!(inner["panpan"]["recovery"], outer["panpan"]["recovery"]);
}

#[test]
fn a_second_mcp_server_with_the_same_tool_names_is_not_served() {
    let folder = Folder::new();
    let program = program();
    let server = |namespace: &str, names: &str| {
        format!(
            "[[mcp_servers]]\nnamespace = \"{namespace}\"\nnames = \"{names}\"\n\
             command = ['{program}', \"mcp\", \"--store\", \"memory:\"]\n"
        )
    };
    for (second, is_served) in [("own", false), ("prefixed", true)] {
        let config = server("one", "own") + &server("two", second);
        fs::write(folder.0.join("two.toml"), config).unwrap();
        let server = Server::start(&folder, &["--config=two.toml"]);
        server.wait_for_line("stop with Ctrl-C");
        let messages = server.lines().join("\n");
        let has_advice = messages.contains("names = \"prefixed\"");
        assert_eq!(!has_advice, is_served, "{messages}");
        let found = server.get("/search?query=divide&limit=5").text();
        assert!(found.contains("one/"), "{found}");
        assert_eq!(found.contains("two/"), is_served, "{found}");
    }
}

#[test]
fn a_second_mcp_server_with_the_same_namespace_is_not_served() {
    let folder = Folder::new();
    let inner = format!("--mcp-stdio=inner='{}' mcp --store memory:", program());
    let server = Server::start(&folder, &[&inner, &inner]);
    server.wait_for_line("stop with Ctrl-C");
    let messages = server.lines().join("\n");
    assert!(
        messages.contains("cannot serve the tools of MCP server inner"),
        "{messages}"
    );
    let found = server.get("/search?query=divide&limit=5").text();
    assert!(found.contains("inner/"), "{found}");
}

#[test]
fn an_unavailable_mcp_server_does_not_delay_the_start() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--mcp-stdio=gone=no-such-program"]);
    server.wait_for_line("gone: MCP server unavailable");
    assert_eq!(server.get("/readyz").status, 200);
    let lines = server.lines().into_iter();
    let before_banner: Vec<String> = lines
        .take_while(|line| !line.contains(" serves "))
        .collect();
    assert_eq!(before_banner.len(), 1, "{before_banner:?}");
}

#[test]
fn all_operations_of_a_source_require_its_scopes() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    let program = program();
    let config = format!(
        "store = \"sqlite:panpan.db\"\n\
         [[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\nscopes = [\"faulty:call\"]\n\
         [[mcp_servers]]\nnamespace = \"inner\"\nscopes = [\"inner:call\"]\n\
         command = ['{program}', \"mcp\", \"--store\", \"memory:\"]\n\
         directory = \"elsewhere\"\n"
    );
    // In this folder, the inner panpan would read panpan.toml and start another panpan.
    fs::create_dir(folder.0.join("elsewhere")).unwrap();
    fs::write(folder.0.join("panpan.toml"), config).unwrap();
    let token = |scope: &str| {
        let arguments = [
            "token",
            "new",
            scope,
            "--scope",
            scope,
            "--store",
            "sqlite:panpan.db",
        ];
        let output = folder.panpan(&arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (faulty_token, inner_token) = (token("faulty:call"), token("inner:call"));
    let server = Server::run(&mut folder.panpan(&["serve", "--listen", "127.0.0.1:0"]));
    server.wait_for_line("stop with Ctrl-C");
    for (operation, allowed, denied) in [
        ("faulty/echo", &faulty_token, &inner_token),
        ("inner/demo__echo", &inner_token, &faulty_token),
    ] {
        let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
        for (headers, code) in [
            (bearer(allowed), Value::Null),
            (bearer(denied), json!("FORBIDDEN")),
            (String::new(), json!("FORBIDDEN")),
        ] {
            let input = json!({"text": "hi"});
            let input = if operation.starts_with("inner") {
                input
            } else {
                json!({})
            };
            let answer = call(&server, &headers, operation, input);
            assert_eq!(answer["code"], code, "{operation}: {answer}");
        }
        assert!(!server.get("/search?limit=200").text().contains(operation));
    }
}

#[test]
fn serve_and_mcp_report_an_invalid_source_with_a_hint() {
    let folder = Folder::new();
    let _faulty = Faulty::in_folder(&folder);
    let secret =
        "[[openapi]]\nfile = \"faulty.json\"\ncredentials = { token = { env = \"NOWHERE\" } }\n";
    let config = folder.file("secret.toml", secret);
    let overlay = folder.file("overlay.toml", "[[operations]]\nmatch = \"unknown/*\"\n");
    let config = format!("--config={config}");
    let overlay = format!("--overlay={overlay}");
    for (flags, message, hint) in [
        (
            &["--openapi=none.json"][..],
            "cannot read none.json",
            "name a file that you may read",
        ),
        (
            &[config.as_str()],
            "the variable NOWHERE is not set",
            "hint: set the variable",
        ),
        (
            &["--openapi=faulty.json", &overlay],
            "unknown/*",
            "lists the operations",
        ),
        (
            &["--openapi=a=faulty.json", "--openapi=a=faulty.json"],
            "operations conflict",
            "need different namespaces",
        ),
    ] {
        for (command, error) in [("serve", "cannot serve: "), ("mcp", "cannot serve MCP: ")] {
            let output = folder.run(&[&[command], flags].concat());
            let messages = panpan_testkit::stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {messages}");
            for part in [error, message, hint] {
                assert!(
                    messages.contains(part),
                    "{command} {flags:?}: {part}: {messages}"
                );
            }
        }
    }
}

#[test]
fn a_configured_header_is_not_part_of_the_input() {
    let folder = Folder::new();
    let faulty = Faulty::in_folder(&folder);
    faulty.write_description(&folder, |document| {
        let tenant = json!({"name": "X-Tenant", "in": "header", "required": true, "schema": {"type": "string"}});
        document["paths"]["/echo"]["get"]["parameters"] = json!([tenant]);
    });
    let url = faulty.service.url(Endpoint::Plain);
    let without =
        format!("store = \"memory:\"\n[[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\n");
    let with = format!("{without}headers = {{ x-tenant = \"acme\" }}\n");
    for (config, code, in_schema) in [
        (with, Value::Null, false),
        (without, json!("INVALID_INPUT"), true),
    ] {
        fs::write(folder.0.join("panpan.toml"), config).unwrap();
        let server = Server::run(&mut folder.panpan(&["serve", "--listen", "127.0.0.1:0"]));
        let answer = call(&server, "", "faulty/echo", json!({}));
        assert_eq!(answer["code"], code, "{answer}");
        assert_eq!(
            answer["output"].to_string().contains("acme"),
            !in_schema,
            "{answer}"
        );
        let schema = server.get("/schema?name=faulty/echo").text();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let input = schema["input_schema"].to_string();
        assert_eq!(input.contains("Tenant"), in_schema, "{input}");
    }
}

#[test]
fn a_panpan_that_starts_itself_stops_at_a_depth_limit() {
    let folder = Folder::new();
    let program = program();
    let config = format!(
        "demo = true\n[[mcp_servers]]\nnamespace = \"me\"\ncommand = ['{program}', \"mcp\", \"--store\", \"memory:\"]\n"
    );
    fs::write(folder.0.join("panpan.toml"), config).unwrap();
    let server = Server::start(&folder, &[]);
    // Each panpan is available before the one behind it.
    let finds = |name| server.get("/search?limit=200").text().contains(name);
    until("the fourth panpan", || finds("me/me__me__me__demo__echo"));
    assert!(!finds("me/me__me__me__me__"));
    // Only the innermost panpan reports the reason.
    let mut innermost = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let innermost = Server::run(innermost.env("PANPAN_DEPTH", "4"));
    innermost.wait_for_line("limit of 4 nested panpans reached");
}

/// An MCP server whose only tool returns NaN, which is not valid JSON.
const UNREADABLE: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif request["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "measure", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    elif request["method"] == "tools/call":
        answer["result"] = {"content": [], "structuredContent": {"value": float("nan")}}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn an_unreadable_response_is_a_failure_at_once() {
    let folder = Folder::new();
    folder.file("unreadable.py", UNREADABLE);
    let server = Server::start(&folder, &["--mcp-stdio", "s=python3 unreadable.py"]);
    let answer = server.call("", r#"{"operation": "s/measure", "input": {}}"#);
    // Waiting for the timeout would give ERR_TIMEOUT.
    assert_eq!(
        answer.json()["code"],
        "ERR_HTTP_502_BAD_GATEWAY",
        "{answer:?}"
    );
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("not valid JSON-RPC"),
        "{answer:?}"
    );
}
