//! The tasks of 2025-11-25.

use super::*;

pub(super) async fn sent(http: &HttpClient, method: &str, params: Value) -> Value {
    http.post(&request(method, params)).await.message().await
}

pub(super) async fn called(http: &HttpClient, tool: &str, arguments: Value, task: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "task": task});
    sent(http, "tools/call", params).await
}

/// The id of a new task.
pub(super) async fn created(http: &HttpClient, tool: &str, arguments: Value) -> String {
    let created = called(http, tool, arguments, json!({})).await;
    let task = &created["result"]["task"];
    assert_eq!(task["status"], "working", "{created}");
    task["taskId"].as_str().unwrap().to_owned()
}

pub(super) async fn about(http: &HttpClient, method: &str, id: &str) -> Value {
    sent(http, method, json!({"taskId": id})).await
}

#[tokio::test]
async fn a_task_is_created_at_once_and_its_result_is_that_of_the_call() {
    let session = http().await.session().await;
    for (tool, status) in [
        ("shop__get", "completed"),
        ("shop__tell", "completed"),
        ("shop__fail", "failed"),
    ] {
        let id = created(&session, tool, json!({"a": 1})).await;
        let mut result = about(&session, "tasks/result", &id).await["result"].take();
        let meta = result["_meta"].as_object_mut().unwrap();
        let related = meta.remove("io.modelcontextprotocol/related-task");
        assert_eq!(related, Some(json!({"taskId": id})));
        let params = json!({"name": tool, "arguments": {"a": 1}});
        let direct = sent(&session, "tools/call", params).await["result"].take();
        match status {
            "failed" => assert_eq!(agent_view(&result), agent_view(&direct)),
            _ => assert_eq!(result["content"], direct["content"]),
        }
        assert_eq!(result["structuredContent"], direct["structuredContent"]);
        assert_eq!(result["resultType"], json!(null));
        let task = about(&session, "tasks/get", &id).await["result"].take();
        assert_eq!(task["status"], status, "{task}");
        assert_eq!(task["ttl"], KEPT_MS);
        assert!(task["pollInterval"].is_u64() && task["_meta"].is_null());
    }
}

#[tokio::test]
async fn the_answer_states_how_long_a_task_is_kept_whatever_was_wished() {
    let session = http().await.session().await;
    for ttl in [json!(1), json!(null), json!(u64::MAX)] {
        let created = called(&session, "shop__get", json!({}), json!({"ttl": ttl})).await;
        assert_eq!(created["result"]["task"]["ttl"], KEPT_MS, "{created}");
    }
    let refused = called(&session, "shop__get", json!({}), json!({"ttl": "long"})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn tools_say_whether_they_run_as_tasks_and_are_held_to_it() {
    let session = http().await.session().await;
    let listed = sent(&session, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["execution"]["taskSupport"].clone()
    };
    assert_eq!(support("shop__get"), "optional");
    assert_eq!(support("shop__slow"), "optional");
    assert_eq!(support("shop__job"), "required");
    assert_eq!(support("shop__direct"), json!(null));
    let as_task = called(&session, "shop__direct", json!({}), json!({})).await;
    let directly = sent(&session, "tools/call", json!({"name": "shop__job"})).await;
    let unknown = called(&session, "shop__none", json!({}), json!({})).await;
    let unknown_directly = sent(&session, "tools/call", json!({"name": "shop__none"})).await;
    for refused in [as_task, directly] {
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
    assert_eq!(unknown["error"], unknown_directly["error"]);
}

#[tokio::test]
async fn a_cancelled_task_cannot_be_cancelled_again() {
    let session = http().await.session().await;
    let id = created(&session, "shop__wait", json!({})).await;
    let cancelled = about(&session, "tasks/cancel", &id).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    let again = about(&session, "tasks/cancel", &id).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
    let result = about(&session, "tasks/result", &id).await;
    let view = agent_view(&result["result"]);
    assert_eq!(view["error"]["code"], "ERR_CANCELLED");
    // A read has no effect to check.
    assert_eq!(view["error"]["effect"], "none", "{view}");
    assert!(
        !view["error"]["next"].to_string().contains("check_outcome"),
        "{view}"
    );
}

#[tokio::test]
async fn a_task_exists_only_for_its_owner_and_outlives_the_session() {
    let http = http().await;
    let (anna, bert) = (http.by("anna"), http.by("bert"));
    let id = created(&anna.session().await, "shop__get", json!({"a": 1})).await;
    let bert = bert.session().await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in [id.as_str(), "not-an-id"] {
            let refused = about(&bert, method, id).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
    }
    let result = about(&anna.session().await, "tasks/result", &id).await;
    assert_eq!(result["result"]["structuredContent"], json!({"a": 1}));
}

#[tokio::test]
async fn a_known_caller_lists_its_own_tasks_in_pages() {
    let http = http().await;
    let anna = http.by("anna").session().await;
    created(&http.by("bert").session().await, "shop__get", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..101 {
        ids.push(created(&anna, "shop__get", json!({})).await);
    }
    let (mut listed, mut cursor, mut pages) = (Vec::new(), json!(null), 0);
    loop {
        let page = sent(&anna, "tasks/list", json!({"cursor": cursor})).await["result"].take();
        let tasks = page["tasks"].as_array().unwrap().clone();
        listed.extend(
            tasks
                .iter()
                .map(|it| it["taskId"].as_str().unwrap().to_owned()),
        );
        (cursor, pages) = (page["nextCursor"].clone(), pages + 1);
        if cursor.is_null() {
            break;
        }
    }
    ids.sort();
    listed.sort();
    assert_eq!((listed, pages), (ids, 2));
    let refused = sent(&anna, "tasks/list", json!({"cursor": "x"})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let unknown = sent(&http.session().await, "tasks/list", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[tokio::test]
async fn invalid_arguments_are_refused_as_without_a_task() {
    let session = http().await.session().await;
    let arguments = json!({"dividend": "six"});
    let params = json!({"name": "shop__divide", "arguments": arguments});
    let direct = sent(&session, "tools/call", params).await;
    let as_task = called(&session, "shop__divide", arguments, json!({})).await;
    let view = agent_view(&as_task["result"]);
    assert_eq!(view, agent_view(&direct["result"]));
    assert_eq!(view["error"]["violations"][0]["pointer"], "/dividend");
}

#[tokio::test]
async fn tasks_are_declared_only_if_they_can_run_and_only_to_this_version() {
    let without = HttpClient::to(gateway(operations()), HttpSettings::default()).await;
    for (http, is_declared) in [(http().await, true), (without, false)] {
        for (version, has_tasks) in [("2025-11-25", true), ("2025-06-18", false)] {
            let mut initialize = super::super::http_client::initialize(json!({}));
            initialize["params"]["protocolVersion"] = json!(version);
            let answer = http.post(&initialize).await.message().await;
            let capabilities = &answer["result"]["capabilities"];
            assert!(capabilities["extensions"].is_null(), "{answer}");
            let declared = &capabilities["tasks"];
            assert_eq!(declared.is_object(), is_declared && has_tasks, "{answer}");
            if declared.is_object() {
                assert!(declared["cancel"].is_object());
                assert!(declared["requests"]["tools"]["call"].is_object());
            }
        }
        let session = http.session().await;
        let called = called(&session, "shop__get", json!({}), json!({})).await;
        assert_eq!(
            called["result"]["task"].is_object(),
            is_declared,
            "{called}"
        );
        let refused = about(&session, "tasks/get", "a").await;
        let code = if is_declared { -32602 } else { -32601 };
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
}
