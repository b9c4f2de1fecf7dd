//! Locks that outlive a panic: no change under a lock leaves the state inconsistent.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
