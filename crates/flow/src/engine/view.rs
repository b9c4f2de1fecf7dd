//! What a caller reads of tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::blocking::Blocking;
use super::details::with_details;
use crate::error::TaskError;
use crate::ports::{Ending, Filter, Key, Page, Row, Rows, StoredOutcome};
use crate::task::{Definition, Dependency, TaskId};

/// The most tasks of a flow that are read at once.
const FLOW_PAGE: u64 = 10_000;

/// The most bytes of tasks in an answer, about. A list ends before a task that does not fit; a tree that does not fit is
/// refused.
pub const ANSWER_BYTES_LIMIT: usize = 8 * 1024 * 1024;

/// About the most bytes of definitions that are read for an answer, also where it shows little of them.
pub const DEFINITIONS_READ_LIMIT: usize = 64 * 1024 * 1024;

/// How many tasks are read with their details at once: each may have a large result.
const DETAILS_AT_ONCE: usize = 16;

/// How many outcomes of a task are read at once.
const OUTCOMES_AT_ONCE: usize = 4;

/// What a task takes in an answer besides its texts, and what each of its dependencies takes, in bytes.
const TASK_BYTES: usize = 1024;
const DEPENDENCY_BYTES: usize = 64;

/// How much of tasks is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    All,
    /// No outcomes.
    Definition,
    /// No inputs and no results.
    Summary,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) tasks: Vec<FoundTask>,
    /// How many tasks the whole list has.
    pub(crate) total: u64,
    /// Whether it ends before the end of the page, because of its size.
    pub(crate) is_cut: bool,
}

/// The tasks that a caller may see and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// All tasks.
    All,
    /// The tasks of a principal, or those created without one.
    OwnedBy(Option<Arc<str>>),
}

impl Visible {
    pub(crate) fn is_all(&self) -> bool {
        *self == Visible::All
    }

    pub(crate) fn includes(&self, row: &Row) -> bool {
        match self {
            Visible::All => true,
            Visible::OwnedBy(owner) => row.owner == *owner,
        }
    }

    /// The refusal of a task that the caller may not see.
    pub(crate) fn refuse(&self, task: TaskId) -> TaskError {
        let is_anonymous = *self == Visible::OwnedBy(None);
        TaskError::NotOwned { task, is_anonymous }
    }

    /// The condition for lists.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            owner: match self {
                Visible::All => None,
                Visible::OwnedBy(owner) => Some(owner.clone()),
            },
            ..Filter::default()
        }
    }
}

/// A task with everything that the protocol shows of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundTask {
    pub(crate) row: Row,
    pub(crate) parent: Option<TaskId>,
    pub(crate) root: TaskId,
    pub(crate) definition: Arc<str>,
    /// The bytes of the definition in the store.
    pub(crate) definition_bytes: usize,
    pub(crate) outcome: Option<Ending>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The tasks that ended without success and keep it from running.
    pub(crate) blocked_by: Vec<TaskId>,
}

