//! Servers as child processes, over stdio.

use std::sync::Arc;
use std::time::Duration;

use panpan_failure::Effect;
use panpan_mcp::library::{List, Request};
use panpan_redact::Secret;
use panpan_runtime::{CallRequest, Identity, StateOwner, Trace};
use panpan_upstream::mcp::{
    FIRST_BACKOFF, ITEMS_LIMIT, LINE_BYTES_LIMIT, McpCaller, McpCommand, McpError, McpServers,
    McpSettings, McpTimeouts, McpTransport, McpUpstream, PAGES_LIMIT, SKIPPED_LINES_LIMIT,
};
use serde_json::{Map, Value, json};

use crate::fixture::{ProgressLog, at, call, child, command, gateway, gateway_with, run};
use crate::server::INHERITED;

fn prompt(name: &str, arguments: Map<String, Value>) -> Request {
    Request::Prompt {
        name: name.to_owned(),
        arguments,
    }
}

fn complete(params: Value) -> Request {
    Request::Complete(serde_json::from_value(params).unwrap())
}

async fn listed(servers: &McpServers, list: List, caller: &McpCaller<'_>) -> Vec<Value> {
    let listed = servers.request(caller, Request::List(list)).await;
    listed.unwrap().as_array().unwrap().clone()
}

fn anonymous() -> McpCaller<'static> {
    McpCaller::default()
}

fn caller_of(identity: Option<&Identity>) -> McpCaller<'_> {
    McpCaller {
        identity,
        ..McpCaller::default()
    }
}

pub(crate) fn tools_are_operations() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let echoed = call(&gateway, "echo", json!({"text": "hi"})).await;
        assert_eq!(echoed.unwrap(), json!("\"hi\""));
        // From the second page, under a name that had to be made legal.
        let echoed = call(&gateway, "second_page", json!({"text": 1})).await;
        assert_eq!(echoed.unwrap(), json!("1"));
    });
}

pub(crate) fn every_known_error_shape_is_classified() {
    let text = |text: &str| json!({"isError": true, "content": [{"type": "text", "text": text}]});
    let forge = json!({
        "isError": true, "content": [{"type": "text", "text": "no"}],
        "structuredContent": {"status_code": 404},
    });
    let gate = json!({
        "isError": true, "content": [{"type": "text", "text": "no"}],
        "recovery": {"error_code": "AUTH_TOKEN_EXPIRED", "message": "log in", "retry": false},
    });
    let own = json!({
        "isError": true, "content": [{"type": "text", "text": "no"}],
        "_meta": {"dev.panpan/failure": {
            "code": "TIMEOUT", "message": "too slow", "category": "TIMEOUT", "retryable": true,
            "effect": "none", "attempts": 3,
        }},
    });
    let envelope = r#"{"errorType": "MODULE_EXECUTE_ERROR", "message": "no", "retryable": false}"#;
    run(async move {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        for (result, code) in [
            (text("the file is locked"), "TOOL_FAILED"),
            (
                text("HTTP error 404: Not Found - {'a': 1}"),
                "ERR_HTTP_404_NOT_FOUND",
            ),
            (
                text(r#"{"error": {"code": "no_such_user", "message": "no"}}"#),
                "ARTIFACT_NOT_FOUND",
            ),
            (
                text(r#"{"code": "ALREADY_EXISTS", "message": "no"}"#),
                "ALREADY_EXISTS",
            ),
            (
                text(r#"{"status": 422, "message": "no"}"#),
                "ERR_HTTP_422_UNPROCESSABLE",
            ),
            (text(envelope), "TOOL_FAILED"),
            (forge, "ERR_HTTP_404_NOT_FOUND"),
            (gate, "NOT_AUTHORIZED"),
            (own, "TIMEOUT"),
            (json!({}), "ERR_HTTP_502_BAD_GATEWAY"),
            (
                json!({"resultType": "input_required", "inputRequests": {}}),
                "TOOL_FAILED",
            ),
        ] {
            let failure = call(&gateway, "fail", json!({"result": result})).await;
            let failure = failure.unwrap_err();
            assert_eq!(failure.code().as_str(), code, "{result}");
        }
        for (code, message, expected) in [
            (-32602, "bad arguments", "INVALID_INPUT_ERROR"),
            (
                -32603,
                "broken, sk-live-abcdefghijklmnopqrstuvwxyz012345",
                "TOOL_FAILED",
            ),
            (-32000, "HTTP 403", "ERR_HTTP_403_FORBIDDEN"),
        ] {
            let input = json!({"code": code, "message": message});
            let failure = call(&gateway, "refuse", input).await.unwrap_err();
            assert_eq!(failure.code().as_str(), expected);
            assert!(!serde_json::to_string(&failure).unwrap().contains("sk-live"));
        }
        let mut changes = upstream.changes();
        changes.mark_unchanged();
        let gone = call(&gateway, "gone", json!({})).await.unwrap_err();
        assert_eq!(gone.code().as_str(), "ARTIFACT_NOT_FOUND");
        assert!(changes.has_changed().unwrap());
    });
}

pub(crate) fn a_child_that_exits_during_a_call_is_reported_and_restarted() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        for (name, code, effect) in [
            ("die", "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            ("die_reading", "ERR_SOCKET_ERROR", Effect::None),
        ] {
            let failure = call(&gateway, name, json!({})).await.unwrap_err();
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{name}");
            let echoed = call(&gateway, "echo", json!({"text": 1})).await;
            assert_eq!(echoed.unwrap(), json!("1"));
        }
    });
}

pub(crate) fn a_child_that_keeps_exiting_gets_a_backoff_despite_responses_in_between() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        for _ in 0..4 {
            call(&gateway, "die", json!({})).await.unwrap_err();
            // Waits, if necessary, as the failure advises.
            call(&gateway, "echo", json!({})).await.unwrap();
        }
        call(&gateway, "die", json!({})).await.unwrap_err();
        let error = upstream
            .list(List::Tools, &StateOwner::Anyone)
            .await
            .unwrap_err();
        assert!(matches!(error, McpError::Backoff { .. }), "{error:?}");
    });
}

