//! Tasks and events of a flow, as the operations return them and as much of them as is shown.

use jiff::Timestamp;
use panpan_failure::{Effect, Failure};
use panpan_flow::{Announcement, Dependency, State, TaskId};
use serde::Deserialize;
use serde_json::Value;

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeenTask {
    pub(super) id: TaskId,
    pub(super) parent: Option<TaskId>,
    pub(super) root: TaskId,
    pub(super) name: String,
    pub(super) state: State,
    /// From 0 to 1.
    pub(super) progress: f64,
    pub(super) attempts: u32,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) dependencies: Vec<Dependency>,
    /// The failure and its next move, or the reason of a cancelled task.
    pub(super) problem: Option<String>,
    /// Whether it failed and may have taken effect nevertheless.
    pub(super) may_have_happened: bool,
    pub(super) updated_at: Timestamp,
}

/// An event of a flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeenEvent {
    /// Its number in the journal of the flow.
    pub(super) number: u64,
    pub(super) task: TaskId,
    pub(super) state: State,
    pub(super) progress: f64,
    pub(super) at: Timestamp,
    /// Whether more about the task is known than this event says: its failure, its attempts.
    pub(super) has_details: bool,
    /// Whether the flow rests.
    pub(super) is_final: bool,
}

#[derive(Deserialize)]
struct TaskObject {
    id: TaskId,
    parent_id: Option<TaskId>,
    root_task_id: TaskId,
    name: String,
    status: String,
    progress: f64,
    attempts: u32,
    retry_at: Option<Timestamp>,
    dependencies: Vec<Dependency>,
    error: Option<String>,
    failure: Option<Value>,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct EventObject {
    id: u64,
    event: String,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    task_id: TaskId,
    status: String,
    progress: f64,
    timestamp: Timestamp,
    #[serde(rename = "final")]
    is_final: bool,
}

impl SeenTask {
    /// The task in an output; `None` if a newer server writes tasks in another way.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let task = TaskObject::deserialize(value).ok()?;
        let failure = task.failure.and_then(|it| Failure::from_canonical(it).ok());
        Some(Self {
            id: task.id,
            parent: task.parent_id,
            root: task.root_task_id,
            name: task.name,
            state: State::from_word(&task.status)?,
            progress: task.progress,
            attempts: task.attempts,
            retry_at: task.retry_at,
            dependencies: task.dependencies,
            may_have_happened: failure
                .as_ref()
                .is_some_and(|it| it.effect() != Effect::None),
            problem: failure.as_ref().map(problem).or(task.error),
            updated_at: task.updated_at,
        })
    }
}

/// A failure and its next move, in one line.
fn problem(failure: &Failure) -> String {
    let (code, message) = (failure.code(), failure.message());
    let next = failure.next_moves().into_iter().next();
    let next = next.map(|it| format!(" (next: {})", it.word()));
    format!("{code}: {message}{}", next.unwrap_or_default())
}

impl SeenEvent {
    /// The event in an item of `tasks/events`.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let event = EventObject::deserialize(value).ok()?;
        let data = event.data;
        Some(Self {
            number: event.id,
            task: data.task_id,
            state: State::from_word(&data.status)?,
            progress: data.progress,
            at: data.timestamp,
            has_details: has_details(&event.event),
            is_final: data.is_final,
        })
    }
}

/// Whether more about the task is known than events of this name say.
fn has_details(event: &str) -> bool {
    use Announcement::{Cancelled, Failed, ProgressUpdate};
    let announced = Announcement::from_word(event);
    matches!(announced, Some(Failed | Cancelled | ProgressUpdate))
}
