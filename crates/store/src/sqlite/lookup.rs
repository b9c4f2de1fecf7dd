//! SQL statements that read keys: stored outcomes, leases and earlier outcomes.

use jiff::Timestamp;
use panpan_runtime::ports::{Claim, Claimed, Earlier, Kept, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::errors::QueryError;
use crate::outcome::Columns;
use crate::time::{remaining_ms, timestamp};

/// The state of a key with a lease, current or run out.
pub(super) const HELD: i64 = 1;
/// The state of a key with an outcome.
pub(super) const FINISHED: i64 = 3;

const FIND_KEY: &str = "
    SELECT fingerprint, state, lease_until, call, generation, expires_at,
           outcome_kind, outcome_digest, outcome_bytes, outcome_text, without_effect
    FROM keys WHERE scope = ?1";

// Rows with a later generation are left over from before the key expired and was claimed again.
const EARLIER: &str = "
    SELECT earlier.call, earlier.generation, earlier.expires_at, reopened_at, reopened_by, reason,
           earlier.outcome_kind, earlier.outcome_digest, earlier.outcome_bytes, earlier.outcome_text
    FROM keys JOIN earlier ON earlier.key = keys.id
    WHERE keys.scope = ?1 AND earlier.generation < keys.generation
      AND (keys.expires_at IS NULL OR keys.expires_at > ?2)
    ORDER BY earlier.generation";

/// The result of a claim for a finished key, which no call changes any more.
pub(super) fn claim_finished(
    connection: &Connection,
    claim: &Claim,
    now_ms: i64,
) -> Result<Option<Claimed>, QueryError> {
    let found = find_key(connection, claim.scope)?;
    let Some(found) = found.filter(|found| found.has_outcome(now_ms)) else {
        return Ok(None);
    };
    if found.fingerprint != claim.fingerprint.0 {
        return Ok((!found.without_effect).then_some(Claimed::Reused));
    }
    Ok(Some(Claimed::Replay(found.kept()?)))
}

/// The result of a claim when no new key may be claimed: as above, or that another call holds the key.
pub(super) fn claim_without_writing(
    connection: &Connection,
    claim: &Claim,
    now_ms: i64,
) -> Result<Option<Claimed>, QueryError> {
    let held = find_key(connection, claim.scope)?
        .filter(|found| found.state == HELD && now_ms < found.lease_until);
    match held {
        Some(held) if held.fingerprint == claim.fingerprint.0 => Ok(Some(Claimed::InFlight {
            remaining_ms: remaining_ms(held.lease_until, now_ms),
        })),
        Some(_) => Ok(Some(Claimed::Reused)),
        None => claim_finished(connection, claim, now_ms),
    }
}

/// The outcome of a key.
pub(super) fn kept(
    connection: &Connection,
    scope: Scope,
    now_ms: i64,
) -> Result<Option<Kept>, QueryError> {
    let found = find_key(connection, scope)?;
    let kept = found.filter(|found| found.has_outcome(now_ms));
    kept.map(KeyRow::kept).transpose()
}

/// The outcomes that a key had before it was reopened.
pub(super) fn earlier(
    connection: &Connection,
    scope: Scope,
    now_ms: i64,
) -> Result<Vec<Earlier>, QueryError> {
    let mut statement = connection.prepare_cached(EARLIER)?;
    let mut rows = statement.query(params![scope.0, now_ms])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Earlier {
            kept: Kept {
                call: uuid::Uuid::from_bytes(row.get(0)?),
                generation: row.get(1)?,
                expires_at: timestamp(row.get(2)?),
                outcome: columns(row, 6)?.outcome().ok_or(QueryError::Unreadable)?,
            },
            at: timestamp(row.get(3)?),
            by: row.get(4)?,
            reason: row.get(5)?,
        });
    }
    Ok(found)
}

/// The stored row of a key.
pub(super) struct KeyRow {
    pub(super) fingerprint: [u8; 32],
    pub(super) state: i64,
    pub(super) lease_until: i64,
    call: [u8; 16],
    generation: u32,
    expires_at: Option<i64>,
    without_effect: bool,
    outcome: Columns,
}

impl KeyRow {
    fn has_outcome(&self, now_ms: i64) -> bool {
        self.state == FINISHED
            && self
                .expires_at
                .is_some_and(|expires_ms| now_ms < expires_ms)
    }

    pub(super) fn kept(self) -> Result<Kept, QueryError> {
        Ok(Kept {
            call: uuid::Uuid::from_bytes(self.call),
            outcome: self.outcome.outcome().ok_or(QueryError::Unreadable)?,
            expires_at: self.expires_at.map_or(Timestamp::MAX, timestamp),
            generation: self.generation,
        })
    }
}

/// The row of a key in any state.
pub(super) fn find_key(
    connection: &Connection,
    scope: Scope,
) -> Result<Option<KeyRow>, QueryError> {
    let mut statement = connection.prepare_cached(FIND_KEY)?;
    let found = statement.query_row([scope.0], |row| {
        Ok(KeyRow {
            fingerprint: row.get(0)?,
            state: row.get(1)?,
            lease_until: row.get(2)?,
            call: row.get(3)?,
            generation: row.get(4)?,
            expires_at: row.get(5)?,
            outcome: columns(row, 6)?,
            without_effect: row.get(10)?,
        })
    });
    Ok(found.optional()?)
}

/// Reads the four columns of an outcome that start at `first`.
fn columns(row: &Row<'_>, first: usize) -> rusqlite::Result<Columns> {
    Ok(Columns {
        kind: row.get(first)?,
        digest: row.get(first + 1)?,
        bytes: row.get(first + 2)?,
        text: row.get(first + 3)?,
    })
}
