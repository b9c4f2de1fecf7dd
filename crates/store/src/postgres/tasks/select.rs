//! SQL statements that read tasks.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{Edge, Failures, Filter, JournalPage, Key, Page, Row, StoredOutcome};
use panpan_flow::{Priority, State, TaskId};
use panpan_runtime::ports::StoreError;

use super::super::session::Value;
use super::super::text::{column, text};
use super::columns::{
    self, array, bytes, key, keys, limit, priority_number, row, state, state_number, tasks,
};
use super::transaction::Transaction;
use crate::time::timestamp;

const BY_ID: &str = tasks!("WHERE tasks.id = ANY($1) ORDER BY runs.key");

const BY_KEY: &str = tasks!("WHERE runs.key = ANY($1) ORDER BY runs.key");

/// The tasks with keys that no other transaction has locked.
pub(super) const UNLOCKED: &str =
    tasks!("WHERE runs.key = ANY($1) ORDER BY runs.key FOR UPDATE OF runs SKIP LOCKED");

const LIST: &str = tasks!("");

const READY: &str = tasks!(
    "WHERE runs.queued = 1 AND runs.aside IS NULL AND ($2::bigint IS NULL OR runs.flow = $2) \
     ORDER BY runs.priority, runs.turn, runs.key LIMIT $1 FOR UPDATE OF runs SKIP LOCKED"
);

const AT_REST: &str = tasks!(
    "WHERE runs.key = ANY($1) AND NOT EXISTS (
        SELECT FROM panpan.task_runs AS active WHERE active.flow = runs.key AND active.queued > 0)
     ORDER BY runs.key"
);

const COUNT: &str = "
    SELECT runs.state, count(*)
    FROM panpan.task_runs AS runs JOIN panpan.tasks AS tasks ON tasks.key = runs.key";

/// The definitions of tasks.
pub(super) const DEFINITIONS: &str = "
    SELECT task, text, authority FROM panpan.task_definitions WHERE task = ANY($1)";

/// The edges from tasks to their dependencies.
pub(super) const DEPENDENCIES: &str = "
    SELECT task, depends_on, required FROM panpan.task_dependencies
    WHERE task = ANY($1) ORDER BY task, position";

const DEPENDENTS: &str = "
    SELECT task, depends_on, required FROM panpan.task_dependencies WHERE depends_on = ANY($1)";

const LOCK_DEPENDENTS: &str = "
    SELECT FROM panpan.task_runs WHERE key = ANY(ARRAY(
        SELECT task FROM panpan.task_dependencies WHERE depends_on = ANY($1)))
    ORDER BY key FOR UPDATE";

/// The outcomes of the current generations of tasks.
pub(super) const OUTCOMES: &str = "
    SELECT kept.task, kept.generation, kept.at, kept.attempts, kept.state, kept.error, kept.text
    FROM panpan.task_runs AS runs JOIN panpan.task_outcomes AS kept
        ON kept.task = runs.key AND kept.generation = runs.generation
    WHERE runs.key = ANY($1)";

/// The bytes of the current results of those tasks that are completed.
pub(super) const RESULT_SIZES: &str = "
    SELECT kept.task, octet_length(kept.text)::bigint
    FROM panpan.task_runs AS runs JOIN panpan.task_outcomes AS kept
        ON kept.task = runs.key AND kept.generation = runs.generation
    WHERE runs.key = ANY($1) AND kept.state = 2";

const GENERATIONS: &str = "
    SELECT task, generation, at, attempts, state, error, text
    FROM panpan.task_outcomes WHERE task = $1 AND generation > $2 ORDER BY generation LIMIT $3";

/// The histories of tasks.
pub(super) const HISTORIES: &str = "
    SELECT task, text FROM panpan.task_histories WHERE task = ANY($1)";

const NEXT_DUE: &str = "
    SELECT due_at FROM panpan.task_runs WHERE queued = 2 ORDER BY due_at LIMIT 1";

/// The smallest turn of ready tasks of a priority, also of those that are set aside. `least` ignores null.
macro_rules! first_turn {
    ($priority:literal) => {
        concat!(
            "least(
                (SELECT turn FROM panpan.task_runs
                    WHERE queued = 1 AND aside IS NULL AND priority = ",
            $priority,
            " ORDER BY turn LIMIT 1),
                (SELECT turn FROM panpan.task_runs WHERE aside IS NOT NULL AND priority = ",
            $priority,
            " ORDER BY turn LIMIT 1))"
        )
    };
}
pub(super) use first_turn;

const NEXT_TURNS: &str = concat!(
    "SELECT 1 + coalesce(greatest(",
    first_turn!("queue.priority"),
    ", (SELECT turn FROM panpan.task_runs
            WHERE flow = queue.flow AND queued = 1 AND priority = queue.priority
            ORDER BY turn DESC LIMIT 1)), 0)
    FROM unnest($1::bigint[], $2::smallint[]) WITH ORDINALITY AS queue (flow, priority, place)
    ORDER BY place"
);

