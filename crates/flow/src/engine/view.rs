//! What a caller reads of tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use crate::error::TaskError;
use crate::ports::{Edge, Ending, Filter, Key, Page, Row, Rows, StoredOutcome};
use crate::state::State;
use crate::step::is_satisfied;
use crate::task::TaskId;

/// The most tasks of a flow that are read at once.
const FLOW_PAGE: u64 = 10_000;

/// The tasks that a caller may see and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// All tasks.
    All,
    /// The tasks of a principal, or those created without one.
    OwnedBy(Option<Arc<str>>),
}

impl Visible {
    pub(crate) fn includes(&self, row: &Row) -> bool {
        match self {
            Visible::All => true,
            Visible::OwnedBy(owner) => row.owner == *owner,
        }
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
    pub(crate) outcome: Option<Ending>,
    pub(crate) dependencies: Vec<(TaskId, bool)>,
    /// Required dependencies that ended without success.
    pub(crate) blocked_by: Vec<TaskId>,
}

/// The row of a task that the caller may see.
pub(crate) async fn find_visible(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Result<Row, TaskError>, StoreError> {
    let found = rows.find(&[id]).await?.pop();
    Ok(match found {
        Some(row) if visible.includes(&row) => Ok(row),
        Some(_) => Err(TaskError::NotOwned(id)),
        None => Err(TaskError::NotFound(id)),
    })
}

/// A task.
pub(crate) async fn find(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Result<FoundTask, TaskError>, StoreError> {
    let row = match find_visible(rows, visible, id).await? {
        Ok(row) => row,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut found = with_details(rows, vec![row]).await?;
    Ok(found.pop().ok_or(TaskError::NotFound(id)))
}

/// Tasks that meet a condition, and how many there are in all.
pub(crate) async fn list(
    rows: &mut dyn Rows,
    filter: &Filter,
    page: Page,
) -> Result<(Vec<FoundTask>, u64), StoreError> {
    let total = rows.count(filter).await?.iter().sum();
    let found = rows.list(filter, page).await?;
    Ok((with_details(rows, found).await?, total))
}

/// The direct children of a task.
pub(crate) async fn children(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
    page: Page,
) -> Result<Result<(Vec<FoundTask>, u64), TaskError>, StoreError> {
    let row = match find_visible(rows, visible, id).await? {
        Ok(row) => row,
        Err(refused) => return Ok(Err(refused)),
    };
    let filter = Filter {
        parent: Some(row.key),
        ..Filter::default()
    };
    list(rows, &filter, page).await.map(Ok)
}

/// A task and all its descendants, each after its parent.
pub(crate) async fn tree(
    rows: &mut dyn Rows,
    visible: &Visible,
    id: TaskId,
) -> Result<Result<Vec<FoundTask>, TaskError>, StoreError> {
    let top = match find_visible(rows, visible, id).await? {
        Ok(row) => row,
        Err(refused) => return Ok(Err(refused)),
    };
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
    with_details(rows, found).await.map(Ok)
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

async fn with_details(rows: &mut dyn Rows, found: Vec<Row>) -> Result<Vec<FoundTask>, StoreError> {
    let keys: Vec<Key> = found.iter().map(|row| row.key).collect();
    let definitions = rows.definitions(&keys).await?.into_iter();
    let mut definitions: BTreeMap<Key, Arc<str>> =
        definitions.map(|it| (it.key, it.text)).collect();
    let outcomes = rows.outcomes(&keys).await?.into_iter();
    let mut outcomes: BTreeMap<Key, StoredOutcome> = outcomes.map(|it| (it.key, it)).collect();
    let edges = rows.dependencies(&keys).await?;
    let others = others(rows, &found, &edges).await?;
    let mut dependencies: BTreeMap<Key, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        dependencies.entry(edge.task).or_default().push(edge);
    }
    let id_of = |key: Key| others.get(&key).map(|(id, _)| *id);
    let details = found.into_iter().map(|row| {
        let edges = dependencies.remove(&row.key).unwrap_or_default();
        let outcome = outcomes.remove(&row.key);
        let is_current = |it: &StoredOutcome| it.generation == row.run.generation;
        FoundTask {
            parent: row.parent.and_then(id_of),
            root: id_of(row.flow).unwrap_or(row.id),
            definition: definitions.remove(&row.key).unwrap_or_default(),
            outcome: outcome.filter(is_current).map(|it| it.ending),
            blocked_by: blocked_by(&row, &edges, &others),
            dependencies: edges
                .iter()
                .filter_map(|edge| Some((id_of(edge.on)?, edge.required)))
                .collect(),
            row,
        }
    });
    Ok(details.collect())
}

type Others = BTreeMap<Key, (TaskId, State)>;

/// Ids and states of the tasks that these refer to.
async fn others(rows: &mut dyn Rows, found: &[Row], edges: &[Edge]) -> Result<Others, StoreError> {
    let mut others: Others = found
        .iter()
        .map(|row| (row.key, (row.id, row.run.state)))
        .collect();
    let referred = found
        .iter()
        .flat_map(|row| row.parent.into_iter().chain([row.flow]));
    let mut missing: Vec<Key> = referred.chain(edges.iter().map(|edge| edge.on)).collect();
    missing.retain(|key| !others.contains_key(key));
    missing.sort_unstable();
    missing.dedup();
    let loaded = rows.load(&missing).await?.into_iter();
    others.extend(loaded.map(|row| (row.key, (row.id, row.run.state))));
    Ok(others)
}

/// The required dependencies that ended without success, while the task is pending.
fn blocked_by(row: &Row, edges: &[Edge], others: &Others) -> Vec<TaskId> {
    if row.run.state != State::Pending {
        return Vec::new();
    }
    let blocking = edges.iter().filter_map(|edge| {
        let (id, state) = others.get(&edge.on)?;
        let blocks = state.is_terminal() && !is_satisfied(edge.required, *state);
        blocks.then_some(*id)
    });
    blocking.collect()
}
