//! Operations that change tasks.

use std::sync::Arc;

use panpan_failure::{Failure, Violation};
use panpan_runtime::Context;
use serde_json::{Value, json};

use super::caller;
use crate::engine::{Cancel, Copy, Execute, Release, Update};
use crate::flows::Flows;
use crate::plan::{PlanError, PlanProblem, ProblemKind};
use crate::state::State;
use crate::task::{Provenance, TaskId, read_task_id, read_updates};

pub(super) async fn create(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let caller = caller(&context);
    let created = flows.create(&input, &caller, Release::Later);
    let created = created.await?;
    let pending = State::Pending.word();
    let task = |id: &TaskId| json!({"id": id.to_string(), "status": pending});
    if input.get("tasks").is_none() {
        return Ok(created.ids.first().map_or(Value::Null, task));
    }
    let tasks: Vec<Value> = created.ids.iter().map(task).collect();
    Ok(json!({"id": created.root.to_string(), "status": pending, "tasks": tasks}))
}

pub(super) async fn execute(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let caller = caller(&context);
    let cascade = input
        .get("cascade")
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let (root, reset, events_after) = match (input.get("tasks"), input.get("task_id")) {
        (Some(_), Some(_)) => return Err(misused(both_given()).into()),
        (None, None) => return Err(misused(Violation::missing("/tasks")).into()),
        (Some(tasks), None) => {
            let tasks = json!({"tasks": tasks, "webhook_config": input.get("webhook_config")});
            let created = flows.create(&tasks, &caller, Release::Now).await?;
            // For protocols that answer with the new task.
            context.set_extra(Some(json!({"task": {"created_at": created.at}})));
            (created.root, 0, created.events_after)
        }
        (None, Some(_)) => {
            let id = read_task_id(&input, "task_id")?;
            let command = Execute {
                id,
                cascade,
                webhook: flows.webhook(&input)?,
            };
            let executed = flows.execute(&caller, command).await?;
            (executed.root, executed.reset, executed.events_after)
        }
    };
    Ok(json!({
        "root_task_id": root.to_string(),
        "status": "started",
        "reset": reset,
        "events_after": events_after,
    }))
}

fn both_given() -> Violation {
    Violation::value("/tasks", "tasks and task_id exclude each other")
}

fn misused(violation: Violation) -> PlanError {
    let violation = violation.expected("new tasks, unless `task_id` names an existing one");
    PlanError::one(PlanProblem::new(ProblemKind::Malformed, None, violation))
}

pub(super) async fn update(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let command = match (read_task_id(&input, "task_id"), read_updates(&input)) {
        (Ok(id), Ok(updates)) => Update { id, updates },
        (Err(id), Err(updates)) => return Err(id.and(updates).into()),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error.into()),
    };
    let row = flows.update(&caller(&context), command).await?;
    Ok(json!({"id": row.id.to_string(), "status": row.run.state.word()}))
}

pub(super) async fn copy(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let with_children = input.get("copy_children").and_then(Value::as_bool);
    let origin: fn(TaskId) -> Provenance = match input.get("origin_type").and_then(Value::as_str) {
        Some("link") => Provenance::Link,
        Some("archive") => Provenance::Archive,
        _ => Provenance::Copy,
    };
    let command = Copy {
        id: read_task_id(&input, "task_id")?,
        with_children: with_children.unwrap_or_default(),
        origin,
    };
    let copied = flows.copy(&caller(&context), command).await?;
    let dropped = copied.dropped.iter().map(|(copy, dependency)| {
        json!({
            "task_id": copy.to_string(),
            "dependency_id": dependency.id.to_string(),
            "required": dependency.required,
        })
    });
    Ok(json!({
        "original_task_id": command.id.to_string(),
        "copied_task_id": copied.root.to_string(),
        "status": State::Pending.word(),
        "dropped_dependencies": dropped.collect::<Vec<Value>>(),
    }))
}

pub(super) async fn cancel(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let message = input.get("message").and_then(Value::as_str);
    let command = Cancel {
        id: read_task_id(&input, "task_id")?,
        message: message.map(str::to_owned),
    };
    let row = flows.cancel(&caller(&context), command).await?;
    Ok(json!({"task_id": row.id.to_string(), "status": row.run.state.word()}))
}

pub(super) async fn delete(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = read_task_id(&input, "task_id")?;
    flows.delete(&caller(&context), id).await?;
    Ok(json!({"success": true}))
}
