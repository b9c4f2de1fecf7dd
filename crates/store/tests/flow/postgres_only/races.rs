//! Transactions that wait for each other's locks.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use panpan_flow::ports::{Ending, Key, Rows, Work};
use panpan_flow::testing::{End, HandWorker, Held};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use panpan_testkit::PostgresServer;
use serde_json::json;
use tokio::sync::Notify;

use super::{completed, journal, read};
use crate::shared::postgres_tasks;
use crate::support::{Fixture, LEASE_MS, below, id, task};

/// How many transactions wait for a lock in the database of a fixture.
fn waiting_for_locks(fixture: &Fixture) -> usize {
    let address = std::fs::read_to_string(fixture.folder.path("store.db")).unwrap();
    let database = address.rsplit('/').next().unwrap();
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"
    );
    let count = PostgresServer::shared().sql("postgres", &sql);
    count.parse().unwrap()
}

/// Holds locks until it is told to go on.
pub(super) struct Gate {
    pub(super) what: Locked,
    pub(super) has_locked: Arc<Notify>,
    pub(super) go: Arc<Notify>,
}

pub(super) enum Locked {
    Task(String),
    Flow(Key),
}

impl Work for Gate {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match &self.what {
                Locked::Task(id) => drop(rows.find(&[id.parse().unwrap()]).await?),
                Locked::Flow(flow) => drop(rows.at_rest(&[*flow]).await?),
            }
            self.has_locked.notify_one();
            self.go.notified().await;
            Ok(())
        })
    }
}