pub(crate) fn a_call_that_hangs_times_out_and_is_cancelled() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let request = CallRequest {
            timeout_ms: Some(200),
            ..CallRequest::from_wire("test/hang", json!({}))
        };
        let failure = gateway.dispatch(request).await.into_value().unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        loop {
            let cancelled = call(&gateway, "cancelled", json!({})).await.unwrap();
            if cancelled != json!("null") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

pub(crate) fn progress_extends_the_timeout_of_an_attempt() {
    run(async {
        for logs in [false, true] {
            let upstream = child("well");
            let gateway = gateway_with(&upstream, |spec| spec.timeout_ms = Some(1_500)).await;
            let steps = json!({"steps": 4, "each_ms": 700, "logs": logs});
            assert_eq!(call(&gateway, "slow", steps).await.unwrap(), json!("done"));
            // Silence is not progress.
            let silent = json!({"steps": 1, "each_ms": 4_000, "logs": logs});
            let failure = call(&gateway, "slow", silent).await.unwrap_err();
            assert_eq!(failure.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        }
    });
}

pub(crate) fn a_read_only_call_is_not_repeated_while_it_may_still_respond() {
    run(async {
        let upstream = child("well");
        let gateway = gateway_with(&upstream, |spec| spec.timeout_ms = Some(300)).await;
        let failure = call(&gateway, "hang_reading", json!({})).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "TIMEOUT");
        assert_eq!(failure.attempts(), Some(1));
        assert_eq!(call(&gateway, "hung", json!({})).await.unwrap(), json!("1"));
    });
}

pub(crate) fn content_beside_a_failure_is_passed_on_redacted() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let secret = "password: correct-horse-battery-7";
        let result = json!({
            "isError": true, "content": [text("it broke"), image, text(secret)],
            "structuredContent": {"step": 2, "note": secret, "api_key": "correct-horse-plain"},
        });
        let request = CallRequest::from_wire("test/fail", json!({"result": result}));
        let answer = gateway.dispatch(request).await;
        let extras = answer.extra.unwrap();
        assert_eq!(extras["content"][0], image);
        assert_eq!(extras["content"].as_array().unwrap().len(), 2);
        assert_eq!(extras["structuredContent"]["step"], json!(2));
        assert!(!extras.to_string().contains("correct-horse"), "{extras}");
        let alone = json!({"isError": true, "content": [text("it broke")]});
        let request = CallRequest::from_wire("test/fail", json!({"result": alone}));
        assert_eq!(gateway.dispatch(request).await.extra, None);
        let strict = gateway_with(&upstream, |spec| {
            spec.redaction = Some(panpan_contract::operation::Redaction::Strict);
        })
        .await;
        let request = CallRequest::from_wire("test/fail", json!({"result": result}));
        let extras = strict.dispatch(request).await.extra;
        assert!(extras.is_none_or(|it| it.get("content").is_none()));
    });
}

