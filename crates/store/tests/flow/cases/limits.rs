//! How many tasks of a flow or an operation run at once, and what that means for the others.

use std::num::NonZeroUsize;

use panpan_flow::TaskLimits;
use panpan_flow::ports::Ending;
use panpan_flow::testing::{End, LimitedWorker};
use panpan_runtime::Identity;
use serde_json::{Value, json};

use crate::model::Random;
use crate::support::{Fixture, LEASE_MS, calling, id};

fn at_most(number: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(number)
}

/// Only so many tasks of each flow.
fn per_flow(number: usize) -> TaskLimits {
    TaskLimits {
        per_flow: at_most(number),
        ..TaskLimits::default()
    }
}

fn completed() -> End {
    let result = "{}".into();
    End::With(Ending::Completed { result })
}

/// A flow of tasks that call an operation, the first one being the root.
fn flow(numbers: std::ops::Range<u64>, method: &str, priority: u64) -> Value {
    let first = numbers.start;
    let tasks = numbers.map(|number| {
        let mut task = calling(number, &number.to_string(), method);
        task["priority"] = json!(priority);
        if number > first {
            task["parent_id"] = json!(id(first));
        }
        task
    });
    tasks.collect()
}

pub(crate) async fn a_flow_runs_only_so_many_tasks_at_once(fixture: Fixture) {
    let _worker = fixture.limited_worker(16, per_flow(2));
    fixture.execute(flow(1..7, "test/hold", 2)).await;
    fixture.wait_for_runs(2).await;
    // A later turn of the worker finds another flow, and no third task of the first one.
    fixture.execute(flow(11..12, "test/run", 3)).await;
    fixture.wait_for(&id(11), "completed").await;
    assert_eq!(fixture.world.runs().len(), 3);
    for ended in 1..=4 {
        fixture.world.go.notify_one();
        fixture.wait_for_runs(3 + ended).await;
    }
    fixture.world.go.notify_one();
    fixture.world.go.notify_one();
    fixture.wait_for_rest(&id(1)).await;
    assert_eq!(fixture.world.runs().len(), 7);
}

pub(crate) async fn a_caller_leaves_places_to_others(fixture: Fixture) {
    let limits = TaskLimits {
        per_owner: at_most(2),
        ..TaskLimits::default()
    };
    let bob = || Identity::new("bob");
    for root in [1, 11] {
        let tasks = json!({"tasks": flow(root..root + 4, "test/run", 0)});
        let executed = fixture.call_as(bob(), "tasks/execute", tasks).await;
        executed.unwrap();
    }
    // Others come later and are less urgent.
    fixture.execute(flow(21..24, "test/run", 3)).await;
    let mut worker = LimitedWorker::new(fixture.store.clone(), limits);
    let held = worker.claim(16, LEASE_MS).await.unwrap();
    let ids: Vec<String> = held.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(ids, [id(1), id(2), id(21), id(22)]);
    // A place that becomes free is for its own caller.
    worker.finish(held[0], completed()).await.unwrap();
    let next = worker.claim(16, LEASE_MS).await.unwrap();
    assert_eq!(next.len(), 1);
    assert!(next[0].id.to_string() < id(21));
}

pub(crate) async fn an_operation_runs_only_so_often_at_once(fixture: Fixture) {
    let limits = TaskLimits {
        per_operation: at_most(3),
        operations: [("test/hold".to_owned(), NonZeroUsize::MIN)].into(),
        ..TaskLimits::default()
    };
    let _worker = fixture.limited_worker(16, limits);
    fixture.execute(flow(1..3, "test/hold", 0)).await;
    fixture.execute(flow(11..13, "/test/hold", 0)).await;
    fixture.execute(flow(21..26, "test/half", 1)).await;
    fixture.wait_for_runs(4).await;
    fixture.execute(flow(31..32, "test/run", 3)).await;
    fixture.wait_for(&id(31), "completed").await;
    let runs = fixture.world.runs();
    let held = runs
        .iter()
        .filter(|name| name.len() == 1 || name.starts_with('1'));
    assert_eq!((held.count(), runs.len()), (1, 5), "{runs:?}");
}

pub(crate) async fn tasks_behind_a_full_flow_are_found_without_reading_it_again(fixture: Fixture) {
    const BLOCKED: u64 = 3000;
    const TURNS: usize = 40;
    fixture.execute(flow(1..BLOCKED + 1, "test/run", 0)).await;
    fixture.execute(flow(9001..9101, "test/run", 3)).await;
    let mut worker = LimitedWorker::new(fixture.store.clone(), per_flow(1));
    let mut of_full_flow = None;
    let mut others = 0;
    for _ in 0..TURNS {
        for held in worker.claim(2, LEASE_MS).await.unwrap() {
            match held.id.to_string() < id(9001) {
                true => assert!(of_full_flow.replace(held).is_none()),
                false => {
                    others += 1;
                    worker.finish(held, completed()).await.unwrap();
                }
            }
        }
    }
    // The first claims set the full flow aside; each of the others finds a task.
    let to_set_aside = usize::try_from(BLOCKED).unwrap() / 2000 + 1;
    assert!(of_full_flow.is_some());
    assert!(others >= TURNS - to_set_aside, "{others} others");
    let read = worker.rows_read();
    assert!(read < 20_000, "{read} rows were read in {TURNS} turns");
    // The full flow goes on with its next task, which is more urgent.
    worker
        .finish(of_full_flow.unwrap(), completed())
        .await
        .unwrap();
    let next = worker.claim(1, LEASE_MS).await.unwrap();
    assert_eq!(next[0].id.to_string(), id(2));
}

