//! Writes the task object of the protocol.
//!
//! [`Phase`] has for each state only the values that the protocol allows in it, so that no combination of
//! fields is invalid.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::members::WEBHOOK;
use super::retry::written_retry;
use super::{Definition, Dependency, Schemas, TaskId};
use crate::state::State;

/// A task as it is written.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The id.
    pub id: TaskId,
    /// The parent, if this is not a root.
    pub parent: Option<TaskId>,
    /// The root of its flow.
    pub root: TaskId,
    /// What the client defined.
    pub definition: &'a Definition,
    /// The tasks that it waits for.
    pub dependencies: &'a [Dependency],
    /// The state, with what belongs to it.
    pub phase: Phase<'a>,
    /// From 0 to 1. A completed task has 1, whatever this is.
    pub progress: f64,
    /// How many times it was executed again.
    pub generation: u32,
    /// How many attempts this generation has had.
    pub attempts: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// Whether other tasks are copies of it or links to it.
    pub has_references: bool,
}

/// A state, with the values that exist only in it.
#[derive(Clone, Copy, Debug)]
pub enum Phase<'a> {
    /// Not started.
    Pending {
        /// The required dependencies that ended without completing.
        blocked_by: &'a [TaskId],
        /// When it is attempted again, if it waits for that.
        retry_at: Option<Timestamp>,
    },
    /// Being executed.
    InProgress {
        /// When it started.
        started_at: Timestamp,
        /// When it is attempted again, if it waits for that.
        retry_at: Option<Timestamp>,
    },
    /// Done.
    Completed {
        /// When it started.
        started_at: Timestamp,
        /// When it ended.
        completed_at: Timestamp,
        /// The output; written as an object.
        output: &'a Value,
    },
    /// Ended by a failure.
    Failed {
        /// When it started; absent if it failed before it started.
        started_at: Option<Timestamp>,
        /// When it ended.
        completed_at: Timestamp,
        /// The message; an empty one is replaced.
        error: &'a str,
        /// The failure in its canonical form.
        failure: Option<&'a Value>,
    },
    /// Cancelled on request.
    Cancelled {
        /// When it started; absent if it never did.
        started_at: Option<Timestamp>,
        /// When it ended.
        completed_at: Timestamp,
        /// The message; an absent or empty one is replaced.
        error: Option<&'a str>,
        /// The failure in its canonical form.
        failure: Option<&'a Value>,
    },
}

impl<'a> Phase<'a> {
    /// The state.
    pub const fn state(&self) -> State {
        match self {
            Phase::Pending { .. } => State::Pending,
            Phase::InProgress { .. } => State::InProgress,
            Phase::Completed { .. } => State::Completed,
            Phase::Failed { .. } => State::Failed,
            Phase::Cancelled { .. } => State::Cancelled,
        }
    }

    fn result(&self) -> Option<Cow<'a, Value>> {
        match self {
            Phase::Completed { output, .. } => Some(result_object(output)),
            _ => None,
        }
    }

    fn error(&self) -> Option<&'a str> {
        let stated = match self {
            Phase::Failed { error, .. } => Some(*error),
            Phase::Cancelled { error, .. } => *error,
            _ => return None,
        };
        // The protocol requires a message in both states.
        let stated = stated.filter(|it| !it.is_empty());
        Some(stated.unwrap_or(self.state().word()))
    }

    fn failure(&self) -> Option<&'a Value> {
        match self {
            Phase::Failed { failure, .. } | Phase::Cancelled { failure, .. } => *failure,
            _ => None,
        }
    }

    fn blocked_by(&self) -> &'a [TaskId] {
        match self {
            Phase::Pending { blocked_by, .. } => blocked_by,
            _ => &[],
        }
    }

    fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Phase::Pending { retry_at, .. } | Phase::InProgress { retry_at, .. } => *retry_at,
            _ => None,
        }
    }

    fn started_at(&self) -> Option<Timestamp> {
        match self {
            Phase::Pending { .. } => None,
            Phase::InProgress { started_at, .. } | Phase::Completed { started_at, .. } => {
                Some(*started_at)
            }
            Phase::Failed { started_at, .. } | Phase::Cancelled { started_at, .. } => *started_at,
        }
    }

    fn completed_at(&self) -> Option<Timestamp> {
        match self {
            Phase::Pending { .. } | Phase::InProgress { .. } => None,
            Phase::Completed { completed_at, .. }
            | Phase::Failed { completed_at, .. }
            | Phase::Cancelled { completed_at, .. } => Some(*completed_at),
        }
    }

    fn progress(&self, reported: f64) -> f64 {
        match self {
            Phase::Completed { .. } => 1.0,
            _ if reported.is_nan() => 0.0,
            _ => reported.clamp(0.0, 1.0),
        }
    }
}

