//! SQL statements for documents.
//!
//! All changes take turns: each batch first locks the row of the last version. Documents change rarely, and
//! versions then rise in the order in which changes become visible.

use std::collections::HashMap;

use panpan_runtime::json;
use panpan_runtime::ports::{Applied, Change, Document};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::errors::QueryError;
use super::session::Session;
use super::text::{column, text};

const GET: &str = "
    SELECT id, version, body FROM panpan.documents WHERE collection = $1 AND id = $2";

const LIST: &str = "
    SELECT id, version, body FROM panpan.documents
    WHERE collection = $1 AND ($2::bytea IS NULL OR id > $2) ORDER BY id LIMIT $3";

// The time limit releases the lock if this process ends without closing the connection.
const BEGIN: &str = "
    BEGIN;
    SET LOCAL idle_in_transaction_session_timeout = '10s';
    SET LOCAL lock_timeout = '5s'";

const LOCK: &str = "SELECT last FROM panpan.versions FOR UPDATE";

const VERSIONS: &str = "
    SELECT collection, id, version
    FROM panpan.documents JOIN unnest($1::bytea[], $2::bytea[]) AS asked (collection, id)
        USING (collection, id)";

const PUT: &str = "
    WITH numbered AS (UPDATE panpan.versions SET last = $5)
    INSERT INTO panpan.documents (collection, id, version, body)
    SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::text[])
    ON CONFLICT (collection, id) DO UPDATE SET version = excluded.version, body = excluded.body";

const DELETE: &str = "
    DELETE FROM panpan.documents USING unnest($1::bytea[], $2::bytea[]) AS asked (collection, id)
    WHERE documents.collection = asked.collection AND documents.id = asked.id";

/// The collection and id of a document.
type Name<'a> = (&'a [u8], &'a [u8]);

/// The document, if there is one.
pub(super) async fn get(
    session: &Session,
    collection: &str,
    id: &str,
) -> Result<Option<Document>, QueryError> {
    let (collection, id) = (collection.as_bytes(), id.as_bytes());
    let parameters = [(&collection as _, Type::BYTEA), (&id as _, Type::BYTEA)];
    let rows = session.rows(GET, &parameters).await?;
    rows.first().map(document).transpose()
}

/// Documents in the order of their ids.
pub(super) async fn list(
    session: &Session,
    collection: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Document>, QueryError> {
    let (collection, after) = (collection.as_bytes(), after.map(str::as_bytes));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let parameters = [
        (&collection as _, Type::BYTEA),
        (&after as _, Type::BYTEA),
        (&limit as _, Type::INT8),
    ];
    let rows = session.rows(LIST, &parameters).await?;
    rows.iter().map(document).collect()
}

fn document(row: &Row) -> Result<Document, QueryError> {
    Ok(Document {
        id: text(column(row, 0)?)?.to_owned(),
        version: column::<i64>(row, 1)?.cast_unsigned(),
        body: json::read(column(row, 2)?).map_err(|_| QueryError::Unreadable)?,
    })
}

/// Applies every change or none.
pub(super) async fn apply(session: &Session, changes: &[Change]) -> Result<Applied, QueryError> {
    session.run(BEGIN).await?;
    let applied = apply_all(session, changes).await;
    let end = match &applied {
        Ok(Applied::All(_)) => "COMMIT",
        Ok(Applied::Conflict { .. }) | Err(_) => "ROLLBACK",
    };
    let ended = session.run(end).await;
    let applied = applied?;
    ended?;
    Ok(applied)
}

async fn apply_all(session: &Session, changes: &[Change]) -> Result<Applied, QueryError> {
    let locked = session.rows(LOCK, &[]).await?;
    let mut last: i64 = column(locked.first().ok_or(QueryError::Unreadable)?, 0)?;
    let mut found = versions(session, changes).await?;
    let mut new: HashMap<Name<'_>, Option<(i64, String)>> = HashMap::new();
    let mut applied = Vec::with_capacity(changes.len());
    for (number, change) in changes.iter().enumerate() {
        let name = name(change);
        let version = found.get(&owned(name)).copied();
        if !change.expect.is_met_by(version) {
            let (change, found) = (number, version);
            return Ok(Applied::Conflict { change, found });
        }
        let Some(body) = &change.body else {
            found.remove(&owned(name));
            new.insert(name, None);
            applied.push(None);
            continue;
        };
        last += 1;
        found.insert(owned(name), last.cast_unsigned());
        new.insert(name, Some((last, body.to_string())));
        applied.push(Some(last.cast_unsigned()));
    }
    write(session, &new, last).await?;
    Ok(Applied::All(applied))
}

fn name(change: &Change) -> Name<'_> {
    (change.collection.as_bytes(), change.id.as_bytes())
}

fn owned((collection, id): Name<'_>) -> (Vec<u8>, Vec<u8>) {
    (collection.to_vec(), id.to_vec())
}

/// The versions of the documents that the changes name.
async fn versions(
    session: &Session,
    changes: &[Change],
) -> Result<HashMap<(Vec<u8>, Vec<u8>), u64>, QueryError> {
    let (collections, ids): (Vec<&[u8]>, Vec<&[u8]>) = changes.iter().map(name).unzip();
    let parameters = [
        (&collections as _, Type::BYTEA_ARRAY),
        (&ids as _, Type::BYTEA_ARRAY),
    ];
    let rows = session.rows(VERSIONS, &parameters).await?;
    let rows = rows.iter().map(|row| {
        let version = column::<i64>(row, 2)?.cast_unsigned();
        Ok(((column(row, 0)?, column(row, 1)?), version))
    });
    rows.collect()
}

/// Writes the final states of the documents, and the last version.
async fn write(
    session: &Session,
    new: &HashMap<Name<'_>, Option<(i64, String)>>,
    last: i64,
) -> Result<(), QueryError> {
    let put = new
        .iter()
        .filter_map(|(name, state)| Some((name, state.as_ref()?)));
    let (mut collections, mut ids) = (Vec::new(), Vec::new());
    let (mut versions, mut bodies) = (Vec::new(), Vec::new());
    for ((collection, id), (version, body)) in put {
        collections.push(*collection);
        ids.push(*id);
        versions.push(*version);
        bodies.push(body.as_str());
    }
    let parameters = [
        (&collections as _, Type::BYTEA_ARRAY),
        (&ids as _, Type::BYTEA_ARRAY),
        (&versions as _, Type::INT8_ARRAY),
        (&bodies as _, Type::TEXT_ARRAY),
        (&last as _, Type::INT8),
    ];
    session.rows(PUT, &parameters).await?;
    let deleted = new.iter().filter(|(_, state)| state.is_none());
    let (collections, ids): (Vec<&[u8]>, Vec<&[u8]>) = deleted.map(|(name, _)| *name).unzip();
    if !ids.is_empty() {
        let parameters = [
            (&collections as _, Type::BYTEA_ARRAY),
            (&ids as _, Type::BYTEA_ARRAY),
        ];
        session.rows(DELETE, &parameters).await?;
    }
    Ok(())
}
