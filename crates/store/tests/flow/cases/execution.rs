//! Running tasks: order, propagation of failures, retries, cancelling and taking over.

use panpan_failure::{Effect, Failure, codes};
use panpan_flow::{TASKS_SCOPE, WorkerSettings};
use panpan_runtime::ports::Clock as _;
use panpan_runtime::{CallRequest, IdempotencyKey, Identity};
use serde_json::json;

use crate::support::{Fixture, LEASE_MS, below, calling, id, task, until};

pub(crate) async fn a_task_runs_its_operation_and_keeps_the_result(fixture: Fixture) {
    let created = fixture.ok("tasks/create", task(1, "one")).await;
    assert_eq!(created, json!({"id": id(1), "status": "pending"}));
    let _worker = fixture.worker();
    let pending = fixture.task(&id(1)).await;
    assert_eq!(pending["status"], "pending");
    assert!(pending["started_at"].is_null() && pending["error"].is_null());
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(done["result"], json!({"echo": {"name": "one"}}));
    assert_eq!(done["progress"], 1.0);
    assert_eq!(
        (&done["generation"], &done["attempts"]),
        (&json!(1), &json!(1))
    );
    assert!(done["completed_at"].is_string() && done["error"].is_null());
}

pub(crate) async fn dependencies_run_before_dependents(fixture: Fixture) {
    let _worker = fixture.worker();
    let root = fixture.execute(json!([
        below(task(2, "second"), &[(3, true)]),
        below(task(3, "first"), &[]),
        below(task(4, "third"), &[(2, true), (3, true)]),
        calling(1, "root", "test/run"),
    ]));
    let root = root.await;
    fixture.wait_for_rest(&root).await;
    let runs = fixture.world.runs();
    let position = |name: &str| runs.iter().position(|it| it == name).unwrap();
    assert!(position("first") < position("second"));
    assert!(position("second") < position("third"));
    assert_eq!(runs.len(), 4);
}

pub(crate) async fn a_failed_required_dependency_blocks_its_dependents(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!([
        calling(1, "root", "test/run"),
        below(calling(2, "pay", "test/refuse"), &[]),
        below(task(3, "ship"), &[(2, true)]),
        below(task(4, "report"), &[(3, true)]),
    ]);
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    let failed = fixture.task(&id(2)).await;
    assert_eq!(failed["status"], "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(
        error.contains("INSUFFICIENT_FUNDS") && error.contains("the account is empty"),
        "{error}"
    );
    assert_eq!(failed["failure"]["code"], "INSUFFICIENT_FUNDS");
    assert!(failed["result"].is_null());
    let blocked = fixture.task(&id(3)).await;
    assert_eq!(blocked["status"], "pending");
    assert!(blocked["error"].is_null());
    assert_eq!(blocked["blocked_by"], json!([id(2)]));
    let behind = fixture.task(&id(4)).await;
    assert_eq!(
        (&behind["status"], &behind["blocked_by"]),
        (&json!("pending"), &json!([id(2)])),
        "the cause, and not the task in between"
    );
    let listed = fixture.ok("tasks/list", json!({})).await;
    let blocked_by = |at: usize| &listed["tasks"][at]["blocked_by"];
    assert_eq!(
        (blocked_by(2), blocked_by(3)),
        (&json!([id(2)]), &json!([id(2)]))
    );
    let refused = fixture
        .call("tasks/execute", json!({"task_id": id(3)}))
        .await
        .unwrap_err();
    assert_eq!(refused.code().as_str(), "DEPENDENCY_NOT_SATISFIED");
    let unsatisfied = &refused.details().unwrap()["unsatisfied"];
    assert_eq!(
        unsatisfied,
        &json!([{"task_id": id(2), "status": "failed", "required": true}])
    );
}

pub(crate) async fn an_optional_dependency_may_fail(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!([
        calling(1, "root", "test/run"),
        below(calling(2, "notify", "test/refuse"), &[]),
        below(task(3, "ship"), &[(2, false)]),
    ]);
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    assert_eq!(fixture.status(&id(2)).await, "failed");
    assert_eq!(fixture.status(&id(3)).await, "completed");
}

