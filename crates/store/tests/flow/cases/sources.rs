//! Processes with different operations over one store.

use std::sync::{Arc, Mutex};

use panpan_flow::ports::{Ending, Rows, Work};
use panpan_flow::testing::{End, LimitedWorker};
use panpan_flow::{OPERATION_MISSING_MS, TaskLimits};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use serde_json::{Value, json};

use crate::support::{Fixture, LEASE_MS, below, calling, id, task};

/// The milliseconds of a minute.
const MINUTE_MS: u64 = 60_000;

fn all_but(missing: &'static str) -> impl Fn(&str) -> bool {
    move |name| name != missing
}

/// Waits until the worker of a fixture has looked for tasks again: it has run another one.
async fn wait_for_a_look(fixture: &Fixture, number: u64) {
    let other = calling(number, "another", "test/number");
    fixture.execute(json!([other])).await;
    fixture.wait_for(&id(number), "completed").await;
}

/// The groups that have tasks aside.
async fn groups_aside(fixture: &Fixture) -> Vec<String> {
    struct Groups(Arc<Mutex<Vec<String>>>);
    impl Work for Groups {
        fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async move {
                let groups = rows.groups_aside().await?;
                *self.0.lock().unwrap() = groups.iter().map(|it| it.to_string()).collect();
                Ok(())
            })
        }
    }
    let found = Arc::new(Mutex::new(Vec::new()));
    let work = Box::new(Groups(found.clone()));
    fixture.store.read(work).await.unwrap();
    std::mem::take(&mut *found.lock().unwrap())
}

pub(crate) async fn a_task_waits_for_a_process_with_its_operation(fixture: Fixture) {
    let other = fixture.with_the_same_ids();
    other.offer(Vec::new(), all_but("test/run"));
    let _worker = other.worker();
    fixture.execute(json!([task(1, "one")])).await;
    wait_for_a_look(&fixture, 2).await;
    assert_eq!(fixture.status(&id(1)).await, "pending");
    let _second = fixture.worker();
    fixture.wait_for(&id(1), "completed").await;
    assert_eq!(fixture.world.runs(), ["one"]);
    assert!(other.world.runs().is_empty());
}

/// Time stands still, so that nothing but the new operations can wake the worker.
pub(crate) async fn a_task_runs_when_its_source_is_back(fixture: Fixture) {
    fixture.execute(json!([task(1, "one")])).await;
    fixture.offer(Vec::new(), all_but("test/run"));
    let _worker = fixture.worker();
    wait_for_a_look(&fixture, 2).await;
    assert_eq!(fixture.status(&id(1)).await, "pending");
    fixture.offer(Vec::new(), |_| true);
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(done["attempts"], 1);
}

pub(crate) async fn a_task_whose_operation_nobody_offers_fails_in_the_end(fixture: Fixture) {
    let after = below(task(2, "after"), &[]);
    fixture.execute(json!([task(1, "one"), after])).await;
    fixture.offer(Vec::new(), all_but("test/run"));
    let _worker = fixture.worker();
    wait_for_a_look(&fixture, 3).await;
    fixture.clock.advance(OPERATION_MISSING_MS - 1);
    wait_for_a_look(&fixture, 4).await;
    assert_eq!(fixture.status(&id(1)).await, "pending");
    while fixture.status(&id(1)).await == "pending" {
        fixture.clock.advance(1000);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let failed = fixture.wait_for(&id(1), "failed").await;
    fixture.wait_for(&id(2), "failed").await;
    let failure = &failed["failure"];
    assert_eq!(failure["code"], "EXECUTOR_NOT_FOUND");
    assert_eq!(failure["effect"], "none");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("test/run for 10 minutes"), "{error}");
    let actions = failure["recovery"]["required_actions"].to_string();
    assert!(actions.contains("the source of test/run"), "{actions}");
    assert!(fixture.world.runs().is_empty());
    // The first action helps.
    fixture.offer(Vec::new(), |_| true);
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for(&id(1), "completed").await;
}

