//! Large and deep results, and what a worker reads of them.

use std::fmt::Write as _;

use panpan_flow::RESULT_BYTES_LIMIT;
use panpan_flow::ports::Ending;
use panpan_flow::testing::{End, HandWorker};
use serde_json::{Value, json};

use crate::support::{Fixture, LEASE_MS, below, id, task};

/// A task that refers to a part of the results of others.
fn referring(number: u64, to: &[u64]) -> Value {
    let dependencies: Vec<(u64, bool)> = to.iter().map(|on| (*on, true)).collect();
    let mut task = below(task(number, "referring"), &dependencies);
    for on in to {
        task["inputs"][format!("from_{on}")] = json!({"$from": id(*on), "pointer": "/part"});
    }
    task
}

/// Ends the tasks that are ready with this result.
async fn end_with(fixture: &Fixture, result: &str) {
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(100, LEASE_MS).await.unwrap();
    let end = || {
        let result = result.into();
        End::With(Ending::Completed { result })
    };
    let ended = held.into_iter().map(|held| (held, end())).collect();
    worker.finish(ended).await.unwrap();
}

/// A result of the largest size.
fn largest() -> String {
    let start = r#"{"part": 1, "filler": ""#;
    let filler = "x".repeat(RESULT_BYTES_LIMIT - start.len() - 2);
    format!(r#"{start}{filler}"}}"#)
}

const LARGE_RESULTS: u64 = 17;

/// Large results, and tasks that refer to them.
async fn with_large_results(fixture: &Fixture, others: Vec<Value>) {
    let mut tasks = vec![task(1, "root")];
    tasks.extend((2..2 + LARGE_RESULTS).map(|number| below(task(number, "large"), &[])));
    tasks.extend(others);
    fixture.execute(tasks.into()).await;
    end_with(fixture, &largest()).await;
}

pub(crate) async fn one_claim_reads_only_so_much(fixture: Fixture) {
    let each = (2..2 + LARGE_RESULTS).map(|number| referring(100 + number, &[number]));
    with_large_results(&fixture, each.collect()).await;
    let worker = HandWorker::new(fixture.store.clone());
    let first = worker.claim(100, LEASE_MS).await.unwrap().len() as u64;
    assert!((1..LARGE_RESULTS).contains(&first), "{first}");
    let rest = worker.claim(100, LEASE_MS).await.unwrap().len() as u64;
    assert_eq!(first + rest, LARGE_RESULTS);
}

pub(crate) async fn a_task_that_refers_to_too_much_fails_alone(fixture: Fixture) {
    let all: Vec<u64> = (2..2 + LARGE_RESULTS).collect();
    let mut one_of_all = referring(102, &all);
    one_of_all["inputs"] = json!({"name": "one", "part": {"$from": id(2), "pointer": "/part"}});
    let others = vec![referring(101, &all), one_of_all];
    with_large_results(&fixture, others).await;
    let _worker = fixture.worker();
    let failed = fixture.wait_for(&id(101), "failed").await;
    assert_eq!(failed["failure"]["code"], "INVALID_INPUT_ERROR");
    let error = failed["error"].as_str().unwrap();
    let bytes = LARGE_RESULTS * RESULT_BYTES_LIMIT as u64;
    assert!(error.contains(&format!("{bytes} bytes")), "{error}");
    // It waits for all of them, and refers to one.
    let done = fixture.wait_for(&id(102), "completed").await;
    assert_eq!(done["result"]["echo"]["part"], 1);
}

/// A result with this many levels.
fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    let mut text = String::new();
    write!(text, r#"{{"part": {open}{close}}}"#).unwrap();
    text
}

pub(crate) async fn a_deep_result_is_read_back(fixture: Fixture) {
    for (number, levels) in [(1, 127), (11, 128), (21, 900)] {
        let mut root = task(number, "root");
        root["inputs"]["part"] = json!({"$from": id(number + 1), "pointer": ""});
        root["dependencies"] = json!([{"id": id(number + 1)}]);
        let mut deep = task(number + 1, "deep");
        deep["parent_id"] = json!(id(number));
        fixture.execute(json!([root, deep])).await;
        end_with(&fixture, &nested(levels)).await;
        let result = fixture.task(&id(number + 1)).await["result"].to_string();
        assert_eq!(result.matches('[').count(), levels - 1);
        let worker = fixture.worker();
        fixture.wait_for(&id(number), "completed").await;
        drop(worker);
    }
    let listed = fixture.ok("tasks/list", json!({})).await;
    assert_eq!(listed["total"], 6);
}

pub(crate) async fn an_unreadable_result_does_not_hide_other_tasks(fixture: Fixture) {
    fixture
        .execute(json!([task(1, "root"), below(task(2, "one"), &[])]))
        .await;
    end_with(&fixture, &nested(5000)).await;
    let listed = fixture.ok("tasks/list", json!({})).await;
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
    let shown = fixture.task(&id(2)).await;
    assert_eq!(shown["status"], "completed");
    assert_eq!(shown["result"], json!({"result": null}));
}
