//! SQL statements that change keys: claim, extend, complete and reopen. Reading is in `lookup`.
//!
//! A statement changes any number of different keys, and compares and updates each atomically: it sees the
//! newest version of a row even if that was committed after the statement began. Rows are locked in the order of
//! their scopes, so that two statements cannot wait for each other.

use std::collections::{HashMap, HashSet};

use panpan_runtime::ports::{
    Before, Claim, Claimed, Completed, Completion, End, Lease, Reopened, Reopening, Scope,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::errors::QueryError;
use super::lookup::{self, FINISHED, FREE, HELD, Refusal};
use super::recordings::RecordingRows;
use super::session::Session;
use super::text::{column, digest, last, milliseconds, now, number};
use crate::outcome::Columns;
use crate::time::{FREE_KEPT_MS, remaining_ms, timestamp};

/// How often a claim is repeated when the key changes between the claim and the search for the reason.
const CLAIM_ROUNDS: usize = 8;

// The time is taken before a row is locked, so a wait for the lock never makes a lease look expired. The new lease
// begins after the wait.
// previously: 0 nothing, 1 released, 2 abandoned, 3 released but may have had an effect.
const CLAIM: &str = concat!(
    "
    WITH clock AS MATERIALIZED (SELECT ", now!(), " AS now)
    INSERT INTO panpan.keys AS known (scope, fingerprint, state, epoch, claimed_at, lease_until, call,
        previously, attempts, recoveries, generation)
    SELECT scope, fingerprint, 1, greatest(now, 1), now, least(now + lease, ", last!(), "), call, 0, 0, 0, 1
    FROM unnest($2::bytea[], $3::bytea[], $4::uuid[], $5::bigint[]) AS asked (scope, fingerprint, call, lease),
        clock
    ORDER BY scope
    ON CONFLICT (scope) DO UPDATE SET
        fingerprint = excluded.fingerprint,
        state = 1,
        epoch = greatest(known.epoch + 1, excluded.epoch),
        claimed_at = excluded.claimed_at,
        lease_until = least(", now!(), " + excluded.lease_until - excluded.claimed_at, ", last!(), "),
        call = excluded.call,
        previously = CASE
            WHEN known.expires_at <= excluded.claimed_at OR known.fingerprint <> excluded.fingerprint THEN 0
            WHEN known.state = 2 AND (known.without_effect OR known.attempts = 0) THEN 1
            WHEN known.state = 2 THEN 3 ELSE 2 END,
        attempts = CASE
            WHEN known.expires_at <= excluded.claimed_at OR known.fingerprint <> excluded.fingerprint THEN 0
            ELSE known.attempts END,
        recoveries = CASE WHEN known.expires_at IS NULL THEN known.recoveries + 1 ELSE 0 END,
        generation = CASE
            WHEN known.expires_at <= excluded.claimed_at THEN 1
            WHEN known.fingerprint <> excluded.fingerprint THEN known.generation + 1
            ELSE known.generation END,
        expires_at = NULL,
        without_effect = false,
        outcome_kind = NULL, outcome_digest = NULL, outcome_bytes = NULL, outcome_text = NULL
    WHERE known.expires_at <= excluded.claimed_at
       OR (known.fingerprint = excluded.fingerprint
           AND (known.state = 2 OR (known.state = 1 AND known.lease_until <= excluded.claimed_at)))
       OR (known.fingerprint <> excluded.fingerprint AND known.without_effect)
    RETURNING scope, epoch, previously, attempts, recoveries, generation"
);

const EXTEND: &str = concat!(
    "
    WITH asked AS MATERIALIZED (
        SELECT * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
            AS asked (scope, epoch, lease, number)),
    held AS MATERIALIZED (
        SELECT known.scope, asked.lease, asked.number FROM panpan.keys AS known JOIN asked USING (scope)
        WHERE known.epoch = asked.epoch AND known.state = 1
        ORDER BY known.scope FOR UPDATE OF known)
    UPDATE panpan.keys AS known SET lease_until = least(", now!(), " + held.lease, ", last!(), ")
    FROM held WHERE known.scope = held.scope
    RETURNING held.number"
);

// ending: the new state; 1 abandons the key.
const COMPLETE: &str = concat!(
    "
    WITH clock AS MATERIALIZED (SELECT ", now!(), " AS now),
    asked AS MATERIALIZED (
        SELECT * FROM unnest($2::bytea[], $3::bigint[], $4::smallint[], $5::bigint[], $6::boolean[], $7::bigint[],
                             $8::smallint[], $9::bytea[], $10::bigint[], $11::bytea[]) WITH ORDINALITY
            AS asked (scope, epoch, ending, attempts, without_effect, keep, kind, digest, bytes, text, number)),
    held AS MATERIALIZED (
        SELECT known.scope, asked.number FROM panpan.keys AS known JOIN asked USING (scope)
        WHERE known.epoch = asked.epoch AND known.state = 1
        ORDER BY known.scope FOR UPDATE OF known),
    ended AS (
        UPDATE panpan.keys AS known SET
            state = asked.ending,
            attempts = asked.attempts,
            epoch = CASE asked.ending WHEN 1 THEN known.epoch + 1 ELSE known.epoch END,
            lease_until = CASE asked.ending WHEN 1 THEN now ELSE known.lease_until END,
            recoveries = CASE asked.ending WHEN 1 THEN greatest(known.recoveries - 1, 0) ELSE 0 END,
            expires_at = CASE asked.ending WHEN 1 THEN NULL ELSE least(now + asked.keep, ", last!(), ") END,
            without_effect = asked.without_effect AND asked.ending <> 1,
            outcome_kind = asked.kind, outcome_digest = asked.digest, outcome_bytes = asked.bytes,
            outcome_text = asked.text
        FROM held JOIN asked USING (number), clock
        WHERE known.scope = held.scope
        RETURNING asked.number, known.expires_at),
    recorded AS (
        INSERT INTO panpan.recordings (call, at, operation, code, recording)
        SELECT call, at, operation, code, recording
        FROM unnest($12::bigint[], $13::uuid[], $14::bigint[], $15::text[], $16::text[], $17::text[])
            AS noted (number, call, at, operation, code, recording) JOIN ended USING (number)
        ORDER BY number
        ON CONFLICT (call) DO UPDATE SET at = excluded.at, operation = excluded.operation,
            code = excluded.code, recording = excluded.recording)
    SELECT number, expires_at FROM ended"
);

// Reopening must not delete the earlier outcome before it expires.
const REOPEN: &str = concat!(
    "
    WITH clock AS MATERIALIZED (SELECT ", now!(), " AS now),
    found AS MATERIALIZED (SELECT * FROM panpan.keys WHERE scope = $2 FOR UPDATE),
    moved AS (
        INSERT INTO panpan.earlier (scope, generation, call, expires_at, reopened_at, reopened_by, reason,
            outcome_kind, outcome_digest, outcome_bytes, outcome_text)
        SELECT scope, generation, call, expires_at, now, $3, $4,
            outcome_kind, outcome_digest, outcome_bytes, outcome_text
        FROM found, clock WHERE state = 3 AND expires_at > now
        ON CONFLICT (scope, generation) DO UPDATE SET call = excluded.call, expires_at = excluded.expires_at,
            reopened_at = excluded.reopened_at, reopened_by = excluded.reopened_by, reason = excluded.reason,
            outcome_kind = excluded.outcome_kind, outcome_digest = excluded.outcome_digest,
            outcome_bytes = excluded.outcome_bytes, outcome_text = excluded.outcome_text
        RETURNING scope),
    reopened AS (
        UPDATE panpan.keys AS known SET state = 2, attempts = 0, generation = known.generation + 1,
            expires_at = greatest(known.expires_at, least(now + $5::bigint, ", last!(), ")), without_effect = false,
            outcome_kind = NULL, outcome_digest = NULL, outcome_bytes = NULL, outcome_text = NULL
        FROM moved, clock WHERE known.scope = moved.scope
        RETURNING known.scope, known.generation)
    SELECT found.state, found.lease_until, now, reopened.generation
    FROM clock, found LEFT JOIN reopened USING (scope)"
);

/// Claims keys, or reports the reasons why not, in the order of the claims.
pub(super) async fn claim(
    session: &Session,
    claims: &[&Claim],
) -> Result<Vec<Claimed>, QueryError> {
    let mut results: Vec<Option<Claimed>> = vec![None; claims.len()];
    let mut open: Vec<usize> = (0..claims.len()).collect();
    for _ in 0..CLAIM_ROUNDS {
        let mut granted = try_to_claim(session, claims, &open).await?;
        open.retain(|number| {
            results[*number] = granted.remove(number);
            results[*number].is_none()
        });
        if open.is_empty() {
            break;
        }
        let scopes: Vec<Scope> = open.iter().map(|number| claims[*number].scope).collect();
        let found = lookup::find(session, &scopes).await?;
        let mut left = Vec::new();
        for number in open {
            let claim = claims[number];
            let row = found.get(&claim.scope).cloned();
            match row.map(|row| row.refusal(claim)).transpose()? {
                Some(Refusal::Because(claimed)) => results[number] = Some(claimed),
                Some(Refusal::Gone) | None => left.push(number),
            }
        }
        open = left;
    }
    let results: Option<Vec<Claimed>> = results.into_iter().collect();
    results.ok_or(QueryError::Contended)
}

/// The claims that were granted, by their number. Of several claims for one key, the first is tried.
async fn try_to_claim(
    session: &Session,
    claims: &[&Claim],
    open: &[usize],
) -> Result<HashMap<usize, Claimed>, QueryError> {
    let mut tried = HashMap::with_capacity(open.len());
    for number in open {
        tried.entry(claims[*number].scope).or_insert(*number);
    }
    let asked: Vec<&Claim> = tried.values().map(|number| claims[*number]).collect();
    let scopes: Vec<&[u8]> = asked.iter().map(|it| &it.scope.0[..]).collect();
    let fingerprints: Vec<&[u8]> = asked.iter().map(|it| &it.fingerprint.0[..]).collect();
    let calls: Vec<Uuid> = asked.iter().map(|it| it.call).collect();
    let leases: Vec<i64> = asked.iter().map(|it| milliseconds(it.lease_ms)).collect();
    let now_ms = session.now_ms();
    let parameters = [
        (&now_ms as _, Type::INT8),
        (&scopes as _, Type::BYTEA_ARRAY),
        (&fingerprints as _, Type::BYTEA_ARRAY),
        (&calls as _, Type::UUID_ARRAY),
        (&leases as _, Type::INT8_ARRAY),
    ];
    let rows = session.rows(CLAIM, &parameters).await?;
    let granted = rows.iter().map(|row| {
        let scope = Scope(digest(column(row, 0)?)?);
        let number = *tried.get(&scope).ok_or(QueryError::Unreadable)?;
        Ok((number, held(row, scope)?))
    });
    granted.collect()
}

fn held(row: &Row, scope: Scope) -> Result<Claimed, QueryError> {
    let epoch = column::<i64>(row, 1)?.cast_unsigned();
    let (attempts, recoveries) = (number(row, 3)?, number(row, 4)?);
    let before = match column::<i16>(row, 2)? {
        0 => Before::Nothing,
        known @ (1 | 3) => Before::Released {
            attempts,
            may_have_happened: known == 3,
        },
        _ => Before::Abandoned {
            attempts,
            recoveries,
        },
    };
    Ok(Claimed::Held {
        lease: Lease { scope, epoch },
        before,
        generation: number(row, 5)?,
    })
}

/// Extends leases; for each, whether it was still held. The leases must be different.
pub(super) async fn extend(
    session: &Session,
    asked: &[&(Lease, u64)],
) -> Result<Vec<bool>, QueryError> {
    let scopes: Vec<&[u8]> = asked.iter().map(|(it, _)| &it.scope.0[..]).collect();
    let epochs: Vec<i64> = asked.iter().map(|(it, _)| it.epoch.cast_signed()).collect();
    let leases: Vec<i64> = asked.iter().map(|(_, ms)| milliseconds(*ms)).collect();
    let now_ms = session.now_ms();
    let parameters = [
        (&now_ms as _, Type::INT8),
        (&scopes as _, Type::BYTEA_ARRAY),
        (&epochs as _, Type::INT8_ARRAY),
        (&leases as _, Type::INT8_ARRAY),
    ];
    let rows = session.rows(EXTEND, &parameters).await?;
    let extended: HashSet<usize> = rows.iter().map(ordinal).collect::<Result<_, _>>()?;
    Ok((0..asked.len()).map(|it| extended.contains(&it)).collect())
}

/// The index of a request from its number, which starts at 1.
fn ordinal(row: &Row) -> Result<usize, QueryError> {
    let number: usize = number(row, 0)?;
    number.checked_sub(1).ok_or(QueryError::Unreadable)
}

/// Ends claims and writes their recordings, in one transaction. The leases must be different.
pub(super) async fn complete(
    session: &Session,
    asked: &[&Completion],
) -> Result<Vec<Completed>, QueryError> {
    let ended = try_to_complete(session, asked).await?;
    let late = |number: &usize| !ended.contains_key(number);
    let late: Vec<Scope> = (0..asked.len())
        .filter(late)
        .map(|number| asked[number].lease.scope)
        .collect();
    let mut found = HashMap::new();
    if !late.is_empty() {
        found = lookup::find(session, &late).await?;
    }
    let results = asked.iter().enumerate().map(|(number, completion)| {
        if let Some(expires_at) = ended.get(&number) {
            let is_kept = matches!(completion.end, End::Keep { .. });
            let expires_at = expires_at.filter(|_| is_kept).map(timestamp);
            return Ok(Completed::Recorded { expires_at });
        }
        let row = found.get(&completion.lease.scope).cloned();
        let kept = row.map(|row| row.into_kept()).transpose()?.flatten();
        Ok(Completed::Superseded { kept })
    });
    results.collect()
}

/// The completions that were written, by their number, with the times at which the keys expire.
async fn try_to_complete(
    session: &Session,
    asked: &[&Completion],
) -> Result<HashMap<usize, Option<i64>>, QueryError> {
    let (endings, columns): (Vec<(i16, i64)>, Vec<Columns>) =
        asked.iter().map(|it| ending(&it.end)).unzip();
    let scopes: Vec<&[u8]> = asked.iter().map(|it| &it.lease.scope.0[..]).collect();
    let epochs: Vec<i64> = asked
        .iter()
        .map(|it| it.lease.epoch.cast_signed())
        .collect();
    let (states, keeps): (Vec<i16>, Vec<i64>) = endings.into_iter().unzip();
    let attempts: Vec<i64> = asked.iter().map(|it| i64::from(it.attempts)).collect();
    let effects: Vec<bool> = asked.iter().map(|it| it.without_effect).collect();
    let kinds: Vec<Option<i16>> = columns.iter().map(kind).collect();
    let digests: Vec<Option<&[u8]>> = columns.iter().map(|it| slice(it.digest.as_ref())).collect();
    let sizes: Vec<Option<i64>> = columns.iter().map(|it| it.bytes).collect();
    let texts = columns
        .iter()
        .map(|it| it.text.as_deref().map(str::as_bytes));
    let texts: Vec<Option<&[u8]>> = texts.collect();
    let noted = asked.iter().enumerate();
    let noted = noted.filter_map(|(number, it)| Some((number + 1, it.recording.as_deref()?)));
    let noted = RecordingRows::of(noted)?;
    let now_ms = session.now_ms();
    let mut parameters = vec![
        (&now_ms as _, Type::INT8),
        (&scopes as _, Type::BYTEA_ARRAY),
        (&epochs as _, Type::INT8_ARRAY),
        (&states as _, Type::INT2_ARRAY),
        (&attempts as _, Type::INT8_ARRAY),
        (&effects as _, Type::BOOL_ARRAY),
        (&keeps as _, Type::INT8_ARRAY),
        (&kinds as _, Type::INT2_ARRAY),
        (&digests as _, Type::BYTEA_ARRAY),
        (&sizes as _, Type::INT8_ARRAY),
        (&texts as _, Type::BYTEA_ARRAY),
    ];
    parameters.extend(noted.parameters());
    let rows = session.rows(COMPLETE, &parameters).await?;
    let ended = rows.iter().map(|row| Ok((ordinal(row)?, column(row, 1)?)));
    ended.collect()
}

/// The new state of a key, how long it is kept, and the columns of its outcome.
fn ending(end: &End) -> ((i16, i64), Columns) {
    match end {
        End::Keep { outcome, keep_ms } => {
            ((FINISHED, milliseconds(*keep_ms)), Columns::of(outcome))
        }
        End::Release => ((FREE, milliseconds(FREE_KEPT_MS)), Columns::default()),
        End::Abandon => ((HELD, 0), Columns::default()),
    }
}

fn kind(columns: &Columns) -> Option<i16> {
    columns.kind.and_then(|kind| i16::try_from(kind).ok())
}

fn slice(digest: Option<&[u8; 32]>) -> Option<&[u8]> {
    digest.map(|digest| &digest[..])
}

/// Releases a finished key so that its call can run again.
pub(super) async fn reopen(
    session: &Session,
    reopening: &Reopening,
) -> Result<Reopened, QueryError> {
    let (now_ms, scope) = (session.now_ms(), &reopening.scope.0[..]);
    let (by, reason) = (reopening.by.as_bytes(), reopening.reason.as_bytes());
    let keep_ms = milliseconds(FREE_KEPT_MS);
    let parameters = [
        (&now_ms as _, Type::INT8),
        (&scope as _, Type::BYTEA),
        (&by as _, Type::BYTEA),
        (&reason as _, Type::BYTEA),
        (&keep_ms as _, Type::INT8),
    ];
    let rows = session.rows(REOPEN, &parameters).await?;
    let Some(row) = rows.first() else {
        return Ok(Reopened::NothingKept);
    };
    if let Some(generation) = column::<Option<i64>>(row, 3)? {
        let generation = u32::try_from(generation).map_err(|_| QueryError::Unreadable)?;
        return Ok(Reopened::Free { generation });
    }
    let (state, until, now): (i16, i64, i64) = (column(row, 0)?, column(row, 1)?, column(row, 2)?);
    Ok(match state == HELD && now < until {
        true => Reopened::InFlight {
            remaining_ms: remaining_ms(until, now),
        },
        false => Reopened::NothingKept,
    })
}
