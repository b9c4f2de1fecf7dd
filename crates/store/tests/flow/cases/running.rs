//! What a worker makes of tasks: fairness, results, progress, late ends and poison tasks.

use std::time::Duration;

use futures_util::StreamExt as _;
use panpan_flow::ports::Ending;
use panpan_flow::testing::{End, HandWorker};
use panpan_runtime::CallRequest;
use serde_json::{Value, json};

use crate::support::{Fixture, LEASE_MS, below, calling, id, task};

pub(crate) async fn two_flows_take_turns(fixture: Fixture) {
    for first in [1, 11] {
        let tasks = (first..first + 4).map(|number| {
            let name = format!("{number}");
            let mut task = task(number, &name);
            if number > first {
                task["parent_id"] = json!(id(first));
            }
            task
        });
        fixture.execute(tasks.collect()).await;
    }
    let _worker = fixture.worker_with(1);
    fixture.wait_for_rest(&id(1)).await;
    fixture.wait_for_rest(&id(11)).await;
    // The second flow begins when the first task of the first one is the next.
    assert_eq!(
        fixture.world.runs(),
        ["1", "2", "11", "3", "12", "4", "13", "14"]
    );
}

/// A chain has at most one ready task, and none at all while it is running.
pub(crate) async fn a_deep_flow_takes_turns_with_a_wide_one(fixture: Fixture) {
    let chain = (2..31).map(|number| below(task(number, "deep"), &[(number - 1, true)]));
    let chain: Value = [task(1, "deep")].into_iter().chain(chain).collect();
    fixture.execute(chain).await;
    let worker = HandWorker::new(fixture.store.clone());
    let completed = || {
        End::With(Ending::Completed {
            result: "{}".into(),
        })
    };
    let mut held = worker.claim(1, LEASE_MS).await.unwrap()[0];
    for _ in 0..15 {
        worker.finish(vec![(held, completed())]).await.unwrap();
        held = worker.claim(1, LEASE_MS).await.unwrap()[0];
    }
    let wide = (101..131).map(|number| {
        let mut task = task(number, "wide");
        if number > 101 {
            task["parent_id"] = json!(id(101));
        }
        task
    });
    fixture.execute(wide.collect()).await;
    let mut claimed = Vec::new();
    for _ in 0..6 {
        worker.finish(vec![(held, completed())]).await.unwrap();
        held = worker.claim(1, LEASE_MS).await.unwrap()[0];
        claimed.push(held.id.to_string());
    }
    let expected = [101, 17, 102, 18, 103, 19].map(id);
    assert_eq!(claimed, expected);
}

pub(crate) async fn a_task_without_an_operation_completes(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([{"id": id(1), "name": "group"}]))
        .await;
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(
        (&done["result"], &done["progress"]),
        (&json!({}), &json!(1.0))
    );
}

pub(crate) async fn a_result_is_always_an_object(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "seven", "test/number")]))
        .await;
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(done["result"], json!({"result": 7}));
}

pub(crate) async fn a_reference_to_a_failed_optional_dependency_is_null(fixture: Fixture) {
    let _worker = fixture.worker();
    let mut last = below(task(3, "last"), &[(2, false)]);
    last["inputs"] = json!({"name": "last", "paid": {"$from": id(2), "pointer": "/amount"}});
    let tasks = json!([
        task(1, "root"),
        below(calling(2, "pay", "test/refuse"), &[]),
        last
    ]);
    fixture.execute(tasks).await;
    let done = fixture.wait_for(&id(3), "completed").await;
    assert_eq!(
        done["result"]["echo"],
        json!({"name": "last", "paid": null})
    );
}

