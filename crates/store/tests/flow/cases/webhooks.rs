//! Messages to the webhook of a flow that rests.

use panpan_failure::{Failure, codes};
use panpan_flow::MESSAGE_RUNS_LIMIT;
use panpan_flow::ports::Ending;
use panpan_flow::testing::{End, HandWorker};
use panpan_runtime::Identity;
use serde_json::{Value, json};

use crate::support::{Fixture, LEASE_MS, below, calling, id, task};

const URL: &str = "https://hooks.example.com/T0/k3y";

/// Executes tasks with a webhook.
async fn execute(fixture: &Fixture, tasks: Value) {
    let input = json!({"tasks": tasks, "webhook_config": {"url": URL}});
    fixture.ok("tasks/execute", input).await;
}

fn message(request: &Value) -> Value {
    serde_json::from_str(request["body"].as_str().unwrap()).unwrap()
}

/// The task that sends the message about the first flow.
async fn delivery(fixture: &Fixture) -> Value {
    let children = fixture
        .ok("tasks/children", json!({"parent_id": id(1)}))
        .await;
    let children = children["children"].as_array().unwrap().clone();
    let is_delivery = |it: &Value| it["schemas"]["method"] == "tasks/notify";
    children.into_iter().find(is_delivery).unwrap_or_default()
}

pub(crate) async fn a_webhook_learns_how_the_flow_rests(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!([
        task(1, "root"),
        below(calling(2, "pay", "test/refuse"), &[]),
        below(task(3, "ship"), &[(2, true)]),
    ]);
    execute(&fixture, tasks).await;
    let requests = fixture.wait_for_requests(1).await;
    let headers = &requests[0]["headers"];
    let sent = delivery(&fixture).await;
    assert_eq!(headers["webhook-id"], sent["id"]);
    assert!(
        headers["webhook-signature"]
            .as_str()
            .unwrap()
            .starts_with("v1,")
    );
    assert_eq!(
        (&requests[0]["url"], &requests[0]["max_redirects"]),
        (&json!(URL), &json!(0))
    );
    let data = message(&requests[0])["data"].clone();
    assert_eq!(
        (&data["root_task_id"], &data["status"]),
        (&json!(id(1)), &json!("completed"))
    );
    let counts =
        json!({"pending": 1, "in_progress": 0, "completed": 1, "failed": 1, "cancelled": 0});
    assert_eq!(data["counts"], counts);
    assert_eq!(data["failures"][0]["task_id"], id(2));
    fixture
        .wait_for(sent["id"].as_str().unwrap(), "completed")
        .await;
    // Nothing of the response, and of the address only the host.
    assert_eq!(
        delivery(&fixture).await["result"],
        json!({"status_code": 204})
    );
    let root = fixture.task(&id(1)).await;
    assert_eq!(
        root["webhook_config"],
        json!({"url": "https://hooks.example.com/…"})
    );
    assert_eq!(fixture.world.requests().len(), 1);
}

pub(crate) async fn a_message_is_sent_again_with_the_same_id(fixture: Fixture) {
    let unavailable = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE).with_message("we are sorry");
    *fixture.world.answers.lock().unwrap() = vec![Some(unavailable)];
    let _worker = fixture.worker();
    execute(&fixture, json!([task(1, "root")])).await;
    fixture.wait_for_requests(1).await;
    while fixture.world.requests().len() < 2 {
        fixture.clock.advance(500);
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let requests = fixture.world.requests();
    let header = |request: &Value, name: &str| request["headers"][name].clone();
    assert_eq!(
        header(&requests[0], "webhook-id"),
        header(&requests[1], "webhook-id")
    );
    assert_ne!(
        header(&requests[0], "webhook-timestamp"),
        header(&requests[1], "webhook-timestamp")
    );
    assert_eq!(message(&requests[0]), message(&requests[1]));
    let sent = delivery(&fixture).await["id"].as_str().unwrap().to_owned();
    let sent = fixture.wait_for(&sent, "completed").await;
    assert_eq!(sent["attempts"], 2);
}

pub(crate) async fn a_message_survives_the_end_of_its_process(fixture: Fixture) {
    *fixture.world.answers.lock().unwrap() = vec![None];
    let worker = fixture.worker();
    execute(&fixture, json!([task(1, "root")])).await;
    fixture.wait_for_requests(1).await;
    worker.crash();
    fixture.clock.advance(LEASE_MS + 1);
    let _worker = fixture.worker();
    let requests = fixture.wait_for_requests(2).await;
    assert_eq!(
        requests[0]["headers"]["webhook-id"],
        requests[1]["headers"]["webhook-id"]
    );
}

