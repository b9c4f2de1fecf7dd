//! Operations that come from descriptions of services and from MCP servers.

use std::fs;

use panpan_faulty::{Endpoint, Service};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::server::Server;
use crate::{Folder, until};

/// A service that fails in every way, with its description in a folder.
struct Faulty {
    service: Service,
    _runtime: Runtime,
}

impl Faulty {
    fn described_in(folder: &Folder) -> Self {
        let runtime = Runtime::new().unwrap();
        let service = runtime.block_on(Service::start()).unwrap();
        let this = Self {
            service,
            _runtime: runtime,
        };
        this.describe(folder, |_| {});
        this
    }

    fn describe(&self, folder: &Folder, change: impl Fn(&mut Value)) {
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
    serde_json::from_str(&server.call(headers, &body).body).unwrap()
}

#[test]
fn a_service_is_served_from_its_description() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
    let server = Server::start(&folder, &[&faulty.flag()]);
    server.hear("stop with Ctrl-C");
    assert!(
        server.said().join("\n").contains("faulty: "),
        "{:?}",
        server.said()
    );
    let failure = call(&server, "", "faulty/rate-limited-seconds", json!({}));
    assert_eq!(failure["code"], "HTTP_429");
    assert_eq!(failure["panpan"]["recovery"]["retry_after_ms"], 120_000);
    let refusal = call(&server, "", "faulty/echo", json!({"unknown": 1}));
    assert_eq!(refusal["code"], "INVALID_INPUT");
}

#[test]
fn a_description_of_a_server_that_may_not_be_reached_is_served_with_a_warning() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    faulty.describe(&folder, |document| {
        document["servers"] = json!([{"url": url.to_string()}]);
    });
    for (flag, is_warned) in [
        ("--openapi=faulty.json".to_owned(), true),
        (format!("--openapi=faulty.json@{url}"), false),
    ] {
        let server = Server::start(&folder, &[&flag]);
        server.hear("stop with Ctrl-C");
        let said = server.said().join("\n");
        let advice = format!("--openapi faulty=faulty.json@{url}");
        assert_eq!(said.contains(&advice), is_warned, "{said}");
    }
}

#[test]
fn a_description_that_changes_is_served_as_it_is_then_and_a_broken_one_changes_nothing() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
    let server = Server::start(&folder, &[&faulty.flag()]);
    let code = || call(&server, "", "faulty/new-name", json!({}))["code"].clone();
    assert_eq!(code(), "NOT_FOUND");
    faulty.describe(&folder, |document| {
        document["paths"]["/fault/not-found"]["get"]["operationId"] = json!("new-name");
    });
    server.hear("the sources were read again");
    assert_eq!(code(), "HTTP_404");
    fs::write(folder.0.join("faulty.json"), "{").unwrap();
    server.signal("HUP");
    server.hear("what was served before goes on");
    assert_eq!(code(), "HTTP_404");
}

#[test]
fn secrets_come_from_the_environment_or_from_the_caller_and_stand_in_no_failure() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
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

/// How often the service was asked for this row.
fn asked(faulty: &Faulty, slug: &str) -> u64 {
    faulty
        .service
        .calls(panpan_faulty::Row::of_slug(slug).unwrap())
}

#[test]
fn calls_to_a_source_are_made_as_its_settings_say() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
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
    let watcher = folder.ran(&[
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
        assert_eq!(asked(&faulty, slug), times, "{slug}");
    }
    let silent = call(&server, "", "faulty/silence-read", json!({}));
    assert_eq!(silent["code"], "ERR_TIMEOUT", "{silent}");
    // One that fails twice is refused; its neighbours are not.
    let failure = call(&server, "", "faulty/server-error-read", json!({}));
    assert_eq!(failure["code"], "HTTP_500");
    let refused = call(&server, "", "faulty/server-error-read", json!({}));
    assert_eq!(refused["code"], "ERR_CIRCUIT_OPEN", "{refused}");
    assert_eq!(refused["details"]["circuit"], "operation");
    assert_eq!(refused["details"]["operation"], "faulty/server-error-read");
    assert_eq!(refused["panpan"]["causes"][0]["code"], "HTTP_500");
    assert_eq!(asked(&faulty, "server-error-read"), 2);
    let neighbour = call(&server, "", "faulty/not-found", json!({}));
    assert_eq!(neighbour["code"], "HTTP_404");
    let line = "panpan_circuit_open{circuit=\"operation\",upstream=\"faulty\",\
                operation=\"faulty/server-error-read\",state=\"open\"} 1";
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains(line), "{metrics}");
    let listed = call(&server, &bearer, "calls/circuits", json!({}));
    let listed = listed["output"]["circuits"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["last_failure"]["code"], "HTTP_500");
    let denied = call(&server, "", "calls/circuits", json!({}));
    assert_eq!(denied["code"], "FORBIDDEN");
}