/// Seeks from one group to the next: a group can have many tasks.
const GROUPS_ASIDE: &str = "
    WITH RECURSIVE groups (name) AS (
        (SELECT aside FROM panpan.task_runs WHERE aside IS NOT NULL ORDER BY aside LIMIT 1)
        UNION ALL
        SELECT (SELECT runs.aside FROM panpan.task_runs AS runs WHERE runs.aside > groups.name
            ORDER BY runs.aside LIMIT 1)
        FROM groups WHERE groups.name IS NOT NULL)
    SELECT name FROM groups WHERE name IS NOT NULL";

const FAILURES: &str = "
    SELECT tasks.id, kept.error
    FROM panpan.tasks AS tasks JOIN panpan.task_runs AS runs ON runs.key = tasks.key
        JOIN panpan.task_outcomes AS kept
            ON kept.task = runs.key AND kept.generation = runs.generation
    WHERE tasks.flow = $1 AND runs.state = $3 ORDER BY tasks.key LIMIT $2";

const RESTING: &str = "
    SELECT runs.key FROM panpan.task_runs AS runs
    WHERE runs.flow = runs.key AND runs.updated_at < $1 AND NOT EXISTS (
        SELECT FROM panpan.tasks AS tasks JOIN panpan.task_runs AS others ON others.key = tasks.key
        WHERE tasks.flow = runs.key
            AND (others.queued > 0 OR others.state = 1 OR others.updated_at >= $1))";

const ANNOUNCEMENTS: &str = "
    SELECT number, flow, task, at, what, state, progress FROM panpan.task_journal
    WHERE flow = $1 AND number > $2 ORDER BY number LIMIT $3";

/// The tasks with these ids.
pub(super) async fn by_id(
    transaction: &mut Transaction<'_>,
    ids: &[TaskId],
) -> Result<Vec<Row>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = transaction.locking(BY_ID);
    let ids = array(ids, |id| id.uuid());
    transaction.select(&sql, vec![ids], row).await
}

/// The tasks with these keys.
pub(super) async fn by_key(
    transaction: &mut Transaction<'_>,
    asked: &[Key],
) -> Result<Vec<Row>, StoreError> {
    let sql = transaction.locking(BY_KEY);
    of_keys(transaction, &sql, asked, row).await
}

/// The roots of those of these flows that rest. The rows of the flows are locked, those of the tasks need not be: only
/// a transaction that has locked the row of a flow ends the last task that is queued.
pub(super) async fn at_rest(
    transaction: &mut Transaction<'_>,
    flows: &[Key],
) -> Result<Vec<Row>, StoreError> {
    of_keys(transaction, AT_REST, flows, row).await
}

/// The edges from dependents to tasks. A writing transaction locks the dependents first: an edge that another
/// transaction removed meanwhile is not found. None can be added meanwhile, because that needs the lock of the task.
pub(super) async fn dependents(
    transaction: &mut Transaction<'_>,
    tasks: &[Key],
) -> Result<Vec<Edge>, StoreError> {
    if transaction.locks() && !tasks.is_empty() {
        transaction.send(LOCK_DEPENDENTS, vec![keys(tasks)]).await?;
    }
    of_keys(transaction, DEPENDENTS, tasks, columns::edge).await
}

/// What a query finds for these keys.
pub(super) async fn of_keys<T>(
    transaction: &mut Transaction<'_>,
    sql: &str,
    asked: &[Key],
    read: impl Fn(&tokio_postgres::Row) -> Result<T, super::super::errors::QueryError> + Send,
) -> Result<Vec<T>, StoreError> {
    match asked.is_empty() {
        true => Ok(Vec::new()),
        false => transaction.select(sql, vec![keys(asked)], read).await,
    }
}

/// The first outcomes of a task after a generation.
pub(super) async fn generations(
    transaction: &mut Transaction<'_>,
    key: Key,
    after: u32,
    limit: usize,
) -> Result<Vec<StoredOutcome>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values: Vec<Value> = vec![Box::new(key.0), Box::new(i64::from(after)), Box::new(limit)];
    transaction
        .select(GENERATIONS, values, columns::outcome)
        .await
}

/// Tasks that meet a condition.
pub(super) async fn list(
    transaction: &mut Transaction<'_>,
    filter: &Filter,
    page: Page,
) -> Result<Vec<Row>, StoreError> {
    let (condition, mut values) = condition(filter);
    let number = |it: u64| -> Value { Box::new(i64::try_from(it).unwrap_or(i64::MAX)) };
    values.extend([number(page.limit), number(page.offset)]);
    let count = values.len();
    let sql = format!(
        "{LIST} {condition} ORDER BY runs.key LIMIT ${} OFFSET ${count}",
        count - 1
    );
    let sql = transaction.locking(&sql);
    transaction.select(&sql, values, row).await
}

