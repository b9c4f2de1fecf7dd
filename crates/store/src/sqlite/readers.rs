//! A few connections that read, on the thread of whoever asks: what is kept is told without a detour.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use panpan_runtime::ports::StoreError;
use rusqlite::Connection;

use super::errors::Trouble;
use super::writer::Shared;

/// How many can read at once.
const READERS: usize = 4;

/// The connections, opened when they are first needed.
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
    /// Reads with one that is free, or waits for one.
    pub(super) fn read<T>(
        &self,
        shared: &Shared,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let mut slot = self.slot();
        // Out of its slot while it works: after a panic it is simply gone.
        let reader = match slot.take() {
            Some(reader) if reader.incarnation == shared.incarnation() => reader,
            _ => Reader::open(shared)?,
        };
        match work(&reader.connection) {
            Ok(found) => {
                *slot = Some(reader);
                Ok(found)
            }
            Err(trouble) => {
                let error = trouble.into();
                shared.heed(&error);
                Err(error)
            }
        }
    }

    /// Closes them all.
    pub(super) fn close(&mut self) {
        for slot in &mut self.slots {
            *slot.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The first that is free: what one has in its memory, another would have to read again.
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
        let connection = shared.place.open_reader();
        Ok(Self {
            connection: connection.map_err(|error| error.as_store_error())?,
            incarnation,
        })
    }
}
