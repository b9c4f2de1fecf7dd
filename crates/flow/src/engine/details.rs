//! What is read of tasks besides their rows: definitions, outcomes, dependencies, what blocks them.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::blocking::Blocking;
use super::view::{Fields, FoundTask};
use crate::ports::{Edge, Key, Row, Rows, StoredOutcome};
use crate::state::State;
use crate::task::{Definition, Dependency, TaskId};

/// Tasks with the details that an answer shows.
pub(super) async fn with_details(
    rows: &mut dyn Rows,
    found: Vec<Row>,
    fields: Fields,
    blocking: &mut Blocking,
) -> Result<Vec<FoundTask>, StoreError> {
    let keys: Vec<Key> = found.iter().map(|row| row.key).collect();
    let mut definitions = definitions(rows, &keys, fields).await?;
    let has_outcome = |row: &&Row| match fields {
        Fields::All => row.run.state.is_terminal(),
        Fields::Definition => false,
        Fields::Summary => row.run.state.is_terminal() && row.run.state != State::Completed,
    };
    let ended: Vec<Key> = found
        .iter()
        .filter(has_outcome)
        .map(|row| row.key)
        .collect();
    let outcomes = rows.outcomes(&ended).await?.into_iter();
    let mut outcomes: BTreeMap<Key, StoredOutcome> = outcomes.map(|it| (it.key, it)).collect();
    let edges = rows.dependencies(&keys).await?;
    let others = others(rows, &found, &edges).await?;
    if fields != Fields::Definition {
        blocking.look(rows, &found, &edges).await?;
    }
    let mut dependencies: BTreeMap<Key, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        dependencies.entry(edge.task).or_default().push(edge);
    }
    let id_of = |key: Key| others.get(&key).copied();
    let dependency = |edge: &Edge| {
        Some(Dependency {
            id: id_of(edge.on)?,
            required: edge.required,
        })
    };
    let details = found.into_iter().map(|row| {
        let edges = dependencies.remove(&row.key).unwrap_or_default();
        let outcome = outcomes.remove(&row.key);
        let (definition, definition_bytes) = definitions.remove(&row.key).unwrap_or_default();
        let is_current = |it: &StoredOutcome| it.generation == row.run.generation;
        FoundTask {
            parent: row.parent.and_then(id_of),
            root: id_of(row.flow).unwrap_or(row.id),
            definition,
            definition_bytes,
            outcome: outcome.filter(is_current).map(|it| it.ending),
            blocked_by: blocking.causes(&row),
            dependencies: edges.iter().filter_map(dependency).collect(),
            row,
        }
    });
    Ok(details.collect())
}

/// Definitions, and how many bytes each has in the store.
async fn definitions(
    rows: &mut dyn Rows,
    keys: &[Key],
    fields: Fields,
) -> Result<BTreeMap<Key, (Arc<str>, usize)>, StoreError> {
    let mut definitions = BTreeMap::new();
    for stored in rows.definitions(keys).await? {
        let bytes = stored.text.len();
        let text = match fields {
            Fields::All | Fields::Definition => stored.text,
            Fields::Summary => summary(&stored.text)?,
        };
        definitions.insert(stored.key, (text, bytes));
    }
    Ok(definitions)
}

fn summary(definition: &str) -> Result<Arc<str>, StoreError> {
    let summary = Definition::summary_of(definition).map_err(|_| StoreError::Damaged)?;
    Ok(summary.to_text().into())
}

type Others = BTreeMap<Key, TaskId>;

/// Ids of the tasks that these refer to.
async fn others(rows: &mut dyn Rows, found: &[Row], edges: &[Edge]) -> Result<Others, StoreError> {
    let mut others: Others = found.iter().map(|row| (row.key, row.id)).collect();
    let referred = found
        .iter()
        .flat_map(|row| row.parent.into_iter().chain([row.flow]));
    let mut missing: Vec<Key> = referred.chain(edges.iter().map(|edge| edge.on)).collect();
    missing.retain(|key| !others.contains_key(key));
    missing.sort_unstable();
    missing.dedup();
    let loaded = rows.load(&missing).await?.into_iter();
    others.extend(loaded.map(|row| (row.key, row.id)));
    Ok(others)
}