/// The row of a task that the caller may see.
pub(super) async fn find_visible(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Row, TaskError> {
    match rows.find(&[id]).await?.pop() {
        Some(row) if visible.includes(&row) => Ok(row),
        Some(_) => Err(visible.refuse(id)),
        None => Err(TaskError::NotFound(id)),
    }
}

/// The root of the flow of a task.
pub(super) async fn root_of(rows: &mut dyn Rows, row: &Row) -> Result<Row, StoreError> {
    match row.key == row.flow {
        true => Ok(row.clone()),
        false => {
            let root = rows.load(&[row.flow]).await?.pop();
            root.ok_or(StoreError::Damaged)
        }
    }
}

/// The definition of a task.
pub(super) async fn definition(rows: &mut dyn Rows, key: Key) -> Result<Definition, StoreError> {
    let stored = rows.definitions(&[key]).await?.pop();
    Definition::of_stored(&stored.ok_or(StoreError::Damaged)?.text)
}

/// A task.
pub(crate) async fn find(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<FoundTask, TaskError> {
    let row = find_visible(rows, visible, id).await?;
    let blocking = &mut Blocking::default();
    let mut found = with_details(rows, vec![row], Fields::All, blocking).await?;
    found.pop().ok_or(TaskError::NotFound(id))
}

/// Tasks that meet a condition, and how many there are in all.
pub(crate) async fn list(
    rows: &mut dyn Rows,
    filter: &Filter,
    page: Page,
    fields: Fields,
) -> Result<Listed, StoreError> {
    let total = rows.count(filter).await?.iter().sum();
    let found = rows.list(filter, page).await?;
    let (tasks, is_cut) = as_fit(rows, &found, fields).await?;
    Ok(Listed {
        tasks,
        total,
        is_cut,
    })
}

/// The first of these tasks, as many as fit in an answer and at least one; and whether others are left.
async fn as_fit(
    rows: &mut dyn Rows,
    found: &[Row],
    fields: Fields,
) -> Result<(Vec<FoundTask>, bool), StoreError> {
    let (mut fitting, mut bytes, mut read) = (Vec::new(), 0, 0);
    let mut blocking = Blocking::default();
    for some in found.chunks(DETAILS_AT_ONCE) {
        for task in with_details(rows, some.to_vec(), fields, &mut blocking).await? {
            bytes += task.bytes();
            read += task.definition_bytes;
            let is_full = bytes > ANSWER_BYTES_LIMIT || read > DEFINITIONS_READ_LIMIT;
            if is_full && !fitting.is_empty() {
                return Ok((fitting, true));
            }
            fitting.push(task);
        }
    }
    Ok((fitting, false))
}

/// Outcomes of a task, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Generations {
    pub(crate) outcomes: Vec<StoredOutcome>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

/// The first outcomes of a task after a generation, as many as fit in an answer and at least one.
pub(crate) async fn generations(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
    after: u32,
) -> Result<Generations, TaskError> {
    let row = find_visible(rows, visible, id).await?;
    let (mut outcomes, mut bytes): (Vec<StoredOutcome>, usize) = (Vec::new(), 0);
    loop {
        let after = outcomes.last().map_or(after, |it| it.generation);
        let found = rows.generations(row.key, after, OUTCOMES_AT_ONCE).await?;
        let is_last = found.len() < OUTCOMES_AT_ONCE;
        for outcome in found {
            bytes += TASK_BYTES + outcome.ending.bytes();
            if bytes > ANSWER_BYTES_LIMIT && !outcomes.is_empty() {
                let is_cut = true;
                return Ok(Generations { outcomes, is_cut });
            }
            outcomes.push(outcome);
        }
        if is_last {
            let is_cut = false;
            return Ok(Generations { outcomes, is_cut });
        }
    }
}

/// The direct children of a task.
pub(crate) async fn children(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
    page: Page,
    fields: Fields,
) -> Result<Listed, TaskError> {
    let row = find_visible(rows, visible, id).await?;
    let filter = Filter {
        parent: Some(row.key),
        ..Filter::default()
    };
    Ok(list(rows, &filter, page, fields).await?)
}

/// A task and all its descendants, each after its parent.
pub(crate) async fn tree(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
    fields: Fields,
) -> Result<Vec<FoundTask>, TaskError> {
    let found = tree_rows(rows, visible, id).await?;
    let (tasks, is_cut) = as_fit(rows, &found, fields).await?;
    match is_cut {
        true => Err(TaskError::TreeTooLarge {
            task: id,
            tasks: found.len(),
        }),
        false => Ok(tasks),
    }
}

/// The definitions of a task and of all its descendants, each after its parent; nothing if they are too many or too large.
pub(super) async fn tree_definitions(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
    tasks_limit: usize,
    bytes_limit: usize,
) -> Result<Option<Vec<FoundTask>>, TaskError> {
    let found = tree_rows(rows, visible, id).await?;
    if found.len() > tasks_limit {
        return Ok(None);
    }
    let (mut tasks, mut bytes) = (Vec::with_capacity(found.len()), 0);
    let blocking = &mut Blocking::default();
    for some in found.chunks(DETAILS_AT_ONCE) {
        let some = with_details(rows, some.to_vec(), Fields::Definition, blocking).await?;
        bytes += some.iter().map(|it| it.definition_bytes).sum::<usize>();
        if bytes > bytes_limit {
            return Ok(None);
        }
        tasks.extend(some);
    }
    Ok(Some(tasks))
}

async fn tree_rows(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Vec<Row>, TaskError> {
    let top = find_visible(rows, visible, id).await?;
    let all = whole_flow(rows, top.flow).await?;
    let mut children: BTreeMap<Key, Vec<Row>> = BTreeMap::new();
    for row in all {
        if let Some(parent) = row.parent {
            children.entry(parent).or_default().push(row);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![top]);
    while let Some(row) = next.pop() {
        let below = children.remove(&row.key).unwrap_or_default();
        next.extend(below.into_iter().rev());
        found.push(row);
    }
    Ok(found)
}

/// All tasks of a flow, in the order of their keys.
pub(super) async fn whole_flow(rows: &mut dyn Rows, flow: Key) -> Result<Vec<Row>, StoreError> {
    let filter = Filter {
        flow: Some(flow),
        ..Filter::default()
    };
    let mut all = Vec::new();
    loop {
        let page = Page {
            offset: all.len() as u64,
            limit: FLOW_PAGE,
        };
        let found = rows.list(&filter, page).await?;
        let is_last = (found.len() as u64) < FLOW_PAGE;
        all.extend(found);
        if is_last {
            return Ok(all);
        }
    }
}

impl FoundTask {
    /// What it takes in an answer, about.
    fn bytes(&self) -> usize {
        let outcome = self.outcome.as_ref().map_or(0, Ending::bytes);
        let dependencies = self.dependencies.len() + self.blocked_by.len();
        TASK_BYTES + self.definition.len() + outcome + dependencies * DEPENDENCY_BYTES
    }
}
