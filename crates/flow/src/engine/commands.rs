//! What a caller does with tasks: execute, cancel, delete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::changes::Changes;
use super::view::{Visible, find_visible, whole_flow};
use super::work::rest;
use crate::error::{TaskError, Unsatisfied};
use crate::ports::{Ending, Filter, Key, Page, Row, Rows, StoredOutcome};
use crate::state::{State, Transition};
use crate::step::{Queued, TaskEvent, is_satisfied};
use crate::task::{Definition, TaskId};
use crate::webhooks::Webhook;

/// The message of a task that was cancelled without one.
pub(super) const DEFAULT_MESSAGE: &str = "cancelled";

/// Runs a task or, from its root, a whole flow.
#[derive(Clone, Debug)]
pub(crate) struct Execute {
    pub(crate) id: TaskId,
    /// Whether dependents that had ended are executed again, too.
    pub(crate) cascade: bool,
    /// The new webhook of the flow.
    pub(crate) webhook: Option<Webhook>,
}

/// What was told to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executed {
    pub(crate) root: TaskId,
    /// How many tasks begin a new generation.
    pub(crate) reset: usize,
}

/// Executes a task.
pub(crate) async fn execute(
    rows: &mut dyn Rows,
    visible: &Visible,
    command: &Execute,
) -> Result<Result<Executed, TaskError>, StoreError> {
    let row = match find_visible(rows, visible, command.id).await? {
        Ok(row) => row,
        Err(refused) => return Ok(Err(refused)),
    };
    let root = match row.key == row.flow {
        true => row.clone(),
        false => rows
            .load(&[row.flow])
            .await?
            .pop()
            .ok_or(StoreError::Damaged)?,
    };
    if command.webhook.is_some() && !visible.includes(&root) {
        return Ok(Err(TaskError::NotOwned(root.id)));
    }
    let executed = match row.key == row.flow {
        true => execute_flow(rows, row, command.cascade).await?,
        false => execute_task(rows, row, root.id, command.cascade).await?,
    };
    if let (Ok(_), Some(webhook)) = (&executed, &command.webhook) {
        set_webhook(rows, root.key, webhook).await?;
    }
    Ok(executed)
}

async fn set_webhook(rows: &mut dyn Rows, root: Key, webhook: &Webhook) -> Result<(), StoreError> {
    let stored = rows.definitions(&[root]).await?.pop();
    let stored = stored.ok_or(StoreError::Damaged)?;
    let definition = Definition::from_text(&stored.text);
    let mut definition = definition.map_err(|_| StoreError::Damaged)?;
    definition.webhook = Some(webhook.clone());
    rows.redefine(root, &definition.redefined()).await
}

/// Runs what a flow has left to do: everything pending, and again what failed or was cancelled. A flow whose tasks
/// have all succeeded runs again as a whole.
async fn execute_flow(
    rows: &mut dyn Rows,
    root: Row,
    cascade: bool,
) -> Result<Result<Executed, TaskError>, StoreError> {
    let all = whole_flow(rows, root.key).await?;
    if let Some(running) = all.iter().find(|row| row.run.state == State::InProgress) {
        return Ok(Err(TaskError::AlreadyExecuting(running.id)));
    }
    let is_done = all.iter().all(|row| row.run.state == State::Completed);
    let is_again =
        |row: &&Row| row.run.state.is_terminal() && (is_done || row.run.state != State::Completed);
    let again: BTreeSet<Key> = all.iter().filter(is_again).map(|row| row.key).collect();
    let again = match cascade {
        true => with_ended_dependents(rows, again).await?,
        false => again,
    };
    let mut changes = Changes::new(rows);
    for row in all {
        let row = match again.contains(&row.key) {
            true => reset(&mut changes, row),
            false => row,
        };
        if row.run.state == State::Pending {
            release(&mut changes, row);
        }
    }
    changes.write().await?;
    Ok(Ok(Executed {
        root: root.id,
        reset: again.len(),
    }))
}

async fn execute_task(
    rows: &mut dyn Rows,
    row: Row,
    root: TaskId,
    cascade: bool,
) -> Result<Result<Executed, TaskError>, StoreError> {
    if row.run.state == State::InProgress || row.run.queued != Queued::No {
        return Ok(Err(TaskError::AlreadyExecuting(row.id)));
    }
    if row.run.waiting > 0 {
        let unsatisfied = unsatisfied(rows, row.key).await?;
        let task = row.id;
        return Ok(Err(TaskError::Unsatisfied { task, unsatisfied }));
    }
    let again: BTreeSet<Key> = row
        .run
        .state
        .is_terminal()
        .then_some(row.key)
        .into_iter()
        .collect();
    let again = match cascade {
        true => with_ended_dependents(rows, again).await?,
        false => again,
    };
    let others: Vec<Key> = again
        .iter()
        .filter(|key| **key != row.key)
        .copied()
        .collect();
    let others = rows.load(&others).await?;
    let mut changes = Changes::new(rows);
    let row = match again.contains(&row.key) {
        true => reset(&mut changes, row),
        false => row,
    };
    release(&mut changes, row);
    for other in others {
        reset(&mut changes, other);
    }
    changes.write().await?;
    let reset = again.len();
    Ok(Ok(Executed { root, reset }))
}

