//! Changes a task: its definition, its dependencies, its state.
//!
//! Nothing changes while the task is in progress. Dependencies change only while it is pending. A change of the state
//! comes first, and the other changes apply to the state after it.

use std::collections::BTreeMap;

use panpan_failure::Violation;
use panpan_runtime::ports::StoreError;

use super::caller::Caller;
use super::changes::{Changes, Written};
use super::check::{Checked, check};
use super::commands::{DEFAULT_MESSAGE, cancel_found};
use super::cycle::{ids_of, new_cycle};
use super::notice::is_message;
use super::turns::give_turns;
use super::view::{definition, find_visible, root_of};
use super::work::rest;
use crate::error::TaskError;
use crate::plan::{About, PlanError, PlanProblem, ProblemKind, Problems, arrows, check_schemas};
use crate::ports::{Edge, Key, Row, Rows};
use crate::state::{State, Transition};
use crate::step::{Queued, TaskEvent, is_satisfied};
use crate::task::{
    Definition, Dependency, NewTask, Provenance, ReadTask, RequestPlace, TaskId, Unread, Updates,
};

/// Changes a task.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) id: TaskId,
    pub(crate) updates: Updates,
}

/// A change of the state that a caller may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateChange {
    Cancel,
    Reset,
}

/// Changes a task; returns the tasks whose handlers have to stop.
pub(crate) async fn update(
    rows: &mut dyn Rows,
    caller: &Caller,
    command: &Update,
) -> Result<(Row, Vec<TaskId>), TaskError> {
    let updates = &command.updates;
    let row = find_visible(rows, &caller.visible, command.id).await?;
    if is_message(&row) {
        return Err(TaskError::Message(row.id));
    }
    let definition = definition(rows, row.key).await?;
    if matches!(definition.origin, Provenance::Archive(_)) {
        return Err(TaskError::Archived(row.id));
    }
    let change = state_change(&row, updates.status)?;
    allow(&row, change, updates)?;
    let mut changed = updates.applied_to(&definition);
    let dependencies = match updates.concern_the_plan() {
        true => check_plan(rows, caller, &row, updates, &mut changed).await?,
        false => Vec::new(),
    };
    if row.run.state == State::Completed && is_other_call(&definition, &changed) {
        changed.changed_after = Some(row.run.generation);
    }
    let key = row.key;
    let mut written = change_state(rows, row, change).await?;
    if updates.dependencies.is_some() {
        let replaced = replace_dependencies(rows, key, &dependencies).await?;
        written.may_rest.extend(replaced.may_rest);
    }
    if updates.concern_the_definition() {
        redefine(rows, key, &changed).await?;
    }
    rest(rows, &written.may_rest).await?;
    Ok((current(rows, key).await?, written.stopped))
}

/// Whether a task would call something else, so that the result it has is not that of its inputs.
fn is_other_call(before: &Definition, after: &Definition) -> bool {
    let method = |it: &Definition| it.operation();
    before.inputs != after.inputs || method(before) != method(after)
}

/// The task as it was last written.
async fn current(rows: &mut dyn Rows, key: Key) -> Result<Row, StoreError> {
    let row = rows.load(&[key]).await?.pop();
    row.ok_or(StoreError::Damaged)
}

/// What a requested state means. Only a worker starts, completes and fails tasks.
fn state_change(row: &Row, requested: Option<State>) -> Result<Option<StateChange>, TaskError> {
    let current = row.run.state;
    let Some(requested) = requested.filter(|it| *it != current) else {
        return Ok(None);
    };
    let transition = Transition::new(current, requested);
    let refused = |reason: String| TaskError::Transition {
        task: row.id,
        transition,
        reason,
    };
    match (current.to(requested), requested) {
        (Err(transition), _) => Err(refused(transition.reason())),
        (Ok(_), State::Cancelled) => Ok(Some(StateChange::Cancel)),
        (Ok(_), State::Pending) => Ok(Some(StateChange::Reset)),
        (Ok(_), _) => Err(refused(format!(
            "a task becomes {requested} only by being executed: use tasks/execute"
        ))),
    }
}

