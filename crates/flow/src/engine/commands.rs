//! What a caller does with tasks: execute, cancel, delete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::archive::kept_archives;
use super::caller::{CallableMethods, Caller};
use super::changes::Changes;
use super::notice::{MESSAGE_RUNS_LIMIT, NOTIFY, is_message, notify};
use super::unknown::{may_be_unknown, with_unknown_outcome};
use super::view::{Visible, definition, find_visible, root_of, whole_flow};
use super::work::{announce_rest, keep, rest};
use crate::error::{Blockers, LISTED_LIMIT, Obstacle, TaskError, Unsatisfied};
use crate::ports::{Ending, Filter, Key, Page, Row, Rows, StoredOutcome};
use crate::state::{State, Transition};
use crate::step::{Queued, TaskEvent, is_satisfied};
use crate::task::TaskId;
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

/// What an execution began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executed {
    pub(crate) root: TaskId,
    /// How many tasks begin a new generation.
    pub(crate) reset: usize,
    /// The first of those whose last outcome is unknown: they may take effect twice.
    pub(crate) outcome_unknown: Vec<TaskId>,
    /// The number of the last event of the flow before.
    pub(crate) events_after: u64,
}

/// Executes a task. If the caller owns it, it runs with the authority that the caller has now.
pub(crate) async fn execute(
    rows: &mut dyn Rows,
    caller: &Caller,
    command: &Execute,
) -> Result<Executed, TaskError> {
    let row = find_visible(rows, &caller.visible, command.id).await?;
    let root = root_of(rows, &row).await?;
    if is_sent_too_often(&row) {
        return Err(TaskError::SentTooOften(row.id));
    }
    if command.webhook.is_some() && !caller.visible.includes(&root) {
        return Err(caller.visible.refuse(root.id));
    }
    let authority = caller.authority_in(rows, Some(&root)).await?;
    let run = match row.key == row.flow {
        true => run_of_flow(rows, row.key, command.cascade).await?,
        false => run_of_task(rows, row, command.cascade).await?,
    };
    let methods = caller.authorities.methods(authority.text.as_deref());
    run.check_methods(&methods)?;
    rows.admit(0).await?;
    let outcome_unknown = run.outcome_unknown(rows, &methods).await?;
    authority.store(rows).await?;
    let (reset, announced) = run.start(rows).await?;
    if let Some(webhook) = &command.webhook {
        set_webhook(rows, root.key, webhook).await?;
    }
    let last = rows.last_announced(root.key).await?;
    Ok(Executed {
        root: root.id,
        reset,
        outcome_unknown,
        events_after: last.saturating_sub(announced as u64),
    })
}

/// Whether a message to a webhook is not sent again by hand: its receiver may be anyone.
fn is_sent_too_often(row: &Row) -> bool {
    is_message(row) && row.run.state.is_terminal() && row.run.generation >= MESSAGE_RUNS_LIMIT
}

async fn set_webhook(rows: &mut dyn Rows, root: Key, webhook: &Webhook) -> Result<(), StoreError> {
    let mut definition = definition(rows, root).await?;
    definition.webhook = Some(webhook.clone());
    rows.redefine(root, &definition.redefined()).await
}

/// The tasks that an execution runs.
#[derive(Debug)]
struct Execution {
    /// Tasks that are released.
    released: Vec<Row>,
    /// Tasks that run again because they depend on others that do.
    dependents: Vec<Row>,
    /// The tasks among both that begin a new generation.
    again: BTreeSet<Key>,
}

/// What a flow has left to do: everything pending, and again what failed or was cancelled. A flow whose tasks have all
/// succeeded runs again as a whole.
async fn run_of_flow(
    rows: &mut dyn Rows,
    flow: Key,
    cascade: bool,
) -> Result<Execution, TaskError> {
    let all = whole_flow(rows, flow).await?;
    if let Some(running) = all.iter().find(|row| row.run.state == State::InProgress) {
        return Err(TaskError::already_executing(running));
    }
    let is_done = all.iter().all(|row| row.run.state == State::Completed);
    let is_again =
        |row: &&Row| row.run.state.is_terminal() && (is_done || row.run.state != State::Completed);
    let kept = kept_archives(rows, &all).await?;
    let again = all
        .iter()
        .filter(is_again)
        .map(|row| row.key)
        .filter(|key| !kept.contains(key));
    let again: BTreeSet<Key> = again.collect();
    if kept.len() == all.len()
        && let Some(row) = all.first()
    {
        return Err(TaskError::Archived(row.id));
    }
    let again = match cascade {
        true => with_ended_dependents(rows, again).await?,
        false => again,
    };
    let runs = |row: &Row| row.run.state == State::Pending || again.contains(&row.key);
    Ok(Execution {
        released: all.into_iter().filter(runs).collect(),
        dependents: Vec::new(),
        again,
    })
}

