//! Operations that change tasks.

use std::sync::Arc;

use panpan_failure::{Failure, Violation};
use panpan_runtime::Context;
use serde_json::{Value, json};

use super::caller;
use crate::engine::{Caller, Cancel, Copy, Execute, Executed, Release, Update};
use crate::error::TaskError;
use crate::flows::Flows;
use crate::plan::{PlanError, PlanProblem, ProblemKind};
use crate::task::{Provenance, TaskId, read_task_id, read_updates};

pub(super) async fn create(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let caller = caller(&context);
    check_user(&caller, &input)?;
    let created = flows.create(&input, &caller, Release::Later);
    let created = created.await?;
    let task = |id: &TaskId| json!({"id": id.to_string(), "status": created.state(*id).word()});
    if input.get("tasks").is_none() {
        return Ok(created.ids.first().map_or(Value::Null, task));
    }
    let tasks: Vec<Value> = created.ids.iter().map(task).collect();
    let mut answer = task(&created.root);
    answer["tasks"] = tasks.into();
    Ok(answer)
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
    let executed = match (input.get("tasks"), input.get("task_id")) {
        (Some(_), Some(_)) => return Err(misused(both_given()).into()),
        (None, None) => return Err(misused(Violation::missing("/tasks")).into()),
        (Some(tasks), None) => {
            let tasks = json!({"tasks": tasks, "webhook_config": input.get("webhook_config")});
            check_user(&caller, &tasks)?;
            let created = flows.create(&tasks, &caller, Release::Now).await?;
            // For protocols that answer with the new task.
            context.set_extra(Some(json!({"task": {"created_at": created.at}})));
            Executed {
                root: created.root,
                reset: 0,
                outcome_unknown: Vec::new(),
                events_after: created.events_after,
            }
        }
        (None, Some(_)) => {
            let id = read_task_id(&input, "task_id")?;
            let command = Execute {
                id,
                cascade,
                webhook: flows.webhook(&input)?,
            };
            flows.execute(&caller, command).await?
        }
    };
    let mut answer = json!({
        "root_task_id": executed.root.to_string(),
        "status": "started",
        "reset": executed.reset,
        "events_after": executed.events_after,
    });
    if !executed.outcome_unknown.is_empty() {
        let unknown = executed.outcome_unknown.iter().map(TaskId::to_string);
        answer["outcome_unknown"] = unknown.collect::<Vec<_>>().into();
    }
    Ok(answer)
}

fn both_given() -> Violation {
    Violation::value("/tasks", "tasks and task_id exclude each other")
}

fn misused(violation: Violation) -> PlanError {
    let violation = violation.expected("new tasks, unless `task_id` names an existing one");
    PlanError::one(PlanProblem::new(ProblemKind::Malformed, None, violation))
}

/// Refuses a `user_id` that names another caller. One without a token has no name that could differ.
fn check_user(caller: &Caller, input: &Value) -> Result<(), TaskError> {
    let Some(name) = caller.owner.as_deref().filter(|_| !caller.visible.is_all()) else {
        return Ok(());
    };
    let tasks = input.get("tasks").and_then(Value::as_array);
    let mut tasks = std::iter::once(input).chain(tasks.into_iter().flatten());
    let is_other = |task: &Value| Some(task.get("user_id")?.as_str()?.to_owned());
    let other = tasks.find_map(|it| is_other(it).filter(|user| user != name && !user.is_empty()));
    match other {
        None => Ok(()),
        Some(user) => Err(TaskError::OtherUser {
            user,
            caller: name.to_owned(),
        }),
    }
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
    let caller = caller(&context);
    check_user(&caller, input.get("updates").unwrap_or(&Value::Null))?;
    let row = flows.update(&caller, command).await?;
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
        "status": copied.state.word(),
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
