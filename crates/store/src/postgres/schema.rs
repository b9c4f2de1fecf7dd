//! The schema in the database: recognises our tables, and migrates older versions.
//!
//! All names are qualified, so the search path does not matter. Processes that start at the same time take
//! turns through an advisory lock, which ends with the transaction.

use tokio_postgres::types::Type;

use super::errors::{PostgresOpenError, QueryError};
use super::session::Session;
use super::text::column;

/// The oldest supported major version of PostgreSQL.
pub const OLDEST_POSTGRES: i32 = 13;

/// The migrations, in order; the version of the tables is the number of migrations applied.
///
/// A released migration is never edited: a change of the schema is a new entry.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/1_first.sql"),
    include_str!("migrations/2_tasks.sql"),
];

/// Starts a migration; the lock is that of all stores in this database ("panpan" in ASCII).
const BEGIN: &str = "
    BEGIN;
    SET LOCAL lock_timeout = '10s';
    SET LOCAL statement_timeout = '30s';
    SELECT pg_advisory_xact_lock(123563766997358);";

const SERVER_VERSION: &str = "SELECT current_setting('server_version_num')::integer / 10000";

const IS_READ_ONLY: &str = "SELECT current_setting('transaction_read_only')::boolean";

const HAS_VERSION: &str = "
    SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
                   WHERE schemaname = 'panpan' AND tablename = 'store_version')";

const HAS_OTHER_TABLES: &str = "
    SELECT EXISTS (SELECT FROM pg_catalog.pg_class
                   JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
                   WHERE nspname = 'panpan')";

const HAS_SCHEMA: &str = "
    SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'panpan')";

const VERSION: &str = "SELECT version FROM panpan.store_version";

const CREATE_VERSION: &str = "
    CREATE TABLE panpan.store_version (version bigint NOT NULL);
    INSERT INTO panpan.store_version VALUES (0);";

const SET_VERSION: &str = "UPDATE panpan.store_version SET version = $1";

/// Checks the database and migrates it to the newest version in one transaction.
pub(super) async fn open(session: &Session, address: &str) -> Result<(), PostgresOpenError> {
    let failed = |error: QueryError| PostgresOpenError::of(address.to_owned(), &error);
    let found: i32 = value(session, SERVER_VERSION).await.map_err(failed)?;
    if found < OLDEST_POSTGRES {
        return Err(PostgresOpenError::TooOld {
            address: address.to_owned(),
            found,
            oldest: OLDEST_POSTGRES,
        });
    }
    if value(session, IS_READ_ONLY).await.map_err(failed)? {
        let address = address.to_owned();
        return Err(PostgresOpenError::ReadOnly { address });
    }
    // Without a migration, the user needs no permission to create anything.
    if let Some(version) = version(session).await.map_err(failed)?
        && check(version, address)? == MIGRATIONS.len()
    {
        return Ok(());
    }
    session.run(BEGIN).await.map_err(failed)?;
    let migrated = migrate(session, address).await;
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = session.run(end).await.map_err(failed);
    migrated.and(ended)
}

async fn migrate(session: &Session, address: &str) -> Result<(), PostgresOpenError> {
    let failed = |error: QueryError| PostgresOpenError::of(address.to_owned(), &error);
    // Another process may have migrated the database before this one got the lock.
    let done = match version(session).await.map_err(failed)? {
        Some(version) => check(version, address)?,
        None if value(session, HAS_OTHER_TABLES).await.map_err(failed)? => {
            let address = address.to_owned();
            return Err(PostgresOpenError::OtherApplication { address });
        }
        None => {
            create(session).await.map_err(failed)?;
            0
        }
    };
    for migration in &MIGRATIONS[done..] {
        session.run(migration).await.map_err(failed)?;
    }
    let newest = known();
    let parameters = [(&newest as _, Type::INT8)];
    let set = session.rows(SET_VERSION, &parameters).await;
    set.map(drop).map_err(failed)
}

/// Creates the schema, unless an administrator has, and the table of the version.
async fn create(session: &Session) -> Result<(), QueryError> {
    if !value::<bool>(session, HAS_SCHEMA).await? {
        session.run("CREATE SCHEMA panpan").await?;
    }
    session.run(CREATE_VERSION).await
}

/// The number of migrations that were applied; an error if this program does not know them all.
fn check(found: i64, address: &str) -> Result<usize, PostgresOpenError> {
    let done = usize::try_from(found).unwrap_or(0);
    if done > MIGRATIONS.len() {
        return Err(PostgresOpenError::NewerVersion {
            address: address.to_owned(),
            found,
            known: known(),
        });
    }
    Ok(done)
}

fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of the tables; `None` if there are none.
async fn version(session: &Session) -> Result<Option<i64>, QueryError> {
    if !value::<bool>(session, HAS_VERSION).await? {
        return Ok(None);
    }
    value(session, VERSION).await.map(Some)
}

/// The value that a statement returns.
async fn value<T>(session: &Session, sql: &str) -> Result<T, QueryError>
where
    T: for<'a> tokio_postgres::types::FromSql<'a>,
{
    let rows = session.rows(sql, &[]).await?;
    column(rows.first().ok_or(QueryError::Unreadable)?, 0)
}
