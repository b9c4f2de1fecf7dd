//! Reads flows through the store port.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use panpan_flow::ports::{Announced, Key, Row, Rows, StoredOutcome, Tasks, Work};
use panpan_flow::{Priority, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;

/// How many entries of a journal are read at once.
const PAGE: usize = 1000;

/// A flow as it is stored.
#[derive(Debug, Default)]
pub(super) struct StoredFlow {
    pub(super) tasks: BTreeMap<TaskId, StoredTask>,
    pub(super) journal: Vec<Announced>,
}

/// A task as it is stored.
#[derive(Debug)]
pub(super) struct StoredTask {
    pub(super) row: Row,
    /// The outcomes of all generations.
    pub(super) outcomes: Vec<StoredOutcome>,
}

/// Whether a task exists.
pub(super) async fn exists(tasks: &dyn Tasks, id: TaskId) -> bool {
    let found = read(tasks, move |rows| {
        Box::pin(async move { rows.find(&[id]).await.map(|it| !it.is_empty()) })
    });
    found.await
}

/// Whether all these flows exist, and no task of the store can run.
pub(super) async fn all_rest(tasks: &dyn Tasks, roots: &[TaskId]) -> bool {
    let roots = roots.to_vec();
    let rest = read(tasks, move |rows| {
        let roots = roots.clone();
        Box::pin(async move {
            let all_exist = rows.find(&roots).await?.len() == roots.len();
            let queues = [
                Priority::URGENT,
                Priority::HIGH,
                Priority::NORMAL,
                Priority::LOW,
            ];
            let queues = queues.map(|priority| (Key(0), priority));
            // The first task that becomes ready has turn 1.
            let none_ready = rows.next_turns(&queues).await? == [1; 4];
            let none_due = rows.next_due().await?.is_none();
            Ok(all_exist && none_ready && none_due)
        })
    });
    rest.await
}

/// The flow with these tasks.
pub(super) async fn flow(tasks: &dyn Tasks, ids: Vec<TaskId>) -> StoredFlow {
    let flow = read(tasks, move |rows| {
        let ids = ids.clone();
        Box::pin(async move {
            let mut flow = StoredFlow::default();
            for row in rows.find(&ids).await? {
                let outcomes = rows.generations(row.key, 0, usize::MAX).await?;
                flow.tasks.insert(row.id, StoredTask { row, outcomes });
            }
            if let Some(root) = flow.tasks.get(&ids[0]) {
                flow.journal = journal(rows, root.row.key).await?;
            }
            Ok(flow)
        })
    });
    flow.await
}

async fn journal(rows: &mut dyn Rows, flow: Key) -> Result<Vec<Announced>, StoreError> {
    let (mut journal, mut after) = (Vec::new(), 0);
    loop {
        let page = rows.announcements(flow, after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(journal);
        };
        after = *last;
        journal.extend(page.into_iter().map(|(_, entry)| entry));
    }
}

/// Runs a function that reads. The store of this test is never out of reach.
async fn read<T, F>(tasks: &dyn Tasks, function: F) -> T
where
    T: Send + 'static,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static,
{
    let result = Arc::new(Mutex::new(None));
    let reading = Reading {
        function,
        result: result.clone(),
    };
    tasks.read(Box::new(reading)).await.unwrap();
    let read = result.lock().unwrap().take();
    read.expect("the store ran the function")
}

struct Reading<F, T> {
    function: F,
    result: Arc<Mutex<Option<T>>>,
}

impl<F, T> Work for Reading<F, T>
where
    T: Send,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send,
{
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let result = (self.function)(rows).await?;
            *self.result.lock().unwrap() = Some(result);
            Ok(())
        })
    }
}