pub(crate) async fn a_refused_message_fails_alone(fixture: Fixture) {
    let gone = Failure::new(codes::ERR_HTTP_404_NOT_FOUND)
        .with_message("what the receiver wrote")
        .with_upstream(panpan_failure::Upstream::status(404));
    *fixture.world.answers.lock().unwrap() = vec![Some(gone)];
    let _worker = fixture.worker();
    execute(&fixture, json!([task(1, "root")])).await;
    fixture.wait_for_requests(1).await;
    let sent = delivery(&fixture).await["id"].as_str().unwrap().to_owned();
    let failed = fixture.wait_for(&sent, "failed").await;
    assert_eq!(failed["failure"]["code"], "ERR_HTTP_404_NOT_FOUND");
    assert!(
        !failed.to_string().contains("what the receiver wrote"),
        "{failed}"
    );
    assert_eq!(fixture.status(&id(1)).await, "completed");
    // Executing the message sends it once more.
    fixture.ok("tasks/execute", json!({"task_id": sent})).await;
    fixture.wait_for(&sent, "completed").await;
    assert_eq!(fixture.world.requests().len(), 2);
}

/// Otherwise a caller could make panpan send many signed requests to anyone.
pub(crate) async fn a_message_is_not_changed_and_sent_only_so_often(fixture: Fixture) {
    let _worker = fixture.worker();
    execute(&fixture, json!([task(1, "root")])).await;
    fixture.wait_for_requests(1).await;
    let sent = delivery(&fixture).await["id"].as_str().unwrap().to_owned();
    let updates = json!({"retry": {"max_attempts": 100}});
    let update = json!({"task_id": sent, "updates": updates});
    assert_eq!(
        fixture.code("tasks/update", update).await,
        "INVALID_TASK_SCHEMA"
    );
    let again = json!({"task_id": sent});
    for _ in 1..MESSAGE_RUNS_LIMIT {
        fixture.wait_for(&sent, "completed").await;
        fixture.ok("tasks/execute", again.clone()).await;
    }
    fixture.wait_for(&sent, "completed").await;
    let code = fixture.code("tasks/execute", again).await;
    assert_eq!(code, "INVALID_TASK_SCHEMA");
    let requests = fixture.world.requests().len();
    assert_eq!(requests, MESSAGE_RUNS_LIMIT as usize);
}

pub(crate) async fn every_rest_is_a_message(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "root")])).await;
    fixture.wait_for(&id(1), "completed").await;
    for generation in 2..4 {
        let again = json!({"task_id": id(1), "webhook_config": {"url": URL}});
        fixture.ok("tasks/execute", again).await;
        let requests = fixture.wait_for_requests(generation - 1).await;
        assert_eq!(
            message(&requests[generation - 2])["data"]["generation"],
            generation
        );
        fixture.wait_for(&id(1), "completed").await;
    }
}

/// Executes a flow of which only the third task is ready, and the second one has failed. Returns whether a change is a
/// message.
async fn is_message(fixture: &Fixture, third: Value, operation: &str, change: Value) -> bool {
    let tasks = json!([task(1, "root"), below(task(2, "pay"), &[]), third]);
    execute(fixture, tasks).await;
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(2, LEASE_MS).await.unwrap();
    let completed = Ending::Completed {
        result: "{}".into(),
    };
    let failed = Ending::Failed {
        error: "broken".into(),
        failure: "{}".into(),
    };
    let ends = [completed, failed].map(End::With);
    worker
        .finish(held.into_iter().zip(ends).collect())
        .await
        .unwrap();
    assert!(delivery(fixture).await.is_null());
    fixture.ok(operation, change).await;
    !delivery(fixture).await.is_null()
}

pub(crate) async fn a_flow_rests_when_its_last_ready_task_is_deleted(fixture: Fixture) {
    let third = below(task(3, "ship"), &[]);
    let change = json!({"task_id": id(3)});
    assert!(is_message(&fixture, third, "tasks/delete", change).await);
}

pub(crate) async fn a_flow_rests_when_its_last_ready_task_has_to_wait(fixture: Fixture) {
    let third = below(task(3, "ship"), &[]);
    let dependencies = json!([{"id": id(2), "required": true}]);
    let change = json!({"task_id": id(3), "updates": {"dependencies": dependencies}});
    assert!(is_message(&fixture, third, "tasks/update", change).await);
}