pub(crate) async fn a_new_process_gives_its_sources_time(fixture: Fixture) {
    fixture.execute(json!([task(1, "one")])).await;
    fixture.offer(Vec::new(), all_but("test/run"));
    let worker = fixture.worker();
    wait_for_a_look(&fixture, 2).await;
    drop(worker);
    fixture.clock.advance(OPERATION_MISSING_MS * 2);
    let _worker = fixture.worker();
    wait_for_a_look(&fixture, 3).await;
    assert_eq!(fixture.status(&id(1)).await, "pending");
    fixture.offer(Vec::new(), |_| true);
    fixture.wait_for(&id(1), "completed").await;
}

pub(crate) async fn tasks_of_a_busy_process_do_not_fail_elsewhere(fixture: Fixture) {
    let other = fixture.with_the_same_ids();
    other.offer(Vec::new(), all_but("test/run"));
    // It offers everything and never has room.
    let busy = fixture.worker_with(0);
    let _worker = other.worker();
    fixture.execute(json!([task(2, "waiting")])).await;
    wait_for_a_look(&fixture, 3).await;
    let mut groups = groups_aside(&fixture).await;
    assert_eq!(groups.len(), 1);
    for number in 4..10 {
        fixture.clock.advance(OPERATION_MISSING_MS / 2 + MINUTE_MS);
        let before = std::mem::take(&mut groups);
        for _ in 0..5000 {
            if !groups.is_empty() && groups != before {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            groups = groups_aside(&fixture).await;
        }
        assert_ne!(groups, before);
        wait_for_a_look(&fixture, number).await;
    }
    assert_eq!(fixture.status(&id(2)).await, "pending");
    drop(busy);
    let _second = fixture.worker();
    fixture.wait_for(&id(2), "completed").await;
}

pub(crate) async fn a_message_waits_for_a_process_with_webhooks(fixture: Fixture) {
    let other = fixture.with_the_same_ids();
    other.offer(Vec::new(), all_but("tasks/notify"));
    let _worker = other.worker();
    let webhook = json!({"url": "https://hooks.example.com/a"});
    let input = json!({"tasks": [task(1, "one")], "webhook_config": webhook});
    fixture.ok("tasks/execute", input).await;
    fixture.wait_for(&id(1), "completed").await;
    wait_for_a_look(&fixture, 2).await;
    assert!(other.world.requests().is_empty());
    let _second = fixture.worker();
    fixture.wait_for_requests(1).await;
}

pub(crate) async fn tasks_behind_those_of_others_are_found_without_reading_them_again(
    fixture: Fixture,
) {
    const OTHERS: u64 = 3000;
    const TURNS: usize = 40;
    let flow = |numbers: std::ops::Range<u64>, method: &str, priority: u64| -> Value {
        let first = numbers.start;
        let tasks = numbers.map(|number| {
            let mut task = calling(number, "one", method);
            task["priority"] = json!(priority);
            if number > first {
                task["parent_id"] = json!(id(first));
            }
            task
        });
        tasks.collect()
    };
    fixture.execute(flow(1..OTHERS + 1, "test/run", 0)).await;
    fixture.execute(flow(9001..9101, "test/number", 3)).await;
    fixture.offer(Vec::new(), all_but("test/run"));
    let worker = LimitedWorker::new(fixture.store.clone(), TaskLimits::default());
    let mut worker = worker.offering(fixture.dispatcher.registry());
    for _ in 0..TURNS {
        let held = worker.claim(2, LEASE_MS).await.unwrap();
        assert_eq!(held.len(), 2);
        for held in held {
            assert!(held.id.to_string() > id(9000));
            let result = "{}".into();
            let completed = End::With(Ending::Completed { result });
            worker.finish(held, completed).await.unwrap();
        }
    }
    let read = worker.rows_read();
    assert!(read < 4000, "{read} rows were read in {TURNS} turns");
}
