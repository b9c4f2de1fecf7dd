//! Flows against apflow, which `peer.py` starts and measures.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use panpan_flow::WorkerSettings;

use crate::flows::{Running, TestBed};
use crate::goal::{Cost, Goal, Watch};
use crate::graphs::Graph;

/// How many times faster a task has to be.
const TIMES: u32 = 1000;

/// The tasks of a flow, the same number for both.
const TASKS: usize = 101;

/// The number of callers at once, and of flows that each of them runs.
const CALLERS: usize = 8;
const FLOWS: usize = 4;

/// The variable with the Python that has apflow.
const PYTHON: &str = "PANPAN_BENCH_APFLOW";

/// Creating and executing a task, against a thousandth of that with apflow.
pub(crate) fn against_apflow() -> Goal {
    let name = "a task, against a thousandth of apflow's".to_owned();
    let Some(python) = std::env::var_os(PYTHON) else {
        let reason =
            format!("{PYTHON} names no Python with apflow; ./scripts/bench flow installs it");
        return Goal::NotMeasured { name, reason };
    };
    let bed = TestBed::new("apflow");
    let running = Running::start(&bed, WorkerSettings::default());
    let mut measured = None;
    Goal::Long {
        name,
        limit: 1.0,
        rounds: 9,
        work: Box::new(move || {
            let request = |_| Graph::Wide.request(TASKS);
            let lists = (0..CALLERS).map(|_| (0..FLOWS).map(request).collect());
            let lists = lists.collect();
            let watch = Watch::start();
            running.run_at_once(lists);
            watch.stop(CALLERS * FLOWS * TASKS)
        }),
        baseline: Box::new(move || {
            let cost = *measured.get_or_insert_with(|| apflow(Path::new(&python)));
            Cost::of(cost / TIMES)
        }),
    }
}

/// The time of a task with apflow.
fn apflow(python: &Path) -> Duration {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/flow/peer.py");
    let output = Command::new(python)
        .arg(script)
        .arg(TASKS.to_string())
        .output();
    let output = output.expect("apflow can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds: Option<f64> = text.trim().parse().ok();
    let Some(seconds) = seconds.filter(|_| output.status.success()) else {
        panic!(
            "apflow was not measured: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    Duration::from_secs_f64(seconds)
}