pub(crate) async fn a_late_end_of_a_cancelled_task_is_discarded(fixture: Fixture) {
    fixture.execute(json!([task(1, "one")])).await;
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(1, LEASE_MS).await.unwrap()[0];
    let message = json!({"task_id": id(1), "message": "not needed"});
    fixture.ok("tasks/cancel", message).await;
    let completed = || {
        End::With(Ending::Completed {
            result: "{}".into(),
        })
    };
    worker.finish(vec![(held, completed())]).await.unwrap();
    let task = fixture.task(&id(1)).await;
    assert_eq!(
        (&task["status"], &task["error"]),
        (&json!("cancelled"), &json!("not needed"))
    );
    // The lease of an earlier generation does not end a later one, either.
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    let newer = worker.claim(1, LEASE_MS).await.unwrap()[0];
    assert!(!worker.extend(held, None, LEASE_MS).await.unwrap());
    let failed = End::With(Ending::Failed {
        error: "late".into(),
        failure: "{}".into(),
    });
    worker
        .finish(vec![(held, failed), (newer, completed())])
        .await
        .unwrap();
    assert_eq!(fixture.status(&id(1)).await, "completed");
}

pub(crate) async fn a_task_that_stops_every_process_ends(fixture: Fixture) {
    fixture.execute(json!([task(1, "poison")])).await;
    let crashing = HandWorker::new(fixture.store.clone());
    for _ in 0..4 {
        assert_eq!(crashing.claim(1, LEASE_MS).await.unwrap().len(), 1);
        fixture.clock.advance(LEASE_MS + 1);
    }
    let _worker = fixture.worker();
    let failed = fixture.wait_for(&id(1), "failed").await;
    assert_eq!(failed["failure"]["code"], "ERR_RECOVERY_EXHAUSTED");
    assert!(fixture.world.runs().is_empty());
}

