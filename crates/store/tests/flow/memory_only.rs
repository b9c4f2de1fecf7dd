//! What only a store in memory has: a limit of bytes, and no rollback.

use panpan_flow::TaskId;
use panpan_flow::ports::{Key, NewRow, Row, Rows, Work};
use panpan_flow::{Priority, Run};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
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

fn long(key: Key, definition: &std::sync::Arc<str>, now: jiff::Timestamp) -> NewRow {
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
