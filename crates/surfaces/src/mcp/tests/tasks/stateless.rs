//! The tasks extension of 2026-07-28.

use super::*;

/// The `_meta` of a client that supports tasks and answers forms.
pub(super) fn supporting() -> Value {
    json!({CAPABILITIES: {"elicitation": {}, "extensions": {TASKS: {}}}})
}

/// The `_meta` of such a client that asks for a task.
pub(super) fn asking() -> Value {
    let mut meta = supporting();
    meta[TASK_META_KEY] = json!({});
    meta
}

async fn sent(http: &HttpClient, method: &str, params: Value, meta: Value) -> Value {
    http.modern_with(method, params, meta).await.message().await
}

pub(super) async fn called(http: &HttpClient, tool: &str, arguments: Value, meta: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    sent(http, "tools/call", params, meta).await
}

/// The id of a new task.
pub(super) async fn created(http: &HttpClient, tool: &str, arguments: Value) -> String {
    let task = called(http, tool, arguments, asking()).await;
    assert_eq!(task["result"]["resultType"], "task", "{task}");
    task["result"]["taskId"].as_str().unwrap().to_owned()
}

pub(super) async fn about(http: &HttpClient, method: &str, id: &str) -> Value {
    sent(http, method, json!({"taskId": id}), supporting()).await
}

pub(super) async fn answered(http: &HttpClient, id: &str, responses: Value) -> Value {
    let params = json!({"taskId": id, "inputResponses": responses});
    sent(http, "tasks/update", params, supporting()).await
}