pub(crate) fn the_freshness_of_a_list_is_known_after_reading_it() {
    run(async {
        let upstream = child("modern");
        assert_eq!(upstream.freshness(List::Prompts), None);
        upstream
            .list(List::Prompts, &StateOwner::Anyone)
            .await
            .unwrap();
        let fresh = upstream.freshness(List::Prompts).unwrap();
        assert_eq!((fresh.ttl_ms, fresh.is_public), (700, true));
        upstream
            .list(List::Tools, &StateOwner::Anyone)
            .await
            .unwrap();
        assert_eq!(upstream.freshness(List::Tools), None);
    });
}

pub(crate) fn invalid_lines_between_messages_are_skipped() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let garbled = call(&gateway, "garble", json!({})).await;
        assert_eq!(garbled.unwrap(), json!("garbled"));
    });
}

pub(crate) fn a_child_that_sends_only_invalid_lines_is_disconnected() {
    run(async {
        let error = child("babbles").operations().await.unwrap_err();
        let McpError::Ended(reason) = error else {
            panic!("{error:?}");
        };
        assert!(reason.contains("were not MCP messages"), "{reason}");
    });
}

pub(crate) fn an_endless_message_ends_the_connection() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let failure = call(&gateway, "endless", json!({})).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_OUTCOME_UNKNOWN");
    });
}

pub(crate) fn lines_are_read_up_to_their_limits() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        for (tool, member, limit) in [
            ("long", "bytes", LINE_BYTES_LIMIT),
            ("babble", "lines", SKIPPED_LINES_LIMIT),
        ] {
            let at = call(&gateway, tool, json!({member: limit})).await;
            assert!(at.is_ok(), "{tool}");
            let beyond = call(&gateway, tool, json!({member: limit + 1})).await;
            let failure = beyond.unwrap_err();
            assert_eq!(failure.code().as_str(), "ERR_OUTCOME_UNKNOWN", "{tool}");
        }
    });
}

pub(crate) fn lists_are_read_up_to_their_limits() {
    run(async {
        for (pages, items, whole) in [
            (PAGES_LIMIT, 1, true),
            (PAGES_LIMIT + 1, 1, false),
            (1, ITEMS_LIMIT, true),
            (1, ITEMS_LIMIT + 1, false),
        ] {
            let listed = child(&format!("pages-{pages}-{items}"))
                .list(List::Tools, &StateOwner::Anyone)
                .await;
            match listed {
                Ok(tools) => assert!(whole && tools.len() == pages * items, "{pages} {items}"),
                Err(error) => {
                    assert!(
                        !whole && matches!(error, McpError::ProtocolViolation(_)),
                        "{error:?}"
                    );
                }
            }
        }
    });
}

