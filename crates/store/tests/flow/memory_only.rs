//! What only a store in memory has: a limit of bytes, and no rollback.

use std::sync::Arc;

use panpan_flow::ports::{Edge, Key, NewRow, Redefined, Row, Rows, Work};
use panpan_flow::{Priority, Run, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use panpan_store::MEMORY_TASKS_BYTES_LIMIT;
use serde_json::json;

use crate::shared::memory_tasks;
use crate::support::{Fixture, id, task};

/// Adds tasks that share a definition of this length.
struct Fill {
    tasks: usize,
    length: usize,
}

impl Work for Fill {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let definition = " ".repeat(self.length).into();
            let mut new = Vec::new();
            for key in rows.reserve(self.tasks).await? {
                new.push(long(key, &definition, rows.now()));
            }
            rows.insert(&new).await
        })
    }
}

fn long(key: Key, definition: &Arc<str>, now: jiff::Timestamp) -> NewRow {
    let number = u64::try_from(key.0).unwrap();
    let id: TaskId = id(1_000_000 + number).parse().unwrap();
    NewRow {
        row: Row {
            key,
            id,
            flow: key,
            parent: None,
            owner: None,
            priority: Priority::NORMAL,
            turn: 0,
            created_at: now,
            has_references: false,
            operation: None,
            run: Run::new(0, now),
        },
        definition: definition.clone(),
        authority: None,
        user_id: None,
        dependencies: Vec::new(),
    }
}

/// What a test does with the rows in one transaction.
struct Change<F>(F);

impl<F> Work for Change<F>
where
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> + Send,
{
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        (self.0)(rows)
    }
}

async fn write<F>(fixture: &Fixture, change: F) -> Result<(), StoreError>
where
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> + Send + 'static,
{
    fixture.store.write(Box::new(Change(change))).await
}

/// Adds a task with so many dependencies.
async fn add(rows: &mut dyn Rows, dependencies: usize) -> Result<Key, StoreError> {
    let key = rows.reserve(1).await?[0];
    let mut new = long(key, &"{}".into(), rows.now());
    new.dependencies = edges(key, dependencies);
    rows.insert(&[new]).await?;
    Ok(key)
}

fn edges(task: Key, count: usize) -> Vec<Edge> {
    let edge = |number| Edge {
        task,
        on: Key(-1 - number),
        required: true,
    };
    (0..i64::try_from(count).unwrap()).map(edge).collect()
}

#[tokio::test]
async fn a_definition_that_grows_and_shrinks_takes_no_more_memory() {
    const LENGTH: usize = 64 * 1024 * 1024;
    let fixture = Fixture::new(memory_tasks);
    let redefined = write(&fixture, |rows| {
        Box::pin(async move {
            let key = add(rows, 0).await?;
            let (long, short): (Arc<str>, Arc<str>) = (" ".repeat(LENGTH).into(), "{}".into());
            for definition in [long, short].into_iter().cycle().take(20) {
                let redefined = Redefined {
                    definition,
                    priority: Priority::NORMAL,
                    operation: None,
                    user_id: None,
                };
                rows.redefine(key, &redefined).await?;
            }
            Ok(())
        })
    });
    assert_eq!(redefined.await, Ok(()));
    let tasks = MEMORY_TASKS_BYTES_LIMIT / LENGTH - 1;
    let added = fixture.store.write(Box::new(Fill {
        tasks,
        length: LENGTH,
    }));
    assert_eq!(added.await, Ok(()));
}

#[tokio::test]
async fn dependencies_and_histories_take_memory_until_they_are_gone() {
    /// Twice as many as there is room for.
    const EDGES: usize = 10_000;
    let fixture = Fixture::new(memory_tasks);
    let almost_full = Fill {
        tasks: 511,
        length: 1024 * 1024,
    };
    assert_eq!(fixture.store.write(Box::new(almost_full)).await, Ok(()));
    let with = async |dependencies| {
        let added = write(&fixture, move |rows| {
            Box::pin(async move { add(rows, dependencies).await.map(drop) })
        });
        added.await
    };
    assert_eq!(with(EDGES).await, Err(StoreError::Full));
    let changed = write(&fixture, |rows| {
        Box::pin(async move {
            let key = add(rows, 0).await?;
            let history: Arc<str> = " ".repeat(EDGES).into();
            for _ in 0..100 {
                rows.replace_dependencies(key, &edges(key, EDGES)).await?;
                rows.replace_dependencies(key, &[]).await?;
                rows.set_histories(&[(key, Some(history.clone()))]).await?;
                rows.set_histories(&[(key, None)]).await?;
            }
            rows.replace_dependencies(key, &edges(key, EDGES)).await?;
            rows.delete(&[key]).await
        })
    });
    assert_eq!(changed.await, Ok(()));
    assert_eq!(with(EDGES / 2).await, Ok(()));
    assert_eq!(with(EDGES / 2).await, Err(StoreError::Full));
}

/// A message is added after the end of a task, which this store could not undo.
#[tokio::test]
async fn a_full_memory_refuses_new_tasks_but_not_messages() {
    let fixture = Fixture::new(memory_tasks);
    let webhook = json!({"url": "https://hooks.example.com/T0/k3y"});
    let flow = json!({"tasks": [task(1, "one")], "webhook_config": webhook});
    fixture.ok("tasks/execute", flow).await;
    for (tasks, length) in [(100, 1024 * 1024), (1, 1024 * 1024), (1, 8 * 1024), (1, 0)] {
        let fill = || fixture.store.write(Box::new(Fill { tasks, length }));
        while fill().await.is_ok() {}
        assert_eq!(fill().await, Err(StoreError::Full));
    }
    fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    let children = json!({"parent_id": id(1)});
    assert_eq!(fixture.ok("tasks/children", children).await["total"], 1);
}