/// How many tasks meet a condition, by state.
pub(super) async fn count(
    transaction: &mut Transaction<'_>,
    filter: &Filter,
) -> Result<[u64; 5], StoreError> {
    let (condition, values) = condition(filter);
    let sql = format!("{COUNT} {condition} GROUP BY runs.state");
    let pair = |row: &_| Ok((state(row, 0)?, column::<i64>(row, 1)?));
    let mut counts = [0; 5];
    for (state, count) in transaction.select(&sql, values, pair).await? {
        counts[usize::from(state.number())] = count.cast_unsigned();
    }
    Ok(counts)
}

fn condition(filter: &Filter) -> (String, Vec<Value>) {
    let Filter {
        owner,
        state,
        user_id,
        flow,
        parent,
        roots,
    } = filter;
    let (mut parts, mut values): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut part = |column: &str, value: Value| {
        values.push(value);
        parts.push(format!("{column} = ${}", values.len()));
    };
    if let Some(Some(owner)) = owner {
        part("tasks.owner", Box::new(bytes(owner)));
    }
    if let Some(state) = state {
        part("runs.state", Box::new(state_number(*state)));
    }
    if let Some(user_id) = user_id {
        part("tasks.user_id", Box::new(bytes(user_id)));
    }
    if let Some(flow) = flow {
        part("tasks.flow", Box::new(flow.0));
    }
    if let Some(parent) = parent {
        part("tasks.parent", Box::new(parent.0));
    }
    if *owner == Some(None) {
        parts.push("tasks.owner IS NULL".to_owned());
    }
    if *roots {
        parts.push("tasks.flow = tasks.key".to_owned());
    }
    match parts.is_empty() {
        true => (String::new(), values),
        false => (format!("WHERE {}", parts.join(" AND ")), values),
    }
}

/// The first ready tasks that no other transaction has locked, of all flows or of one.
pub(super) async fn ready(
    transaction: &mut Transaction<'_>,
    at_most: usize,
    flow: Option<Key>,
) -> Result<Vec<Row>, StoreError> {
    let values: Vec<Value> = vec![limit(at_most), Box::new(flow.map(|it| it.0))];
    transaction.select(READY, values, row).await
}

/// The groups that have tasks aside.
pub(super) async fn groups_aside(
    transaction: &mut Transaction<'_>,
) -> Result<Vec<Arc<str>>, StoreError> {
    let name = |row: &_| text(column(row, 0)?).map(Arc::from);
    transaction.select(GROUPS_ASIDE, Vec::new(), name).await
}

/// When the next waiting task can be claimed.
pub(super) async fn next_due(
    transaction: &mut Transaction<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let due = transaction.select(NEXT_DUE, Vec::new(), |row| column(row, 0));
    Ok(due.await?.first().copied().map(timestamp))
}

/// The turn of the next task that becomes ready, for each of these flows and priorities.
pub(super) async fn next_turns(
    transaction: &mut Transaction<'_>,
    queues: &[(Key, Priority)],
) -> Result<Vec<i64>, StoreError> {
    let values = vec![
        array(queues, |(flow, _)| flow.0),
        array(queues, |(_, priority)| priority_number(*priority)),
    ];
    let turn = |row: &_| column(row, 0);
    transaction.select(NEXT_TURNS, values, turn).await
}

/// The first failed tasks of a flow, with their messages.
pub(super) async fn failures(
    transaction: &mut Transaction<'_>,
    flow: Key,
    at_most: usize,
) -> Result<Failures, StoreError> {
    let state = Box::new(state_number(State::Failed));
    let values: Vec<Value> = vec![Box::new(flow.0), limit(at_most), state];
    let read = columns::failure;
    transaction.select(FAILURES, values, read).await
}

/// Flows that rest and have not changed since a time. Their roots are locked first, and a command locks the root of a
/// flow before it lets a task run, so the flows that still rest then rest until the transaction ends.
pub(super) async fn resting(
    transaction: &mut Transaction<'_>,
    since: Timestamp,
    at_most: usize,
) -> Result<Vec<Key>, StoreError> {
    let since = || -> Value { Box::new(since.as_millisecond()) };
    let sql = format!(
        "{RESTING} ORDER BY runs.updated_at, runs.key LIMIT $2 FOR UPDATE OF runs SKIP LOCKED"
    );
    let locked = transaction.select(&sql, vec![since(), limit(at_most)], |row| key(row, 0));
    let locked = locked.await?;
    if locked.is_empty() {
        return Ok(locked);
    }
    let sql = format!("{RESTING} AND runs.key = ANY($2) ORDER BY runs.updated_at, runs.key");
    let resting = transaction.select(&sql, vec![since(), keys(&locked)], |row| key(row, 0));
    resting.await
}

/// Entries of a journal.
pub(super) async fn announcements(
    transaction: &mut Transaction<'_>,
    flow: Key,
    after: u64,
    at_most: usize,
) -> Result<JournalPage, StoreError> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let values: Vec<Value> = vec![Box::new(flow.0), Box::new(after), limit(at_most)];
    transaction
        .select(ANNOUNCEMENTS, values, columns::entry)
        .await
}