#[test]
fn settings_for_tools_of_an_mcp_server_are_used_and_those_for_none_are_told() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_panpan");
    let config = format!(
        "store = \"memory:\"\n[[mcp_servers]]\nnamespace = \"inner\"\n\
         command = [\"{program}\", \"mcp\", \"--config\", \"inner.toml\", \"--store\", \"memory:\"]\n\
         [mcp_servers.operations.\"demo*wait\"]\ntimeout_ms = 100\nretry = \"off\"\n\
         [mcp_servers.operations.missing]\ntimeout_ms = 1\n"
    );
    // The inner one would read the outer one's file, and serve no demonstration beside a server.
    folder.file("panpan.toml", &config);
    folder.file("inner.toml", "");
    let server = Server::start(&folder, &[]);
    server.hear("stop with Ctrl-C");
    let said = server.said().join("\n");
    assert!(said.contains("does not offer: inner/missing"), "{said}");
    let found = server.get("/search?query=wait&limit=20").body;
    let found: Value = serde_json::from_str(&found).unwrap();
    let names = found["operations"].as_array().unwrap().iter();
    let mut names = names.filter_map(|it| it["name"].as_str());
    let wait = names.find(|it| it.starts_with("inner/") && it.ends_with("wait"));
    let late = call(&server, "", wait.unwrap(), json!({"ms": 10_000}));
    assert_eq!(late["details"]["timeout_ms"], 100, "{late}");
}

#[test]
fn sources_that_cannot_be_used_are_refused_with_a_sentence() {
    let folder = Folder::new();
    let _faulty = Faulty::described_in(&folder);
    let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).unwrap();
    write("old.json", r#"{"swagger": "2.0", "paths": {}}"#);
    write(
        "overlay.json",
        r#"{"operations": [{"match": "nobody/*", "hide": true}]}"#,
    );
    write(
        "idle.toml",
        "[[openapi]]\nfile = \"faulty.json\"\n[openapi.operations.nothing]\nretry = \"off\"\n",
    );
    for (flags, said) in [
        (&["--openapi=none.json"][..], "none.json: cannot be read"),
        (&["--openapi=old.json"], "2.0"),
        (
            &["--openapi=faulty.json@https://"],
            "expected files and addresses",
        ),
        (
            &["--openapi=faulty.json@https://me:hunter2@api.example.com"],
            "expected files and addresses",
        ),
        (
            &["--openapi=faulty.json", "--overlay=overlay.json"],
            "nobody/*",
        ),
        (&["--config=idle.toml"], "faulty/nothing"),
        (&["--enable=http/cal"], "http/cal"),
        (&["--allow-host=10.0.0.0/99"], "expected hosts"),
        (&["--mcp=ftp://a"], "expected addresses"),
        (&["--mcp-stdio=a 'b"], "expected commands"),
    ] {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        let output = folder.panpan(&[&listen, flags].concat()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(said), "{flags:?}: {told}");
        assert!(told.contains("cannot serve"), "{flags:?}: {told}");
        assert!(!told.contains("hunter2"), "{flags:?}: {told}");
    }
}

