//! The operations that a server offers to programs and to models, with and without sources.

use std::collections::BTreeSet;

use panpan_testkit::{Folder, Server, program};
use serde_json::{Value, json};

/// The flag for a service that is never called.
fn shop(folder: &Folder) -> String {
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "shop", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {"/articles": {
            "get": {"operationId": "listArticles", "responses": {"200": {"description": "all"}}},
            "post": {"operationId": "addArticle", "responses": {"201": {"description": "added"}}},
        }},
    });
    let file = folder.file("shop.json", document.to_string());
    format!("--openapi=shop={file}")
}

/// A contract file with these operations.
fn contract(names: &[&str]) -> String {
    let operation = |name: &&str| {
        json!({
            "name": name, "op_type": "query",
            "x-panpan-http": {"method": "GET", "path": "/a", "servers": ["http://127.0.0.1:9"]},
        })
    };
    let operations: Vec<Value> = names.iter().map(operation).collect();
    json!({"panpan": "1", "service": {"name": "fs"}, "operations": operations}).to_string()
}

/// The flag for another panpan as MCP server, with its built-in operations.
fn inner() -> String {
    let program = program();
    format!("--mcp-stdio=inner='{program}' mcp --store memory:")
}

fn rpc(server: &Server, path: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let accept = "accept: application/json, text/event-stream\r\n";
    server.post(path, accept, &body).json()
}

/// The namespaces of the MCP tools.
fn tool_namespaces(server: &Server) -> BTreeSet<String> {
    let listed = mcp(server, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let namespace = |tool: &Value| {
        let name = tool["name"].as_str().unwrap();
        name.split("__").next().unwrap().to_owned()
    };
    tools.iter().map(namespace).collect()
}

fn mcp(server: &Server, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let name = params["name"].as_str();
    let name = name.map_or_else(String::new, |it| format!("mcp-name: {it}\r\n"));
    let headers = format!(
        "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\n{name}"
    );
    server.post("/mcp", &headers, &body).json()
}

/// The namespaces in the search results.
fn search_namespaces(server: &Server) -> BTreeSet<String> {
    let found = server.get("/search?limit=200").json();
    let operations = found["operations"].as_array().unwrap().iter();
    let namespace = |it: &Value| it["name"].as_str()?.split('/').next().map(str::to_owned);
    operations.filter_map(namespace).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn with_a_source_only_selected_built_in_operations_are_tools() {
    let folder = Folder::new();
    let (shop, inner) = (shop(&folder), inner());
    let (shop, inner) = (shop.as_str(), inner.as_str());
    for (flags, searched, tools) in [
        (
            &[][..],
            &["demo", "json", "services", "tasks"][..],
            &["demo", "json", "services", "tasks"][..],
        ),
        (&[shop], &["json", "services", "shop", "tasks"], &["shop"]),
        (
            &[shop, "--demo"],
            &["demo", "json", "services", "shop", "tasks"],
            &["demo", "shop"],
        ),
        (
            &[shop, "--builtin=json"],
            &["json", "shop"],
            &["json", "shop"],
        ),
        (&[shop, "--builtin=none"], &["shop"], &["shop"]),
        (&["--demo=false", "--builtin=json"], &["json"], &["json"]),
        (
            &[inner, shop],
            &["inner", "json", "services", "shop", "tasks"],
            &["inner", "shop"],
        ),
        // The tools of the only source have no prefix.
        (
            &[inner],
            &["inner", "json", "services", "tasks"],
            &["demo", "json", "services", "tasks"],
        ),
    ] {
        let server = Server::start(&folder, flags);
        server.wait_for_line("stop with Ctrl-C");
        assert_eq!(search_namespaces(&server), set(searched), "{flags:?}");
        assert_eq!(tool_namespaces(&server), set(tools), "{flags:?}");
    }
}

#[test]
fn the_file_and_the_variables_select_built_in_operations_too() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let config = folder.file("builtin.toml", "builtin = [\"services\"]\ndemo = true\n");
    let config = format!("--config={config}");
    let server = Server::start(&folder, &[&shop, &config]);
    assert_eq!(tool_namespaces(&server), set(&["demo", "services", "shop"]));
    let mut command = folder.panpan(&["serve", "--listen", "127.0.0.1:0", &shop]);
    let command = command.env("PANPAN_BUILTIN", "json,services");
    let server = Server::run(command.env("PANPAN_DEMO", "true"));
    let expected = set(&["demo", "json", "services", "shop"]);
    assert_eq!(tool_namespaces(&server), expected);
    let output = folder.run(&["serve", "--builtin=jsn"]);
    let messages = panpan_testkit::stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        messages.contains("calls, json, services and tasks"),
        "{messages}"
    );
}