/// The task, once it has this status.
pub(super) async fn reached(http: &HttpClient, id: &str, status: &str) -> Value {
    within(async {
        loop {
            let task = about(http, "tasks/get", id).await["result"].clone();
            if task["status"] == status {
                return task;
            }
            assert!(
                ["working", "input_required"].contains(&task["status"].as_str().unwrap()),
                "{task}"
            );
            pause().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_task_is_created_at_once_and_keeps_the_result_of_the_call() {
    let http = http().await;
    for (tool, arguments) in [
        ("shop__get", json!({"a": [1, 2.5, null]})),
        ("shop__put", json!({"a": 1})),
        ("shop__list", json!({})),
        ("shop__tell", json!({})),
        ("shop__break", json!({"a": 1})),
        ("shop__fail", json!({})),
    ] {
        let task = called(&http, tool, arguments.clone(), asking()).await;
        let task = &task["result"];
        assert_eq!(task["status"], "working", "{task}");
        assert_eq!(task["ttlMs"], KEPT_MS);
        assert!(task["pollIntervalMs"].is_u64() && task["createdAt"].is_string());
        let task = reached(&http, task["taskId"].as_str().unwrap(), "completed").await;
        let mut direct = called(&http, tool, arguments, json!({})).await["result"].take();
        let mut kept = task["result"].clone();
        if direct["isError"] == true {
            assert_eq!(agent_view(&kept), agent_view(&direct));
            for result in [&mut direct, &mut kept] {
                result["content"][0]["text"] = json!(null);
                for member in ["id", "at"] {
                    result["_meta"]["dev.panpan/failure"][member] = json!(null);
                }
            }
        } else {
            // The key of a call is not that of a task.
            direct.as_object_mut().unwrap().remove("_meta");
        }
        assert_eq!(kept, direct, "{tool}");
    }
}

#[tokio::test]
async fn the_operation_and_the_client_decide_whether_a_call_is_a_task() {
    let http = http().await;
    for (tool, meta, expected) in [
        ("shop__get", json!({}), "complete"),
        ("shop__get", json!({TASK_META_KEY: {}}), "complete"),
        ("shop__get", supporting(), "complete"),
        ("shop__get", asking(), "task"),
        ("shop__direct", asking(), "complete"),
        ("shop__slow", json!({}), "complete"),
        ("shop__slow", supporting(), "task"),
        ("shop__job", supporting(), "task"),
    ] {
        let response = called(&http, tool, json!({}), meta.clone()).await;
        assert_eq!(response["result"]["resultType"], expected, "{tool} {meta}");
    }
    let refused = called(&http, "shop__job", json!({}), json!({})).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let required = &refused["error"]["data"]["requiredCapabilities"];
    assert_eq!(required["extensions"][TASKS], json!({}));
}

#[tokio::test]
async fn a_call_that_cannot_run_is_refused_as_without_a_task() {
    let http = http().await;
    for (tool, arguments) in [
        ("shop__put", json!({"idempotency_key": 7})),
        ("shop__none", json!({})),
        ("shop__divide", json!({"dividend": "six"})),
    ] {
        let direct = called(&http, tool, arguments.clone(), json!({})).await;
        let as_task = called(&http, tool, arguments, asking()).await;
        assert_eq!(as_task["error"], direct["error"]);
        assert_eq!(as_task["result"]["isError"], direct["result"]["isError"]);
        assert!(as_task["result"]["taskId"].is_null());
        if direct["result"].is_object() {
            let view = agent_view(&as_task["result"]);
            assert_eq!(view, agent_view(&direct["result"]));
            assert!(view.to_string().contains("\"/"), "{view}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_task_stops_its_handler_and_stays_cancelled() {
    let (handler, mut watched) = watched();
    let operations = Registry::builder().register(query("shop/watch"), handler);
    let http = HttpClient::to(with_tasks(operations), HttpSettings::default()).await;
    let id = created(&http, "shop__watch", json!({})).await;
    let dropped = watched.begins.recv().await.unwrap();
    for _ in 0..2 {
        let acknowledged = about(&http, "tasks/cancel", &id).await;
        assert_eq!(
            acknowledged["result"]["resultType"], "complete",
            "{acknowledged}"
        );
        assert!(acknowledged["result"]["status"].is_null());
        let task = reached(&http, &id, "cancelled").await;
        assert!(task["result"].is_null() && task["error"].is_null());
    }
    dropped.await.unwrap();
}

#[tokio::test]
async fn a_task_exists_only_for_its_owner() {
    let http = http().await;
    let (anna, bert) = (http.by("anna"), http.by("bert"));
    let id = created(&anna, "shop__wait", json!({})).await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    for method in ["tasks/get", "tasks/cancel"] {
        for (client, id) in [
            (&bert, id.as_str()),
            (&http, id.as_str()),
            (&anna, unknown),
            (&anna, "not-an-id"),
        ] {
            let refused = about(client, method, id).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
            let expected = json!({"code": "TASK_NOT_FOUND", "task_id": id});
            assert_eq!(refused["error"]["data"], expected);
        }
    }
    let refused = answered(&bert, &id, json!({})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(
        about(&anna, "tasks/get", &id).await["result"]["status"],
        "working"
    );
}

#[tokio::test]
async fn methods_need_the_capability_and_those_of_older_versions_do_not_exist() {
    let http = http().await;
    for (method, meta, code) in [
        ("tasks/get", json!({}), -32021),
        ("tasks/cancel", json!({}), -32021),
        ("tasks/result", supporting(), -32601),
        ("tasks/list", supporting(), -32601),
    ] {
        let refused = sent(&http, method, json!({"taskId": "a"}), meta).await;
        assert_eq!(refused["error"]["code"], code, "{method} {refused}");
    }
}

#[tokio::test]
async fn tasks_are_declared_only_if_they_can_run() {
    let without = HttpClient::to(gateway(operations()), HttpSettings::default()).await;
    for (http, is_declared) in [(http().await, true), (without, false)] {
        let discovered = sent(&http, "server/discover", json!({}), json!({})).await;
        let capabilities = &discovered["result"]["capabilities"];
        assert_eq!(capabilities["extensions"][TASKS].is_object(), is_declared);
        assert!(capabilities["tasks"].is_null());
        let called = called(&http, "shop__get", json!({}), asking()).await;
        let expected = if is_declared { "task" } else { "complete" };
        assert_eq!(called["result"]["resultType"], expected);
    }
}