#[test]
fn the_tools_of_an_mcp_server_are_operations_and_fail_as_they_do_there() {
    let folder = Folder::new();
    let inner = format!(
        "--mcp-stdio=inner='{}' mcp --store memory:",
        env!("CARGO_BIN_EXE_panpan")
    );
    let server = Server::start(&folder, &[&inner, "--demo"]);
    server.hear("stop with Ctrl-C");
    let said = server.said().join("\n");
    assert!(said.contains("inner: "), "{said}");
    let found = server.get("/search?query=divide&limit=5").body;
    let found: Value = serde_json::from_str(&found).unwrap();
    let names = found["operations"].as_array().unwrap().iter();
    let mut names = names.filter_map(|it| it["name"].as_str());
    let divide = names
        .find(|name| name.starts_with("inner/"))
        .unwrap()
        .to_owned();
    let input = json!({"dividend": 1, "divisor": 0});
    let there = call(&server, "", &divide, input.clone());
    let here = call(&server, "", "demo/divide", input);
    for part in ["code", "message", "retryable", "details"] {
        assert_eq!(there[part], here[part], "{part}: {there}");
    }
    assert_eq!(there["panpan"]["recovery"], here["panpan"]["recovery"]);
}

#[test]
fn of_two_mcp_servers_with_one_name_for_their_tools_the_second_is_left_out_and_told() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_panpan");
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
        server.hear("stop with Ctrl-C");
        let said = server.said().join("\n");
        assert_eq!(!said.contains("names = \"prefixed\""), is_served, "{said}");
        let found = server.get("/search?query=divide&limit=5").body;
        assert!(found.contains("one/"), "{found}");
        assert_eq!(found.contains("two/"), is_served, "{found}");
    }
}

#[test]
fn an_mcp_server_that_contradicts_another_is_left_out_and_told() {
    let folder = Folder::new();
    let inner = format!(
        "--mcp-stdio=inner='{}' mcp --store memory:",
        env!("CARGO_BIN_EXE_panpan")
    );
    let server = Server::start(&folder, &[&inner, &inner]);
    server.hear("stop with Ctrl-C");
    let said = server.said().join("\n");
    assert!(
        said.contains("the tools of the MCP server inner cannot be served"),
        "{said}"
    );
    let found = server.get("/search?query=divide&limit=5").body;
    assert!(found.contains("inner/"), "{found}");
}

#[test]
fn an_mcp_server_that_is_not_there_keeps_nobody_waiting() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--mcp-stdio=gone=no-such-program"]);
    server.hear("gone: an MCP server that is not there yet");
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn the_scopes_of_a_source_are_needed_for_all_of_it() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
    let url = faulty.service.url(Endpoint::Plain);
    let program = env!("CARGO_BIN_EXE_panpan");
    let config = format!(
        "store = \"sqlite:panpan.db\"\n\
         [[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\nscopes = [\"faulty:call\"]\n\
         [[mcp_servers]]\nnamespace = \"inner\"\nscopes = [\"inner:call\"]\n\
         command = ['{program}', \"mcp\", \"--store\", \"memory:\"]\n\
         directory = \"elsewhere\"\n"
    );
    // The inner one would read the file and start another.
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
    server.hear("stop with Ctrl-C");
    for (operation, may, may_not) in [
        ("faulty/echo", &faulty_token, &inner_token),
        ("inner/demo__echo", &inner_token, &faulty_token),
    ] {
        let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
        for (headers, code) in [
            (bearer(may), Value::Null),
            (bearer(may_not), json!("FORBIDDEN")),
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
        assert!(!server.get("/search?limit=200").body.contains(operation));
    }
}

