//! The address of a database, as in `postgres://user:password@host:port/database?sslmode=verify-full`.
//!
//! Nothing here shows the password: an address prints the user, the host and the database only.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 5432;

/// The name by which the database lists the connections.
const APPLICATION_NAME: &str = "panpan";

/// The address of a PostgreSQL database, with the password and the TLS settings.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub(super) trust: Trust,
}

/// Which certificate of the database is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Any: the connection is encrypted, but the database is not authenticated.
    Anything,
    /// One for the name of the host, issued by a trusted authority: of the system, or in this file.
    HostName { authorities: Option<PathBuf> },
}

/// Why a text is not the address of a database. It repeats nothing of the text, which may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresAddressError {
    /// It cannot be parsed.
    #[error(
        "not a valid address; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password percent-encoded"
    )]
    Malformed,
    /// It has a second `@`: what follows the first would be taken for a host, and shown.
    #[error("the address has more than one @; write %40 for an @ of the user or the password")]
    UnescapedAt,
    /// It has no host.
    #[error("the address names no host; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoHost,
    /// It has no user.
    #[error("the address names no user; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoUser,
    /// It has an unknown `sslmode`.
    #[error("unknown sslmode; write disable, prefer, require or verify-full")]
    UnknownSslMode,
    /// It has a file of certificates that would not be used.
    #[error("sslrootcert has an effect with sslmode=verify-full only")]
    UnusedAuthorities,
}

impl FromStr for PostgresAddress {
    type Err = PostgresAddressError;

    fn from_str(text: &str) -> Result<Self, PostgresAddressError> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
            return Err(PostgresAddressError::Malformed);
        }
        if base.matches('@').count() > 1 {
            return Err(PostgresAddressError::UnescapedAt);
        }
        let (mut mode, mut authorities, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => authorities = Some(decoded(value)?),
                _ => others.push(pair),
            }
        }
        let rest = format!("{base}?{}", others.join("&"));
        let mut config: Config = rest.parse().map_err(|_| PostgresAddressError::Malformed)?;
        check(&config)?;
        let (ssl_mode, verified) = ssl_mode(mode.unwrap_or("prefer"))?;
        config.ssl_mode(ssl_mode);
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION_NAME);
        }
        let trust = match (verified, authorities) {
            (true, authorities) => Trust::HostName { authorities },
            (false, None) => Trust::Anything,
            (false, Some(_)) => return Err(PostgresAddressError::UnusedAuthorities),
        };
        Ok(Self { config, trust })
    }
}

fn check(config: &Config) -> Result<(), PostgresAddressError> {
    if config.get_hosts().is_empty() {
        return Err(PostgresAddressError::NoHost);
    }
    match config.get_user() {
        Some(user) if !user.is_empty() => Ok(()),
        _ => Err(PostgresAddressError::NoUser),
    }
}

/// The mode of the driver, and whether the certificate is verified.
fn ssl_mode(name: &str) -> Result<(SslMode, bool), PostgresAddressError> {
    Ok(match name {
        "disable" => (SslMode::Disable, false),
        "prefer" => (SslMode::Prefer, false),
        "require" => (SslMode::Require, false),
        "verify-full" => (SslMode::Require, true),
        _ => return Err(PostgresAddressError::UnknownSslMode),
    })
}

/// A percent-encoded path.
fn decoded(text: &str) -> Result<PathBuf, PostgresAddressError> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded
        .map(|path| PathBuf::from(path.into_owned()))
        .map_err(|_| PostgresAddressError::Malformed)
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (config, ports) = (&self.config, self.config.get_ports());
        let user = config.get_user().unwrap_or_default();
        write!(formatter, "postgres://{user}@")?;
        for (number, host) in config.get_hosts().iter().enumerate() {
            let separator = if number > 0 { "," } else { "" };
            let port = ports.get(number).or(ports.first()).unwrap_or(&DEFAULT_PORT);
            match host {
                Host::Tcp(name) => write!(formatter, "{separator}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(formatter, "{separator}{}:{port}", path.display())?,
            }
        }
        // A database without a name has the name of its user.
        write!(formatter, "/{}", config.get_dbname().unwrap_or(user))
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            (
                "postgres://app:hunter2@db:6432/main?sslmode=require",
                "postgres://app@db:6432/main",
            ),
            (
                "postgresql://app:hunter2@db/main",
                "postgres://app@db:5432/main",
            ),
            (
                "postgres://app@%2Frun%2Fpg/main?password=hunter2",
                "postgres://app@/run/pg:5432/main",
            ),
            (
                "postgres://app%40x:hunter2%40@db/main",
                "postgres://app@x@db:5432/main",
            ),
            (
                "postgres://app:hunter2@a:1,b:2",
                "postgres://app@a:1,b:2/app",
            ),
        ] {
            let address: PostgresAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(format!("{address:?}"), format!("PostgresAddress({shown})"));
        }
    }

    #[test]
    fn a_wrong_address_is_refused_without_repeating_it() {
        use PostgresAddressError::*;
        for (text, expected) in [
            ("postgres://", NoHost),
            ("postgres:app:hunter2@db", Malformed),
            ("postgres://db/main", NoUser),
            ("postgres://app:hunter2@/main", NoHost),
            ("postgres://app:hunter2@db:port/main", Malformed),
            ("postgres://app@db/main?hunter2=1", Malformed),
            ("postgres://app:p@hunter2@db:6432/main", UnescapedAt),
            ("postgres://app@hunter2:p@db/main", UnescapedAt),
            ("postgres://app@db/main?sslmode=hunter2", UnknownSslMode),
            ("postgres://app@db/main?sslmode=verify-ca", UnknownSslMode),
            ("postgres://app@db?sslrootcert=/ca", UnusedAuthorities),
        ] {
            let refused = text.parse::<PostgresAddress>().unwrap_err();
            assert_eq!(refused, expected, "{text}");
            assert!(!format!("{refused} {refused:?}").contains("hunter2"));
        }
    }

    #[test]
    fn only_verify_full_authenticates_the_database() {
        let parse = |query: &str| {
            let text = format!("postgres://app@db/main{query}");
            let address: PostgresAddress = text.parse().unwrap();
            (address.config.get_ssl_mode(), address.trust)
        };
        let named = |authorities: Option<&str>| Trust::HostName {
            authorities: authorities.map(PathBuf::from),
        };
        for (query, expected) in [
            ("", (SslMode::Prefer, Trust::Anything)),
            ("?sslmode=disable", (SslMode::Disable, Trust::Anything)),
            ("?sslmode=require", (SslMode::Require, Trust::Anything)),
            ("?sslmode=verify-full", (SslMode::Require, named(None))),
            (
                "?sslrootcert=%2Fa%20b&sslmode=verify-full",
                (SslMode::Require, named(Some("/a b"))),
            ),
        ] {
            assert_eq!(parse(query), expected, "{query}");
        }
    }
}
