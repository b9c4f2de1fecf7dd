//! The hint for an id that names no task: ids and names of tasks that are spelled alike.

use panpan_failure::catalogue::nearest;
use panpan_failure::{Redacted, codes};
use panpan_flow::TaskId;
use serde_json::json;

use super::super::call::End;
use super::super::error::did_you_mean;
use super::super::terminal::escape;
use super::operations::Operations;
use super::seen::SeenTask;

/// How many of the newest tasks are compared.
const COMPARED: u64 = 1000;

/// How many characters of an id are enough to find it.
const PREFIX_LENGTH: usize = 4;

/// How many tasks are suggested.
const SUGGESTED_LIMIT: usize = 3;

const HINT: &str = "`panpan task list` prints the ids of your tasks";

/// The hint, if the failure is about this id.
pub(super) async fn hint(operations: &Operations, id: &str, failure: &Redacted) -> Option<String> {
    let code = failure.code().as_str();
    let is_unknown = code == codes::TASK_NOT_FOUND.code;
    let is_malformed = code == codes::INVALID_INPUT.code && id.parse::<TaskId>().is_err();
    if !is_unknown && !is_malformed {
        return None;
    }
    let tasks = newest(operations).await.unwrap_or_default();
    let near = similar(id, &tasks);
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    Some(did_you_mean(&near, HINT))
}

async fn newest(operations: &Operations) -> Option<Vec<SeenTask>> {
    let first = operations
        .call("tasks/list", json!({"limit": 1, "fields": "summary"}))
        .await;
    let Ok(End::Output { value, .. }) = first else {
        return None;
    };
    let offset = value["total"].as_u64()?.saturating_sub(COMPARED);
    let page = json!({"limit": COMPARED, "offset": offset, "fields": "summary"});
    let Ok(End::Output { value, .. }) = operations.call("tasks/list", page).await else {
        return None;
    };
    let tasks = value["tasks"].as_array()?.iter();
    Some(tasks.filter_map(SeenTask::read).collect())
}

/// Tasks whose id begins like this one, or whose id or name is spelled alike; the newest first.
fn similar(id: &str, tasks: &[SeenTask]) -> Vec<String> {
    let ids: Vec<String> = tasks.iter().map(|it| it.id.to_string()).collect();
    let names = tasks.iter().map(|it| it.name.as_str());
    let near = nearest(id, ids.iter().map(String::as_str).chain(names));
    let beginning = id.to_ascii_lowercase();
    let pairs = ids.iter().zip(tasks).rev();
    let matching = pairs.filter(|(known, task)| {
        let has_prefix = beginning.len() >= PREFIX_LENGTH && known.starts_with(&beginning);
        has_prefix || near.contains(&known.as_str()) || near.contains(&task.name.as_str())
    });
    let shown = matching.map(|(known, task)| format!("{known} ({})", escape(&task.name)));
    shown.take(SUGGESTED_LIMIT).collect()
}