/// An output as the `result` of a task: an object as it is, any other value in the member `result`.
///
/// References resolve in this form.
pub fn result_object(output: &Value) -> Cow<'_, Value> {
    match output {
        Value::Object(_) => Cow::Borrowed(output),
        other => Cow::Owned(json!({ "result": other })),
    }
}

impl TaskView<'_> {
    /// The task object as a value.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a view has only JSON values and string keys")
    }
}

impl Serialize for TaskView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (definition, phase) = (self.definition, &self.phase);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("parent_id", &self.parent)?;
        map.serialize_entry("root_task_id", &self.root)?;
        map.serialize_entry("user_id", &definition.user_id())?;
        map.serialize_entry("name", definition.name())?;
        map.serialize_entry("status", phase.state().word())?;
        map.serialize_entry("priority", &definition.priority)?;
        map.serialize_entry("inputs", &definition.inputs)?;
        map.serialize_entry("schemas", &definition.schemas.as_ref().map(SchemasView))?;
        map.serialize_entry("params", &definition.params)?;
        map.serialize_entry("dependencies", self.dependencies)?;
        map.serialize_entry("result", &phase.result())?;
        map.serialize_entry("error", &phase.error())?;
        map.serialize_entry("failure", &phase.failure())?;
        map.serialize_entry("progress", &phase.progress(self.progress))?;
        map.serialize_entry("blocked_by", phase.blocked_by())?;
        map.serialize_entry("generation", &self.generation)?;
        map.serialize_entry("attempts", &self.attempts)?;
        if let Some(retry_at) = phase.retry_at() {
            map.serialize_entry("retry_at", &retry_at)?;
        }
        if let Some(retry) = &definition.retry {
            map.serialize_entry("retry", &written_retry(retry))?;
        }
        if let Some(webhook) = &definition.webhook {
            map.serialize_entry(WEBHOOK, &json!({"url": webhook.shown()}))?;
        }
        map.serialize_entry("created_at", &self.created_at)?;
        map.serialize_entry("updated_at", &self.updated_at)?;
        map.serialize_entry("started_at", &phase.started_at())?;
        map.serialize_entry("completed_at", &phase.completed_at())?;
        map.serialize_entry("origin_type", definition.origin.word())?;
        map.serialize_entry("original_task_id", &definition.origin.original())?;
        map.serialize_entry("has_references", &self.has_references)?;
        write_extra(definition.extra(), super::members::is_known, &mut map)?;
        map.end()
    }
}

/// Writes preserved members, except those that are written already: no member appears twice, even if a store
/// has an extra member that a later version knows.
fn write_extra<M: SerializeMap>(
    extra: &Map<String, Value>,
    is_written: impl Fn(&str) -> bool,
    map: &mut M,
) -> Result<(), M::Error> {
    let extra = extra.iter().filter(|(name, _)| !is_written(name));
    for (name, value) in extra {
        map.serialize_entry(name, value)?;
    }
    Ok(())
}

struct SchemasView<'a>(&'a Schemas);

impl Serialize for SchemasView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const WRITTEN: [&str; 4] = ["method", "type", "input_schema", "model"];
        let schemas = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", schemas.method())?;
        if let Some(kind) = schemas.kind() {
            map.serialize_entry("type", kind)?;
        }
        if let Some(schema) = schemas.input_schema() {
            map.serialize_entry("input_schema", schema)?;
        }
        if let Some(model) = schemas.model() {
            map.serialize_entry("model", model)?;
        }
        write_extra(schemas.extra(), |name| WRITTEN.contains(&name), &mut map)?;
        map.end()
    }
}
