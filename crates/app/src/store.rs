//! Which store is meant by an address such as `sqlite:panpan.db`, and opening it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use panpan_runtime::ports::Outcomes;
use panpan_runtime::system::SystemClock;
use panpan_store::{MemoryStore, OpenError, SqliteStore};

/// Where outcomes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// Nowhere beyond the process.
    Memory,
    /// In a file.
    Sqlite(PathBuf),
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
            None => Err(AddressError::Kind(format!("{text:?}"))),
        }
    }
}

impl StoreAddress {
    /// Opens the store, or says why that is not possible and what to do.
    pub(crate) fn open(&self) -> Result<Arc<dyn Outcomes>, OpenError> {
        let clock = Arc::new(SystemClock);
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::new(clock)),
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path, clock)?),
        })
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
                Err(AddressError::Kind("\"panpan.db\"".to_owned())),
            ),
        ] {
            assert_eq!(text.parse::<StoreAddress>(), address, "{text}");
        }
    }
}
