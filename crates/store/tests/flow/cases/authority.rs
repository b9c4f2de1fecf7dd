//! Whose authority tasks run with, and who may change them.

use std::sync::Arc;

use panpan_flow::{TASKS_SCOPE, TaskOwners};
use panpan_runtime::{BoxFuture, Identity};
use serde_json::{Value, json};

use crate::support::{Fixture, below, calling, id, task, until};

fn ann() -> Identity {
    Identity::new("ann")
}

fn ann_with_vault() -> Identity {
    ann().with_scope("vault")
}

/// May change the tasks of all callers, and call everything.
fn eve() -> Identity {
    Identity::new("eve")
        .with_scope(TASKS_SCOPE)
        .with_scope("vault")
}

async fn ok(fixture: &Fixture, caller: Identity, operation: &str, input: Value) -> Value {
    fixture.call_as(caller, operation, input).await.unwrap()
}

async fn code(fixture: &Fixture, caller: Identity, operation: &str, input: Value) -> String {
    let failure = fixture.call_as(caller, operation, input).await.unwrap_err();
    failure.code().as_str().to_owned()
}

async fn execute(fixture: &Fixture, caller: Identity) {
    ok(fixture, caller, "tasks/execute", json!({"task_id": id(1)})).await;
}

async fn ended(fixture: &Fixture, number: u64) -> Value {
    let ended = async || {
        let task = ok(fixture, eve(), "tasks/get", json!({"task_id": id(number)})).await;
        Some(task).filter(|it| it["completed_at"].is_string())
    };
    until("the task ends", ended).await
}

pub(crate) async fn an_owner_executes_with_the_scopes_of_now(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = [
        calling(1, "who", "test/who"),
        below(calling(2, "vault", "test/vault"), &[(1, true)]),
    ];
    let tasks = json!({"tasks": tasks});
    ok(&fixture, ann_with_vault(), "tasks/create", tasks).await;
    // The scope was taken away: nothing runs.
    let input = json!({"task_id": id(1)});
    let refused = fixture.call_as(ann(), "tasks/execute", input).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code().as_str(), "EXECUTOR_NOT_FOUND");
    assert_eq!(refused.details().unwrap()["task_id"], json!(id(2)));
    let task = ok(&fixture, ann(), "tasks/get", json!({"task_id": id(1)})).await;
    assert_eq!(task["status"], "pending");
    // A task that needs no scope runs, and without the scope.
    let vault = json!({"task_id": id(2)});
    ok(&fixture, ann(), "tasks/delete", vault).await;
    execute(&fixture, ann()).await;
    let who = json!({"id": "ann", "scopes": []});
    assert_eq!(ended(&fixture, 1).await["result"], who);
    // Another caller who may execute it does not change with which authority it runs.
    execute(&fixture, eve()).await;
    assert_eq!(ended(&fixture, 1).await["result"], who);
    execute(&fixture, ann_with_vault()).await;
    let who = json!({"id": "ann", "scopes": ["vault"]});
    assert_eq!(ended(&fixture, 1).await["result"], who);
}

pub(crate) async fn tasks_that_others_add_belong_to_the_owner_of_the_flow(fixture: Fixture) {
    let _worker = fixture.worker();
    let root = calling(1, "root", "test/run");
    ok(&fixture, ann(), "tasks/create", root).await;
    let vault = below(calling(2, "vault", "test/vault"), &[]);
    let refused = code(&fixture, eve(), "tasks/create", vault.clone()).await;
    assert_eq!(refused, "EXECUTOR_NOT_FOUND", "ann may not call it");
    let who = below(calling(2, "who", "test/who"), &[]);
    ok(&fixture, eve(), "tasks/create", who).await;
    let task = ok(&fixture, ann(), "tasks/get", json!({"task_id": id(2)})).await;
    assert_eq!(task["root_task_id"], json!(id(1)));
    execute(&fixture, ann()).await;
    let result = ended(&fixture, 2).await["result"].take();
    assert_eq!(result, json!({"id": "ann", "scopes": []}));
    // Her own tasks have the authority that she has when she adds them.
    let vault = below(calling(3, "vault", "test/vault"), &[]);
    ok(
        &fixture,
        ann_with_vault(),
        "tasks/execute",
        json!({"tasks": [vault]}),
    )
    .await;
    let result = ended(&fixture, 3).await["result"].take();
    assert_eq!(result, json!({"id": "ann", "scopes": ["vault"]}));
}

pub(crate) async fn a_change_is_checked_against_the_authority_of_the_flow(fixture: Fixture) {
    let _worker = fixture.worker();
    ok(
        &fixture,
        ann(),
        "tasks/create",
        calling(1, "one", "test/run"),
    )
    .await;
    let change = json!({"task_id": id(1), "updates": {"schemas": {"method": "test/vault"}}});
    for caller in [ann(), eve()] {
        let refused = code(&fixture, caller, "tasks/update", change.clone()).await;
        assert_eq!(refused, "EXECUTOR_NOT_FOUND");
    }
    ok(&fixture, ann_with_vault(), "tasks/update", change.clone()).await;
    // The flow has the scope now, so another caller may change the task, too.
    ok(&fixture, eve(), "tasks/update", change).await;
    execute(&fixture, ann_with_vault()).await;
    let result = ended(&fixture, 1).await["result"].take();
    assert_eq!(result, json!({"id": "ann", "scopes": ["vault"]}));
}

pub(crate) async fn a_refused_copy_names_the_original(fixture: Fixture) {
    let vault = calling(1, "vault", "test/vault");
    ok(&fixture, ann_with_vault(), "tasks/create", vault).await;
    let refused = fixture
        .call_as(ann(), "tasks/copy", json!({"task_id": id(1)}))
        .await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code().as_str(), "EXECUTOR_NOT_FOUND");
    assert_eq!(refused.details().unwrap()["task_id"], json!(id(1)));
    let violation = &refused.violations()[0];
    assert_eq!(violation.pointer, "/task_id");
    assert!(
        violation
            .reason
            .starts_with(&format!("/schemas/method of task {}: ", id(1))),
        "{violation:?}"
    );
}

/// The callers with a token.
#[derive(Debug)]
struct OnlyAnn;

impl TaskOwners for OnlyAnn {
    fn has_token<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move { owner == "ann" })
    }
}

pub(crate) async fn a_task_of_a_caller_without_a_token_is_not_run(fixture: Fixture) {
    for (number, name) in [(1, "ann"), (2, "bob")] {
        let tasks = json!({"tasks": [task(number, name)]});
        let caller = Identity::new(name);
        fixture
            .call_as(caller, "tasks/execute", tasks)
            .await
            .unwrap();
    }
    // A caller who never had a token needs none.
    fixture.execute(json!([task(3, "anyone")])).await;
    let _worker = fixture.worker_checking(Arc::new(OnlyAnn));
    fixture.wait_for(&id(3), "completed").await;
    let all = Identity::new("operator").with_scope("panpan:tasks");
    for (number, status, code) in [
        (1, "completed", json!(null)),
        (2, "failed", json!("FORBIDDEN")),
    ] {
        let get = json!({"task_id": id(number)});
        let found = loop {
            let get = fixture.call_as(all.clone(), "tasks/get", get.clone());
            let found = get.await.unwrap();
            if found["completed_at"].is_string() {
                break found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        };
        assert_eq!(found["status"], status);
        assert_eq!(found["failure"]["code"], code);
    }
    let runs = fixture.world.runs();
    assert!(!runs.contains(&"bob".to_owned()), "{runs:?}");
}