pub(crate) async fn inputs_refer_to_results_of_dependencies(fixture: Fixture) {
    let _worker = fixture.worker();
    let mut second = below(task(3, "second"), &[(2, true)]);
    second["inputs"] =
        json!({"name": {"$from": id(2), "pointer": "/echo/name"}, "whole": {"$from": id(2)}});
    let tasks = json!([
        calling(1, "root", "test/run"),
        below(task(2, "first"), &[]),
        second
    ]);
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    let result = fixture.task(&id(3)).await["result"].clone();
    assert_eq!(result["echo"]["name"], "first");
    assert_eq!(result["echo"]["whole"], json!({"echo": {"name": "first"}}));
}

pub(crate) async fn urgent_tasks_run_first(fixture: Fixture) {
    let with_priority = |number: u64, name: &str, priority: u64| {
        let mut task = below(task(number, name), &[]);
        task["priority"] = json!(priority);
        task
    };
    let mut root = task(1, "root");
    root["priority"] = json!(3);
    let tasks = json!([
        root,
        with_priority(2, "low", 3),
        with_priority(3, "normal", 2),
        with_priority(4, "urgent", 0),
        with_priority(5, "high", 1),
    ]);
    let root = fixture.execute(tasks).await;
    let _worker = fixture.worker_with(1);
    fixture.wait_for_rest(&root).await;
    let expected = ["urgent", "high", "normal", "root", "low"];
    assert_eq!(fixture.world.runs(), expected);
}

pub(crate) async fn a_failure_is_retried_with_durable_waits(fixture: Fixture) {
    let mut flaky = calling(1, "flaky", "test/flaky");
    flaky["retry"] = json!({"max_attempts": 3, "backoff": "exponential", "initial_delay": 60.0, "max_delay": 600.0});
    let worker = fixture.worker();
    fixture.execute(json!([flaky])).await;
    let mut done = json!({});
    for attempts in 1..=3 {
        for polls in 1.. {
            // The worker may have begun to sleep only after the time had advanced.
            if polls % 500 == 0 {
                fixture.clock.advance(200_000);
            }
            done = fixture.task(&id(1)).await;
            let waits = done["status"] == "in_progress" && !done["retry_at"].is_null();
            if done["attempts"] == attempts && (waits || done["status"] == "completed") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert!(done["error"].is_null());
        fixture.clock.advance(200_000);
    }
    assert_eq!(done["status"], "completed");
    assert_eq!(done["result"], json!({"attempt": 3}));
    assert_eq!(done["attempts"], 3);
    drop(worker);
}

pub(crate) async fn a_retry_waits_by_the_clock_of_the_store(fixture: Fixture) {
    let ahead = fixture.with_a_clock_ahead(3_600_000);
    let mut flaky = calling(1, "flaky", "test/flaky");
    flaky["retry"] =
        json!({"max_attempts": 3, "backoff": "constant", "initial_delay": 60.0, "max_delay": 60.0});
    let _worker = ahead.worker();
    fixture.execute(json!([flaky])).await;
    ahead.wait_for_runs(1).await;
    let retry_at = async || {
        let task = fixture.task(&id(1)).await;
        task["retry_at"].as_str().map(str::to_owned)
    };
    let retry_at = until("the task waits for a retry", retry_at).await;
    let retry_at: jiff::Timestamp = retry_at.parse().unwrap();
    let wait = retry_at.duration_since(fixture.clock.now());
    assert!((1..120).contains(&wait.as_secs()), "{wait}");
}

pub(crate) async fn a_task_that_failed_runs_again_as_a_new_generation(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!([
        calling(1, "root", "test/run"),
        below(calling(2, "pay", "test/refuse"), &[]),
        below(task(3, "after"), &[(2, false)]),
    ]);
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    assert_eq!(fixture.status(&id(3)).await, "completed");
    fixture.ok("tasks/execute", json!({"task_id": id(2)})).await;
    let has_failed_again = async || {
        let again = fixture.task(&id(2)).await;
        (again["generation"] == 2 && again["status"] == "failed").then_some(())
    };
    until("the task fails again", has_failed_again).await;
    let after = fixture.wait_for(&id(3), "completed").await;
    assert_eq!(
        after["generation"], 2,
        "a dependent that had ended runs again"
    );
    let kept = fixture
        .ok("tasks/generations", json!({"task_id": id(2)}))
        .await;
    let kept = kept["generations"].as_array().unwrap().clone();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|it| it["status"] == "failed"));
}

