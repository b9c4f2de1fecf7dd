//! Tasks that ask their client for input.

use super::session;
use super::stateless::{about, answered, created, reached};
use super::*;

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// The name of the first open question.
fn question_name(task: &Value) -> &str {
    let asked = task["inputRequests"].as_object().unwrap();
    asked.keys().next().unwrap()
}

#[tokio::test]
async fn a_task_waits_until_its_questions_are_answered() {
    let http = http().await;
    let id = created(&http, "shop__ask", json!({"times": 2})).await;
    let mut names = Vec::new();
    for (number, name) in [(1, "Ada"), (2, "Bo")] {
        let task = reached(&http, &id, "input_required").await;
        let asked = task["inputRequests"].as_object().unwrap();
        let (key, question) = asked.iter().next().unwrap();
        assert_eq!(asked.len(), 1);
        let message = format!("Who is number {number}?");
        assert_eq!(question["params"]["message"], message.as_str());
        assert_eq!(question["method"], "elicitation/create");
        let refused = answered(&http, &id, json!({key: "Ada"})).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let ignored = answered(&http, &id, json!({"another": 7})).await;
        assert_eq!(ignored["result"]["resultType"], "complete");
        answered(&http, &id, json!({key: accept(name)})).await;
        names.push(key.clone());
    }
    assert_ne!(names[0], names[1]);
    let task = reached(&http, &id, "completed").await;
    let replies = &task["result"]["structuredContent"]["replies"];
    assert_eq!(*replies, json!(["Ada", "Bo"]));
}

#[tokio::test]
async fn only_the_owner_of_a_task_answers_its_questions() {
    let http = http().await;
    let (anna, bert) = (http.by("anna"), http.by("bert"));
    let id = created(&anna, "shop__ask", json!({})).await;
    let task = reached(&anna, &id, "input_required").await;
    let key = question_name(&task);
    let refused = answered(&bert, &id, json!({key: accept("Bert")})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    reached(&anna, &id, "input_required").await;
    about(&anna, "tasks/cancel", &id).await;
    reached(&anna, &id, "cancelled").await;
    let late = answered(&anna, &id, json!({key: accept("Anna")})).await;
    assert_eq!(late["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_session_is_asked_while_it_waits_for_the_result() {
    let http = http().await;
    let session = http.session_with(json!({"elicitation": {}})).await;
    let id = session::created(&session, "shop__ask", json!({"times": 2})).await;
    within(async {
        loop {
            let task = session::about(&session, "tasks/get", &id).await;
            if task["result"]["status"] == "input_required" {
                break;
            }
            pause().await;
        }
    })
    .await;
    let params = json!({"taskId": id});
    let mut result = within(session.post(&request("tasks/result", params))).await;
    for name in ["Ada", "Bo"] {
        let question = within(result.next()).await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], id.as_str());
        let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(name)});
        assert_eq!(session.post(&reply).await.status, 202);
    }
    let result = within(result.next()).await.unwrap();
    let replies = &result["result"]["structuredContent"]["replies"];
    assert_eq!(*replies, json!(["Ada", "Bo"]));
}

#[tokio::test]
async fn a_question_survives_a_client_that_leaves_while_it_is_asked() {
    let http = http().await.by("anna");
    let session = http.session_with(json!({"elicitation": {}})).await;
    let id = session::created(&session, "shop__ask", json!({})).await;
    let params = json!({"taskId": id});
    let mut first = session.post(&request("tasks/result", params)).await;
    let question = within(first.next()).await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    drop(first);
    // The same task, in the other version.
    let task = reached(&http, &id, "input_required").await;
    let key = question_name(&task);
    answered(&http, &id, json!({key: accept("Ada")})).await;
    let task = reached(&http, &id, "completed").await;
    assert_eq!(
        task["result"]["structuredContent"]["replies"],
        json!(["Ada"])
    );
}

#[tokio::test]
async fn a_client_that_answers_no_questions_is_not_asked() {
    let session = http().await.session().await;
    let id = session::created(&session, "shop__ask", json!({})).await;
    let result = session::about(&session, "tasks/result", &id).await;
    let replies = &result["result"]["structuredContent"]["replies"];
    assert_eq!(*replies, json!(["the client does not accept questions"]));
}

#[tokio::test]
async fn an_answer_that_reaches_no_task_is_refused() {
    let http = http().await;
    let session = http.session().await;
    let id = session::created(&session, "shop__wait", json!({})).await;
    let refused = answered(&http, &id, json!({"a": accept("Ada")})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let empty = answered(&http, &id, json!({})).await;
    assert_eq!(empty["result"]["resultType"], "complete", "{empty}");
    session::about(&session, "tasks/cancel", &id).await;
    let late = answered(&http, &id, json!({"a": accept("Ada")})).await;
    assert_eq!(late["result"]["resultType"], "complete", "{late}");
}
