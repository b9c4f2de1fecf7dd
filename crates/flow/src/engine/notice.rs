//! Sends messages to the webhooks of flows that rest: each message is a task of its own, written in the transaction in
//! which the flow rests. It is a flow by itself, below the root of the other one, and changes nothing there.

use std::sync::Arc;

use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_runtime::ports::StoreError;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::turns::give_turns;
use crate::ports::{Filter, Key, NewRow, Row, Rows, StoredDefinition};
use crate::state::State;
use crate::step::Run;
use crate::task::{Definition, Priority, Schemas, TaskId, stored_webhook};

/// The operation that sends a message. Only tasks of this module call it.
pub(crate) const NOTIFY: &str = "tasks/notify";

/// How often a message is sent, by itself and by hand, each time with its retries.
pub const MESSAGE_RUNS_LIMIT: u32 = 10;

/// How many failed tasks a message names.
const FAILURES_LISTED: usize = 10;

/// The longest error of a failed task in a message, in characters.
const ERROR_CHARACTERS: usize = 500;

/// Attempts within about two hours: after 1 s, 3 s, 9 s and so on, at most an hour.
const RETRY: RetrySettings = RetrySettings {
    max_retries: 9,
    initial_delay_ms: 1000,
    max_delay_ms: 60 * 60 * 1000,
    backoff_multiplier: 3.0,
    jitter_enabled: true,
    jitter_range: 0.1,
};

/// Whether a task is a message to a webhook.
pub(super) fn is_message(row: &Row) -> bool {
    row.operation.as_deref() == Some(NOTIFY)
}

/// Adds a message for each of these flows that has a webhook. Returns whether there is one.
pub(super) async fn notify(rows: &mut dyn Rows, roots: &[Row]) -> Result<bool, StoreError> {
    let keys: Vec<Key> = roots.iter().map(|row| row.key).collect();
    let mut has_messages = false;
    for stored in rows.definitions(&keys).await? {
        let root = roots.iter().find(|row| row.key == stored.key);
        if let Some(root) = root.filter(|_| stored_webhook(&stored.text).is_some()) {
            let message = message(rows, root).await?;
            add(rows, root, &stored, message).await?;
            has_messages = true;
        }
    }
    Ok(has_messages)
}

/// What the receiver learns: how the flow rests, not what its tasks returned.
async fn message(rows: &mut dyn Rows, root: &Row) -> Result<Value, StoreError> {
    let of_flow = Filter {
        flow: Some(root.key),
        ..Filter::default()
    };
    let counts = rows.count(&of_flow).await?;
    Ok(json!({
        "type": "flow.rested",
        "timestamp": rows.now(),
        "data": {
            "root_task_id": root.id,
            "status": root.run.state.word(),
            "generation": root.run.generation,
            "counts": State::counts(counts),
            "failures": failures(rows, root.key).await?,
        },
    }))
}

async fn failures(rows: &mut dyn Rows, flow: Key) -> Result<Vec<Value>, StoreError> {
    let failed = rows.failures(flow, FAILURES_LISTED).await?;
    let failure = |(id, error): &(TaskId, Arc<str>)| {
        let error: String = error.chars().take(ERROR_CHARACTERS).collect();
        json!({"task_id": id, "error": error})
    };
    Ok(failed.iter().map(failure).collect())
}

async fn add(
    rows: &mut dyn Rows,
    root: &Row,
    stored: &StoredDefinition,
    message: Value,
) -> Result<(), StoreError> {
    let keys = rows.reserve(1).await?;
    let key = keys.first().copied().ok_or(StoreError::Damaged)?;
    let id = id_of(root.id, key);
    let definition = definition(root.id, id, message);
    let mut row = Row {
        key,
        id,
        flow: key,
        parent: Some(root.key),
        owner: root.owner.clone(),
        priority: definition.priority,
        turn: 0,
        created_at: rows.now(),
        has_references: false,
        operation: definition.operation(),
        run: Run::released(0, rows.now()),
    };
    give_turns(rows, std::iter::once(&mut row)).await?;
    let new = NewRow {
        row,
        definition: definition.to_text().into(),
        authority: stored.authority.clone(),
        user_id: None,
        dependencies: Vec::new(),
    };
    rows.insert(&[new]).await
}

/// The same for the same message, and different for each one.
fn id_of(root: TaskId, key: Key) -> TaskId {
    let mut hash = Sha256::new();
    hash.update(root.uuid().as_bytes());
    hash.update(key.0.to_be_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    TaskId::from_random(Uuid::from_bytes(bytes))
}

fn definition(root: TaskId, id: TaskId, message: Value) -> Definition {
    let name = format!("webhook of {root}");
    let mut definition = Definition::new(name).expect("the name is short");
    definition.priority = Priority::NORMAL;
    definition.schemas = Schemas::new(NOTIFY);
    definition.retry = RetryPolicy::try_from(RETRY).ok();
    definition.inputs = Map::from_iter([
        ("webhook_id".to_owned(), id.to_string().into()),
        ("message".to_owned(), message),
    ]);
    definition
}
