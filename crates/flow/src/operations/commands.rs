//! Operations that change tasks.

use std::sync::Arc;

use panpan_failure::{Failure, Violation};
use panpan_runtime::Context;
use serde_json::{Value, json};

use super::{CallableMethods, caller};
use crate::engine::{Cancel, Execute, Release};
use crate::flows::Flows;
use crate::plan::{PlanError, Problem, ProblemKind};
use crate::state::State;
use crate::task::{TaskId, read_task_id};

pub(super) async fn create(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let methods = CallableMethods::of(&context);
    let caller = caller(&context);
    let created = flows.create(&input, &caller, methods, Release::Later);
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
    let cascade = input.get("cascade").and_then(Value::as_bool).unwrap_or(true);
    let (root, reset) = match (input.get("tasks"), input.get("task_id")) {
        (Some(_), Some(_)) => return Err(both_given().into()),
        (Some(tasks), None) => {
            let methods = CallableMethods::of(&context);
            let tasks = json!({"tasks": tasks});
            let created = flows.create(&tasks, &caller, methods, Release::Now);
            (created.await?.root, 0)
        }
        (None, _) => {
            let id = read_task_id(&input, "task_id")?;
            let executed = flows.execute(&caller, Execute { id, cascade }).await?;
            (executed.root, executed.reset)
        }
    };
    Ok(json!({"root_task_id": root.to_string(), "status": "started", "reset": reset}))
}

fn both_given() -> PlanError {
    let violation = Violation::value("/tasks", "tasks and task_id exclude each other")
        .expected("new tasks in `tasks`, or the id of an existing one in `task_id`");
    PlanError::one(Problem::new(ProblemKind::Malformed, None, violation))
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