pub(crate) fn a_child_that_does_not_start_gets_a_growing_backoff() {
    run(async {
        let upstream = child("dies");
        let first_ms = u64::try_from(FIRST_BACKOFF.as_millis()).unwrap();
        loop {
            match upstream.operations().await.unwrap_err() {
                McpError::Backoff { wait_ms, .. } if wait_ms > first_ms => break,
                McpError::Backoff { wait_ms, .. } => {
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                }
                error => assert!(matches!(error, McpError::Ended(_)), "{error:?}"),
            }
        }
        let missing = at(McpTransport::Stdio(McpCommand::new("/no/such/program")));
        let error = missing.operations().await.unwrap_err();
        let failure = missing.failure(error, jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(failure.code().as_str(), "NOT_CONFIGURED");
    });
}

pub(crate) fn a_handshake_without_response_times_out() {
    run(async {
        let settings = McpSettings {
            timeouts: McpTimeouts {
                start: Duration::from_millis(200),
                ..McpTimeouts::default()
            },
            ..McpSettings::new("test", McpTransport::Stdio(command("mute")))
        };
        let upstream = McpUpstream::new(settings).unwrap();
        let error = upstream.operations().await.unwrap_err();
        assert!(matches!(error, McpError::Timeout { .. }), "{error:?}");
    });
}

pub(crate) fn a_child_that_exits_on_unknown_methods_gets_the_older_handshake() {
    run(async {
        let upstream = child("touchy");
        let gateway = gateway(&upstream).await;
        let echoed = call(&gateway, "echo", json!({"text": 1})).await;
        assert_eq!(echoed.unwrap(), json!("1"));
    });
}

pub(crate) fn changed_lists_are_reported() {
    run(async {
        for behaviour in ["well", "modern"] {
            changes_are_reported(behaviour).await;
        }
    });
}

async fn changes_are_reported(behaviour: &str) {
    let upstream = child(behaviour);
    let gateway = gateway(&upstream).await;
    let mut changes = upstream.changes();
    let before = *changes.borrow_and_update();
    call(&gateway, "change", json!({})).await.unwrap();
    changes.changed().await.unwrap();
    let after = *changes.borrow();
    let found = (after.tools, after.prompts);
    assert_eq!(found, (before.tools + 1, before.prompts), "{behaviour}");
    let gateway = self::gateway(&upstream).await;
    let late = call(&gateway, "late", json!({})).await.unwrap_err();
    // The tool is listed now, but the server does not implement it.
    assert_eq!(late.code().as_str(), "ARTIFACT_NOT_FOUND");
}

pub(crate) fn progress_trace_and_key_are_passed_on() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let progress = Arc::new(ProgressLog::default());
        let key = gateway.new_key();
        let request = CallRequest {
            progress: Some(progress.clone()),
            trace: Trace::parse(TRACE),
            key: Some(key.clone()),
            ..CallRequest::from_wire("test/progress", json!({}))
        };
        let meta = gateway.dispatch(request).await.into_value().unwrap();
        let meta: Value = serde_json::from_str(meta.as_str().unwrap()).unwrap();
        assert_eq!(meta["traceparent"], json!(TRACE));
        let passed_on = meta["dev.panpan/idempotency-key"].as_str().unwrap();
        assert!(!passed_on.is_empty() && passed_on != key.as_str());
        let progress = progress.0.lock().unwrap();
        assert_eq!(progress[0].message.as_deref(), Some("half"));
        assert_eq!((progress[0].done, progress[0].total), (1.0, Some(2.0)));
    });
}

pub(crate) fn secrets_of_a_child_are_redacted_in_failures() {
    run(async {
        let given = Secret::new("zebra-crossing".to_owned());
        let command = McpCommand {
            environment: vec![("GIVEN".to_owned(), given)],
            ..command("well")
        };
        let upstream = at(McpTransport::Stdio(command));
        let gateway = gateway(&upstream).await;
        let refused = json!({"code": -32000, "message": "no zebra-crossing here"});
        let failed = json!({"result": {
            "isError": true, "content": [{"type": "text", "text": "no zebra-crossing here"}],
        }});
        for (name, input) in [("refuse", refused), ("fail", failed)] {
            let failure = call(&gateway, name, input).await.unwrap_err();
            assert!(failure.message().contains("no [REDACTED] here"), "{name}");
            let shown = serde_json::to_string(&failure).unwrap();
            assert!(!shown.contains("zebra-crossing"), "{shown}");
        }
    });
}

pub(crate) fn a_child_inherits_no_secrets() {
    run(async {
        let name = "PANPAN_TEST_GIVEN";
        let given = (name.to_owned(), Secret::new("given".to_owned()));
        let command = McpCommand {
            environment: vec![given],
            ..command("well")
        };
        let upstream = at(McpTransport::Stdio(command));
        let gateway = gateway(&upstream).await;
        let names = call(&gateway, "environment", json!({})).await.unwrap();
        let names: Vec<&str> = names.as_str().unwrap().split(' ').collect();
        assert!(
            names.contains(&name) && names.contains(&"PATH"),
            "{names:?}"
        );
        // Cargo sets many variables of its own.
        let foreign = |name: &&&str| name.starts_with("CARGO") || **name == INHERITED;
        assert_eq!(names.iter().find(foreign), None);
        assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    });
}