/// Refuses changes that the state of the task does not allow.
fn allow(row: &Row, change: Option<StateChange>, updates: &Updates) -> Result<(), TaskError> {
    let state = match change {
        None => row.run.state,
        Some(StateChange::Cancel) => State::Cancelled,
        Some(StateChange::Reset) => State::Pending,
    };
    if state == State::InProgress && !updates.members.is_empty() {
        return Err(TaskError::InProgress {
            task: row.id,
            members: updates.members.clone(),
        });
    }
    if state != State::Pending && updates.dependencies.is_some() {
        let task = row.id;
        return Err(TaskError::FixedDependencies { task, state });
    }
    Ok(())
}

/// Checks the changed task as if it were new, and that no cycle leads back to it. Returns its new dependencies.
async fn check_plan(
    rows: &mut dyn Rows,
    caller: &Caller,
    row: &Row,
    updates: &Updates,
    changed: &mut Definition,
) -> Result<Vec<(Row, bool)>, TaskError> {
    let root = root_of(rows, row).await?;
    let dependencies = match &updates.dependencies {
        Some(dependencies) => dependencies.clone(),
        None => dependencies(rows, row.key).await?,
    };
    let tasks = vec![as_new(rows, row, &dependencies, changed).await?];
    let mut problems = Problems::default();
    check_schemas(&tasks, &mut problems);
    let checked = check(rows, caller, Some(&root), tasks, problems).await;
    let mut found = stored(rows, row, &dependencies).await?;
    let cycle = cycle_through(rows, row.key, &found, &dependencies).await?;
    match (checked, cycle) {
        (Err(TaskError::Plan(error)), Some(cycle)) => Err(error.and(cycle).into()),
        (Err(error), _) => Err(error),
        (Ok(_), Some(cycle)) => Err(cycle.into()),
        (
            Ok(Checked {
                authority, plan, ..
            }),
            None,
        ) => {
            authority.store(rows).await?;
            // The operation may have been written in another way.
            changed.schemas.clone_from(&plan.top().definition.schemas);
            let rows = dependencies
                .iter()
                .filter_map(|it| Some((found.remove(&it.id)?, it.required)));
            Ok(rows.collect())
        }
    }
}

/// The changed task as if it were new.
async fn as_new(
    rows: &mut dyn Rows,
    row: &Row,
    dependencies: &[Dependency],
    changed: &Definition,
) -> Result<ReadTask, StoreError> {
    let parent = rows.load(row.parent.as_slice()).await?;
    let mut definition = changed.clone();
    // The original may be gone, which does not matter any more.
    definition.origin = Provenance::Create;
    Ok(ReadTask {
        task: NewTask {
            id: row.id,
            parent: parent.first().map(|it| it.id),
            dependencies: dependencies.to_vec(),
            definition,
        },
        place: RequestPlace::Updates,
        id_is_given: false,
        unread: Unread::default(),
    })
}

/// The other tasks of the flow that a task shall depend on.
async fn stored(
    rows: &mut dyn Rows,
    row: &Row,
    dependencies: &[Dependency],
) -> Result<BTreeMap<TaskId, Row>, StoreError> {
    let on = dependencies.iter().map(|it| it.id);
    let on: Vec<TaskId> = on.filter(|it| *it != row.id).collect();
    let found = rows.find(&on).await?.into_iter();
    let in_flow = found.filter(|it| it.flow == row.flow);
    Ok(in_flow.map(|it| (it.id, it)).collect())
}

/// The problem if a task would depend on itself through these others.
async fn cycle_through(
    rows: &mut dyn Rows,
    task: Key,
    on: &BTreeMap<TaskId, Row>,
    dependencies: &[Dependency],
) -> Result<Option<PlanError>, StoreError> {
    let on: Vec<Key> = on.values().map(|it| it.key).collect();
    Ok(match new_cycle(rows, task, &on).await? {
        Some(cycle) => Some(cycle_error(ids_of(rows, &cycle).await?, dependencies)),
        None => None,
    })
}