fn reset(changes: &mut Changes<'_>, row: Row) -> Row {
    let row = changes.apply(row, &TaskEvent::Reset);
    row.expect("only ended tasks are reset")
}

fn release(changes: &mut Changes<'_>, row: Row) {
    let released = changes.apply(row, &TaskEvent::Released);
    released.expect("a release changes no state");
}

/// Adds all dependents, direct and indirect, that have ended: they ran with outcomes that are now replaced.
async fn with_ended_dependents(
    rows: &mut dyn Rows,
    mut found: BTreeSet<Key>,
) -> Result<BTreeSet<Key>, StoreError> {
    let mut next: Vec<Key> = found.iter().copied().collect();
    while !next.is_empty() {
        let edges = rows.dependents(&next).await?;
        let new: BTreeSet<Key> = edges.into_iter().map(|edge| edge.task).collect();
        let new: Vec<Key> = new.into_iter().filter(|key| !found.contains(key)).collect();
        let ended = rows.load(&new).await?.into_iter();
        next = ended
            .filter(|row| row.run.state.is_terminal())
            .map(|row| row.key)
            .collect();
        found.extend(&next);
    }
    Ok(found)
}

async fn unsatisfied(rows: &mut dyn Rows, task: Key) -> Result<Vec<Unsatisfied>, StoreError> {
    let edges = rows.dependencies(&[task]).await?;
    let on: Vec<Key> = edges.iter().map(|edge| edge.on).collect();
    let on = rows.load(&on).await?.into_iter();
    let on: BTreeMap<Key, Row> = on.map(|row| (row.key, row)).collect();
    let unsatisfied = edges.iter().filter_map(|edge| {
        let row = on.get(&edge.on)?;
        let state = row.run.state;
        (!is_satisfied(edge.required, state)).then_some(Unsatisfied {
            id: row.id,
            state,
            required: edge.required,
        })
    });
    Ok(unsatisfied.collect())
}

/// Cancels a task that has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    pub(crate) id: TaskId,
    /// The reason, if the caller gave one.
    pub(crate) message: Option<String>,
}

/// Cancels a task; returns the tasks whose handlers have to stop.
pub(crate) async fn cancel(
    rows: &mut dyn Rows,
    visible: &Visible,
    command: &Cancel,
) -> Result<(Row, Vec<TaskId>), TaskError> {
    let row = find_visible(rows, visible, command.id).await??;
    let message = command
        .message
        .as_deref()
        .filter(|it| !it.trim().is_empty());
    cancel_found(rows, row, message.unwrap_or(DEFAULT_MESSAGE)).await
}

/// Cancels a task that the caller may see. The flow may rest then, which no worker would notice.
pub(super) async fn cancel_found(
    rows: &mut dyn Rows,
    row: Row,
    message: &str,
) -> Result<(Row, Vec<TaskId>), TaskError> {
    let mut changes = Changes::new(rows);
    let row = match changes.apply(row.clone(), &TaskEvent::Cancelled) {
        Ok(row) => row,
        Err(transition) => return Err(forbidden(row.id, transition)),
    };
    let stopped = changes.write().await?.stopped;
    let error: Arc<str> = message.into();
    let outcome = StoredOutcome {
        key: row.key,
        generation: row.run.generation,
        at: rows.now(),
        attempts: row.run.attempts,
        ending: Ending::Cancelled { error },
    };
    rows.keep(&[outcome]).await?;
    rows.set_histories(&[(row.key, None)]).await?;
    rest(rows, &[row.flow]).await?;
    Ok((row, stopped))
}

fn forbidden(task: TaskId, transition: Transition) -> TaskError {
    TaskError::Transition {
        task,
        transition,
        reason: transition.reason(),
    }
}

/// Deletes a pending task without children and dependents.
pub(crate) async fn delete(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Result<(), TaskError>, StoreError> {
    let row = match find_visible(rows, visible, id).await? {
        Ok(row) => row,
        Err(refused) => return Ok(Err(refused)),
    };
    let refuse = |reason: String, first: Vec<TaskId>| {
        let task = row.id;
        Ok(Err(TaskError::CannotDelete {
            task,
            reason,
            first,
        }))
    };
    if row.run.state != State::Pending {
        let reason = format!(
            "it is {}, and only a pending task can be deleted",
            row.run.state
        );
        return refuse(reason, Vec::new());
    }
    let children = Filter {
        parent: Some(row.key),
        ..Filter::default()
    };
    let page = Page {
        offset: 0,
        limit: 50,
    };
    let children = rows.list(&children, page).await?;
    if !children.is_empty() {
        let ids = children.iter().map(|it| it.id).collect();
        return refuse("it has children".to_owned(), ids);
    }
    let dependents = rows.dependents(&[row.key]).await?;
    if !dependents.is_empty() {
        let keys: Vec<Key> = dependents.iter().map(|edge| edge.task).collect();
        let ids = rows.load(&keys).await?.iter().map(|it| it.id).collect();
        return refuse("other tasks depend on it".to_owned(), ids);
    }
    rows.delete(&[row.key]).await?;
    if row.run.queued != Queued::No {
        rest(rows, &[row.flow]).await?;
    }
    Ok(Ok(()))
}
