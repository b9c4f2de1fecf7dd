//! Why a store request failed.

use panpan_failure::{Alternative, Failure, codes};

/// Why a store request failed. A failed request leaves nothing in the store.
///
/// Every condition can pass, and the store then works again without a restart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk or the size limit is full.
    #[error("the store is full")]
    Full,
    /// Another process holds the lock for too long.
    #[error("the store is locked by another process")]
    Locked,
    /// The stored data cannot be read.
    #[error("the store is damaged")]
    Damaged,
    /// It cannot be reached or opened.
    #[error("the store cannot be reached")]
    Unreachable,
    /// It did not answer before the deadline.
    #[error("the store did not answer in time")]
    Slow,
    /// The process is shutting down.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The reason in the details of a failure.
    pub fn word(&self) -> &'static str {
        match self {
            StoreError::Full => "full",
            StoreError::Locked => "locked",
            StoreError::Damaged => "damaged",
            StoreError::Unreachable => "unreachable",
            StoreError::Slow => "slow",
            StoreError::Closed => "closed",
        }
    }

    /// What an operator can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            StoreError::Full => {
                "Free disk space for the store, or raise its size limit; it then works again without a restart"
            }
            StoreError::Locked => "Stop the other process that holds the lock of the store",
            StoreError::Damaged => {
                "Move the file of the store and its -wal and -shm files away, or restore a backup"
            }
            StoreError::Unreachable => {
                "Make the file or the database of the store reachable and writable again"
            }
            StoreError::Slow => "Wait longer, or find out what keeps the store busy",
            StoreError::Closed => "Call again after the gateway has restarted",
        }
    }

    /// ERR_STORE_UNAVAILABLE with this reason.
    pub fn failure(&self) -> Failure {
        Failure::new(codes::ERR_STORE_UNAVAILABLE)
            .with_message(self.to_string())
            .with_detail("reason", self.word())
            .with_alternatives([Alternative::from(self.advice())])
    }
}
