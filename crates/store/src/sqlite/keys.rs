//! SQL statements that change keys: claim, extend, complete and reopen. Reading is in `lookup`.
//!
//! Each change is one statement that compares and updates atomically. If it changed nothing, a second
//! statement finds the reason.

use panpan_runtime::ports::{
    Before, Claim, Claimed, Completed, Completion, End, Lease, Reopened, Reopening, Scope,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::errors::QueryError;
use super::lookup::{FINISHED, HELD, KeyRow, find_key, kept};
use super::recordings;
use crate::outcome::Columns;
use crate::time::{FREE_KEPT_MS, later_ms, next_epoch, remaining_ms, timestamp};

const FREE: i64 = 2;

const CLAIM_NEW: &str = "
    INSERT INTO keys (scope, fingerprint, state, epoch, lease_until, call, previously, attempts,
                      recoveries, generation)
    VALUES (?1, ?2, 1, ?3, ?4, ?5, 0, 0, 0, 1)
    ON CONFLICT (scope) DO NOTHING";

// previously: 0 nothing, 1 released, 2 abandoned, 3 released but may have had an effect.
const CLAIM_KNOWN: &str = "
    UPDATE keys SET
        fingerprint = ?2,
        state = 1,
        epoch = max(epoch + 1, ?3),
        lease_until = ?4,
        call = ?5,
        previously = CASE WHEN expires_at <= ?6 OR fingerprint <> ?2 THEN 0
                          WHEN state = 2 AND (without_effect = 1 OR attempts = 0) THEN 1
                          WHEN state = 2 THEN 3 ELSE 2 END,
        attempts = CASE WHEN expires_at <= ?6 OR fingerprint <> ?2 THEN 0 ELSE attempts END,
        recoveries = CASE WHEN expires_at IS NULL THEN recoveries + 1 ELSE 0 END,
        generation = CASE WHEN expires_at <= ?6 THEN 1
                          WHEN fingerprint <> ?2 THEN generation + 1 ELSE generation END,
        expires_at = NULL,
        without_effect = 0,
        outcome_kind = NULL, outcome_digest = NULL, outcome_bytes = NULL, outcome_text = NULL
    WHERE scope = ?1
      AND (expires_at <= ?6
           OR (fingerprint = ?2 AND (state = 2 OR (state = 1 AND lease_until <= ?6)))
           OR (fingerprint <> ?2 AND without_effect = 1))
    RETURNING epoch, previously, attempts, recoveries, generation";

const ABANDON: &str = "
    UPDATE keys SET attempts = ?3, lease_until = ?4, recoveries = max(recoveries - 1, 0),
        epoch = epoch + 1
    WHERE scope = ?1 AND epoch = ?2 AND state = 1";

const EXTEND: &str = "
    UPDATE keys SET lease_until = ?3 WHERE scope = ?1 AND epoch = ?2 AND state = 1";

const COMPLETE: &str = "
    UPDATE keys SET state = ?3, attempts = ?4, recoveries = 0, expires_at = ?5,
        outcome_kind = ?6, outcome_digest = ?7, outcome_bytes = ?8, outcome_text = ?9,
        without_effect = ?10
    WHERE scope = ?1 AND epoch = ?2 AND state = 1";

const KEEP_EARLIER: &str = "
    INSERT OR REPLACE INTO earlier (key, generation, call, expires_at, reopened_at, reopened_by,
        reason, outcome_kind, outcome_digest, outcome_bytes, outcome_text)
    SELECT id, generation, call, expires_at, ?2, ?3, ?4,
        outcome_kind, outcome_digest, outcome_bytes, outcome_text
    FROM keys WHERE scope = ?1 AND state = 3 AND expires_at > ?2";

// Reopening must not delete the earlier outcome before it expires.
const REOPEN: &str = "
    UPDATE keys SET state = 2, attempts = 0, generation = generation + 1,
        expires_at = max(expires_at, ?2), without_effect = 0,
        outcome_kind = NULL, outcome_digest = NULL, outcome_bytes = NULL, outcome_text = NULL
    WHERE scope = ?1
    RETURNING generation";

/// Claims the key, or reports the reason why not.
pub(super) fn claim(
    connection: &Connection,
    claim: &Claim,
    now_ms: i64,
) -> Result<Claimed, QueryError> {
    let epoch = next_epoch(0, now_ms);
    let (first, until_ms) = (epoch.cast_signed(), later_ms(now_ms, claim.lease_ms));
    let Claim {
        scope,
        fingerprint,
        call,
        ..
    } = claim;
    let new = params![scope.0, fingerprint.0, first, until_ms, call.as_bytes()];
    if connection.prepare_cached(CLAIM_NEW)?.execute(new)? == 1 {
        let scope = *scope;
        return Ok(Claimed::Held {
            lease: Lease { scope, epoch },
            before: Before::Nothing,
            generation: 1,
        });
    }
    let known = params![
        scope.0,
        fingerprint.0,
        first,
        until_ms,
        call.as_bytes(),
        now_ms
    ];
    let mut statement = connection.prepare_cached(CLAIM_KNOWN)?;
    let held = statement.query_row(known, |row| held(row, *scope));
    if let Some(held) = held.optional()? {
        return Ok(held);
    }
    let row = find_key(connection, claim.scope)?.ok_or(QueryError::Unreadable)?;
    Ok(match row {
        _ if row.fingerprint != claim.fingerprint.0 => Claimed::Reused,
        KeyRow {
            state: FINISHED, ..
        } => Claimed::Replay(row.kept()?),
        _ => Claimed::InFlight {
            remaining_ms: remaining_ms(row.lease_until, now_ms),
        },
    })
}

fn held(row: &Row<'_>, scope: Scope) -> rusqlite::Result<Claimed> {
    let epoch = row.get::<_, i64>(0)?.cast_unsigned();
    let (attempts, recoveries) = (row.get(2)?, row.get(3)?);
    let before = match row.get(1)? {
        0 => Before::Nothing,
        known @ (1 | 3) => Before::Released {
            attempts,
            may_have_happened: known == 3,
        },
        other => {
            debug_assert_eq!(other, 2);
            Before::Abandoned {
                attempts,
                recoveries,
            }
        }
    };
    let lease = Lease { scope, epoch };
    Ok(Claimed::Held {
        lease,
        before,
        generation: row.get(4)?,
    })
}

/// Extends the lease; `false` if it is no longer the newest.
pub(super) fn extend(
    connection: &Connection,
    lease: Lease,
    lease_ms: u64,
    now_ms: i64,
) -> Result<bool, QueryError> {
    let mut statement = connection.prepare_cached(EXTEND)?;
    let until_ms = later_ms(now_ms, lease_ms);
    let changed = statement.execute(params![lease.scope.0, lease.epoch.cast_signed(), until_ms])?;
    Ok(changed == 1)
}

/// Completes a held key, and writes its recording in the same transaction.
pub(super) fn complete(
    connection: &Connection,
    completion: &Completion,
    now_ms: i64,
) -> Result<Completed, QueryError> {
    let (changed, expires_at) = match &completion.end {
        End::Keep { outcome, keep_ms } => {
            let expires_ms = later_ms(now_ms, *keep_ms);
            let columns = Columns::of(outcome);
            let changed = end(connection, completion, FINISHED, expires_ms, &columns)?;
            (changed, Some(timestamp(expires_ms)))
        }
        End::Release => {
            let (expires_ms, none) = (later_ms(now_ms, FREE_KEPT_MS), Columns::default());
            (end(connection, completion, FREE, expires_ms, &none)?, None)
        }
        End::Abandon => (abandon(connection, completion, now_ms)?, None),
    };
    if changed == 0 {
        let kept = kept(connection, completion.lease.scope, now_ms)?;
        return Ok(Completed::Superseded { kept });
    }
    if let Some(recording) = &completion.recording {
        recordings::write(connection, recording)?;
    }
    Ok(Completed::Recorded { expires_at })
}

fn end(
    connection: &Connection,
    completion: &Completion,
    state: i64,
    expires_ms: i64,
    columns: &Columns,
) -> Result<usize, QueryError> {
    let mut statement = connection.prepare_cached(COMPLETE)?;
    Ok(statement.execute(params![
        completion.lease.scope.0,
        completion.lease.epoch.cast_signed(),
        state,
        completion.attempts,
        expires_ms,
        columns.kind,
        columns.digest,
        columns.bytes,
        columns.text,
        completion.without_effect,
    ])?)
}

fn abandon(
    connection: &Connection,
    completion: &Completion,
    now_ms: i64,
) -> Result<usize, QueryError> {
    let mut statement = connection.prepare_cached(ABANDON)?;
    Ok(statement.execute(params![
        completion.lease.scope.0,
        completion.lease.epoch.cast_signed(),
        completion.attempts,
        now_ms,
    ])?)
}

/// Releases a finished key so that its call can run again.
pub(super) fn reopen(
    connection: &Connection,
    reopening: &Reopening,
    now_ms: i64,
) -> Result<Reopened, QueryError> {
    let scope = reopening.scope.0;
    let mut keep_earlier = connection.prepare_cached(KEEP_EARLIER)?;
    let moved = keep_earlier.execute(params![scope, now_ms, reopening.by, reopening.reason])?;
    if moved == 1 {
        let mut reopen = connection.prepare_cached(REOPEN)?;
        let until_ms = later_ms(now_ms, FREE_KEPT_MS);
        let generation = reopen.query_row(params![scope, until_ms], |row| row.get(0))?;
        return Ok(Reopened::Free { generation });
    }
    Ok(match find_key(connection, reopening.scope)? {
        Some(row) if row.state == HELD && now_ms < row.lease_until => Reopened::InFlight {
            remaining_ms: remaining_ms(row.lease_until, now_ms),
        },
        _ => Reopened::NothingKept,
    })
}