pub(crate) async fn a_flow_rests_when_a_dependency_is_pending_again(fixture: Fixture) {
    let third = below(task(3, "ship"), &[(2, false)]);
    let change = json!({"task_id": id(2), "updates": {"status": "pending"}});
    assert!(is_message(&fixture, third, "tasks/update", change).await);
}

pub(crate) async fn tasks_that_were_never_executed_send_no_message(fixture: Fixture) {
    let tasks = json!([task(1, "root"), below(task(2, "pay"), &[])]);
    let input = json!({"tasks": tasks, "webhook_config": {"url": URL}});
    fixture.ok("tasks/create", input).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(2)})).await;
    assert!(delivery(&fixture).await.is_null());
}

pub(crate) async fn messages_do_not_keep_a_task_from_being_deleted(fixture: Fixture) {
    let _worker = fixture.worker();
    execute(&fixture, json!([calling(1, "root", "test/refuse")])).await;
    fixture.wait_for_requests(1).await;
    let update = json!({"task_id": id(1), "updates": {"status": "pending"}});
    fixture.ok("tasks/update", update).await;
    let sent = delivery(&fixture).await["id"].as_str().unwrap().to_owned();
    fixture.wait_for(&sent, "completed").await;
    fixture.ok("tasks/delete", json!({"task_id": id(1)})).await;
    fixture.task(&sent).await;
}

pub(crate) async fn only_the_engine_makes_messages(fixture: Fixture) {
    let forged = calling(1, "forged", "tasks/notify");
    assert_eq!(
        fixture.code("tasks/create", forged).await,
        "INVALID_TASK_SCHEMA"
    );
    let called = json!({"webhook_id": "x", "message": {}});
    assert_eq!(fixture.code("tasks/notify", called).await, "NOT_FOUND");
    let _worker = fixture.worker();
    execute(&fixture, json!([task(1, "root")])).await;
    fixture.wait_for_requests(1).await;
    let sent = delivery(&fixture).await["id"].as_str().unwrap().to_owned();
    fixture.wait_for(&sent, "completed").await;
    let changed = json!({"task_id": sent, "updates": {"inputs": {"message": {"data": {}}}}});
    assert_eq!(
        fixture.code("tasks/update", changed).await,
        "INVALID_TASK_SCHEMA"
    );
    assert_eq!(
        fixture.code("tasks/copy", json!({"task_id": sent})).await,
        "INVALID_TASK_SCHEMA"
    );
    let other = Identity::new("bob");
    let read = fixture
        .call_as(other.clone(), "tasks/get", json!({"task_id": sent}))
        .await;
    assert_eq!(read.unwrap_err().code().as_str(), "TASK_NOT_OWNED");
    let taken = json!({"task_id": id(1), "webhook_config": {"url": "https://bob.example"}});
    let taken = fixture.call_as(other, "tasks/execute", taken).await;
    assert_eq!(taken.unwrap_err().code().as_str(), "TASK_NOT_OWNED");
    // A copy of the root has no webhook.
    let copy = fixture.ok("tasks/copy", json!({"task_id": id(1)})).await;
    let copy = fixture.task(copy["copied_task_id"].as_str().unwrap()).await;
    assert!(copy["webhook_config"].is_null(), "{copy}");
}

pub(crate) async fn a_malformed_webhook_is_described(fixture: Fixture) {
    for (webhook, pointers) in [
        (json!("https://a.example"), vec!["/webhook_config"]),
        (json!({}), vec!["/webhook_config/url"]),
        (
            json!({"url": "ftp://k3y@a.example", "method": "PUT"}),
            vec!["/webhook_config/method", "/webhook_config/url"],
        ),
    ] {
        let input = json!({"tasks": [task(1, "root")], "webhook_config": webhook});
        let failure = fixture.call("tasks/execute", input).await.unwrap_err();
        let found: Vec<&str> = failure
            .violations()
            .iter()
            .map(|it| it.pointer.as_str())
            .collect();
        assert_eq!(found, pointers);
        assert!(!format!("{failure:?}").contains("k3y"));
    }
    let mut inside = task(1, "root");
    inside["webhook_config"] = json!({"url": URL});
    let failure = fixture
        .call("tasks/execute", json!({"tasks": [inside]}))
        .await;
    assert_eq!(
        failure.unwrap_err().violations()[0].pointer,
        "/tasks/0/webhook_config"
    );
}
