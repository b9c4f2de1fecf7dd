//! A small pool of read-only connections, used on the caller's thread.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use panpan_runtime::ports::StoreError;
use rusqlite::Connection;

use super::errors::QueryError;
use super::writer::Shared;

/// The number of concurrent readers.
const READERS: usize = 4;

/// The connections, opened on first use.
#[derive(Debug, Default)]
pub(super) struct Readers {
    slots: [Mutex<Option<Reader>>; READERS],
}

#[derive(Debug)]
struct Reader {
    connection: Connection,
    incarnation: u64,
}

impl Readers {
    /// Reads on a free connection, or waits for one.
    pub(super) fn read<T>(
        &self,
        shared: &Shared,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        let mut slot = self.slot();
        // Taken out of its slot while in use, so a panic drops the connection.
        let mut reader = match slot.take() {
            Some(reader) if reader.incarnation == shared.incarnation() => reader,
            _ => Reader::open(shared)?,
        };
        match work(&mut reader.connection) {
            Ok(result) => {
                *slot = Some(reader);
                Ok(result)
            }
            Err(error) => {
                let error = error.into();
                shared.observe_error(&error);
                Err(error)
            }
        }
    }

    /// Closes all connections.
    pub(super) fn close(&mut self) {
        for slot in &mut self.slots {
            *slot.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The first free slot: reusing the same connection makes the best use of its page cache.
    fn slot(&self) -> MutexGuard<'_, Option<Reader>> {
        for slot in &self.slots {
            match slot.try_lock() {
                Ok(slot) => return slot,
                Err(TryLockError::Poisoned(slot)) => return slot.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let slot = self.slots[0].lock();
        slot.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn open(shared: &Shared) -> Result<Self, StoreError> {
        let incarnation = shared.incarnation();
        let connection = shared.file.open_reader();
        Ok(Self {
            connection: connection.map_err(|error| error.as_store_error())?,
            incarnation,
        })
    }
}