#[test]
fn an_operation_that_is_not_a_tool_cannot_be_called_over_mcp() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[&shop(&folder)]);
    let listed = rpc(&server, "/rpc", "services/list", &json!({}));
    assert!(listed["result"]["operations"].is_array(), "{listed}");
    let params = json!({"name": "services__list", "arguments": {}});
    let called = mcp(&server, "tools/call", params);
    assert_eq!(called["error"]["code"], -32602, "{called}");
}

#[test]
fn an_overlay_hides_operations_of_every_source() {
    let folder = Folder::new();
    let overlay = folder.file(
        "hidden.yaml",
        "operations:\n- {match: shop/addArticle, hide: true}\n- {match: demo/*, hide: true}\n\
         - {match: json/transform, description: Reshapes JSON.}\n- {match: inner/demo__fail, hide: true}\n",
    );
    let overlay = format!("--overlay={overlay}");
    let flags = [
        &shop(&folder),
        &inner(),
        &overlay,
        "--demo",
        "--builtin=json",
    ];
    let server = Server::start(&folder, &flags);
    server.wait_for_line("stop with Ctrl-C");
    let found = server.get("/search?limit=200").text();
    for (name, is_found) in [
        ("shop/listArticles", true),
        ("shop/addArticle", false),
        ("demo/echo", false),
        ("inner/demo__echo", true),
        ("inner/demo__fail", false),
        ("Reshapes JSON.", true),
    ] {
        assert_eq!(
            found.contains(&format!("\"{name}\"")),
            is_found,
            "{name}: {found}"
        );
    }
    for hidden in ["shop/addArticle", "demo/echo", "inner/demo__fail"] {
        let body = json!({"operation": hidden, "input": {}}).to_string();
        assert_eq!(
            server.call("", &body).json()["code"],
            "NOT_FOUND",
            "{hidden}"
        );
    }
}

#[test]
fn an_invalid_overlay_entry_is_refused() {
    let folder = Folder::new();
    let shop = shop(&folder);
    for (entry, message) in [
        (
            "{match: nowhere/*, hide: true}",
            "no operation matches \"nowhere/*\"",
        ),
        (
            "{match: json/*, idempotency: {idempotent: true}}",
            "only hide, title, description, ask_first and call settings apply",
        ),
    ] {
        let overlay = folder.file("overlay.yaml", format!("operations:\n- {entry}\n"));
        let output = folder.run(&["serve", &shop, &format!("--overlay={overlay}")]);
        let messages = panpan_testkit::stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(messages.contains(message), "{messages}");
    }
}

#[test]
fn an_overlay_entry_need_not_match_every_service() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let file = shop.trim_start_matches("--openapi=shop=");
    let other = format!("--openapi=other={file}");
    let overlay = folder.file(
        "one.yaml",
        "operations:\n- match: shop/addArticle\n  hide: true\n  idempotency_header: Idempotency-Key\n",
    );
    let server = Server::start(&folder, &[&shop, &other, &format!("--overlay={overlay}")]);
    let found = server.get("/search?limit=200").text();
    assert!(found.contains("other/addArticle") && !found.contains("shop/addArticle"));
}

#[test]
fn a_contract_is_served_in_the_configured_namespace() {
    let folder = Folder::new();
    for (named, names, expected) in [
        (
            "shop=",
            &["fs/read", "fs/list"][..],
            &["shop/read", "shop/list"][..],
        ),
        (
            "shop=",
            &["fs/read", "os/read"],
            &["shop/fs/read", "shop/os/read"],
        ),
        ("", &["fs/read"], &["fs/read"]),
    ] {
        let file = folder.file("fs.contract.json", contract(names));
        let flag = format!("--openapi={named}{file}@http://127.0.0.1:9");
        let server = Server::start(&folder, &[&flag, "--builtin=none"]);
        let found = server.get("/search?limit=200").json();
        let found = found["operations"].as_array().unwrap().iter();
        let found: BTreeSet<String> = found
            .filter_map(|it| it["name"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(found, set(expected), "{named}");
    }
    let config = "[[openapi]]\nfile = \"fs.contract.json\"\nnamespace = \"mine\"\nurl = \"http://127.0.0.1:9\"\n";
    let config = format!("--config={}", folder.file("named.toml", config));
    let server = Server::start(&folder, &[&config]);
    assert!(server.get("/search?limit=200").text().contains("mine/read"));
}

#[test]
fn the_banner_counts_built_in_operations_separately() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let one = folder.file("one.contract.json", contract(&["one/read"]));
    let one = format!("--openapi={one}@http://127.0.0.1:9");
    for (flags, count) in [
        (
            &[&*shop][..],
            "serves 2 operations and 22 built-in operations at ",
        ),
        (&[&*shop, "--builtin=none"], "serves 2 operations at "),
        (&[&*one, "--builtin=none"], "serves 1 operation at "),
    ] {
        let server = Server::start(&folder, flags);
        let banner = server.lines().join("\n");
        assert!(banner.contains(count), "{banner}");
    }
}
