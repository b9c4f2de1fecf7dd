//! Large and deep results, and what a worker reads of them.

use std::fmt::Write as _;

use panpan_flow::ports::Ending;
use panpan_flow::testing::{End, HandWorker, LimitedWorker};
use panpan_flow::{
    COPY_BYTES_LIMIT, COPY_TASKS_LIMIT, DEFINITIONS_READ_LIMIT, GENERATIONS_LIMIT,
    RESULT_BYTES_LIMIT, RUNNING_BYTES_LIMIT_PER_OWNER, TaskLimits,
};
use panpan_runtime::Identity;
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
    let second = worker.claim(100, LEASE_MS).await.unwrap().len() as u64;
    let rest = worker.claim(100, LEASE_MS).await.unwrap().len() as u64;
    assert_eq!(first + second + rest, LARGE_RESULTS);
}

/// A task with inputs of this many bytes, about.
fn large(number: u64, bytes: usize) -> Value {
    let mut task = task(number, "large");
    task["inputs"]["text"] = json!("x".repeat(bytes));
    task
}

pub(crate) async fn tasks_of_an_owner_have_only_so_many_bytes_at_once(fixture: Fixture) {
    const TASK_BYTES: usize = 4 * 1024 * 1024;
    let part = RUNNING_BYTES_LIMIT_PER_OWNER / TASK_BYTES;
    let count = part as u64 + 2;
    let tasks = (1..=count).map(|number| match number {
        1 => large(1, TASK_BYTES),
        _ => below(large(number, TASK_BYTES), &[]),
    });
    fixture.execute(tasks.collect()).await;
    let ann = Identity::new("ann");
    let other = json!({"tasks": [task(50, "other")]});
    fixture.call_as(ann, "tasks/execute", other).await.unwrap();
    let mut worker = LimitedWorker::new(fixture.store.clone(), TaskLimits::default());
    let held = worker.claim(100, LEASE_MS).await.unwrap();
    // The other caller has its own part, and the last one claimed of each may be larger.
    assert_eq!(held.len(), part + 1);
    assert!(held.iter().any(|it| it.id.to_string() == id(50)));
    assert!(worker.claim(100, LEASE_MS).await.unwrap().is_empty());
    let result = "{}".into();
    let end = End::With(Ending::Completed { result });
    worker.finish(held[0], end).await.unwrap();
    assert_eq!(worker.claim(100, LEASE_MS).await.unwrap().len(), 1);
}

pub(crate) async fn a_summary_reads_only_so_much(fixture: Fixture) {
    const TASK_BYTES: usize = 4 * 1024 * 1024;
    let fitting = (DEFINITIONS_READ_LIMIT / TASK_BYTES) as u64;
    let tasks: Vec<Value> = (1..=fitting).map(|it| large(it, TASK_BYTES)).collect();
    for task in tasks {
        fixture.ok("tasks/create", task).await;
    }
    let list = fixture.ok("tasks/list", json!({"fields": "summary"})).await;
    let listed = list["tasks"].as_array().unwrap().len() as u64;
    assert_eq!(listed, fitting - 1);
    assert_eq!(list["next_offset"], json!(fitting - 1));
    let rest = json!({"fields": "summary", "offset": fitting - 1});
    let rest = fixture.ok("tasks/list", rest).await;
    assert_eq!(rest["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next_offset"], Value::Null);
}

pub(crate) async fn a_copy_has_only_so_many_tasks_and_bytes(fixture: Fixture) {
    let copy = |root: u64| json!({"task_id": id(root), "copy_children": true});
    let below_root = |root: u64, count: usize| -> Value {
        let numbers = root..root + count as u64;
        let task = |number: u64| match number == root {
            true => task(root, "root"),
            false => {
                let mut task = task(number, "one");
                task["parent_id"] = json!(id(root));
                task
            }
        };
        numbers.map(task).collect()
    };
    for (root, count, code) in [
        (1, COPY_TASKS_LIMIT, None),
        (100_001, COPY_TASKS_LIMIT + 1, Some("INVALID_INPUT")),
    ] {
        let tasks = json!({"tasks": below_root(root, count)});
        fixture.ok("tasks/create", tasks).await;
        let copied = fixture.call("tasks/copy", copy(root)).await;
        let refused = copied.err().map(|it| it.code().as_str().to_owned());
        assert_eq!(refused.as_deref(), code, "{count}");
    }
    let half = COPY_BYTES_LIMIT / 2 - 1000;
    for (root, bytes, code) in [
        (300_001, half, None),
        (300_011, half + 1000, Some("INVALID_INPUT")),
    ] {
        let mut below_root = large(root + 1, bytes);
        below_root["parent_id"] = json!(id(root));
        let tasks = json!({"tasks": [large(root, bytes), below_root]});
        fixture.ok("tasks/create", tasks).await;
        let copied = fixture.call("tasks/copy", copy(root)).await;
        let refused = copied.err().map(|it| it.code().as_str().to_owned());
        assert_eq!(refused.as_deref(), code, "{bytes}");
    }
}

pub(crate) async fn generations_are_answered_in_parts(fixture: Fixture) {
    fixture.execute(json!([task(1, "one")])).await;
    end_with(&fixture, &largest()).await;
    for _ in 2..=3 {
        fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
        end_with(&fixture, &largest()).await;
    }
    let part = |after: u64| json!({"task_id": id(1), "after": after});
    let generations = |answer: &Value| -> Vec<Value> {
        let all = answer["generations"].as_array().unwrap().iter();
        all.map(|it| it["generation"].clone()).collect()
    };
    let first = fixture.ok("tasks/generations", part(0)).await;
    assert_eq!(generations(&first), [1]);
    assert_eq!(first["next_after"], 1);
    let last = fixture.ok("tasks/generations", part(2)).await;
    assert_eq!(generations(&last), [3]);
    assert_eq!(last["next_after"], Value::Null);
}

pub(crate) async fn only_the_newest_generations_are_kept(fixture: Fixture) {
    let limit = u64::from(GENERATIONS_LIMIT);
    fixture.execute(json!([task(1, "one")])).await;
    for generation in 1..=limit + 1 {
        if generation > 1 {
            fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
        }
        end_with(&fixture, "{}").await;
        let kept = json!({"task_id": id(1)});
        let kept = fixture.ok("tasks/generations", kept).await;
        let kept = kept["generations"].as_array().unwrap().clone();
        assert_eq!(kept.len() as u64, generation.min(limit));
        assert_eq!(kept.last().unwrap()["generation"], generation);
    }
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
