//! Errors of the PostgreSQL store: [`PostgresOpenError`] for the operator who starts the program,
//! [`QueryError`] inside the crate, and their translation into the errors of the port.

use panpan_runtime::ports::StoreError;
use tokio_postgres::error::SqlState;

/// The store could not be opened. The message says what to do, and contains no password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresOpenError {
    /// The database does not answer.
    #[error(
        "cannot connect to {address} ({reason}): start the database, or correct the host and port"
    )]
    Unreachable {
        /// The address, without the password.
        address: String,
        /// What the system or the database reported.
        reason: String,
    },
    /// TLS could not be set up.
    #[error(
        "cannot connect to {address} with TLS ({reason}): correct sslmode, sslrootcert or the certificate"
    )]
    Tls {
        /// The address.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The database did not accept the user or the password.
    #[error(
        "{address} refuses the user or the password ({reason}): correct them, or allow the user to connect"
    )]
    NotAuthenticated {
        /// The address.
        address: String,
        /// What the database reported.
        reason: String,
    },
    /// There is no such database.
    #[error("there is no database {address}: create it with CREATE DATABASE, or name another one")]
    UnknownDatabase {
        /// The address.
        address: String,
    },
    /// The user may not create or use the tables.
    #[error(
        "no permission in {address} ({reason}): grant the user CREATE on the database, or make it the owner of the schema panpan"
    )]
    NotPermitted {
        /// The address.
        address: String,
        /// What the database reported.
        reason: String,
    },
    /// The database only accepts reads.
    #[error("{address} is read-only: name the primary server, not a standby")]
    ReadOnly {
        /// The address.
        address: String,
    },
    /// The database is older than supported.
    #[error(
        "{address} is PostgreSQL {found}, but this program needs {oldest} or newer: upgrade the database"
    )]
    TooOld {
        /// The address.
        address: String,
        /// The major version of the database.
        found: i32,
        /// The oldest supported major version.
        oldest: i32,
    },
    /// The schema belongs to another program.
    #[error("the schema panpan in {address} belongs to another program: name another database")]
    OtherApplication {
        /// The address.
        address: String,
    },
    /// The tables were created by a newer version of this program.
    #[error(
        "the schema panpan in {address} has version {found}, but this program supports up to {known}: use a newer version of the program"
    )]
    NewerVersion {
        /// The address.
        address: String,
        /// The version of the tables.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// Another process keeps the tables locked.
    #[error("the schema panpan in {address} is locked by another process: wait for it, or end it")]
    Locked {
        /// The address.
        address: String,
    },
    /// The disk of the database is full.
    #[error("no disk space for {address}: free some space")]
    Full {
        /// The address.
        address: String,
    },
    /// The database did not answer in time.
    #[error("{address} did not answer in time: find out what keeps the database busy")]
    Slow {
        /// The address.
        address: String,
    },
}

impl PostgresOpenError {
    /// Translates an error of the database at this address.
    pub(super) fn of(address: String, error: &QueryError) -> Self {
        let QueryError::Postgres(error) = error else {
            let reason = error.to_string();
            return Self::Unreachable { address, reason };
        };
        let reason = reason(error);
        let Some(code) = error.code() else {
            return match is_about_tls(error) {
                true => Self::Tls { address, reason },
                false => Self::Unreachable { address, reason },
            };
        };
        match code.code() {
            "28P01" | "28000" => Self::NotAuthenticated { address, reason },
            "3D000" => Self::UnknownDatabase { address },
            "42501" => Self::NotPermitted { address, reason },
            "25006" => Self::ReadOnly { address },
            _ => match store_error(error) {
                StoreError::Full => Self::Full { address },
                StoreError::Locked => Self::Locked { address },
                StoreError::Slow => Self::Slow { address },
                _ => Self::Unreachable { address, reason },
            },
        }
    }
}

/// The message of the database, or the innermost cause that the system reported.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(reported) = error.as_db_error() {
        return reported.message().to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Whether the server has no TLS, or its certificate was not accepted. The driver tells by its text only.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    error
        .to_string()
        .starts_with("error performing TLS handshake")
}

/// A statement failed, or returned data that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    /// A stored value is not one that the store writes.
    #[error("a stored value cannot be decoded")]
    Unreadable,
    /// Other transactions changed the same rows again and again.
    #[error("other transactions change the same rows")]
    Contended,
    /// Another transaction added the same row after this one had looked for it.
    #[error("another transaction added the same row")]
    Overtaken,
}

impl QueryError {
    /// Whether the error is about one row rather than about the database, so that the other requests of the same
    /// statement can succeed without it.
    pub(super) fn concerns_one_row(&self) -> bool {
        match self {
            Self::Unreadable => true,
            Self::Contended | Self::Overtaken => false,
            Self::Postgres(error) => error
                .code()
                .is_some_and(|code| ["21", "22", "23", "54"].contains(&&code.code()[..2])),
        }
    }

    /// Whether the transaction was rolled back only because of a concurrent one.
    pub(super) fn can_be_repeated(&self) -> bool {
        let error = match self {
            Self::Postgres(error) => error,
            Self::Overtaken => return true,
            Self::Unreadable | Self::Contended => return false,
        };
        let code = error.code();
        [
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::T_R_SERIALIZATION_FAILURE,
        ]
        .iter()
        .any(|it| code == Some(it))
    }

    /// Whether the connection can be used again.
    pub(super) fn leaves_connection(&self) -> bool {
        match self {
            Self::Unreadable | Self::Contended | Self::Overtaken => true,
            Self::Postgres(error) => error.code().is_some_and(|code| {
                let code = code.code();
                // After a failover, a connection can lead to a server that only reads. A prepared statement can be
                // lost in a pool, or outdated by a migration.
                !code.starts_with("57P")
                    && !code.starts_with("08")
                    && !["25006", "25P03", "26000", "0A000"].contains(&code)
            }),
        }
    }
}

impl From<&QueryError> for StoreError {
    fn from(error: &QueryError) -> Self {
        match error {
            QueryError::Postgres(error) => store_error(error),
            QueryError::Unreadable => StoreError::Damaged,
            QueryError::Contended | QueryError::Overtaken => StoreError::Locked,
        }
    }
}

fn store_error(error: &tokio_postgres::Error) -> StoreError {
    error.code().map_or(StoreError::Unreachable, of_code)
}

/// The error of the port for the code of an error of the database.
fn of_code(code: &SqlState) -> StoreError {
    match code.code() {
        // The disk, or the space of the database, is full.
        "53100" => StoreError::Full,
        "55P03" | "40P01" | "40001" => StoreError::Locked,
        "57014" => StoreError::Slow,
        "XX001" | "XX002" => StoreError::Damaged,
        _ => StoreError::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_database_become_errors_of_the_port() {
        for (code, expected) in [
            ("53100", StoreError::Full),
            ("55P03", StoreError::Locked),
            ("40P01", StoreError::Locked),
            ("40001", StoreError::Locked),
            ("57014", StoreError::Slow),
            ("XX001", StoreError::Damaged),
            ("57P01", StoreError::Unreachable),
            ("53300", StoreError::Unreachable),
            ("42P01", StoreError::Unreachable),
            ("25006", StoreError::Unreachable),
        ] {
            assert_eq!(of_code(&SqlState::from_code(code)), expected, "{code}");
        }
        let unreadable = StoreError::from(&QueryError::Unreadable);
        assert_eq!(unreadable, StoreError::Damaged);
    }
}
