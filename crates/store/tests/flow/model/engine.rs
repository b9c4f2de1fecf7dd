//! The engine over a store, driven event by event.

use std::sync::{Arc, Mutex};

use panpan_flow::ports::{Ending, Row, Rows, Work};
use panpan_flow::testing::{End, HandWorker, Held};
use panpan_flow::{Queued, State, TaskId};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{Clock as _, StoreError};
use serde_json::{Value, json};

use super::rules::{Code, Ends, LEASE_MS, Task};
use crate::support::{Fixture, id};

/// The flows of one run.
pub(super) struct Engine {
    fixture: Fixture,
    worker: HandWorker,
    ids: Vec<String>,
    /// The number of the next id.
    next_id: u64,
    /// Every lease that was ever given.
    held: Vec<Held>,
    start_ms: u64,
}

/// What can be seen of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) generation: u32,
    pub(super) attempts: u32,
    pub(super) recoveries: u32,
    pub(super) priority: u8,
    pub(super) is_held: bool,
    pub(super) is_ready: bool,
    /// The turn, if it is queued as ready.
    pub(super) turn: Option<i64>,
    /// The end of a lease or the time of a retry, if it is to come.
    pub(super) due_ms: Option<u64>,
    pub(super) waiting: usize,
    pub(super) blocked_by: Vec<usize>,
    pub(super) dependencies: Vec<(usize, bool)>,
}

/// The refusals that can occur.
const CODES: [Code; 5] = [
    "CANNOT_DELETE_TASK",
    "TASK_ALREADY_EXECUTING",
    "INVALID_STATE_TRANSITION",
    "DEPENDENCY_NOT_SATISFIED",
    "CIRCULAR_DEPENDENCY",
];

impl Engine {
    /// Creates flows; the seed keeps their ids apart from those of other runs.
    pub(super) async fn create(fixture: &Fixture, seed: u64, tasks: &[Task]) -> Self {
        let number = |at: usize| seed * 100 + u64::try_from(at).unwrap() + 1;
        let engine = Self {
            fixture: fixture.clone(),
            worker: HandWorker::new(fixture.store.clone()),
            ids: (0..tasks.len()).map(|at| id(number(at))).collect(),
            next_id: number(tasks.len()),
            held: Vec::new(),
            start_ms: milliseconds(fixture.clock.now()),
        };
        let mut roots: Vec<usize> = tasks.iter().map(|task| task.root).collect();
        roots.dedup();
        for root in roots {
            let of_flow = tasks
                .iter()
                .enumerate()
                .filter(|(_, task)| task.root == root);
            let of_flow: Vec<Value> = of_flow.map(|(at, task)| engine.written(at, task)).collect();
            fixture.ok("tasks/create", json!({"tasks": of_flow})).await;
        }
        engine
    }

    fn written(&self, at: usize, task: &Task) -> Value {
        json!({
            "id": self.ids[at],
            "name": format!("task {at}"),
            "parent_id": (at != task.root).then(|| &self.ids[task.root]),
            "priority": task.priority,
            "dependencies": self.dependencies(&task.on),
        })
    }

    fn dependencies(&self, on: &[(usize, bool)]) -> Value {
        let one =
            |(on, required): &(usize, bool)| json!({"id": self.ids[*on], "required": required});
        on.iter().map(one).collect()
    }

    fn position(&self, id: &Value) -> usize {
        self.ids.iter().position(|it| id == it.as_str()).unwrap()
    }

    async fn call(&self, operation: &str, input: Value) -> Result<Value, Code> {
        let answer = self.fixture.call(operation, input).await;
        answer.map_err(|failure| {
            let code = CODES.into_iter().find(|it| *it == failure.code().as_str());
            code.unwrap_or_else(|| panic!("{operation}: {}", failure.message()))
        })
    }

    async fn update(&self, task: usize, updates: Value) -> Result<(), Code> {
        let input = json!({"task_id": self.ids[task], "updates": updates});
        self.call("tasks/update", input).await.map(drop)
    }

    pub(super) async fn execute(&self, task: usize, cascade: bool) -> Result<usize, Code> {
        let input = json!({"task_id": self.ids[task], "cascade": cascade});
        let executed = self.call("tasks/execute", input).await?;
        Ok(usize::try_from(executed["reset"].as_u64().unwrap()).unwrap())
    }

    pub(super) async fn claim(&mut self, limit: usize) -> Vec<usize> {
        let held = self.worker.claim(limit, LEASE_MS).await.unwrap();
        let positions = held
            .iter()
            .map(|it| self.position(&it.id.to_string().into()))
            .collect();
        self.held.extend(held);
        positions
    }

    pub(super) async fn finish(&self, ends: &[(usize, Ends)]) {
        let end = |ends: Ends| match ends {
            Ends::Completed => End::With(Ending::Completed {
                result: "{}".into(),
            }),
            Ends::Failed => End::With(Ending::Failed {
                error: "broken".into(),
                failure: "{}".into(),
            }),
            Ends::RetryIn(ms) => End::RetryIn(ms),
        };
        let ended = ends
            .iter()
            .map(|(lease, ends)| (self.held[*lease], end(*ends)));
        self.worker.finish(ended.collect()).await.unwrap();
    }

    pub(super) async fn extend(&self, lease: usize) -> bool {
        self.worker
            .extend(self.held[lease], None, LEASE_MS)
            .await
            .unwrap()
    }

