//! The address of a store, such as `sqlite:panpan.db` or `postgres://…`, and opening the store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use panpan_flow::ports::Tasks;
use panpan_flow::{Flows, WebhookKey};
use panpan_runtime::ports::{Documents, Outcomes};
use panpan_runtime::system::{RandomIds, SystemClock};
use panpan_store::{
    MemoryStore, OpenError, PostgresAddress, PostgresAddressError, PostgresOpenError,
    PostgresStore, SqliteOptions, SqliteStore,
};

/// Where outcomes and tokens are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// In the memory of the process.
    Memory,
    /// In a file.
    Sqlite(PathBuf),
    /// In a PostgreSQL database; shown without the password.
    Postgres(Box<PostgresAddress>),
}

/// An open store, as the ports that use it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) outcomes: Arc<dyn Outcomes>,
    pub(crate) documents: Arc<dyn Documents>,
    /// `None` if the store keeps no tasks.
    pub(crate) flows: Option<Flows>,
}

/// Why a text is not the address of a store. It contains only the scheme: the rest may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("the address sqlite: names no file; write sqlite:PATH, such as sqlite:panpan.db")]
    NoFile,
    #[error(
        "unknown store scheme {0}; write sqlite:PATH for a file, postgres://… for a database, or memory: to keep nothing"
    )]
    UnknownScheme(String),
    #[error(
        "the address has no scheme; write sqlite:PATH for a file, postgres://… for a database, or memory: to keep nothing"
    )]
    NoScheme,
    #[error(transparent)]
    Postgres(#[from] PostgresAddressError),
}

/// The store could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CannotOpen {
    #[error(transparent)]
    Sqlite(#[from] OpenError),
    #[error(transparent)]
    Postgres(#[from] PostgresOpenError),
}

impl FromStr for StoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", "")) => Err(AddressError::NoFile),
            Some(("sqlite", path)) => Ok(Self::Sqlite(PathBuf::from(path))),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(Box::new(text.parse()?))),
            Some((scheme, _)) => Err(AddressError::UnknownScheme(format!("{scheme}:"))),
            None => Err(AddressError::NoScheme),
        }
    }
}

impl StoreAddress {
    /// Opens the store; a file has a maximum size.
    pub(crate) fn open(&self, size_bytes: u64) -> Result<Store, CannotOpen> {
        let clock = Arc::new(SystemClock);
        let options = SqliteOptions {
            size_bytes,
            ..SqliteOptions::default()
        };
        Ok(match self {
            Self::Memory => Store::with_tasks(Arc::new(MemoryStore::new(clock))),
            Self::Sqlite(path) => {
                Store::with_tasks(Arc::new(SqliteStore::open_with(path, clock, options)?))
            }
            Self::Postgres(address) => Store::of(Arc::new(PostgresStore::open(address)?)),
        })
    }
}

impl Store {
    fn of<S: Outcomes + Documents + 'static>(store: Arc<S>) -> Self {
        Self {
            outcomes: store.clone(),
            documents: store,
            flows: None,
        }
    }

    fn with_tasks<S: Outcomes + Documents + Tasks + 'static>(store: Arc<S>) -> Self {
        Self {
            flows: Some(Flows::new(store.clone(), Arc::new(RandomIds))),
            ..Self::of(store)
        }
    }
}

impl Store {
    /// The same store, with webhooks that are signed with a key.
    pub(crate) fn with_webhooks(mut self, key: Option<WebhookKey>) -> Self {
        self.flows = self.flows.map(|flows| flows.with_webhooks(key));
        self
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => formatter.write_str("memory:"),
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(address) => address.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_an_address_repeat_only_its_scheme() {
        let sqlite = |path: &str| Ok(StoreAddress::Sqlite(PathBuf::from(path)));
        for (text, address) in [
            ("memory:", Ok(StoreAddress::Memory)),
            ("sqlite:panpan.db", sqlite("panpan.db")),
            ("sqlite:/var/lib/a b.db", sqlite("/var/lib/a b.db")),
            ("sqlite:", Err(AddressError::NoFile)),
            (
                "memory:x",
                Err(AddressError::UnknownScheme("memory:".to_owned())),
            ),
            (
                "redis://user:hunter2@host",
                Err(AddressError::UnknownScheme("redis:".to_owned())),
            ),
            ("panpan.db", Err(AddressError::NoScheme)),
            (
                "postgres://app:hunter2@db?hunter2",
                Err(AddressError::Postgres(PostgresAddressError::Malformed)),
            ),
        ] {
            assert_eq!(text.parse::<StoreAddress>(), address, "{text}");
        }
    }

    #[test]
    fn the_address_of_a_database_is_shown_without_its_password() {
        for scheme in ["postgres", "postgresql"] {
            let text = format!("{scheme}://app:hunter2@db/main?sslmode=verify-full");
            let address: StoreAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), "postgres://app@db:5432/main");
            assert!(!format!("{address:?}").contains("hunter2"));
        }
    }
}