fn cycle_error(ids: Vec<TaskId>, dependencies: &[Dependency]) -> PlanError {
    let next = ids.get(1);
    let number = dependencies
        .iter()
        .position(|it| Some(&it.id) == next)
        .unwrap_or_default();
    let pointer = format!(
        "{}/{number}/id",
        RequestPlace::Updates.member("dependencies")
    );
    let violation = Violation::value(pointer, "the dependencies form a cycle")
        .expected("dependencies without a cycle")
        .actual(arrows(&ids));
    let problem = PlanProblem::new(ProblemKind::Cycle, ids.first().copied(), violation);
    PlanError::one(problem.about(About::Cycle(ids)))
}

async fn dependencies(rows: &mut dyn Rows, task: Key) -> Result<Vec<Dependency>, StoreError> {
    let edges = rows.dependencies(&[task]).await?;
    let on: Vec<Key> = edges.iter().map(|edge| edge.on).collect();
    let ids = rows.load(&on).await?.into_iter();
    let ids: BTreeMap<Key, TaskId> = ids.map(|row| (row.key, row.id)).collect();
    let dependency = |edge: &Edge| {
        Some(Dependency {
            id: *ids.get(&edge.on)?,
            required: edge.required,
        })
    };
    Ok(edges.iter().filter_map(dependency).collect())
}

async fn change_state(
    rows: &mut dyn Rows,
    row: Row,
    change: Option<StateChange>,
) -> Result<Written, TaskError> {
    match change {
        None => Ok(Written::default()),
        Some(StateChange::Cancel) => {
            let (_, stopped) = cancel_found(rows, row, DEFAULT_MESSAGE).await?;
            Ok(Written {
                stopped,
                ..Written::default()
            })
        }
        Some(StateChange::Reset) => {
            rows.admit(0).await?;
            let mut changes = Changes::new(rows);
            let row = changes
                .apply(row, &TaskEvent::Reset)
                .expect("a failed task can be reset");
            let withheld = changes.apply(row, &TaskEvent::Withheld);
            withheld.expect("a withheld task keeps its state");
            Ok(changes.write().await?)
        }
    }
}

async fn replace_dependencies(
    rows: &mut dyn Rows,
    task: Key,
    dependencies: &[(Row, bool)],
) -> Result<Written, StoreError> {
    let edge = |(on, required): &(Row, bool)| Edge {
        task,
        on: on.key,
        required: *required,
    };
    let edges: Vec<Edge> = dependencies.iter().map(edge).collect();
    rows.replace_dependencies(task, &edges).await?;
    let is_waiting = |(on, required): &&(Row, bool)| !is_satisfied(*required, on.run.state);
    let waiting = dependencies.iter().filter(is_waiting).count();
    let row = current(rows, task).await?;
    let by = i64::try_from(waiting).unwrap_or(i64::MAX) - i64::from(row.run.waiting);
    let mut changes = Changes::new(rows);
    let row = changes.apply(row, &TaskEvent::DependenciesChanged(by));
    let row = row.expect("changed dependencies change no state");
    if row.run.queued == Queued::Ready {
        changes.announce(&row);
    }
    changes.write().await
}

async fn redefine(
    rows: &mut dyn Rows,
    task: Key,
    definition: &Definition,
) -> Result<(), StoreError> {
    let mut row = current(rows, task).await?;
    if definition.priority != row.priority {
        row.priority = definition.priority;
        let ready = std::iter::once(&mut row).filter(|row| row.run.queued == Queued::Ready);
        give_turns(rows, ready).await?;
    }
    row.run.updated_at = rows.now();
    let redefined = definition.redefined();
    rows.admit(redefined.definition.len()).await?;
    rows.redefine(task, &redefined).await?;
    rows.save(std::slice::from_ref(&row)).await
}