pub(crate) async fn a_task_that_was_set_aside_is_cancelled_and_changed_like_others(
    fixture: Fixture,
) {
    fixture.execute(flow(1..5, "test/run", 2)).await;
    let mut worker = LimitedWorker::new(fixture.store.clone(), per_flow(1));
    assert_eq!(worker.claim(4, LEASE_MS).await.unwrap().len(), 1);
    fixture.ok("tasks/cancel", json!({"task_id": id(2)})).await;
    let urgent = json!({"task_id": id(4), "updates": {"priority": 0}});
    fixture.ok("tasks/update", urgent).await;
    // A process without limits finds what another one has set aside.
    let mut other = LimitedWorker::new(fixture.store.clone(), TaskLimits::default());
    let found = other.claim(4, LEASE_MS).await.unwrap();
    let found: Vec<String> = found.iter().map(|held| held.id.to_string()).collect();
    assert_eq!(found, [id(4), id(3)]);
}

pub(crate) async fn a_new_flow_does_not_overtake_one_that_is_set_aside(fixture: Fixture) {
    fixture.execute(flow(1..21, "test/run", 2)).await;
    let mut worker = LimitedWorker::new(fixture.store.clone(), per_flow(1));
    for _ in 0..10 {
        let held = worker.claim(1, LEASE_MS).await.unwrap()[0];
        worker.finish(held, completed()).await.unwrap();
    }
    let held = worker.claim(2, LEASE_MS).await.unwrap();
    assert_eq!(held.len(), 1);
    // All ready tasks are set aside now.
    fixture.execute(flow(101..121, "test/run", 2)).await;
    let mut unlimited = LimitedWorker::new(fixture.store.clone(), TaskLimits::default());
    let found = unlimited.claim(10, LEASE_MS).await.unwrap();
    let of_first = found.iter().filter(|held| held.id.to_string() < id(100));
    assert_eq!(of_first.count(), 6);
}

/// What the worker under test does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// It knows no limits.
    Unlimited,
    /// It runs the tasks that it claims in the wrong order.
    Reversed,
}

pub(crate) async fn priorities_are_strict_among_tasks_that_may_run(fixture: Fixture) {
    play(&fixture, 1, Defect::None).await.unwrap();
}

pub(crate) async fn a_worker_without_limits_is_noticed(fixture: Fixture) {
    play(&fixture, 2, Defect::Unlimited).await.unwrap_err();
}

pub(crate) async fn a_worker_without_priorities_is_noticed(fixture: Fixture) {
    play(&fixture, 3, Defect::Reversed).await.unwrap_err();
}

/// A task as the test knows it.
#[derive(Debug)]
struct Known {
    number: u64,
    flow: u64,
    operation: &'static str,
    priority: u64,
}

const PER_FLOW: usize = 3;
const PER_OPERATION: usize = 4;
const OPERATIONS: [&str; 4] = ["test/run", "test/hold", "test/half", "test/number"];

/// Claims and ends tasks at random, and compares each claim with a plain reading of the rule: the most urgent task whose
/// flow and operation have room runs next.
async fn play(fixture: &Fixture, seed: u64, defect: Defect) -> Result<(), String> {
    let mut random = Random(seed);
    let mut waiting: Vec<Known> = Vec::new();
    for flow in 0..6 {
        let first = flow * 100 + 1;
        let mut tasks = Vec::new();
        for number in first..first + 30 {
            let operation = OPERATIONS[random.below(OPERATIONS.len())];
            let priority = random.below(4) as u64;
            let mut task = calling(number, "one", operation);
            task["priority"] = json!(priority);
            if number > first {
                task["parent_id"] = json!(id(first));
            }
            tasks.push(task);
            waiting.push(Known {
                number,
                flow,
                operation,
                priority,
            });
        }
        fixture.execute(tasks.into()).await;
    }
    let limits = TaskLimits {
        per_flow: at_most(PER_FLOW),
        per_operation: at_most(PER_OPERATION),
        ..TaskLimits::default()
    };
    let limits = if defect == Defect::Unlimited {
        TaskLimits::default()
    } else {
        limits
    };
    let mut worker = LimitedWorker::new(fixture.store.clone(), limits);
    let mut running = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        let limit = 1 + random.below(8);
        let mut held = worker.claim(limit, LEASE_MS).await.unwrap();
        if defect == Defect::Reversed {
            held.reverse();
        }
        let count = held.len();
        for held in held {
            let is_this = |it: &Known| id(it.number) == held.id.to_string();
            let position = waiting.iter().position(is_this).ok_or("claimed twice")?;
            let task = waiting.remove(position);
            let may_run = |it: &Known| has_room(it, running.iter().map(|(_, it)| it));
            if !may_run(&task) {
                return Err(format!("{task:?} has no room"));
            }
            let urgent = waiting
                .iter()
                .filter(|it| may_run(it))
                .map(|it| it.priority)
                .min();
            if urgent.is_some_and(|it| it < task.priority) {
                return Err(format!("{task:?} ran before a more urgent one"));
            }
            running.push((held, task));
        }
        let has_more = waiting
            .iter()
            .any(|it| has_room(it, running.iter().map(|(_, it)| it)));
        if count < limit && has_more {
            return Err(format!("{count} tasks of {limit} were found"));
        }
        for _ in 0..random.below(6).min(running.len()) {
            let (held, _) = running.swap_remove(random.below(running.len()));
            worker.finish(held, completed()).await.unwrap();
        }
    }
    Ok(())
}

fn has_room<'a>(task: &Known, running: impl Iterator<Item = &'a Known>) -> bool {
    let (mut of_flow, mut of_operation) = (0, 0);
    for other in running {
        of_flow += usize::from(other.flow == task.flow);
        of_operation += usize::from(other.operation == task.operation);
    }
    of_flow < PER_FLOW && of_operation < PER_OPERATION
}
