//! Which store is meant by an address such as `sqlite:panpan.db`, and opening it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use panpan_runtime::ports::{Documents, Outcomes};
use panpan_runtime::system::SystemClock;
use panpan_store::{MemoryStore, OpenError, SqliteOptions, SqliteStore};

/// Where outcomes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// Nowhere beyond the process.
    Memory,
    /// In a file.
    Sqlite(PathBuf),
}

/// An open store, as those who use it see it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) outcomes: Arc<dyn Outcomes>,
    pub(crate) documents: Arc<dyn Documents>,
}

/// Why a text is not the address of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("name the file of the store, as in sqlite:panpan.db")]
    NoFile,
    #[error("{0} is no kind of store; write sqlite:PATH for a file, or memory: to keep nothing")]
    Kind(String),
}

impl FromStr for StoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", "")) => Err(AddressError::NoFile),
            Some(("sqlite", path)) => Ok(Self::Sqlite(PathBuf::from(path))),
            // What stands behind the scheme may hold a password.
            Some((kind, _)) => Err(AddressError::Kind(format!("{kind}:"))),
            None => Err(AddressError::Kind("a word without a colon".to_owned())),
        }
    }
}

impl StoreAddress {
    /// Opens the store, which may become so large, or says why that is not possible and what to do.
    pub(crate) fn open(&self, size_bytes: u64) -> Result<Store, OpenError> {
        let clock = Arc::new(SystemClock);
        let options = SqliteOptions {
            size_bytes,
            ..SqliteOptions::default()
        };
        Ok(match self {
            Self::Memory => Store::of(Arc::new(MemoryStore::new(clock))),
            Self::Sqlite(path) => {
                Store::of(Arc::new(SqliteStore::open_with(path, clock, options)?))
            }
        })
    }
}

impl Store {
    fn of<S: Outcomes + Documents + 'static>(store: Arc<S>) -> Self {
        Self {
            outcomes: store.clone(),
            documents: store,
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => formatter.write_str("memory:"),
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_are_not_repeated_whole() {
        let sqlite = |path: &str| Ok(StoreAddress::Sqlite(PathBuf::from(path)));
        for (text, address) in [
            ("memory:", Ok(StoreAddress::Memory)),
            ("sqlite:panpan.db", sqlite("panpan.db")),
            ("sqlite:/var/lib/a b.db", sqlite("/var/lib/a b.db")),
            ("sqlite:", Err(AddressError::NoFile)),
            ("memory:x", Err(AddressError::Kind("memory:".to_owned()))),
            (
                "redis://user:hunter2@host",
                Err(AddressError::Kind("redis:".to_owned())),
            ),
            (
                "panpan.db",
                Err(AddressError::Kind("a word without a colon".to_owned())),
            ),
        ] {
            assert_eq!(text.parse::<StoreAddress>(), address, "{text}");
        }
    }
}