pub(crate) fn a_child_ends_with_everything_it_started() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let pid = call(&gateway, "descend", json!({})).await.unwrap();
        let process = format!("/proc/{}/stat", pid.as_str().unwrap());
        assert!(std::fs::exists(&process).unwrap());
        drop((gateway, upstream));
        gone(&process).await;
    });
}

pub(crate) fn a_closed_child_is_not_started_again() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let pid = call(&gateway, "descend", json!({})).await.unwrap();
        upstream.close().await;
        gone(&format!("/proc/{}/stat", pid.as_str().unwrap())).await;
        assert!(upstream.operations().await.is_err());
    });
}

pub(crate) fn a_child_that_ignores_its_end_can_be_killed() {
    run(async {
        let upstream = child("well");
        let gateway = gateway(&upstream).await;
        let pid = call(&gateway, "descend", json!({})).await.unwrap();
        upstream.kill();
        gone(&format!("/proc/{}/stat", pid.as_str().unwrap())).await;
        let refused = upstream.operations().await.unwrap_err();
        assert!(matches!(refused, McpError::Ended(_)), "{refused}");
        // A server that was never started is not started either.
        let upstream = child("well");
        upstream.kill();
        let refused = upstream.operations().await.unwrap_err();
        assert!(matches!(refused, McpError::Ended(_)), "{refused}");
    });
}

async fn gone(process: &str) {
    // The parent of an orphan may be slow to reap it.
    let is_alive = || {
        let stat = std::fs::read_to_string(process).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while is_alive() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn resources_prompts_and_completion_are_passed_on() {
    run(async {
        let upstream = child("well");
        let offer = upstream.offer().await.unwrap();
        assert!(offer.resources && offer.prompts && offer.completions);
        assert_eq!(
            upstream
                .list(List::Resources, &StateOwner::Anyone)
                .await
                .unwrap()[0]["uri"],
            "test://one"
        );
        let templates = upstream
            .list(List::Templates, &StateOwner::Anyone)
            .await
            .unwrap();
        assert_eq!(templates[0]["uriTemplate"], "test://{name}");
        let read = upstream
            .request(&anonymous(), Request::Read("test://one".to_owned()))
            .await
            .unwrap();
        assert_eq!(read["contents"][0]["text"], "contents");
        let localised = McpCaller {
            meta: Map::from_iter([("vendor/locale".to_owned(), json!("de"))]),
            ..anonymous()
        };
        let read = Request::Read("test://meta".to_owned());
        let read = upstream.request(&localised, read).await.unwrap();
        assert_eq!(read["contents"][0]["text"], "\"de\"");
        assert_eq!(
            upstream
                .list(List::Prompts, &StateOwner::Anyone)
                .await
                .unwrap()[0]["name"],
            "greet"
        );
        let arguments = json!({"who": "Ada"}).as_object().unwrap().clone();
        let filled = upstream
            .request(&anonymous(), prompt("greet", arguments))
            .await
            .unwrap();
        assert_eq!(filled["messages"][0]["content"]["text"], "Greet \"Ada\"");
        let asked = json!({
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "who", "value": "A"},
        });
        let completed = upstream.request(&anonymous(), complete(asked)).await;
        let completed = completed.unwrap();
        assert_eq!(completed["completion"]["values"], json!(["Ada", "Alan"]));
    });
}

pub(crate) fn several_servers_are_merged() {
    run(async {
        let named = |namespace: &str, behaviour: &str| {
            let settings = McpSettings::new(namespace, McpTransport::Stdio(command(behaviour)));
            McpUpstream::new(settings).unwrap()
        };
        let each = [
            named("one", "well"),
            named("gone", "dies"),
            named("two", "well"),
        ];
        let servers = McpServers::new(each);
        let mut changes = servers.changes_for(&StateOwner::Anyone);
        // Unconnected servers are not waited for.
        assert!(!servers.refresh_offer().prompts);
        let names = listed(&servers, List::Prompts, &anonymous()).await;
        // Both have been connected to since.
        changes.wait_for(|it| it.prompts >= 2).await.unwrap();
        assert!(servers.refresh_offer().prompts && servers.offer().prompts);
        let names: Vec<&str> = names
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["one__greet", "two__greet"]);
        let arguments = json!({"who": "Ada"}).as_object().unwrap().clone();
        let filled = servers
            .request(&anonymous(), prompt("two__greet", arguments))
            .await
            .unwrap();
        assert_eq!(filled["messages"][0]["content"]["text"], "Greet \"Ada\"");
        // Both list the same resource: the first one wins.
        assert_eq!(
            listed(&servers, List::Resources, &anonymous()).await.len(),
            1
        );
        for (uri, found) in [
            ("test://one", true),
            ("test://other", true),
            ("file:///x", false),
        ] {
            let read = servers
                .request(&anonymous(), Request::Read(uri.to_owned()))
                .await;
            assert_eq!(read.is_ok(), found, "{uri}");
            if let Err(failure) = read {
                assert_eq!(failure.code().as_str(), "ARTIFACT_NOT_FOUND");
            }
        }
        let failure = servers
            .request(&anonymous(), prompt("three__greet", Default::default()))
            .await;
        assert_eq!(failure.unwrap_err().code().as_str(), "ARTIFACT_NOT_FOUND");
        let asked = |reference: Value| {
            let argument = json!({"name": "who", "value": "A"});
            let params = json!({"ref": reference, "argument": argument});
            let servers = &servers;
            async move { servers.request(&anonymous(), complete(params)).await }
        };
        let completed = asked(json!({"type": "ref/prompt", "name": "two__greet"})).await;
        assert_eq!(completed.unwrap()["completion"]["values"][0], "Ada");
        let completed = asked(json!({"type": "ref/resource", "uri": "test://{name}"})).await;
        assert_eq!(completed.unwrap()["completion"]["values"][0], "Ada");
    });
}

