//! A connection to the database, with time limits for everything that is sent over it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use panpan_runtime::ports::Clock;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row, SimpleQueryMessage, Statement};

use super::address::PostgresAddress;
use super::errors::QueryError;
use super::tls::Tls;
use crate::time::now_ms;

/// How long connecting may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long cancelling a statement may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// How soon the system notices that the other end of an idle connection is gone.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A parameter of a statement, with its type: the statement then needs no preparation, and so no state on the
/// server that a pool in between could lose.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A parameter of a prepared statement.
pub(super) type Value = Box<dyn ToSql + Sync + Send>;

/// How to connect.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) address: PostgresAddress,
    pub(super) tls: Tls,
    pub(super) clock: Option<Arc<dyn Clock>>,
}

/// A connection.
pub(super) struct Session {
    client: Client,
    tls: Tls,
    clock: Option<Arc<dyn Clock>>,
    /// The statements that this connection has prepared, by their text.
    statements: Mutex<HashMap<String, Statement>>,
}

/// Why there is no connection.
pub(super) enum ConnectError {
    Refused(QueryError),
    Slow,
}

impl Connector {
    /// Connects. Must run on a thread of the store, which then serves the connection.
    pub(super) async fn connect(&self) -> Result<Session, ConnectError> {
        self.connect_and_receive(|_| {}).await
    }

    /// Connects, and passes on what the server sends by itself; `None` when the connection has ended.
    pub(super) async fn connect_and_receive(
        &self,
        receive: impl Fn(Option<AsyncMessage>) + 'static,
    ) -> Result<Session, ConnectError> {
        let mut config = self.address.config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(KEEPALIVE);
        let connecting = timeout(CONNECT_TIMEOUT, config.connect(self.tls.clone()));
        let (client, mut connection) = connecting
            .await
            .map_err(|_| ConnectError::Slow)?
            .map_err(|error| ConnectError::Refused(error.into()))?;
        // Ends with the client, or with an error that the next statement reports.
        tokio::task::spawn_local(async move {
            while let Some(Ok(message)) = poll_fn(|it| connection.poll_message(it)).await {
                receive(Some(message));
            }
            receive(None);
        });
        Ok(Session {
            client,
            tls: self.tls.clone(),
            clock: self.clock.clone(),
            statements: Mutex::default(),
        })
    }
}

impl Session {
    /// Runs one statement in a transaction of its own.
    pub(super) async fn rows(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, QueryError> {
        Ok(self.client.query_typed(sql, parameters).await?)
    }

    /// Runs statements without parameters.
    pub(super) async fn run(&self, sql: &str) -> Result<(), QueryError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Runs statements without parameters; returns the first value that they return.
    pub(super) async fn value(&self, sql: &str) -> Result<Option<String>, QueryError> {
        let messages = self.client.simple_query(sql).await?;
        let value = messages.iter().find_map(|it| match it {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(value.map(str::to_owned))
    }

    /// A statement that this connection has prepared.
    pub(super) fn prepared(&self, sql: &str) -> Option<Statement> {
        self.statements().get(sql).cloned()
    }

    /// Prepares a statement and remembers it.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, QueryError> {
        let statement = self.client.prepare(sql).await?;
        self.statements().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<String, Statement>> {
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a prepared statement. It is sent when the future is first polled.
    pub(super) async fn run_prepared(
        &self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, QueryError> {
        let rows = self.client.query_raw(&statement, values).await?;
        Ok(rows.try_collect().await?)
    }

    /// The time that statements use instead of the clock of the database; only tests set it.
    pub(super) fn now_ms(&self) -> Option<i64> {
        self.clock.as_deref().map(now_ms)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Ends a connection that did not answer in time, and asks the server to stop the statement.
    pub(super) async fn cancel(self) {
        let token = self.client.cancel_token();
        let _ = timeout(CANCEL_TIMEOUT, token.cancel_query(self.tls)).await;
    }
}