    pub(super) async fn cancel(&self, task: usize) -> Result<(), Code> {
        let input = json!({"task_id": self.ids[task]});
        self.call("tasks/cancel", input).await.map(drop)
    }

    /// Adds a task to a flow.
    pub(super) async fn create_into(&mut self, task: &Task) {
        let at = self.ids.len();
        self.ids.push(id(self.next_id));
        self.next_id += 1;
        let input = json!({"tasks": [self.written(at, task)]});
        self.fixture.ok("tasks/create", input).await;
    }

    /// Copies a task alone.
    pub(super) async fn copy(&mut self, task: usize) {
        let input = json!({"task_id": self.ids[task]});
        let copied = self.fixture.ok("tasks/copy", input).await;
        let id = copied["copied_task_id"].as_str().unwrap();
        self.ids.push(id.to_owned());
    }

    /// Deletes the newest task.
    pub(super) async fn delete_newest(&mut self) -> Result<(), Code> {
        let input = json!({"task_id": self.ids.last()});
        let deleted = self.call("tasks/delete", input).await.map(drop);
        if deleted.is_ok() {
            self.ids.pop();
        }
        deleted
    }

    pub(super) async fn set_pending(&self, task: usize) -> Result<(), Code> {
        self.update(task, json!({"status": "pending"})).await
    }

    pub(super) async fn set_priority(&self, task: usize, priority: u8) -> Result<(), Code> {
        self.update(task, json!({"priority": priority})).await
    }

    pub(super) async fn set_dependencies(
        &self,
        task: usize,
        on: &[(usize, bool)],
    ) -> Result<(), Code> {
        self.update(task, json!({"dependencies": self.dependencies(on)}))
            .await
    }

    pub(super) fn advance(&self, ms: u64) {
        self.fixture.clock.advance(ms);
    }

    async fn rows(&self) -> Vec<Row> {
        let ids: Vec<TaskId> = self.ids.iter().map(|id| id.parse().unwrap()).collect();
        let found = Arc::new(Mutex::new(Vec::new()));
        let work = FindRows(ids.clone(), found.clone());
        self.fixture.store.read(Box::new(work)).await.unwrap();
        let mut rows = std::mem::take(&mut *found.lock().unwrap());
        rows.sort_by_key(|row: &Row| ids.iter().position(|it| *it == row.id));
        rows
    }

    pub(super) async fn see(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (at, row) in self.rows().await.into_iter().enumerate() {
            let task = self.fixture.task(&self.ids[at]).await;
            seen.push(self.seen(&row, &task));
        }
        seen
    }

    fn seen(&self, row: &Row, task: &Value) -> Seen {
        let run = &row.run;
        let now = self.fixture.clock.now();
        let due = match run.queued {
            Queued::At(at) if at > now => Some(milliseconds(at) - self.start_ms),
            _ => None,
        };
        assert_members(run.state, task);
        let dependency = |it: &Value| (self.position(&it["id"]), it["required"] == true);
        let blocked_by = task["blocked_by"].as_array().unwrap().iter();
        let dependencies = task["dependencies"].as_array().unwrap().iter();
        Seen {
            state: run.state,
            generation: run.generation,
            attempts: run.attempts,
            recoveries: run.recoveries,
            priority: row.priority.number(),
            is_held: run.is_held,
            is_ready: run.queued != Queued::No && due.is_none(),
            turn: (run.queued == Queued::Ready).then_some(row.turn),
            due_ms: due,
            waiting: usize::try_from(run.waiting).unwrap(),
            blocked_by: blocked_by.map(|it| self.position(it)).collect(),
            dependencies: dependencies.map(dependency).collect(),
        }
    }

    /// All generations are kept with how they ended.
    pub(super) async fn compare_endings(&self, model: &super::rules::Model) -> Result<(), String> {
        for (at, task) in model.tasks.iter().enumerate() {
            let input = json!({"task_id": self.ids[at]});
            let kept = self.fixture.ok("tasks/generations", input).await;
            let kept = kept["generations"].as_array().unwrap().iter();
            let kept: Vec<&str> = kept.map(|it| it["status"].as_str().unwrap()).collect();
            let expected: Vec<&str> = task.endings.iter().map(|it| it.word()).collect();
            if kept != expected {
                return Err(format!(
                    "generations of task {at}: engine {kept:?}, model {expected:?}"
                ));
            }
        }
        Ok(())
    }

    pub(super) async fn cancel_all(&self) {
        for id in &self.ids {
            let _ = self
                .fixture
                .call("tasks/cancel", json!({"task_id": id}))
                .await;
        }
    }
}

/// The members that depend on the state.
fn assert_members(state: State, task: &Value) {
    let has = |name: &str| !task[name].is_null();
    let is_unsuccessful = matches!(state, State::Failed | State::Cancelled);
    assert_eq!(task["status"], state.word());
    assert_eq!(has("result"), state == State::Completed, "{task}");
    assert_eq!(has("error"), is_unsuccessful, "{task}");
    assert_eq!(has("completed_at"), state.is_terminal(), "{task}");
    assert!(has("started_at") || state != State::InProgress, "{task}");
    assert!(!has("started_at") || state != State::Pending, "{task}");
}

fn milliseconds(time: jiff::Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap()
}

/// Finds the rows of tasks.
struct FindRows(Vec<TaskId>, Arc<Mutex<Vec<Row>>>);

impl Work for FindRows {
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            *self.1.lock().unwrap() = rows.find(&self.0).await?;
            Ok(())
        })
    }
}