pub(crate) async fn progress_is_stored_with_the_heartbeat(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "half", "test/half")]))
        .await;
    fixture.wait_for_runs(1).await;
    let mut progress = Value::Null;
    while progress != 0.5 {
        fixture.clock.advance(LEASE_MS / 3);
        for _ in 0..200 {
            let task = fixture.task(&id(1)).await;
            assert_eq!(task["status"], "in_progress");
            progress = task["progress"].clone();
            if progress == 0.5 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    fixture.world.go.notify_one();
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(
        (&done["progress"], &done["attempts"]),
        (&json!(1.0), &json!(1))
    );
}

pub(crate) async fn leases_are_extended_while_other_tasks_end(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for_runs(1).await;
    for number in 2..12 {
        fixture.clock.advance(LEASE_MS / 3);
        fixture.execute(json!([task(number, "short")])).await;
        fixture.wait_for(&id(number), "completed").await;
    }
    fixture.world.go.notify_one();
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(done["attempts"], 1);
}

pub(crate) async fn an_idle_worker_writes_nothing(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for_runs(1).await;
    let changes = fixture.store.changes();
    let pause = || tokio::time::sleep(std::time::Duration::from_millis(50));
    pause().await;
    let before = *changes.borrow();
    pause().await;
    assert_eq!(*changes.borrow(), before);
}

pub(crate) async fn cancelling_the_last_task_ends_the_journal(fixture: Fixture) {
    fixture.execute(json!([task(1, "one")])).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    fixture.wait_for_rest(&id(1)).await;
}

pub(crate) async fn a_reader_learns_of_events_that_are_gone(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    fixture.wait_for_rest(&id(1)).await;
    let before = fixture.events(&id(1), 0).await;
    let journal = HandWorker::new(fixture.store.clone());
    journal
        .trim_journal(id(1).parse().unwrap(), before.len())
        .await
        .unwrap();
    assert_eq!(fixture.events(&id(1), 0).await, before);
    journal
        .trim_journal(id(1).parse().unwrap(), 1)
        .await
        .unwrap();
    let after = fixture.events(&id(1), 0).await;
    assert_eq!(after.len(), 2);
    assert_eq!(
        (&after[0]["event"], &after[0]["data"]["final"]),
        (&json!("events_dropped"), &json!(false))
    );
    assert_eq!(after[1], before[before.len() - 1]);
    // A reader that has received them misses nothing.
    let last = after[0]["id"].as_u64().unwrap();
    assert_eq!(fixture.events(&id(1), last).await, after[1..]);
}

/// Time for something that must not happen.
async fn moment() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

pub(crate) async fn an_execution_is_followed_to_its_own_end(fixture: Fixture) {
    let worker = fixture.worker();
    let tasks = json!({"tasks": [task(1, "root"), below(task(2, "child"), &[])]});
    fixture.ok("tasks/create", tasks).await;
    fixture.ok("tasks/execute", json!({"task_id": id(2)})).await;
    fixture.wait_for_rest(&id(1)).await;
    drop(worker);
    let execute = json!({"task_id": id(1)});
    let executed = fixture.ok("tasks/execute", execute).await;
    let after = executed["events_after"].as_u64().unwrap();
    let root = id(1);
    let events = fixture.events(&root, after);
    let starting = async {
        moment().await;
        fixture.worker()
    };
    let (events, _worker) = futures_util::join!(events, starting);
    let of_root = |it: &&Value| it["data"]["task_id"] == id(1);
    let names: Vec<&str> = events
        .iter()
        .filter(of_root)
        .map(|it| it["event"].as_str().unwrap())
        .collect();
    let update = "task_status_update";
    assert_eq!(
        names,
        [update, update, "task_completed", update],
        "{events:#?}"
    );
    let is_final: Vec<bool> = events
        .iter()
        .map(|it| it["data"]["final"] == true)
        .collect();
    assert_eq!(is_final, [false, false, false, true]);
    // Tasks that join the flow are an execution, too.
    let joining = json!({"tasks": [below(task(3, "joining"), &[])]});
    let executed = fixture.ok("tasks/execute", joining).await;
    let after = executed["events_after"].as_u64().unwrap();
    let joined = fixture.events(&id(1), after).await;
    assert_eq!(joined.len(), 4, "{joined:#?}");
}

pub(crate) async fn a_reader_who_knows_the_last_event_is_not_kept_waiting(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    let events = fixture.events(&id(1), 0).await;
    let last = events.last().unwrap()["id"].as_u64().unwrap();
    assert_eq!(fixture.events(&id(1), last).await, [] as [Value; 0]);
}

pub(crate) async fn a_reader_with_a_number_of_another_flow_gets_all_events(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    let events = fixture.events(&id(1), 0).await;
    assert_eq!(fixture.events(&id(1), 999_999).await, events);
}

pub(crate) async fn the_events_of_a_deleted_flow_end(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "one")).await;
    let input = json!({"task_id": id(1)});
    let request = CallRequest::from_wire("tasks/events", input.clone());
    let mut events = fixture.dispatcher.subscribe(request).unwrap();
    let deleting = async {
        moment().await;
        fixture.ok("tasks/delete", input).await;
        fixture.clock.advance_forever().await;
    };
    let failure = tokio::select! {
        event = events.next() => event.unwrap().unwrap_err(),
        () = deleting => unreachable!("the clock advances forever"),
    };
    assert_eq!(failure.code().as_str(), "TASK_NOT_FOUND");
    assert!(events.next().await.is_none());
}

pub(crate) async fn blocked_tasks_that_join_a_flow_at_rest_end_its_stream(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!({"tasks": [calling(1, "root", "test/refuse")]});
    fixture.ok("tasks/execute", tasks).await;
    fixture.wait_for(&id(1), "failed").await;
    let tasks = json!({"tasks": [below(task(2, "blocked"), &[(1, true)])]});
    let executed = fixture.ok("tasks/execute", tasks).await;
    let after = executed["events_after"].as_u64().unwrap();
    let events = fixture.events(&id(1), after).await;
    let last = events.last().map(|it| it["data"]["final"] == true);
    assert_eq!(last, Some(true), "{events:#?}");
}