pub(crate) fn resources_and_prompts_are_visible_only_with_the_scopes_of_their_server() {
    run(async {
        let of = |namespace: &str, scopes: &[&str]| {
            let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            let transport = McpTransport::Stdio(command("well"));
            McpUpstream::new(McpSettings {
                scopes,
                ..McpSettings::new(namespace, transport)
            })
            .unwrap()
        };
        let closed = of("closed", &["files:read", "files:see"]);
        for it in gateway(&closed).await.registry().operations() {
            let needed = &it.spec().access_control.required_scopes;
            assert_eq!(*needed, ["files:read", "files:see"], "{}", it.name());
        }
        let servers = McpServers::new([closed.clone()]);
        let partly = Identity::new("bob").with_scope("files:read");
        let fully = partly.clone().with_scope("files:see");
        let arguments = || json!({"who": "Ada"}).as_object().unwrap().clone();
        let asked =
            |reference: Value| json!({"ref": reference, "argument": {"name": "who", "value": "A"}});
        let of_prompt = asked(json!({"type": "ref/prompt", "name": "closed__greet"}));
        let of_template = asked(json!({"type": "ref/resource", "uri": "test://{name}"}));
        // The caller with the scopes comes first: what is cached then must not leak to others.
        for (caller, seen) in [
            (Some(&fully), true),
            (Some(&partly), false),
            (None, false),
            (Some(&fully), true),
        ] {
            let caller = &caller_of(caller);
            let lists = [
                listed(&servers, List::Resources, caller).await,
                listed(&servers, List::Templates, caller).await,
                listed(&servers, List::Prompts, caller).await,
            ];
            assert!(lists.iter().all(|it| it.is_empty() != seen), "{lists:?}");
            for request in [
                Request::Read("test://one".to_owned()),
                Request::Read("test://other".to_owned()),
                prompt("closed__greet", arguments()),
                complete(of_prompt.clone()),
                complete(of_template.clone()),
            ] {
                match servers.request(caller, request).await {
                    Ok(answer) => assert!(seen, "{answer}"),
                    Err(failure) => {
                        assert!(!seen, "{failure}");
                        assert_eq!(failure.code().as_str(), "ARTIFACT_NOT_FOUND");
                    }
                }
            }
        }
        // An item of two servers belongs to the second for callers that the first does not admit.
        let servers = McpServers::new([closed, of("open", &[])]);
        assert_eq!(
            listed(&servers, List::Resources, &anonymous()).await.len(),
            1
        );
        let read = Request::Read("test://one".to_owned());
        assert!(servers.request(&anonymous(), read).await.is_ok());
        assert_eq!(
            listed(&servers, List::Prompts, &caller_of(Some(&fully)))
                .await
                .len(),
            2
        );
    });
}
