//! Reads tasks with the operations: one task, or all tasks of a flow.

use panpan_failure::{Failure, codes};
use panpan_flow::TaskId;
use serde_json::{Value, json};

use super::super::call::End;
use super::flow::{SHOWN_LIMIT, SeenFlow};
use super::operations::Operations;
use super::seen::SeenTask;

/// How many tasks are read at once.
const PAGE: usize = 200;

/// What was read, or the end of the call that failed.
pub(super) type Read<T> = anyhow::Result<Result<T, End>>;

/// A task.
pub(super) async fn task(operations: &Operations, id: &str) -> Read<SeenTask> {
    let end = operations.call("tasks/get", json!({"task_id": id})).await?;
    Ok(match end {
        End::Output { value, .. } => SeenTask::read(&value).ok_or_else(unreadable),
        failed => Err(failed),
    })
}

/// The flow of a task, and its root.
pub(super) async fn flow_of(operations: &Operations, id: &str) -> Read<(TaskId, SeenFlow)> {
    let task = match task(operations, id).await? {
        Ok(task) => task,
        Err(end) => return Ok(Err(end)),
    };
    let flow = flow(operations, &task, task.root).await?;
    Ok(flow.map(|flow| (task.root, flow)))
}

/// The flow of a task, or the part below a task of it.
pub(super) async fn flow(operations: &Operations, of: &SeenTask, top: TaskId) -> Read<SeenFlow> {
    let mut tasks: Vec<SeenTask> = Vec::new();
    loop {
        let input = json!({
            "root_task_id": of.root.to_string(), "limit": PAGE, "offset": tasks.len(),
            "fields": "summary",
        });
        let list = match operations.call("tasks/list", input).await? {
            End::Output { value, .. } => value,
            failed => return Ok(Err(failed)),
        };
        let read = list["tasks"].as_array().into_iter().flatten();
        let read: Option<Vec<SeenTask>> = read.map(SeenTask::read).collect();
        let (Some(read), Some(total)) = (read, list["total"].as_u64()) else {
            return Ok(Err(unreadable()));
        };
        let is_last = read.is_empty();
        tasks.extend(read);
        if is_last || tasks.len() as u64 >= total || tasks.len() >= SHOWN_LIMIT {
            tasks.truncate(SHOWN_LIMIT);
            let is_whole = top == of.root;
            let mut flow = SeenFlow::new(tasks, top, total);
            if !is_whole {
                flow.total = flow.rows().len() as u64;
            }
            return Ok(Ok(flow));
        }
    }
}

/// How many tasks of a flow are not completed.
pub(super) async fn not_completed(operations: &Operations, root: TaskId) -> Read<u64> {
    let input = json!({"root_task_id": root.to_string()});
    let end = operations.call("tasks/statistics", input).await?;
    let numbers = |value: &Value| {
        let completed = value["by_status"]["completed"].as_u64()?;
        value["total"].as_u64()?.checked_sub(completed)
    };
    Ok(match end {
        End::Output { value, .. } => numbers(&value).ok_or_else(unreadable),
        failed => Err(failed),
    })
}

fn unreadable() -> End {
    let failure = Failure::new(codes::ERR_JSON_SCHEMA_MISMATCH)
        .with_message("the server describes tasks in a way that this program cannot read")
        .with_actions(["Use the program of the same version as the server"]);
    End::NoResponse(failure.redacted())
}
