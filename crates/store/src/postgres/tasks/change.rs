//! SQL statements that change tasks. All are sent without waiting for them, except for new keys.

use std::sync::Arc;

use panpan_flow::ports::{Edge, Key, NewRow, Redefined, Row, StoredOutcome};
use panpan_runtime::ports::StoreError;

use super::super::session::Value;
use super::columns::{
    SharedText, array, bytes, key, keys, limit, priority_number, runs, state_number,
};
use super::select::first_turn;
use super::transaction::Transaction;

const RESERVE: &str = "
    SELECT nextval('panpan.task_keys') FROM generate_series(1, $1::bigint)";

const INSERT: &str = "
    INSERT INTO panpan.tasks
        (key, id, flow, parent, owner, user_id, created_at, has_references, operation)
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bytea[],
        $6::bytea[], $7::bigint[], $8::boolean[], $9::bytea[])";

const INSERT_RUNS: &str = "
    INSERT INTO panpan.task_runs
        (key, flow, priority, turn, generation, epoch, attempts, recoveries, waiting, due_at,
         progress, updated_at, started_at, completed_at, state, queued, is_held, is_released)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[],
        $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
        $11::double precision[], $12::bigint[], $13::bigint[], $14::bigint[], $15::smallint[],
        $16::smallint[], $17::boolean[], $18::boolean[])";

const INSERT_FLOWS: &str = "
    INSERT INTO panpan.task_flows (flow, last) SELECT flow, 0 FROM unnest($1::bigint[]) AS flow";

const DEFINE: &str = "
    INSERT INTO panpan.task_definitions (task, text, authority)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])";

const DEPEND: &str = "
    INSERT INTO panpan.task_dependencies (task, position, depends_on, required)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[])";

const SAVE: &str = "
    UPDATE panpan.task_runs AS runs SET aside = NULL, turn = new.turn, generation = new.generation,
        epoch = new.epoch, attempts = new.attempts, recoveries = new.recoveries,
        waiting = new.waiting, due_at = new.due_at, progress = new.progress,
        updated_at = new.updated_at, started_at = new.started_at,
        completed_at = new.completed_at, state = new.state, queued = new.queued,
        is_held = new.is_held, is_released = new.is_released
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
        $6::bigint[], $7::bigint[], $8::bigint[], $9::double precision[], $10::bigint[],
        $11::bigint[], $12::bigint[], $13::smallint[], $14::smallint[], $15::boolean[],
        $16::boolean[]) AS new (key, turn, generation, epoch, attempts, recoveries, waiting, due_at,
        progress, updated_at, started_at, completed_at, state, queued, is_held, is_released)
    WHERE runs.key = new.key";

const REDEFINE: &str = "
    WITH redefined AS (UPDATE panpan.task_definitions SET text = $2 WHERE task = $1),
        sorted AS (UPDATE panpan.task_runs SET priority = $3 WHERE key = $1)
    UPDATE panpan.tasks SET user_id = $4, operation = $5 WHERE key = $1";

const AUTHORIZE: &str = "
    UPDATE panpan.task_definitions SET authority = $2
    WHERE task = ANY(ARRAY(SELECT key FROM panpan.tasks WHERE flow = $1))
        AND authority IS DISTINCT FROM $2";

const MARK_REFERENCED: &str = "
    UPDATE panpan.tasks SET has_references = true WHERE key = ANY($1) AND NOT has_references";

const DELETE: &str = "
    WITH runs AS (DELETE FROM panpan.task_runs WHERE key = ANY($1)),
        definitions AS (DELETE FROM panpan.task_definitions WHERE task = ANY($1)),
        dependencies AS (DELETE FROM panpan.task_dependencies WHERE task = ANY($1)),
        outcomes AS (DELETE FROM panpan.task_outcomes WHERE task = ANY($1)),
        histories AS (DELETE FROM panpan.task_histories WHERE task = ANY($1)),
        flows AS (DELETE FROM panpan.task_flows WHERE flow = ANY($1)),
        journals AS (DELETE FROM panpan.task_journal WHERE flow = ANY($1))
    DELETE FROM panpan.tasks WHERE key = ANY($1)";

const DELETE_DEPENDENCIES: &str = "DELETE FROM panpan.task_dependencies WHERE task = ANY($1)";

const KEEP: &str = "
    INSERT INTO panpan.task_outcomes (task, generation, at, attempts, state, error, text)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[],
        $6::bytea[], $7::text[])";

const SET_HISTORIES: &str = "
    INSERT INTO panpan.task_histories (task, text)
    SELECT * FROM unnest($1::bigint[], $2::text[])
    ON CONFLICT (task) DO UPDATE SET text = excluded.text";

