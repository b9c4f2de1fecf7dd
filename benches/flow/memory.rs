//! The memory that pending tasks take beyond their data.

use std::fs;
use std::sync::Arc;

use panpan_runtime::system::SystemClock;
use panpan_store::MemoryStore;
use serde_json::Value;

use crate::flows::{Folder, TestBed, runtime};
use crate::goal::Goal;
use crate::graphs::Graph;

/// How many tasks are created, and how many of them with one request.
const TASKS: usize = 100_000;
const TASKS_PER_FLOW: usize = 1000;

/// The bytes that a task may take.
const LIMIT: f64 = 1024.0;

/// With the store in memory, which keeps the tasks themselves.
pub(crate) fn pending_in_memory() -> Goal {
    Goal::Growth {
        name: "bytes of a pending task, in memory".to_owned(),
        limit: LIMIT,
        measure: Box::new(|times| {
            let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
            let folder = Arc::new(Folder::new("memory"));
            let bed = TestBed::over(store.clone(), store, folder, Arc::new(runtime()));
            bytes_per_task(&bed, times)
        }),
    }
}

/// With the store in a file, where a task takes so little that more of them are not noticed.
pub(crate) fn pending_in_a_file() -> Goal {
    Goal::Figure {
        name: "bytes of a pending task, in a file".to_owned(),
        limit: LIMIT,
        measure: Box::new(|| bytes_per_task(&TestBed::new("pending"), 1)),
    }
}

/// The growth of the memory of this process for each task, without its texts. The planted slowdown creates more tasks
/// than it counts.
fn bytes_per_task(bed: &TestBed, times: usize) -> f64 {
    // What a store needs for any number of tasks.
    bed.create(Graph::Random.request(TASKS_PER_FLOW));
    let before = resident_bytes();
    let mut data = 0;
    for _ in 0..times * TASKS / TASKS_PER_FLOW {
        let request = Graph::Random.request(TASKS_PER_FLOW);
        data += data_bytes(&request);
        bed.create(request);
    }
    (resident_bytes() - before - data as f64 / times as f64) / TASKS as f64
}

/// The texts of tasks that a caller sent.
fn data_bytes(request: &Value) -> usize {
    let tasks = request["tasks"].as_array().into_iter().flatten();
    let texts =
        tasks.map(|it| ["name", "schemas", "inputs"].map(|name| it[name].to_string().len()));
    texts.flatten().sum()
}

/// The resident memory of this process; 0 if the system does not report it.
fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}
