//! Leases are extended whatever other transactions do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use panpan_flow::Queued;
use panpan_flow::ports::Row;
use serde_json::json;
use tokio::sync::Notify;

use super::Find;
use super::races::{Gate, Locked};
use crate::shared::postgres_tasks;
use crate::support::{Fixture, LEASE_MS, calling, id, task};

/// When the lease of a task ends.
async fn lease_end(fixture: &Fixture, task: &str) -> Queued {
    let found = Arc::new(Mutex::new(None));
    let work = Find(task.parse().unwrap(), found.clone());
    fixture.store.read_at_once(Box::new(work)).await.unwrap();
    let row: Option<Row> = found.lock().unwrap().take();
    row.unwrap().run.queued
}

/// Locks a task until it is told to go on; returns when it has locked it.
async fn lock(fixture: &Fixture, task: u64, go: &Arc<Notify>) -> tokio::task::JoinHandle<()> {
    let has_locked = Arc::new(Notify::new());
    let gate = Gate {
        what: Locked::Task(id(task)),
        has_locked: has_locked.clone(),
        go: go.clone(),
    };
    let store = fixture.store.clone();
    let locked = tokio::spawn(async move { store.write(Box::new(gate)).await.unwrap() });
    has_locked.notified().await;
    locked
}

#[tokio::test]
async fn leases_are_extended_while_all_other_connections_are_busy() {
    let fixture = Fixture::new(postgres_tasks);
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for_runs(1).await;
    let go = Arc::new(Notify::new());
    let mut busy = Vec::new();
    for number in 2..6 {
        let create = json!({"tasks": [task(number, "locked")]});
        fixture.ok("tasks/create", create).await;
    }
    for number in 2..6 {
        busy.push(lock(&fixture, number, &go).await);
    }
    for _ in 0..2 * LEASE_MS / 1000 {
        let before = lease_end(&fixture, &id(1)).await;
        fixture.clock.advance(1000);
        while lease_end(&fixture, &id(1)).await == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for busy in busy {
        go.notify_one();
        busy.await.unwrap();
    }
    fixture.world.go.notify_one();
    let done = fixture.wait_for(&id(1), "completed").await;
    assert_eq!(done["attempts"], 1);
}

#[tokio::test]
async fn a_locked_task_does_not_keep_the_leases_of_others_from_being_extended() {
    let fixture = Fixture::new(postgres_tasks);
    let _worker = fixture.worker();
    for number in [1, 2] {
        let held = calling(number, "held", "test/hold");
        fixture.execute(json!([held])).await;
    }
    fixture.wait_for_runs(2).await;
    let go = Arc::new(Notify::new());
    let locked = lock(&fixture, 1, &go).await;
    let before = [1, 2]
        .map(id)
        .map(async |it| lease_end(&fixture, &it).await);
    let before = join_all(before).await;
    fixture.clock.advance(1000);
    while lease_end(&fixture, &id(2)).await == before[1] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(lease_end(&fixture, &id(1)).await, before[0]);
    go.notify_one();
    locked.await.unwrap();
    fixture.clock.advance_when_asleep(1000).await;
    while lease_end(&fixture, &id(1)).await == before[0] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
