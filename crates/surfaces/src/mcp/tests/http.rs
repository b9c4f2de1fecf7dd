//! Requests over HTTP, in sessions and in the stateless version.

use std::future::ready;

use panpan_failure::codes;
use panpan_runtime::StateOwner;

use super::http_client::{CAPABILITIES, HttpClient, SCOPE, request};
use super::*;
use crate::mcp::HttpSettings;
use panpan_mcp::names::IDEMPOTENCY_META_KEY;

fn operations() -> Builder {
    let mut restricted = query("shop/audit");
    restricted.access_control.required_scopes = vec!["audit".to_owned()];
    let mut internal = query("shop/secret");
    internal.visibility = Visibility::Internal;
    Registry::builder()
        .register(query("shop/get"), echo)
        .register(mutation("shop/put"), echo)
        .register(restricted, echo)
        .register(internal, echo)
}

async fn http() -> HttpClient {
    HttpClient::to(gateway(operations()), HttpSettings::default()).await
}

async fn listed(http: &HttpClient) -> Vec<String> {
    let list = http.modern("tools/list", json!({})).await.message().await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|it| it["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn both_versions_are_served() {
    let http = http().await;
    for answer in http.call_both("shop__get", json!({"a": 1})).await {
        let result = &answer["result"];
        assert_eq!(result["structuredContent"], json!({"a": 1}), "{answer}");
        assert_eq!(result["content"][0]["text"], json!(r#"{"a":1}"#));
    }
}

/// The answer without what differs between two identical calls.
fn normalised(mut answer: Value) -> Value {
    if let Some(meta) = answer.pointer_mut("/result/_meta/dev.panpan~1failure") {
        meta["id"] = json!(null);
        meta["at"] = json!(null);
    }
    if let Some(Value::String(text)) = answer.pointer_mut("/result/content/0/text")
        && let Ok(mut failure) = serde_json::from_str::<Value>(text)
        && failure.get("error").is_some()
    {
        failure["error"]["id"] = json!(null);
        *text = failure.to_string();
    }
    answer
}

#[tokio::test]
async fn the_fast_path_answers_like_rmcp() {
    let blocks = json!({"type": "array", "x-mcp-content": true});
    let mut tells = query("shop/tell");
    tells.output_schema = blocks;
    let tell = |_, _| ready(Ok::<_, Failure>(json!([{"type": "text", "text": "told"}])));
    let fails = |_, _| ready(Err::<Value, _>(Failure::new(codes::ERR_HTTP_404_NOT_FOUND)));
    let operations = operations()
        .register(tells, tell)
        .register(query("shop/fail"), fails);
    let http = HttpClient::to(gateway(operations), HttpSettings::default()).await;
    for (tool, arguments, meta) in [
        ("shop__get", json!({"a": [1, 2.5, null]}), json!({})),
        (
            "shop__put",
            json!({"a": 1, "idempotency_key": "k"}),
            json!({}),
        ),
        (
            "shop__put",
            json!({"a": 1}),
            json!({IDEMPOTENCY_META_KEY: "m"}),
        ),
        (
            "shop__put",
            json!({"a": 1, "idempotency_key": 7}),
            json!({}),
        ),
        ("shop__put", json!({}), json!({IDEMPOTENCY_META_KEY: ""})),
        ("shop__tell", json!({}), json!({})),
        (
            "shop__tell",
            json!({}),
            json!({CAPABILITIES: {"elicitation": {}}}),
        ),
        ("shop__fail", json!({}), json!({})),
        ("shop__audit", json!({}), json!({})),
        ("shop__secret", json!({}), json!({})),
        ("shop__none", json!({}), json!({})),
    ] {
        let ask = async |mut params: Value| {
            params["name"] = json!(tool);
            params["arguments"] = arguments.clone();
            let meta = meta.clone();
            http.modern_with("tools/call", params, meta).await
        };
        // Only the first of two calls with the same key is not a replay.
        let first = ask(json!({})).await;
        let second = ask(json!({})).await;
        let by_rmcp = ask(json!({"unknown": "takes the slow path"})).await;
        assert_eq!(second.status, by_rmcp.status, "{tool} {arguments}");
        assert_eq!(
            second.headers.get("content-type"),
            by_rmcp.headers.get("content-type")
        );
        first.message().await;
        let (fast, by_rmcp) = (second.message().await, by_rmcp.message().await);
        assert_eq!(normalised(fast), normalised(by_rmcp), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn only_the_stateless_version_has_a_result_type() {
    let http = http().await;
    let [old, new] = http.call_both("shop__get", json!({})).await;
    assert!(old["result"].get("resultType").is_none());
    assert_eq!(new["result"]["resultType"], json!("complete"));
}

#[tokio::test]
async fn a_single_response_is_plain_json_in_the_stateless_version() {
    let http = http().await;
    let answered = http
        .modern("tools/call", json!({"name": "shop__get"}))
        .await;
    assert_eq!(answered.headers["content-type"], "application/json");
    let discovered = http.modern("server/discover", json!({})).await;
    let discovered = discovered.message().await;
    let versions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    assert_eq!(
        discovered["result"]["capabilities"]["tools"]["listChanged"],
        json!(true)
    );
}

#[tokio::test]
async fn a_failing_tool_is_a_result_in_both_versions() {
    let http = http().await;
    let key = json!({"idempotency_key": ""});
    for answer in http.call_both("shop__put", key).await {
        let result = &answer["result"];
        assert_eq!(result["isError"], json!(true), "{answer}");
        let failure = &result["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!("INVALID_INPUT"));
        assert!(result.get("structuredContent").is_none());
    }
}

#[tokio::test]
async fn a_caller_sees_what_it_may_call() {
    let http = http().await;
    assert_eq!(listed(&http).await, ["shop__get", "shop__put"]);
    assert_eq!(
        listed(&http.by("ann").with(SCOPE, "audit")).await,
        ["shop__audit", "shop__get", "shop__put"]
    );
    assert_eq!(listed(&http.by("bob")).await, ["shop__get", "shop__put"]);
}

#[tokio::test]
async fn an_unknown_cursor_is_refused() {
    let http = http().await;
    for (cursor, is_refused) in [(json!("x"), true), (json!(""), false), (json!(null), false)] {
        let params = json!({"cursor": cursor});
        let answer = http.modern("tools/list", params).await.message().await;
        assert_eq!(answer["error"]["code"] == json!(-32602), is_refused);
        assert_eq!(
            answer["result"]["tools"].is_array(),
            !is_refused,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn timeout_and_seed_are_read_from_meta() {
    let handler = |context: Context, _: Arc<Value>| async move {
        context.sleep(60_000).await;
        Ok::<_, Failure>(json!({}))
    };
    let gateway = gateway(Registry::builder().register(query("test/sleep"), handler));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    for (meta, code) in [
        (json!({"dev.panpan/timeout-ms": 10}), "TIMEOUT"),
        (json!({"dev.panpan/timeout-ms": "10"}), "INVALID_INPUT"),
        (json!({"dev.panpan/retry-seed": 1.5}), "INVALID_INPUT"),
    ] {
        let params = json!({"name": "test__sleep"});
        let answered = http.modern_with("tools/call", params, meta.clone()).await;
        let answer = answered.message().await;
        let failure = &answer["result"]["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!(code), "{meta}");
    }
}

#[tokio::test]
async fn a_restricted_tool_is_forbidden_and_an_internal_one_is_unknown() {
    let http = http().await;
    for answer in http.by("bob").call_both("shop__audit", json!({})).await {
        let failure = &answer["result"]["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!("FORBIDDEN"), "{answer}");
    }
    let auditor = http.by("ann").with(SCOPE, "audit");
    for answer in auditor.call_both("shop__audit", json!({})).await {
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    for (name, nearest) in [
        ("shop__secret", json!([])),
        ("shop__audi", json!([])),
        ("shop__gett", json!(["shop__get"])),
        ("search", json!([])),
    ] {
        for answer in http.call_both(name, json!({})).await {
            assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
            assert_eq!(
                answer["error"]["message"],
                json!(format!("there is no tool {name}"))
            );
            assert_eq!(answer["error"]["data"]["nearest"], nearest, "{name}");
        }
    }
}

#[tokio::test]
async fn permissions_are_checked_for_every_request_of_a_session() {
    let http = http().await;
    let session = http.by("ann").session().await;
    let call = request("tools/call", json!({"name": "shop__audit"}));
    for (scope, failed) in [("audit", false), ("", true), ("audit", false)] {
        let answered = session.with(SCOPE, scope).post(&call).await;
        let answer = answered.message().await;
        assert_eq!(answer["result"]["isError"], json!(failed), "{answer}");
    }
}

#[tokio::test]
async fn a_handler_sees_its_caller() {
    let gateway = gateway(Registry::builder().register(
        query("test/who"),
        |context: Context, _| {
            let name = context.caller().map(|it| it.id.clone());
            std::future::ready(Ok::<_, Failure>(json!({"who": name})))
        },
    ));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    for who in ["ann", "bob"] {
        for answer in http.by(who).call_both("test__who", json!({})).await {
            assert_eq!(answer["result"]["structuredContent"]["who"], json!(who));
        }
    }
    for answer in http.call_both("test__who", json!({})).await {
        assert_eq!(answer["result"]["structuredContent"]["who"], json!(null));
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_that_opened_it() {
    let http = http().await;
    let list = request("tools/list", json!({}));
    let session = http.by("ann").session().await;
    for other in [session.by("bob"), session.by_nobody()] {
        assert_eq!(other.post(&list).await.status, 404);
        assert_eq!(other.send("GET", b"").await.status, 404);
        assert_eq!(other.send("DELETE", b"").await.status, 404);
    }
    assert_eq!(session.post(&list).await.status, 200);
    assert_eq!(session.send("DELETE", b"").await.status, 204);
    assert_eq!(session.post(&list).await.status, 404);
    assert_eq!(session.send("DELETE", b"").await.status, 404);
}

async fn limited_to_three_sessions_and_two_per_caller() -> HttpClient {
    let settings = HttpSettings {
        sessions: 3,
        sessions_per_caller: 2,
        ..HttpSettings::default()
    };
    HttpClient::to(gateway(operations()), settings).await
}

#[tokio::test]
async fn sessions_in_use_are_limited_until_one_ends() {
    let http = limited_to_three_sessions_and_two_per_caller().await;
    let ann = http.by("ann");
    let first = ann.session().await;
    let second = ann.session().await;
    let _listening = [first.send("GET", b"").await, second.send("GET", b"").await];
    let crowded = ann.open().await;
    assert_eq!(
        (crowded.status, &*crowded.headers["retry-after"]),
        (429, "1")
    );
    let third = http.by("bob").session().await;
    let _listening = third.send("GET", b"").await;
    let full = http.by("cid").open().await;
    assert_eq!(full.status, 503);
    assert!(
        full.message().await["error"]["message"]
            .as_str()
            .unwrap()
            .contains("sessions")
    );
    assert_eq!(first.send("DELETE", b"").await.status, 204);
    http.by("cid").session().await;
}

#[tokio::test]
async fn a_new_session_closes_the_callers_least_recently_used_one() {
    let http = limited_to_three_sessions_and_two_per_caller().await;
    let list = request("tools/list", json!({}));
    let bob = http.by("bob").session().await;
    let ann = http.by("ann");
    let [first, second] = [ann.session().await, ann.session().await];
    assert_eq!(first.post(&list).await.status, 200);
    let third = ann.session().await;
    for (session, status) in [(&second, 404), (&first, 200), (&third, 200), (&bob, 200)] {
        assert_eq!(session.post(&list).await.status, status);
    }
}

#[tokio::test]
async fn at_the_total_limit_a_session_of_any_caller_is_closed() {
    let http = limited_to_three_sessions_and_two_per_caller().await;
    let list = request("tools/list", json!({}));
    let bob = http.by("bob").session().await;
    let ann = http.by("ann");
    let [first, second] = [ann.session().await, ann.session().await];
    assert_eq!(bob.post(&list).await.status, 200);
    let cid = http.by("cid").session().await;
    for (session, status) in [(&first, 404), (&second, 200), (&bob, 200), (&cid, 200)] {
        assert_eq!(session.post(&list).await.status, status);
    }
}

#[tokio::test]
async fn invalid_bodies_are_answered_with_json_rpc_errors() {
    let http = http().await;
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for (body, status, code, id) in [
        (&b"this is not JSON"[..], 400, -32700, json!(null)),
        (b"", 400, -32700, json!(null)),
        (deep.as_bytes(), 400, -32700, json!(null)),
        (b"[]", 400, -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\"}", 400, -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 7}", 400, -32600, json!(7)),
        (b"{\"id\": \"a\", \"method\": 7}", 400, -32600, json!("a")),
    ] {
        let answered = http.send("POST", body).await;
        let start = String::from_utf8_lossy(&body[..body.len().min(20)]);
        assert_eq!(answered.status, status, "{start}");
        let answer = answered.message().await;
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        assert_eq!(answer["id"], id, "{answer}");
    }
    let text = http.with("Content-Type", "text/plain");
    assert_eq!(text.send("POST", b"{}").await.status, 415);
}

#[tokio::test]
async fn media_types_are_case_insensitive_and_may_span_lines() {
    let http = http().await;
    let json = "Application/JSON; charset=UTF-8";
    for (accept, also, status) in [
        ("Application/JSON, Text/Event-Stream", "", 200),
        ("text/event-stream", "application/json", 200),
        ("application/json", "", 406),
        ("text/event-stream", "text/html", 406),
    ] {
        let mut client = http.with("Content-Type", json).with("Accept", accept);
        if !also.is_empty() {
            // A header name in different case adds another line.
            client = client.with("ACCEPT", also);
        }
        let answered = client.modern("tools/list", json!({})).await;
        assert_eq!(answered.status, status, "{accept} {also}");
    }
}

#[tokio::test]
async fn events_without_a_message_are_sent_only_to_versions_that_allow_them() {
    let http = http().await;
    let session = http.session().await;
    let list = request("tools/list", json!({}));
    for (version, has_them) in [
        ("2025-11-25", true),
        ("2025-06-18", false),
        ("2025-03-26", false),
    ] {
        let client = session.with("MCP-Protocol-Version", version);
        let text = client.post(&list).await.text().await;
        let is_empty = |line: &str| line.trim_end() == "data:";
        assert_eq!(text.lines().any(is_empty), has_them, "{version} {text}");
    }
    let opened = http.open().await.text().await;
    assert!(!opened.lines().any(|line| line.trim_end() == "data:"));
}

#[tokio::test]
async fn json_rpc_batches_are_refused() {
    let http = http().await;
    let ping = request("ping", json!({}));
    for client in [http.clone(), http.session().await] {
        let answered = client.post(&json!([ping, ping])).await;
        assert_eq!(answered.status, 400);
        assert_eq!(answered.message().await["error"]["code"], json!(-32600));
    }
}

#[tokio::test]
async fn duplicate_members_are_refused_at_any_depth() {
    let http = http().await.session().await;
    for (params, pointer) in [
        (r#""arguments": {"a": 1, "a": 2}"#, "/params/arguments/a"),
        (r#""arguments": {}, "arguments": {}"#, "/params/arguments"),
        (r#""name": "shop__put""#, "/params/name"),
    ] {
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"name": "shop__get", {params}}}}}"#
        );
        let answered = http.send("POST", body.as_bytes()).await;
        assert_eq!(answered.status, 400, "{body}");
        let answer = answered.message().await;
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
        assert_eq!(answer["id"], json!(7));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(pointer), "{message}");
    }
}

#[tokio::test]
async fn state_belongs_to_the_caller_or_else_to_the_session() {
    let owner = |context: Context, _| {
        let owner = match context.state_owner() {
            StateOwner::Caller(name) => format!("caller {name}"),
            StateOwner::Session(_) => "a session".to_owned(),
            StateOwner::Anyone => "anyone".to_owned(),
        };
        ready(Ok::<_, Failure>(json!(owner)))
    };
    let whole = |context: Context, _| {
        let owner = format!("{:?}", context.state_owner());
        ready(Ok::<_, Failure>(json!(owner)))
    };
    let operations = Registry::builder()
        .register(query("shop/owner"), owner)
        .register(query("shop/whole"), whole);
    let http = HttpClient::to(gateway(operations), HttpSettings::default()).await;
    let called = async |http: &HttpClient, tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        let answer = http.post(&request("tools/call", params)).await;
        let answer = answer.message().await;
        answer["result"]["content"][0]["text"].clone()
    };
    let (ann, nobody) = (http.by("ann").session().await, http.session().await);
    let another = http.session().await;
    assert_eq!(called(&ann, "shop__owner").await, "caller ann");
    assert_eq!(called(&nobody, "shop__owner").await, "a session");
    let of = called(&nobody, "shop__whole").await;
    assert_eq!(called(&nobody, "shop__whole").await, of);
    assert_ne!(called(&another, "shop__whole").await, of);
    // In the stateless version, clients without a token cannot be told apart.
    let stating = http.with("mcp-session-id", "made-up");
    for (http, owner) in [
        (&http.by("ann"), "caller ann"),
        (&http, "anyone"),
        (&stating, "anyone"),
    ] {
        let params = json!({"name": "shop__owner", "arguments": {}});
        let answer = http.modern("tools/call", params).await.message().await;
        assert_eq!(answer["result"]["content"][0]["text"], owner, "{answer}");
    }
}
