//! Limits on concurrency: of all callers together, and of one caller.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use panpan_failure::{Failure, Kind, codes};

use crate::caller::Principal;

/// The suggested delay when a limit is reached. The server cannot know when a permit is released.
const RETRY_AFTER_MS: u64 = 1000;

/// A limit on concurrency. Clones share their count.
#[derive(Clone, Debug)]
pub(crate) struct ConcurrencyLimit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What is limited, in messages: "calls".
    what: &'static str,
    limit: usize,
    limit_per_caller: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    by_caller: HashMap<Principal, usize>,
}

/// One unit of a limit, released when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    limit: ConcurrencyLimit,
    principal: Principal,
}

impl ConcurrencyLimit {
    pub(crate) fn new(what: &'static str, limit: usize, limit_per_caller: usize) -> Self {
        Self(Arc::new(Inner {
            what,
            limit,
            limit_per_caller,
            counts: Mutex::default(),
        }))
    }

    /// The number of permits that are held.
    pub(crate) fn in_use(&self) -> usize {
        self.counts().total
    }

    /// A permit, or the failure that a limit is reached.
    pub(crate) fn acquire(&self, principal: &Principal) -> Result<Permit, Failure> {
        let mut counts = self.counts();
        if counts.total >= self.0.limit {
            return Err(self.reached(codes::ERR_OVERLOADED, self.0.limit, ""));
        }
        let limit = self.0.limit_per_caller;
        let of_caller = counts.by_caller.entry(principal.clone()).or_default();
        if *of_caller >= limit {
            return Err(self.reached(codes::ERR_RATE_LIMITED, limit, " per caller"));
        }
        *of_caller += 1;
        counts.total += 1;
        Ok(Permit {
            limit: self.clone(),
            principal: principal.clone(),
        })
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, code: impl Into<Kind>, limit: usize, whose: &str) -> Failure {
        let what = self.0.what;
        Failure::new(code)
            .with_message(format!("limit of {limit} concurrent {what}{whose} reached"))
            .with_detail("limit", limit)
            .with_detail("of", what)
            .with_retry_after_ms(RETRY_AFTER_MS)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.limit.counts();
        counts.total -= 1;
        if let Entry::Occupied(mut count) = counts.by_caller.entry(self.principal.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Principal {
        Principal::Known(name.into())
    }

    #[test]
    fn both_limits_refuse_until_a_permit_is_released() {
        let limit = ConcurrencyLimit::new("calls", 3, 2);
        let first = limit.acquire(&caller("ann")).unwrap();
        let _second = limit.acquire(&caller("ann")).unwrap();
        let refused = limit.acquire(&caller("ann")).unwrap_err();
        assert_eq!(refused.code().as_str(), "ERR_RATE_LIMITED");
        let _third = limit.acquire(&caller("bob")).unwrap();
        let full = limit.acquire(&caller("cid")).unwrap_err();
        assert_eq!(full.code().as_str(), "ERR_OVERLOADED");
        assert_eq!(full.recovery().retry_after_ms, Some(RETRY_AFTER_MS));
        drop(first);
        limit.acquire(&caller("ann")).unwrap();
        assert_eq!(limit.in_use(), 2);
    }

    #[test]
    fn callers_without_permits_are_forgotten() {
        let limit = ConcurrencyLimit::new("calls", 9, 9);
        for number in 0..1000 {
            limit.acquire(&caller(&number.to_string())).unwrap();
        }
        assert!(limit.counts().by_caller.is_empty());
    }
}
