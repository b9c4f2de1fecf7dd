//! Why a store did not do what it was asked.

use panpan_failure::{Alternative, Failure, codes};

/// A store did not do what it was asked; nothing of the request was kept.
///
/// Every reason can pass by itself or by a person's hand, and the store goes on when it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no room left.
    #[error("the store is full")]
    Full,
    /// Somebody else holds the lock for too long.
    #[error("the store is locked by another process")]
    Locked,
    /// What is there cannot be read.
    #[error("the store is damaged")]
    Damaged,
    /// It cannot be reached or opened.
    #[error("the store cannot be reached")]
    Unreachable,
    /// It did not answer while the caller waited.
    #[error("the store did not answer in time")]
    Slow,
    /// It takes nothing any more, because the process is ending.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The word it is shown as among the details of a failure.
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

    /// What makes it work again.
    pub fn advice(&self) -> &'static str {
        match self {
            StoreError::Full => {
                "Free room on the disk of the store, or let it become larger; it goes on by itself"
            }
            StoreError::Locked => "End the other process that holds the store's lock",
            StoreError::Damaged => {
                "Move the store's file away with its -wal and -shm files, or put a backup in their place"
            }
            StoreError::Unreachable => "Make the place of the store reachable and writable again",
            StoreError::Slow => "Wait longer, or find out what keeps the store busy",
            StoreError::Closed => "Call again when the gateway has started anew",
        }
    }

    /// What a caller is told whose request needed the store.
    pub fn failure(&self) -> Failure {
        Failure::new(codes::ERR_STORE_UNAVAILABLE)
            .with_message(self.to_string())
            .with_detail("reason", self.word())
            .with_alternatives([Alternative::from(self.advice())])
    }
}