pub(crate) async fn cancelling_a_running_task_stops_its_handler(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for(&id(1), "in_progress").await;
    fixture.wait_for_runs(1).await;
    let again = fixture
        .code("tasks/execute", json!({"task_id": id(1)}))
        .await;
    assert_eq!(again, "TASK_ALREADY_EXECUTING");
    let cancelled = fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    assert_eq!(cancelled, json!({"task_id": id(1), "status": "cancelled"}));
    // Time stands still, so the worker does not learn of it by a heartbeat.
    fixture.wait_for_stops(1).await;
    let task = fixture.task(&id(1)).await;
    assert_eq!(
        (&task["status"], &task["error"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    let refused = fixture
        .call("tasks/cancel", json!({"task_id": id(1)}))
        .await
        .unwrap_err();
    assert_eq!(refused.code().as_str(), "INVALID_STATE_TRANSITION");
    let details = refused.details().unwrap();
    assert_eq!(details["attempted_transition"], "cancelled -> cancelled");
}

pub(crate) async fn another_worker_takes_over_when_a_lease_ends(fixture: Fixture) {
    let worker = fixture.worker();
    let tasks = json!([calling(1, "held", "test/hold")]);
    fixture.execute(tasks).await;
    fixture.wait_for_runs(1).await;
    worker.crash();
    let _second = fixture.worker();
    // The first worker may have sent a claim that the store carries out after it crashed, and later than this.
    let mut failed = json!({});
    while failed["status"] != "failed" {
        fixture.clock.advance(LEASE_MS + 1);
        for _ in 0..500 {
            failed = fixture.task(&id(1)).await;
            if failed["status"] == "failed" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    // The first attempt may have taken effect, and the operation is not declared idempotent.
    assert_eq!(failed["failure"]["code"], "ERR_OUTCOME_UNKNOWN");
    assert_eq!(fixture.world.runs(), ["held"]);
}

pub(crate) async fn a_caller_sees_only_its_own_tasks(fixture: Fixture) {
    let ann = || Identity::new("ann");
    let created = fixture.call_as(ann(), "tasks/create", task(1, "one")).await;
    created.unwrap();
    for (operation, input) in [
        ("tasks/get", json!({"task_id": id(1)})),
        ("tasks/execute", json!({"task_id": id(1)})),
        ("tasks/cancel", json!({"task_id": id(1)})),
        ("tasks/delete", json!({"task_id": id(1)})),
        ("tasks/tree", json!({"task_id": id(1)})),
        ("tasks/children", json!({"parent_id": id(1)})),
        ("tasks/generations", json!({"task_id": id(1)})),
    ] {
        assert_eq!(
            fixture.code(operation, input.clone()).await,
            "UNAUTHORIZED",
            "{operation}"
        );
        let bob = fixture
            .call_as(Identity::new("bob"), operation, input)
            .await;
        assert_eq!(
            bob.unwrap_err().code().as_str(),
            "TASK_NOT_OWNED",
            "{operation}"
        );
    }
    let listed = fixture.ok("tasks/list", json!({})).await;
    assert_eq!(listed["total"], 0);
    let all = Identity::new("eve").with_scope(TASKS_SCOPE);
    let listed = fixture.call_as(all, "tasks/list", json!({})).await.unwrap();
    assert_eq!(listed["total"], 1);
    assert_eq!(
        fixture.code("tasks/get", json!({"task_id": id(9)})).await,
        "TASK_NOT_FOUND"
    );
}

pub(crate) async fn a_worker_of_one_flow_leaves_the_others(fixture: Fixture) {
    let other = fixture.execute(json!([task(1, "other")])).await;
    let own = fixture.execute(json!([task(2, "own")])).await;
    let worker = fixture.worker_of(WorkerSettings {
        only_flow: Some(own.parse().unwrap()),
        ..WorkerSettings::default()
    });
    fixture.wait_for(&own, "completed").await;
    assert_eq!(fixture.status(&other).await, "pending");
    drop(worker);
    let _worker = fixture.worker();
    fixture.wait_for(&other, "completed").await;
    assert_eq!(fixture.world.runs(), ["own", "other"]);
}

pub(crate) async fn inputs_may_be_the_result_of_another_task(fixture: Fixture) {
    let _worker = fixture.worker();
    let referring = |number: u64, on: u64, pointer: &str| {
        let mut task = below(task(number, "last"), &[(on, false)]);
        task["inputs"] = json!({"$from": id(on), "pointer": pointer});
        task
    };
    let tasks = json!([
        task(1, "root"),
        below(task(2, "first"), &[]),
        referring(3, 2, "/echo"),
        referring(4, 2, "/echo/name"),
        below(calling(5, "pay", "test/refuse"), &[]),
        referring(6, 5, ""),
    ]);
    fixture.execute(tasks).await;
    fixture.wait_for_rest(&id(1)).await;
    let done = fixture.task(&id(3)).await;
    assert_eq!(done["result"]["echo"], json!({"name": "first"}));
    for number in [4, 6] {
        let failed = fixture.task(&id(number)).await;
        let failure = &failed["failure"];
        assert_eq!(failure["code"], "INVALID_INPUT_ERROR", "{failed}");
        // It reads like the failure of a call.
        for member in ["id", "at", "source", "operation"] {
            assert!(failure[member].is_string(), "{member}: {failure}");
        }
        assert_eq!(failure["operation"], "test/run");
    }
}

pub(crate) async fn a_failure_names_the_key_that_was_sent(fixture: Fixture) {
    let _worker = fixture.worker();
    let mut sending = calling(1, "send", "http/call");
    sending["retry"] = json!({"max_attempts": 1});
    for (generation, key) in [
        (1, format!("task-{}", id(1))),
        (2, format!("task-{}-2", id(1))),
    ] {
        let failed = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR).with_effect(Effect::Unknown);
        fixture.world.answers.lock().unwrap().push(Some(failed));
        let input = match generation {
            1 => json!({"tasks": [sending]}),
            _ => json!({"task_id": id(1)}),
        };
        let executed = fixture.ok("tasks/execute", input).await;
        let unknown = if generation == 1 {
            json!(null)
        } else {
            json!([id(1)])
        };
        assert_eq!(executed["outcome_unknown"], unknown);
        let after = executed["events_after"].as_u64().unwrap();
        fixture.events(&id(1), after).await;
        let failure = fixture.task(&id(1)).await["failure"].take();
        assert_eq!(failure["details"]["idempotency_key"], json!(key));
        let advice = failure["recovery"].to_string();
        assert!(advice.contains(&key), "{advice}");
    }
    // A direct call with the key reaches the service as the same call.
    let keys = fixture.world.keys();
    let direct = IdempotencyKey::new(&format!("task-{}-2", id(1))).unwrap();
    let request = CallRequest::from_wire("http/call", json!({"name": "send"})).keyed(direct);
    let answer = fixture.dispatcher.dispatch(request).await;
    assert!(answer.outcome.is_ok());
    let sent = fixture.world.keys();
    assert_eq!((sent.len(), sent.last()), (3, keys.last()));
    assert_ne!(sent[0], sent[1]);
}

pub(crate) async fn an_execution_names_tasks_that_may_have_taken_effect(fixture: Fixture) {
    let worker = fixture.worker();
    let tasks = json!([
        task(1, "root"),
        below(calling(2, "held", "test/hold"), &[]),
        below(calling(3, "refused", "test/refuse"), &[]),
    ]);
    fixture.execute(tasks).await;
    fixture.wait_for(&id(3), "failed").await;
    fixture.wait_for(&id(2), "in_progress").await;
    fixture.ok("tasks/cancel", json!({"task_id": id(2)})).await;
    fixture.wait_for(&id(1), "completed").await;
    drop(worker);
    let again = fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    assert_eq!(again["outcome_unknown"], json!([id(2)]), "{again}");
}