/// Waits until this many transactions wait for locks.
async fn until_waiting(fixture: &Fixture, count: usize) {
    for _ in 0..500 {
        if waiting_for_locks(fixture) == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(waiting_for_locks(fixture), count);
}

/// Runs two calls that both wait for the same lock before either of them can go on. They get it in this order.
async fn race<A, B>(
    fixture: &Fixture,
    what: Locked,
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B) {
    let (has_locked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (store, gate) = (
        fixture.store.clone(),
        Gate {
            what,
            has_locked: has_locked.clone(),
            go: go.clone(),
        },
    );
    let gate = tokio::spawn(async move { store.write(Box::new(gate)).await });
    has_locked.notified().await;
    let second = async {
        until_waiting(fixture, 1).await;
        second.await
    };
    let open = async {
        until_waiting(fixture, 2).await;
        go.notify_one();
        gate.await.unwrap().unwrap();
    };
    let (raced, ()) = join(join(first, second), open).await;
    raced
}

#[tokio::test]
async fn two_workers_that_end_two_dependencies_at_once_release_the_dependent() {
    let fixture = Fixture::new(postgres_tasks);
    let other = fixture.beside(postgres_tasks);
    let mut last = task(1, "last");
    last["dependencies"] = json!([{"id": id(2)}, {"id": id(3)}]);
    let (first, second) = (below(task(2, "a"), &[]), below(task(3, "b"), &[]));
    fixture.execute(json!([last, first, second])).await;
    let workers = [&fixture, &other].map(|it| HandWorker::new(it.store.clone()));
    let a = workers[0].claim(1, LEASE_MS).await.unwrap();
    let b = workers[1].claim(1, LEASE_MS).await.unwrap();
    assert_eq!(read(&fixture, &id(1)).await.run.waiting, 2);
    let (ended, other_ended) = race(
        &fixture,
        Locked::Task(id(1)),
        workers[0].finish(a.iter().map(completed).collect()),
        workers[1].finish(b.iter().map(completed).collect()),
    )
    .await;
    ended.unwrap();
    other_ended.unwrap();
    assert_eq!(read(&fixture, &id(1)).await.run.waiting, 0);
    let claims = join_all(workers.iter().map(|it| it.claim(5, LEASE_MS))).await;
    let claimed: Vec<String> = claims
        .into_iter()
        .flat_map(|it| it.unwrap())
        .map(|it| it.id.to_string())
        .collect();
    assert_eq!(claimed, [id(1)]);
}

/// Removes the first of two dependencies of a task, while a second call changes the state of that one.
async fn removed_meanwhile<T>(fixture: &Fixture, changed: impl Future<Output = T>) -> (T, u32) {
    let other = fixture.beside(postgres_tasks);
    let only_second = json!({
        "task_id": id(4),
        "updates": {"dependencies": [{"id": id(3), "required": true}]},
    });
    let (updated, changed) = race(
        fixture,
        Locked::Task(id(4)),
        other.call("tasks/update", only_second),
        changed,
    )
    .await;
    updated.unwrap();
    (changed, read(fixture, &id(4)).await.run.waiting)
}

#[tokio::test]
async fn a_dependency_that_ends_while_it_is_removed_is_not_counted() {
    let fixture = Fixture::new(postgres_tasks);
    let tasks = [
        task(1, "root"),
        below(task(2, "a"), &[]),
        below(task(3, "c"), &[]),
        below(task(4, "b"), &[(2, true), (3, true)]),
    ];
    fixture.execute(json!(tasks)).await;
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(2, LEASE_MS).await.unwrap();
    let a = held.iter().filter(|it| it.id.to_string() == id(2));
    let ended = worker.finish(a.map(completed).collect());
    let (ended, waiting) = removed_meanwhile(&fixture, ended).await;
    ended.unwrap();
    assert_eq!(waiting, 1);
}

#[tokio::test]
async fn a_dependency_that_is_reset_while_it_is_removed_is_not_counted() {
    let fixture = Fixture::new(postgres_tasks);
    let tasks = [
        task(1, "root"),
        below(task(2, "a"), &[]),
        below(task(3, "c"), &[]),
        below(task(4, "b"), &[(2, false), (3, true)]),
    ];
    fixture.execute(json!(tasks)).await;
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(2, LEASE_MS).await.unwrap();
    let a = held.iter().find(|it| it.id.to_string() == id(2));
    let failed = End::With(Ending::Failed {
        error: "broken".into(),
        failure: "{}".into(),
    });
    worker.finish(vec![(*a.unwrap(), failed)]).await.unwrap();
    let reset = json!({"task_id": id(2), "updates": {"status": "pending"}});
    let reset = fixture.call("tasks/update", reset);
    let (reset, waiting) = removed_meanwhile(&fixture, reset).await;
    reset.unwrap();
    assert_eq!(waiting, 1);
}

#[tokio::test]
async fn the_journal_ends_when_the_last_two_tasks_end_at_once() {
    let fixture = Fixture::new(postgres_tasks);
    let other = fixture.beside(postgres_tasks);
    let root = fixture
        .execute(json!([task(1, "a"), below(task(2, "b"), &[])]))
        .await;
    let flow = read(&fixture, &root).await.flow;
    let (cancelled, other_cancelled) = race(
        &fixture,
        Locked::Flow(flow),
        fixture.call("tasks/cancel", json!({"task_id": id(1)})),
        other.call("tasks/cancel", json!({"task_id": id(2)})),
    )
    .await;
    cancelled.unwrap();
    other_cancelled.unwrap();
    let journal = journal(&*fixture.store, flow, 0).await;
    let rests: Vec<bool> = journal.iter().map(|(_, it)| it.task.is_none()).collect();
    assert_eq!(rests, [false, false, true]);
}

/// The message of a flow that rests names a failed task, which another transaction may have locked: that one waits for
/// the flow.
#[tokio::test]
async fn a_flow_rests_while_its_failed_task_is_locked() {
    let fixture = Fixture::new(postgres_tasks);
    let tasks = [
        task(1, "root"),
        below(task(2, "pay"), &[]),
        below(task(3, "ship"), &[]),
    ];
    let webhook = json!({"url": "https://hooks.example.com/T0/k3y"});
    let flow = json!({"tasks": tasks, "webhook_config": webhook});
    fixture.ok("tasks/execute", flow).await;
    let worker = HandWorker::new(fixture.store.clone());
    let held = worker.claim(2, LEASE_MS).await.unwrap();
    let failed = |held: &Held| {
        let (error, failure) = ("broken".into(), "{}".into());
        (*held, End::With(Ending::Failed { error, failure }))
    };
    worker
        .finish(held.iter().map(failed).collect())
        .await
        .unwrap();
    let (has_locked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gate = Gate {
        what: Locked::Task(id(2)),
        has_locked: has_locked.clone(),
        go: go.clone(),
    };
    let store = fixture.store.clone();
    let gate = tokio::spawn(async move { store.write(Box::new(gate)).await });
    has_locked.notified().await;
    fixture.ok("tasks/cancel", json!({"task_id": id(3)})).await;
    let children = json!({"parent_id": id(1)});
    assert_eq!(fixture.ok("tasks/children", children).await["total"], 3);
    go.notify_one();
    gate.await.unwrap().unwrap();
}
