//! What only a store has that many processes share: locks, the order of journals, notifications, and a database that
//! goes away. `races` has transactions that wait for each other, `leases` those that others may
//! not hold up.

mod leases;
mod races;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::future::join;
use panpan_flow::TaskId;
use panpan_flow::ports::{Ending, JournalPage, Key, Row, Rows, Work};
use panpan_flow::testing::{End, HandWorker, Held};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use panpan_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::shared::{ManualClock, TaskStore, postgres_tasks};
use crate::support::{Fixture, LEASE_MS, below, calling, id, task};

/// Finds a task.
struct Find(TaskId, Arc<Mutex<Option<Row>>>);

impl Work for Find {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            *self.1.lock().unwrap() = rows.find(&[self.0]).await?.pop();
            Ok(())
        })
    }
}

async fn read(fixture: &Fixture, task: &str) -> Row {
    let found = Arc::new(Mutex::new(None));
    let work = Find(task.parse().unwrap(), found.clone());
    fixture.store.read(Box::new(work)).await.unwrap();
    found.lock().unwrap().take().unwrap()
}

async fn journal(store: &dyn TaskStore, flow: Key, after: u64) -> JournalPage {
    struct Read(Key, u64, Arc<Mutex<JournalPage>>);
    impl Work for Read {
        fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async move {
                *self.2.lock().unwrap() = rows.announcements(self.0, self.1, 10_000).await?;
                Ok(())
            })
        }
    }
    let page = Arc::new(Mutex::new(JournalPage::new()));
    let work = Read(flow, after, page.clone());
    store.read(Box::new(work)).await.unwrap();
    std::mem::take(&mut *page.lock().unwrap())
}

fn completed(held: &Held) -> (Held, End) {
    let result = "{}".into();
    (*held, End::With(Ending::Completed { result }))
}

/// A reader that always continues after the last number it has seen misses nothing, however many processes write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_of_a_journal_become_visible_in_their_order() {
    let fixture = Fixture::new(postgres_tasks);
    let mut tasks = vec![task(1, "root")];
    tasks.extend((2..=90).map(|number| below(task(number, "one"), &[])));
    let root = fixture.execute(Value::Array(tasks)).await;
    let flow = read(&fixture, &root).await.flow;
    let workers = (0..3).map(|_| {
        let store = fixture.beside(postgres_tasks).store;
        tokio::spawn(async move {
            let worker = HandWorker::new(store);
            loop {
                let held = worker.claim(2, LEASE_MS).await.unwrap();
                if held.is_empty() {
                    return;
                }
                let ended = held.iter().map(completed).collect();
                worker.finish(ended).await.unwrap();
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let is_over = workers.iter().all(|it| it.is_finished());
        for (number, _) in journal(&*fixture.store, flow, after).await {
            after = number;
            seen.push(number);
        }
        if is_over {
            break;
        }
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let all: Vec<u64> = (1..=180).collect();
    assert_eq!(seen, all);
}

/// Time stands still, so that nothing but the notification can wake the worker.
#[tokio::test]
async fn a_notification_wakes_the_worker_of_another_process() {
    let fixture = Fixture::new(postgres_tasks);
    let other = fixture.beside(postgres_tasks);
    let mut changes = other.store.changes();
    // The first change is that it listens.
    changes.changed().await.unwrap();
    let _worker = other.worker();
    let root = fixture.execute(json!([task(1, "one")])).await;
    other.wait_for_runs(1).await;
    fixture.wait_for(&root, "completed").await;
}

#[tokio::test]
async fn a_store_is_not_woken_by_its_own_changes() {
    let fixture = Fixture::new(postgres_tasks);
    let other = fixture.beside(postgres_tasks);
    let (mut own, mut others) = (fixture.store.changes(), other.store.changes());
    own.changed().await.unwrap();
    others.changed().await.unwrap();
    let before = *own.borrow_and_update();
    let created = json!({"tasks": [task(1, "one")]});
    fixture.ok("tasks/create", created).await;
    others.changed().await.unwrap();
    // By now the notification has reached the listeners. The other one answers, so that the first one hears twice.
    let deleted = json!({"task_id": id(1)});
    other.ok("tasks/delete", deleted).await;
    own.wait_for(|it| *it >= before + 2).await.unwrap();
    assert_eq!(*own.borrow(), before + 2);
}

fn private_server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER.get_or_init(|| PostgresServer::start(&[]))
}

fn on_private_server(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn TaskStore> {
    if !path.exists() {
        std::fs::write(path, private_server().new_database()).unwrap();
    }
    postgres_tasks(path, clock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_go_on_when_the_database_is_back() {
    let fixture = Fixture::new(on_private_server);
    let _worker = fixture.worker();
    let mut last = task(1, "last");
    last["dependencies"] = json!([{"id": id(2)}]);
    let held = below(calling(2, "held", "test/hold"), &[]);
    let root = fixture.execute(json!([last, held])).await;
    fixture.wait_for_runs(1).await;
    private_server().stop();
    let work = || Box::new(Find(root.parse().unwrap(), Arc::default()));
    let refused = fixture.store.write(work()).await;
    assert_eq!(refused, Err(StoreError::Unreachable));
    fixture.world.go.notify_one();
    private_server().start_again();
    while fixture.store.read(work()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The worker tries again by its clock.
    while fixture.status(&root).await != "completed" {
        fixture.clock.advance(100);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.task(&id(2)).await["attempts"], 1);
    assert_eq!(fixture.world.runs(), ["held", "last"]);
}

/// Two callers create a task with the same id at the same moment: one is told that it exists.
#[tokio::test]
async fn an_id_is_used_once_by_concurrent_callers() {
    let fixture = Fixture::new(postgres_tasks);
    let other = fixture.beside(postgres_tasks);
    for number in 1..=10 {
        let create = json!({"tasks": [task(number, "one")]});
        let (a, b) = join(
            fixture.call("tasks/create", create.clone()),
            other.call("tasks/create", create),
        )
        .await;
        let refused: Vec<_> = [a, b].into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), 1);
        assert_ne!(refused[0].code().as_str(), "ERR_STORE_UNAVAILABLE");
    }
}