#[test]
fn what_is_wrong_with_a_source_is_told_with_advice_by_every_command_that_serves() {
    let folder = Folder::new();
    let _faulty = Faulty::described_in(&folder);
    let secret =
        "[[openapi]]\nfile = \"faulty.json\"\ncredentials = { token = { env = \"NOWHERE\" } }\n";
    let config = folder.file("secret.toml", secret);
    let overlay = folder.file("overlay.toml", "[[operations]]\nmatch = \"nobody/*\"\n");
    let config = format!("--config={config}");
    let overlay = format!("--overlay={overlay}");
    for (flags, said, hint) in [
        (
            &["--openapi=none.json"][..],
            "none.json: cannot be read",
            "name a file you may read",
        ),
        (
            &[config.as_str()],
            "the variable NOWHERE is not set",
            "hint: set the variable",
        ),
        (
            &["--openapi=faulty.json", &overlay],
            "nobody/*",
            "shows which operations there are",
        ),
        (
            &["--openapi=a=faulty.json", "--openapi=a=faulty.json"],
            "contradict each other",
            "need other namespaces",
        ),
    ] {
        for (command, refusal) in [("serve", "cannot serve: "), ("mcp", "cannot serve MCP: ")] {
            let output = folder.ran(&[&[command], flags].concat());
            let told = crate::talk(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {told}");
            for part in [refusal, said, hint] {
                assert!(told.contains(part), "{command} {flags:?}: {part}: {told}");
            }
        }
    }
}

#[test]
fn a_header_the_operator_gives_is_asked_of_nobody() {
    let folder = Folder::new();
    let faulty = Faulty::described_in(&folder);
    faulty.describe(&folder, |document| {
        let tenant = json!({"name": "X-Tenant", "in": "header", "required": true, "schema": {"type": "string"}});
        document["paths"]["/echo"]["get"]["parameters"] = json!([tenant]);
    });
    let url = faulty.service.url(Endpoint::Plain);
    let without =
        format!("store = \"memory:\"\n[[openapi]]\nfile = \"faulty.json\"\nurl = \"{url}\"\n");
    let with = format!("{without}headers = {{ x-tenant = \"acme\" }}\n");
    for (config, code, known) in [
        (with, Value::Null, false),
        (without, json!("INVALID_INPUT"), true),
    ] {
        fs::write(folder.0.join("panpan.toml"), config).unwrap();
        let server = Server::run(&mut folder.panpan(&["serve", "--listen", "127.0.0.1:0"]));
        let answer = call(&server, "", "faulty/echo", json!({}));
        assert_eq!(answer["code"], code, "{answer}");
        assert_eq!(
            answer["output"].to_string().contains("acme"),
            !known,
            "{answer}"
        );
        let schema = server.get("/schema?name=faulty/echo").body;
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let input = schema["input_schema"].to_string();
        assert_eq!(input.contains("Tenant"), known, "{input}");
    }
}

#[test]
fn a_panpan_that_names_itself_starts_a_few_and_no_more() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_panpan");
    let config = format!(
        "demo = true\n[[mcp_servers]]\nnamespace = \"me\"\ncommand = ['{program}', \"mcp\", \"--store\", \"memory:\"]\n"
    );
    fs::write(folder.0.join("panpan.toml"), config).unwrap();
    let server = Server::start(&folder, &[]);
    // Each is there before the one behind it is.
    let finds = |name| server.get("/search?limit=200").body.contains(name);
    until("the fourth panpan", || finds("me/me__me__me__demo__echo"));
    assert!(!finds("me/me__me__me__me__"));
    // The innermost says why; those in between keep to themselves what their servers say.
    let mut innermost = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let innermost = Server::run(innermost.env("PANPAN_DEPTH", "4"));
    innermost.hear("limit of 4 nested panpans reached");
}

/// An MCP server whose only tool answers with a number that JSON does not have.
const UNREADABLE: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "measure", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    elif asked["method"] == "tools/call":
        answer["result"] = {"content": [], "structuredContent": {"value": float("nan")}}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn an_answer_that_cannot_be_read_is_a_failure_at_once() {
    let folder = Folder::new();
    folder.file("unreadable.py", UNREADABLE);
    let server = Server::start(&folder, &["--mcp-stdio", "s=python3 unreadable.py"]);
    let answer = server.call("", r#"{"operation": "s/measure", "input": {}}"#);
    // What waits for the timeout is ERR_TIMEOUT.
    assert_eq!(
        answer.json()["code"],
        "ERR_HTTP_502_BAD_GATEWAY",
        "{answer:?}"
    );
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("not readable"),
        "{answer:?}"
    );
}
