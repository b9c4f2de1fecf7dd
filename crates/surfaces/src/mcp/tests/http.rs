//! Requests over HTTP, in the version with sessions and in the one without.

use std::future::ready;

use panpan_failure::codes;
use panpan_runtime::StateOwner;

use super::wire::{CAPABILITIES, SCOPE, Wire, request};
use super::*;
use crate::mcp::{HttpSettings, IDEMPOTENCY_META_KEY};

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

async fn wire() -> Wire {
    Wire::to(gateway(operations()), HttpSettings::default()).await
}

async fn listed(wire: &Wire) -> Vec<String> {
    let list = wire.modern("tools/list", json!({})).await.message().await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|it| it["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn both_versions_are_served() {
    let wire = wire().await;
    for answer in wire.call_both("shop__get", json!({"a": 1})).await {
        let result = &answer["result"];
        assert_eq!(result["structuredContent"], json!({"a": 1}), "{answer}");
        assert_eq!(result["content"][0]["text"], json!(r#"{"a":1}"#));
    }
}

/// What differs between two calls that are alike.
fn alike(mut answer: Value) -> Value {
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
async fn a_plain_call_is_answered_as_the_library_would() {
    let blocks = json!({"type": "array", "x-mcp-content": true});
    let mut tells = query("shop/tell");
    tells.output_schema = blocks;
    let tell = |_, _| ready(Ok::<_, Failure>(json!([{"type": "text", "text": "told"}])));
    let fails = |_, _| ready(Err::<Value, _>(Failure::new(codes::ERR_HTTP_404_NOT_FOUND)));
    let operations = operations()
        .register(tells, tell)
        .register(query("shop/fail"), fails);
    let wire = Wire::to(gateway(operations), HttpSettings::default()).await;
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
            wire.modern_with("tools/call", params, meta).await
        };
        // Only of the first of two calls with one key it is said that it was not done before.
        let first = ask(json!({})).await;
        let second = ask(json!({})).await;
        let by_library = ask(json!({"unknown": "so not plain"})).await;
        assert_eq!(second.status, by_library.status, "{tool} {arguments}");
        assert_eq!(
            second.headers.get("content-type"),
            by_library.headers.get("content-type")
        );
        first.message().await;
        let (plain, by_library) = (second.message().await, by_library.message().await);
        assert_eq!(alike(plain), alike(by_library), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn only_the_newer_version_says_how_complete_a_result_is() {
    let wire = wire().await;
    let [old, new] = wire.call_both("shop__get", json!({})).await;
    assert!(old["result"].get("resultType").is_none());
    assert_eq!(new["result"]["resultType"], json!("complete"));
}

#[tokio::test]
async fn a_single_answer_is_plain_json_in_the_version_without_sessions() {
    let wire = wire().await;
    let answered = wire
        .modern("tools/call", json!({"name": "shop__get"}))
        .await;
    assert_eq!(answered.headers["content-type"], "application/json");
    let discovered = wire.modern("server/discover", json!({})).await;
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
    let wire = wire().await;
    let key = json!({"idempotency_key": ""});
    for answer in wire.call_both("shop__put", key).await {
        let result = &answer["result"];
        assert_eq!(result["isError"], json!(true), "{answer}");
        let failure = &result["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!("INVALID_INPUT"));
        assert!(result.get("structuredContent").is_none());
    }
}

#[tokio::test]
async fn a_caller_sees_what_it_may_call() {
    let wire = wire().await;
    assert_eq!(listed(&wire).await, ["shop__get", "shop__put"]);
    assert_eq!(
        listed(&wire.by("ann").with(SCOPE, "audit")).await,
        ["shop__audit", "shop__get", "shop__put"]
    );
    assert_eq!(listed(&wire.by("bob")).await, ["shop__get", "shop__put"]);
}

#[tokio::test]
async fn a_cursor_nobody_gave_is_refused() {
    let wire = wire().await;
    for (cursor, is_refused) in [(json!("x"), true), (json!(""), false), (json!(null), false)] {
        let params = json!({"cursor": cursor});
        let answer = wire.modern("tools/list", params).await.message().await;
        assert_eq!(answer["error"]["code"] == json!(-32602), is_refused);
        assert_eq!(
            answer["result"]["tools"].is_array(),
            !is_refused,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn how_long_a_caller_waits_and_its_seed_stand_in_meta() {
    let handler = |context: Context, _: Arc<Value>| async move {
        context.sleep(60_000).await;
        Ok::<_, Failure>(json!({}))
    };
    let gateway = gateway(Registry::builder().register(query("test/sleep"), handler));
    let wire = Wire::to(gateway, HttpSettings::default()).await;
    for (meta, code) in [
        (json!({"dev.panpan/timeout-ms": 10}), "TIMEOUT"),
        (json!({"dev.panpan/timeout-ms": "10"}), "INVALID_INPUT"),
        (json!({"dev.panpan/retry-seed": 1.5}), "INVALID_INPUT"),
    ] {
        let params = json!({"name": "test__sleep"});
        let answered = wire.modern_with("tools/call", params, meta.clone()).await;
        let answer = answered.message().await;
        let failure = &answer["result"]["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!(code), "{meta}");
    }
}

#[tokio::test]
async fn a_tool_the_caller_may_not_call_is_forbidden_and_one_that_is_not_there_is_unknown() {
    let wire = wire().await;
    for answer in wire.by("bob").call_both("shop__audit", json!({})).await {
        let failure = &answer["result"]["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!("FORBIDDEN"), "{answer}");
    }
    let auditor = wire.by("ann").with(SCOPE, "audit");
    for answer in auditor.call_both("shop__audit", json!({})).await {
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    for (name, near) in [
        ("shop__secret", json!([])),
        ("shop__audi", json!([])),
        ("shop__gett", json!(["shop__get"])),
        ("search", json!([])),
    ] {
        for answer in wire.call_both(name, json!({})).await {
            assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
            assert_eq!(
                answer["error"]["message"],
                json!(format!("there is no tool {name}"))
            );
            assert_eq!(answer["error"]["data"]["nearest"], near, "{name}");
        }
    }
}

#[tokio::test]
async fn what_a_caller_may_do_is_asked_anew_with_every_request_of_a_session() {
    let wire = wire().await;
    let session = wire.by("ann").session().await;
    let call = request("tools/call", json!({"name": "shop__audit"}));
    for (scope, failed) in [("audit", false), ("", true), ("audit", false)] {
        let answered = session.with(SCOPE, scope).post(&call).await;
        let answer = answered.message().await;
        assert_eq!(answer["result"]["isError"], json!(failed), "{answer}");
    }
}

#[tokio::test]
async fn a_handler_is_told_who_calls() {
    let gateway = gateway(Registry::builder().register(
        query("test/who"),
        |context: Context, _| {
            let name = context.caller().map(|it| it.id.clone());
            std::future::ready(Ok::<_, Failure>(json!({"who": name})))
        },
    ));
    let wire = Wire::to(gateway, HttpSettings::default()).await;
    for who in ["ann", "bob"] {
        for answer in wire.by(who).call_both("test__who", json!({})).await {
            assert_eq!(answer["result"]["structuredContent"]["who"], json!(who));
        }
    }
    for answer in wire.call_both("test__who", json!({})).await {
        assert_eq!(answer["result"]["structuredContent"]["who"], json!(null));
    }
}

#[tokio::test]
async fn a_session_is_that_of_whoever_opened_it() {
    let wire = wire().await;
    let list = request("tools/list", json!({}));
    let session = wire.by("ann").session().await;
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

async fn wire_with_room_for_three_sessions_and_two_of_a_caller() -> Wire {
    let settings = HttpSettings {
        sessions: 3,
        sessions_per_caller: 2,
        ..HttpSettings::default()
    };
    Wire::to(gateway(operations()), settings).await
}

#[tokio::test]
async fn so_many_sessions_may_be_in_use_and_another_when_one_is_ended() {
    let wire = wire_with_room_for_three_sessions_and_two_of_a_caller().await;
    let ann = wire.by("ann");
    let first = ann.session().await;
    let second = ann.session().await;
    let _listening = [first.send("GET", b"").await, second.send("GET", b"").await];
    let crowded = ann.open().await;
    assert_eq!(
        (crowded.status, &*crowded.headers["retry-after"]),
        (429, "1")
    );
    let third = wire.by("bob").session().await;
    let _listening = third.send("GET", b"").await;
    let full = wire.by("cid").open().await;
    assert_eq!(full.status, 503);
    assert!(
        full.message().await["error"]["message"]
            .as_str()
            .unwrap()
            .contains("sessions")
    );
    assert_eq!(first.send("DELETE", b"").await.status, 204);
    wire.by("cid").session().await;
}

#[tokio::test]
async fn the_session_used_least_recently_ends_for_another_of_its_caller() {
    let wire = wire_with_room_for_three_sessions_and_two_of_a_caller().await;
    let list = request("tools/list", json!({}));
    let bob = wire.by("bob").session().await;
    let ann = wire.by("ann");
    let [first, second] = [ann.session().await, ann.session().await];
    assert_eq!(first.post(&list).await.status, 200);
    let third = ann.session().await;
    for (session, status) in [(&second, 404), (&first, 200), (&third, 200), (&bob, 200)] {
        assert_eq!(session.post(&list).await.status, status);
    }
}

#[tokio::test]
async fn where_all_room_is_taken_a_session_of_anybody_ends_for_a_caller_who_has_none() {
    let wire = wire_with_room_for_three_sessions_and_two_of_a_caller().await;
    let list = request("tools/list", json!({}));
    let bob = wire.by("bob").session().await;
    let ann = wire.by("ann");
    let [first, second] = [ann.session().await, ann.session().await];
    assert_eq!(bob.post(&list).await.status, 200);
    let cid = wire.by("cid").session().await;
    for (session, status) in [(&first, 404), (&second, 200), (&bob, 200), (&cid, 200)] {
        assert_eq!(session.post(&list).await.status, status);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_in_json_rpc() {
    let wire = wire().await;
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for (body, status, code, id) in [
        (&b"this is no JSON"[..], 400, -32700, json!(null)),
        (b"", 400, -32700, json!(null)),
        (deep.as_bytes(), 400, -32700, json!(null)),
        (b"[]", 400, -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\"}", 400, -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 7}", 400, -32600, json!(7)),
        (b"{\"id\": \"a\", \"method\": 7}", 400, -32600, json!("a")),
    ] {
        let answered = wire.send("POST", body).await;
        let start = String::from_utf8_lossy(&body[..body.len().min(20)]);
        assert_eq!(answered.status, status, "{start}");
        let answer = answered.message().await;
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        assert_eq!(answer["id"], id, "{answer}");
    }
    let text = wire.with("Content-Type", "text/plain");
    assert_eq!(text.send("POST", b"{}").await.status, 415);
}

#[tokio::test]
async fn media_types_are_the_same_in_capitals_and_on_several_lines() {
    let wire = wire().await;
    let json = "Application/JSON; charset=UTF-8";
    for (accept, also, status) in [
        ("Application/JSON, Text/Event-Stream", "", 200),
        ("text/event-stream", "application/json", 200),
        ("application/json", "", 406),
        ("text/event-stream", "text/html", 406),
    ] {
        let mut client = wire.with("Content-Type", json).with("Accept", accept);
        if !also.is_empty() {
            // Another spelling of the name makes another line of it.
            client = client.with("ACCEPT", also);
        }
        let answered = client.modern("tools/list", json!({})).await;
        assert_eq!(answered.status, status, "{accept} {also}");
    }
}

#[tokio::test]
async fn events_without_a_message_are_sent_to_those_who_know_them() {
    let wire = wire().await;
    let session = wire.session().await;
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
    let opened = wire.open().await.text().await;
    assert!(!opened.lines().any(|line| line.trim_end() == "data:"));
}

#[tokio::test]
async fn several_messages_at_once_are_refused() {
    let wire = wire().await;
    let ping = request("ping", json!({}));
    for client in [wire.clone(), wire.session().await] {
        let answered = client.post(&json!([ping, ping])).await;
        assert_eq!(answered.status, 400);
        assert_eq!(answered.message().await["error"]["code"], json!(-32600));
    }
}

#[tokio::test]
async fn a_name_that_stands_twice_is_refused_wherever_it_stands() {
    let wire = wire().await.session().await;
    for (params, pointer) in [
        (r#""arguments": {"a": 1, "a": 2}"#, "/params/arguments/a"),
        (r#""arguments": {}, "arguments": {}"#, "/params/arguments"),
        (r#""name": "shop__put""#, "/params/name"),
    ] {
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"name": "shop__get", {params}}}}}"#
        );
        let answered = wire.send("POST", body.as_bytes()).await;
        assert_eq!(answered.status, 400, "{body}");
        let answer = answered.message().await;
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
        assert_eq!(answer["id"], json!(7));
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains(pointer), "{said}");
    }
}

#[tokio::test]
async fn what_a_call_leaves_belongs_to_its_caller_or_else_to_its_session() {
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
    let wire = Wire::to(gateway(operations), HttpSettings::default()).await;
    let called = async |wire: &Wire, tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        let answer = wire.post(&request("tools/call", params)).await;
        let answer = answer.message().await;
        answer["result"]["content"][0]["text"].clone()
    };
    let (ann, nobody) = (wire.by("ann").session().await, wire.session().await);
    let another = wire.session().await;
    assert_eq!(called(&ann, "shop__owner").await, "caller ann");
    assert_eq!(called(&nobody, "shop__owner").await, "a session");
    let of = called(&nobody, "shop__whole").await;
    assert_eq!(called(&nobody, "shop__whole").await, of);
    assert_ne!(called(&another, "shop__whole").await, of);
    // In the version without sessions, clients without a token cannot be told apart.
    let stating = wire.with("mcp-session-id", "made-up");
    for (wire, owner) in [
        (&wire.by("ann"), "caller ann"),
        (&wire, "anyone"),
        (&stating, "anyone"),
    ] {
        let params = json!({"name": "shop__owner", "arguments": {}});
        let answer = wire.modern("tools/call", params).await.message().await;
        assert_eq!(answer["result"]["content"][0]["text"], owner, "{answer}");
    }
}
