//! SQL statements that read keys: stored outcomes, leases and earlier outcomes.

use std::collections::HashMap;
use std::sync::Arc;

use panpan_runtime::ports::{Claim, Claimed, Earlier, Kept, Scope};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::errors::QueryError;
use super::session::Session;
use super::text::{column, digest, now, number, text};
use crate::outcome::Columns;
use crate::time::{remaining_ms, timestamp};

/// The state of a key with a lease, current or run out.
pub(super) const HELD: i16 = 1;
/// The state of a released key.
pub(super) const FREE: i16 = 2;
/// The state of a key with an outcome.
pub(super) const FINISHED: i16 = 3;

const FIND: &str = concat!(
    "
    SELECT scope, fingerprint, state, lease_until, call, generation, expires_at, without_effect,
           outcome_kind, outcome_digest, outcome_bytes, outcome_text, ",
    now!(),
    "
    FROM panpan.keys WHERE scope = ANY ($2)"
);

// Rows with a later generation are left over from before the key expired and was claimed again.
const EARLIER: &str = concat!(
    "
    SELECT earlier.call, earlier.generation, earlier.expires_at, reopened_at, reopened_by, reason,
           earlier.outcome_kind, earlier.outcome_digest, earlier.outcome_bytes, earlier.outcome_text
    FROM panpan.keys JOIN panpan.earlier USING (scope)
    WHERE scope = $2 AND earlier.generation < keys.generation
      AND (keys.expires_at IS NULL OR keys.expires_at > ",
    now!(),
    ")
    ORDER BY earlier.generation"
);

/// The stored row of a key, and the time at which it was read.
#[derive(Clone, Debug)]
pub(super) struct KeyRow {
    pub(super) fingerprint: [u8; 32],
    pub(super) state: i16,
    pub(super) lease_until: i64,
    call: Uuid,
    generation: u32,
    expires_at: Option<i64>,
    without_effect: bool,
    outcome: Columns,
    now_ms: i64,
}

/// What the row of a key means for a claim that was not granted.
pub(super) enum Refusal {
    Because(Claimed),
    /// The key can be claimed: another call changed it meanwhile.
    Gone,
}

impl KeyRow {
    /// The result of a claim for a finished key, which no call changes any more.
    pub(super) fn claim_finished(self, claim: &Claim) -> Result<Option<Claimed>, QueryError> {
        if !self.has_outcome() {
            return Ok(None);
        }
        if self.fingerprint != claim.fingerprint.0 {
            return Ok((!self.without_effect).then_some(Claimed::Reused));
        }
        self.into_kept().map(|kept| kept.map(Claimed::Replay))
    }

    /// Why a claim was not granted.
    pub(super) fn refusal(self, claim: &Claim) -> Result<Refusal, QueryError> {
        if self.expires_at.is_some_and(|it| it <= self.now_ms) {
            return Ok(Refusal::Gone);
        }
        let is_held = self.state == HELD && self.now_ms < self.lease_until;
        if self.fingerprint != claim.fingerprint.0 {
            return Ok(match self.without_effect {
                true => Refusal::Gone,
                false => Refusal::Because(Claimed::Reused),
            });
        }
        if is_held {
            let remaining_ms = remaining_ms(self.lease_until, self.now_ms);
            return Ok(Refusal::Because(Claimed::InFlight { remaining_ms }));
        }
        let kept = self.into_kept()?;
        Ok(kept.map_or(Refusal::Gone, |kept| {
            Refusal::Because(Claimed::Replay(kept))
        }))
    }

    /// The outcome, unless there is none or it has expired.
    pub(super) fn into_kept(self) -> Result<Option<Kept>, QueryError> {
        let Some(expires_at) = self.expires_at.filter(|_| self.has_outcome()) else {
            return Ok(None);
        };
        Ok(Some(Kept {
            call: self.call,
            outcome: self.outcome.outcome().ok_or(QueryError::Unreadable)?,
            expires_at: timestamp(expires_at),
            generation: self.generation,
        }))
    }

    fn has_outcome(&self) -> bool {
        let is_current = |expires_at| self.now_ms < expires_at;
        self.state == FINISHED && self.expires_at.is_some_and(is_current)
    }
}

/// The rows of these keys that exist, in any state.
pub(super) async fn find(
    session: &Session,
    scopes: &[Scope],
) -> Result<HashMap<Scope, KeyRow>, QueryError> {
    let mut scopes: Vec<&[u8]> = scopes.iter().map(|scope| &scope.0[..]).collect();
    scopes.sort_unstable();
    scopes.dedup();
    let now_ms = session.now_ms();
    let parameters = [
        (&now_ms as _, Type::INT8),
        (&scopes as _, Type::BYTEA_ARRAY),
    ];
    let rows = session.rows(FIND, &parameters).await?;
    let rows = rows.iter().map(|row| {
        let scope = Scope(digest(column(row, 0)?)?);
        Ok((scope, key_row(row)?))
    });
    rows.collect()
}

fn key_row(row: &Row) -> Result<KeyRow, QueryError> {
    Ok(KeyRow {
        fingerprint: digest(column(row, 1)?)?,
        state: column(row, 2)?,
        lease_until: column(row, 3)?,
        call: column(row, 4)?,
        generation: number(row, 5)?,
        expires_at: column(row, 6)?,
        without_effect: column(row, 7)?,
        outcome: columns(row, 8)?,
        now_ms: column(row, 12)?,
    })
}

/// Reads the four columns of an outcome that start at `first`.
fn columns(row: &Row, first: usize) -> Result<Columns, QueryError> {
    let kind: Option<i16> = column(row, first)?;
    let stored: Option<&[u8]> = column(row, first + 1)?;
    let outcome: Option<&[u8]> = column(row, first + 3)?;
    Ok(Columns {
        kind: kind.map(i64::from),
        digest: stored.map(digest).transpose()?,
        bytes: column(row, first + 2)?,
        text: outcome.map(text).transpose()?.map(Arc::from),
    })
}

/// The outcomes that a key had before it was reopened.
pub(super) async fn earlier(session: &Session, scope: Scope) -> Result<Vec<Earlier>, QueryError> {
    let (now_ms, scope) = (session.now_ms(), &scope.0[..]);
    let parameters = [(&now_ms as _, Type::INT8), (&scope as _, Type::BYTEA)];
    let rows = session.rows(EARLIER, &parameters).await?;
    rows.iter().map(earlier_row).collect()
}

fn earlier_row(row: &Row) -> Result<Earlier, QueryError> {
    let outcome = columns(row, 6)?.outcome();
    Ok(Earlier {
        kept: Kept {
            call: column(row, 0)?,
            generation: number(row, 1)?,
            expires_at: timestamp(column(row, 2)?),
            outcome: outcome.ok_or(QueryError::Unreadable)?,
        },
        at: timestamp(column(row, 3)?),
        by: text(column(row, 4)?)?.to_owned(),
        reason: text(column(row, 5)?)?.to_owned(),
    })
}
