//! The speed goals of flows, each as a ratio to a baseline measured in the same run.
//!
//! Tasks are created through the dispatcher and run by a worker, durable in a SQLite file on the disk with the build
//! directory. `goal.rs` does the measuring, `flows` runs flows, `graphs` writes them, `raw` does the same work with bare
//! statements, `postgres` compares tasks there with bare statements, and `peer` measures apflow. Names among the
//! arguments select goals by a part of their name.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod flows;
#[path = "../goal.rs"]
mod goal;
mod graphs;
mod memory;
mod peer;
mod postgres;
mod raw;

use std::process::ExitCode;

use flows::{Running, TestBed};
use goal::{Goal, Watch};
use graphs::Graph;
use panpan_flow::WorkerSettings;
use raw::RawTasks;

/// The allocator of the panpan program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The tasks of the flow that is compared with bare statements.
const CYCLE_TASKS: usize = 4000;

/// The tasks of a small and of a large flow.
const SMALL: usize = 1000;
const LARGE: usize = 100_000;

/// How many small flows make up one measurement.
const SMALL_FLOWS: usize = 10;

/// The tasks that wait, and how many of them run at once in one worker.
const WAITING_TASKS: usize = 800;
const WAITING_AT_ONCE: usize = 8;

fn main() -> ExitCode {
    goal::run_each(|| {
        // The memory first: what other goals have freed would be used again.
        let mut goals = vec![
            memory::pending_in_a_file(),
            memory::pending_in_memory(),
            peer::against_apflow(),
            cycle(),
            postgres::against_statements(),
        ];
        goals.extend(Graph::ALL.map(scaling));
        goals.push(two_workers());
        goals
    })
}

/// A task from its creation to its end, against inserts of the same rows: the task, its definition, its outcome and two
/// entries of the journal. The rate has to be at least 0.45 of that of the inserts.
fn cycle() -> Goal {
    let bed = TestBed::new("cycle");
    let running = Running::start(&bed, WorkerSettings::default());
    let raw = RawTasks::new("cycle-raw");
    Goal::Long {
        name: "a task, against inserts of its rows".to_owned(),
        limit: 1.0 / 0.45,
        rounds: 15,
        work: Box::new(move || running.cost_of(Graph::Wide, CYCLE_TASKS)),
        baseline: Box::new(move || raw.cost_of(CYCLE_TASKS)),
    }
}

/// A task of a large flow, against one of a small flow, each in a new file.
fn scaling(graph: Graph) -> Goal {
    let cost = move |flows: usize, tasks: usize| {
        let bed = TestBed::new("scaling");
        let running = Running::start(&bed, WorkerSettings::default());
        let requests: Vec<_> = (0..flows).map(|_| graph.request(tasks)).collect();
        let watch = Watch::start();
        for request in requests {
            running.run(request);
        }
        watch.stop(flows * tasks)
    };
    Goal::Long {
        name: format!("a task of 100,000 {}, against 1,000", graph.word()),
        limit: 1.5,
        rounds: 1,
        work: Box::new(move || cost(1, LARGE)),
        baseline: Box::new(move || cost(SMALL_FLOWS, SMALL)),
    }
}

/// Tasks that wait 20 ms, with two workers against one: at least 1.8 times the rate.
fn two_workers() -> Goal {
    let cost = |workers: usize| {
        let bed = TestBed::new("workers");
        bed.execute(Graph::Waiting.request(WAITING_TASKS));
        let settings = WorkerSettings {
            concurrency: WAITING_AT_ONCE,
            ..WorkerSettings::default()
        };
        // As in another process: each has the file open for itself.
        let others: Vec<TestBed> = (1..workers).map(|_| bed.again()).collect();
        let watch = Watch::start();
        let first = Running::start(&bed, settings.clone());
        let others: Vec<Running> = others
            .iter()
            .map(|it| Running::start(it, settings.clone()))
            .collect();
        bed.wait_rest();
        let cost = watch.stop(WAITING_TASKS);
        drop((first, others));
        cost
    };
    Goal::Long {
        name: "tasks of 20 ms, two workers against one".to_owned(),
        limit: 1.0 / 1.8,
        rounds: 3,
        work: Box::new(move || cost(2)),
        baseline: Box::new(move || cost(1)),
    }
}