async fn run_of_task(rows: &mut dyn Rows, row: Row, cascade: bool) -> Result<Execution, TaskError> {
    if row.run.state == State::InProgress || row.run.queued != Queued::No {
        return Err(TaskError::already_executing(&row));
    }
    if row.run.waiting > 0 {
        let unsatisfied = unsatisfied(rows, row.key).await?;
        let task = row.id;
        return Err(TaskError::Unsatisfied { task, unsatisfied });
    }
    if !kept_archives(rows, std::slice::from_ref(&row))
        .await?
        .is_empty()
    {
        return Err(TaskError::Archived(row.id));
    }
    let is_again = row.run.state.is_terminal();
    let again: BTreeSet<Key> = is_again.then_some(row.key).into_iter().collect();
    let again = match cascade {
        true => with_ended_dependents(rows, again).await?,
        false => again,
    };
    let dependents = again.iter().filter(|key| **key != row.key).copied();
    let dependents: Vec<Key> = dependents.collect();
    Ok(Execution {
        released: vec![row],
        dependents: rows.load(&dependents).await?,
        again,
    })
}

impl Execution {
    /// Checks that the tasks can call their operations. Messages to webhooks call one that no caller can.
    fn check_methods(&self, methods: &CallableMethods) -> Result<(), TaskError> {
        let mut checked: BTreeSet<&str> = BTreeSet::from([NOTIFY]);
        for row in self.released.iter().chain(&self.dependents) {
            let operation = row.operation.as_deref();
            if let Some(operation) = operation.filter(|it| checked.insert(it))
                && !methods.exists(operation)
            {
                return Err(TaskError::NotCallable {
                    task: row.id,
                    operation: operation.into(),
                });
            }
        }
        Ok(())
    }

    /// The first tasks that may take effect twice: their last run may have had one, and they run again.
    async fn outcome_unknown(
        &self,
        rows: &mut dyn Rows,
        methods: &CallableMethods,
    ) -> Result<Vec<TaskId>, StoreError> {
        let all = self.released.iter().chain(&self.dependents);
        let again = all.filter(|row| self.again.contains(&row.key));
        let again: Vec<&Row> = again.filter(|row| may_be_unknown(row, methods)).collect();
        with_unknown_outcome(rows, &again).await
    }

    /// Releases the tasks. Returns how many begin a new generation, and how many events were added.
    async fn start(self, rows: &mut dyn Rows) -> Result<(usize, usize), StoreError> {
        let mut changes = Changes::new(rows);
        let first = self.released.first().cloned();
        for row in self.released {
            let row = match self.again.contains(&row.key) {
                true => reset(&mut changes, row),
                false => row,
            };
            release(&mut changes, row);
        }
        for row in self.dependents {
            reset(&mut changes, row);
        }
        if let Some(first) = first.filter(|_| self.again.is_empty()) {
            let first = changes.current(first);
            changes.announce(&first);
        }
        let announced = changes.announced();
        changes.write().await?;
        Ok((self.again.len(), announced))
    }
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
        let ended: Vec<Row> = ended.filter(|row| row.run.state.is_terminal()).collect();
        let kept = kept_archives(rows, &ended).await?;
        let ended = ended.into_iter().map(|row| row.key);
        next = ended.filter(|key| !kept.contains(key)).collect();
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
            runs: row.run.queued != Queued::No,
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
    let row = find_visible(rows, visible, command.id).await?;
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
    let was_released = row.run.is_released;
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
    keep(rows, &[outcome]).await?;
    rows.set_histories(&[(row.key, None)]).await?;
    let roots = announce_rest(rows, &[row.flow]).await?;
    // A webhook gets messages about flows that were executed, and not about each task that is cancelled before.
    if was_released {
        notify(rows, &roots).await?;
    }
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
) -> Result<(), TaskError> {
    let row = find_visible(rows, visible, id).await?;
    let refuse = |obstacle: Obstacle| {
        let task = row.id;
        Err(TaskError::CannotDelete { task, obstacle })
    };
    if row.run.state != State::Pending {
        return refuse(Obstacle::State(row.run.state));
    }
    // Messages to a webhook are flows of their own.
    let children = Filter {
        flow: Some(row.flow),
        parent: Some(row.key),
        ..Filter::default()
    };
    let page = Page {
        offset: 0,
        limit: LISTED_LIMIT as u64,
    };
    let children = rows.list(&children, page).await?;
    if !children.is_empty() {
        return refuse(Obstacle::Children(blockers(&children)));
    }
    let dependents = rows.dependents(&[row.key]).await?;
    if !dependents.is_empty() {
        let keys: Vec<Key> = dependents.iter().map(|edge| edge.task).collect();
        let dependents = rows.load(&keys).await?;
        return refuse(Obstacle::Dependents(blockers(&dependents)));
    }
    rows.delete(&[row.key]).await?;
    if row.run.queued != Queued::No {
        rest(rows, &[row.flow]).await?;
    }
    Ok(())
}

fn blockers(rows: &[Row]) -> Blockers {
    Blockers {
        tasks: rows.iter().map(|row| row.id).collect(),
        are_pending: rows.iter().all(|row| row.run.state == State::Pending),
    }
}