const DELETE_HISTORIES: &str = "DELETE FROM panpan.task_histories WHERE task = ANY($1)";

const PROMOTE: &str = concat!(
    "UPDATE panpan.task_runs AS due SET queued = 1, due_at = NULL, turn = coalesce(",
    first_turn!("due.priority"),
    ", 1)
    WHERE key = ANY(ARRAY(
        SELECT key FROM panpan.task_runs WHERE queued = 2 AND due_at <= $1
        ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED))"
);

const SET_ASIDE: &str = "
    UPDATE panpan.task_runs SET aside = $2 WHERE key = ANY($1) AND queued = 1";

const RECALL: &str = "
    UPDATE panpan.task_runs SET aside = NULL WHERE key = ANY(ARRAY(
        SELECT key FROM panpan.task_runs WHERE aside = $1
        ORDER BY priority, turn, key LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING key";

/// New keys.
pub(super) async fn reserve(
    transaction: &mut Transaction<'_>,
    count: usize,
) -> Result<Vec<Key>, StoreError> {
    let found = transaction.select(RESERVE, vec![limit(count)], |row| key(row, 0));
    found.await
}

/// Adds tasks with their definitions and dependencies, and flows with their roots.
pub(super) async fn insert(
    transaction: &mut Transaction<'_>,
    tasks: &[NewRow],
) -> Result<(), StoreError> {
    let new_keys = || array(tasks, |it| it.row.key.0);
    let rows = vec![
        new_keys(),
        array(tasks, |it| it.row.id.uuid()),
        array(tasks, |it| it.row.flow.0),
        array(tasks, |it| it.row.parent.map(|it| it.0)),
        array(tasks, |it| it.row.owner.as_deref().map(bytes)),
        array(tasks, |it| it.user_id.as_deref().map(bytes)),
        array(tasks, |it| it.row.created_at.as_millisecond()),
        array(tasks, |it| it.row.has_references),
        array(tasks, |it| it.row.operation.as_deref().map(bytes)),
    ];
    transaction.send(INSERT, rows).await?;
    let mut rows = vec![
        new_keys(),
        array(tasks, |it| it.row.flow.0),
        array(tasks, |it| priority_number(it.row.priority)),
    ];
    rows.extend(runs(tasks, |it| &it.row));
    transaction.send(INSERT_RUNS, rows).await?;
    let definitions = vec![
        new_keys(),
        array(tasks, |it| SharedText(it.definition.clone())),
        array(tasks, |it| it.authority.clone().map(SharedText)),
    ];
    transaction.send(DEFINE, definitions).await?;
    let is_root = |it: &&NewRow| it.row.flow == it.row.key;
    let flows: Vec<Key> = tasks.iter().filter(is_root).map(|it| it.row.key).collect();
    if !flows.is_empty() {
        transaction.send(INSERT_FLOWS, vec![keys(&flows)]).await?;
    }
    depend(transaction, tasks.iter().map(|it| &it.dependencies[..])).await
}

/// Adds the dependencies of tasks.
async fn depend<'a>(
    transaction: &mut Transaction<'_>,
    of_tasks: impl Iterator<Item = &'a [Edge]>,
) -> Result<(), StoreError> {
    let numbered = of_tasks.flat_map(|edges| (0_i64..).zip(edges));
    let edges: Vec<(i64, &Edge)> = numbered.collect();
    if edges.is_empty() {
        return Ok(());
    }
    let values = vec![
        array(&edges, |(_, edge)| edge.task.0),
        array(&edges, |(position, _)| *position),
        array(&edges, |(_, edge)| edge.on.0),
        array(&edges, |(_, edge)| edge.required),
    ];
    transaction.send(DEPEND, values).await
}

/// Writes the turns and runs of tasks.
pub(super) async fn save(
    transaction: &mut Transaction<'_>,
    rows: &[Row],
) -> Result<(), StoreError> {
    let mut values = vec![array(rows, |row| row.key.0)];
    values.extend(runs(rows, |row| row));
    transaction.send(SAVE, values).await
}

/// Replaces a definition.
pub(super) async fn redefine(
    transaction: &mut Transaction<'_>,
    key: Key,
    redefined: &Redefined,
) -> Result<(), StoreError> {
    let values: Vec<Value> = vec![
        Box::new(key.0),
        Box::new(SharedText(redefined.definition.clone())),
        Box::new(priority_number(redefined.priority)),
        Box::new(redefined.user_id.as_deref().map(bytes)),
        Box::new(redefined.operation.as_deref().map(bytes)),
    ];
    transaction.send(REDEFINE, values).await
}

/// Replaces the authority of a flow.
pub(super) async fn authorize(
    transaction: &mut Transaction<'_>,
    flow: Key,
    authority: Option<Arc<str>>,
) -> Result<(), StoreError> {
    let authority = authority.map(SharedText);
    let values: Vec<Value> = vec![Box::new(flow.0), Box::new(authority)];
    transaction.send(AUTHORIZE, values).await
}

/// Notes that other tasks refer to these as their originals.
pub(super) async fn mark_referenced(
    transaction: &mut Transaction<'_>,
    originals: &[Key],
) -> Result<(), StoreError> {
    transaction
        .send(MARK_REFERENCED, vec![keys(originals)])
        .await
}

/// Deletes tasks. With its root, the journal of a flow is deleted.
pub(super) async fn delete(
    transaction: &mut Transaction<'_>,
    deleted: &[Key],
) -> Result<(), StoreError> {
    transaction.send(DELETE, vec![keys(deleted)]).await
}

/// Replaces the dependencies of a task.
pub(super) async fn replace_dependencies(
    transaction: &mut Transaction<'_>,
    task: Key,
    edges: &[Edge],
) -> Result<(), StoreError> {
    let values = vec![keys(&[task])];
    transaction.send(DELETE_DEPENDENCIES, values).await?;
    depend(transaction, [edges].into_iter()).await
}

/// Keeps outcomes.
pub(super) async fn keep(
    transaction: &mut Transaction<'_>,
    outcomes: &[StoredOutcome],
) -> Result<(), StoreError> {
    let values = vec![
        array(outcomes, |it| it.key.0),
        array(outcomes, |it| i64::from(it.generation)),
        array(outcomes, |it| it.at.as_millisecond()),
        array(outcomes, |it| i64::from(it.attempts)),
        array(outcomes, |it| state_number(it.ending.state())),
        array(outcomes, |it| it.ending.parts().0.map(|error| bytes(error))),
        array(outcomes, |it| it.ending.parts().1.cloned().map(SharedText)),
    ];
    transaction.send(KEEP, values).await
}

/// Deletes the outcomes of a task up to a generation.
pub(super) async fn forget_generations(
    transaction: &mut Transaction<'_>,
    key: Key,
    last: u32,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM panpan.task_outcomes WHERE task = $1 AND generation <= $2";
    let values: Vec<Value> = vec![Box::new(key.0), Box::new(i64::from(last))];
    transaction.send(sql, values).await
}

/// Replaces or deletes the histories of tasks.
pub(super) async fn set_histories(
    transaction: &mut Transaction<'_>,
    histories: &[(Key, Option<Arc<str>>)],
) -> Result<(), StoreError> {
    let deleted = histories.iter().filter(|(_, text)| text.is_none());
    let deleted: Vec<Key> = deleted.map(|(key, _)| *key).collect();
    if !deleted.is_empty() {
        transaction
            .send(DELETE_HISTORIES, vec![keys(&deleted)])
            .await?;
    }
    let set = histories
        .iter()
        .filter_map(|(key, text)| Some((*key, text.clone()?)));
    let set: Vec<(Key, Arc<str>)> = set.collect();
    if set.is_empty() {
        return Ok(());
    }
    let values = vec![
        array(&set, |(key, _)| key.0),
        array(&set, |(_, text)| SharedText(text.clone())),
    ];
    transaction.send(SET_HISTORIES, values).await
}

/// Makes tasks ready whose time has come, and that no other transaction has locked.
pub(super) async fn promote(
    transaction: &mut Transaction<'_>,
    at_most: usize,
) -> Result<(), StoreError> {
    let values: Vec<Value> = vec![Box::new(transaction.now_ms()), limit(at_most)];
    transaction.send(PROMOTE, values).await
}

/// Sets ready tasks aside, which this transaction has locked.
pub(super) async fn set_aside(
    transaction: &mut Transaction<'_>,
    ready: &[Key],
    group: &str,
) -> Result<(), StoreError> {
    let values: Vec<Value> = vec![keys(ready), Box::new(bytes(group))];
    transaction.send(SET_ASIDE, values).await
}

/// Returns tasks of a group to the other ready ones, without those that another transaction has locked.
pub(super) async fn recall(
    transaction: &mut Transaction<'_>,
    group: &str,
    at_most: usize,
) -> Result<Vec<Key>, StoreError> {
    let values: Vec<Value> = vec![Box::new(bytes(group)), limit(at_most)];
    transaction.select(RECALL, values, |row| key(row, 0)).await
}
