//! A transaction: sends statements, and remembers why it cannot go on.
//!
//! A statement that only writes is sent at once and answered while later ones run, so that a transaction
//! of many statements takes few round trips.

use std::mem::take;
use std::pin::Pin;

use futures_util::FutureExt as _;
use futures_util::future::join;
use panpan_runtime::ports::StoreError;
use tokio_postgres::{Row, Statement};

use super::super::errors::QueryError;
use super::super::session::{Session, Value};

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads one state of the database.
    Read,
    /// It locks what it reads, and each statement reads the newest state.
    Write,
}

/// Plans that do not depend on how many tasks there were when a connection first used them: every statement finds its
/// rows by an index. The first two times limit how long a lock can be waited for, and held by a process that is gone.
macro_rules! begin {
    ($mode:literal) => {
        concat!(
            "BEGIN ISOLATION LEVEL ",
            $mode,
            ";
            SET LOCAL lock_timeout = '20s';
            SET LOCAL idle_in_transaction_session_timeout = '30s';
            SET LOCAL plan_cache_mode = force_generic_plan;
            SET LOCAL enable_seqscan = off;
            SET LOCAL enable_bitmapscan = off;
            SET LOCAL enable_hashjoin = off;
            SET LOCAL enable_mergejoin = off;
            SET LOCAL jit = off;
            SELECT floor(extract(epoch FROM now()) * 1000)::bigint"
        )
    };
}

const BEGIN_READ: &str = begin!("REPEATABLE READ READ ONLY");
const BEGIN_WRITE: &str = begin!("READ COMMITTED READ WRITE");

/// A statement that was sent.
type Sent<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, QueryError>> + Send + 'a>>;

/// A transaction on a connection.
pub(super) struct Transaction<'a> {
    session: &'a Session,
    access: Access,
    now_ms: i64,
    /// The statements that were sent and whose results are not known yet, in order.
    sent: Vec<Sent<'a>>,
    /// The first error of a statement. The database refuses all later ones.
    error: Option<QueryError>,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction. Its time is that of the database, or of a test.
    pub(super) async fn begin(session: &'a Session, access: Access) -> Result<Self, QueryError> {
        let sql = match access {
            Access::Read => BEGIN_READ,
            Access::Write => BEGIN_WRITE,
        };
        let now = match session.value(sql).await {
            Ok(now) => now,
            Err(error) => {
                session.run("ROLLBACK").await?;
                return Err(error);
            }
        };
        let now = now.and_then(|it| it.parse().ok());
        let now_ms = session.now_ms().or(now).ok_or(QueryError::Unreadable)?;
        Ok(Self {
            session,
            access,
            now_ms,
            sent: Vec::new(),
            error: None,
        })
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// A query of tasks that locks the rows `runs` that it finds, if this transaction writes.
    pub(super) fn locking(&self, sql: &str) -> String {
        match self.locks() {
            false => sql.to_owned(),
            true => format!("{sql} FOR UPDATE OF runs"),
        }
    }

    /// Whether this transaction locks what it reads.
    pub(super) fn locks(&self) -> bool {
        self.access == Access::Write
    }

    /// Runs a query.
    pub(super) async fn select<T>(
        &mut self,
        sql: &str,
        values: Vec<Value>,
        read: impl Fn(&Row) -> Result<T, QueryError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.rows(sql, values).await;
        let found = found.and_then(|rows| rows.iter().map(read).collect());
        found.map_err(|error| self.failed(error))
    }

    /// Sends a statement without waiting for its result.
    pub(super) async fn send(&mut self, sql: &str, values: Vec<Value>) -> Result<(), StoreError> {
        let statement = self.statement(sql).await;
        let statement = statement.map_err(|error| self.failed(error))?;
        let mut sent: Sent<'a> = Box::pin(self.session.run_prepared(statement, values));
        match (&mut sent).now_or_never() {
            None => self.sent.push(sent),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(self.failed(error)),
        }
        Ok(())
    }

    async fn rows(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, QueryError> {
        let statement = self.statement(sql).await?;
        // An answer that is not taken keeps back all later ones.
        let (earlier, rows) = join(
            answered(take(&mut self.sent)),
            self.session.run_prepared(statement, values),
        )
        .await;
        earlier?;
        rows
    }

    async fn statement(&mut self, sql: &str) -> Result<Statement, QueryError> {
        if let Some(statement) = self.session.prepared(sql) {
            return Ok(statement);
        }
        answered(take(&mut self.sent)).await?;
        self.session.prepare(sql).await
    }

    fn failed(&mut self, error: QueryError) -> StoreError {
        // A statement after the first failed one only reports that there was one.
        let first = self.error.get_or_insert(error);
        StoreError::from(&*first)
    }

    /// Makes all changes durable, unless a statement failed.
    pub(super) async fn commit(mut self) -> Result<(), QueryError> {
        if let Some(error) = self.error.take() {
            self.roll_back().await?;
            return Err(error);
        }
        // After a failed statement, this rolls back.
        let (earlier, committed) = join(answered(self.sent), self.session.run("COMMIT")).await;
        earlier?;
        committed
    }

    /// Undoes all changes. Returns the error of the database that was the reason, if there was one.
    pub(super) async fn roll_back(mut self) -> Result<(), QueryError> {
        let (earlier, rolled_back) = join(answered(self.sent), self.session.run("ROLLBACK")).await;
        rolled_back?;
        match self.error.take() {
            Some(error) => Err(error),
            None => earlier,
        }
    }
}

/// Waits for the results of statements; an error is that of the first one that failed.
async fn answered(sent: Vec<Sent<'_>>) -> Result<(), QueryError> {
    for sent in sent {
        sent.await?;
    }
    Ok(())
}
