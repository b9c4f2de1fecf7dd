//! How many may be inside at a time, and how many of one caller.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use panpan_failure::{Failure, codes};

use crate::caller::Principal;

/// How long a caller is told to wait when there is no room. Nobody knows when somebody leaves.
const WAIT_MS: u64 = 1000;

/// A room with a limit. Clones are the same room.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What is inside, for people.
    what: &'static str,
    limit: usize,
    limit_per_caller: usize,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    all: usize,
    by_caller: HashMap<Principal, usize>,
}

/// A place in a room, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    room: Room,
    principal: Principal,
}

impl Room {
    pub(crate) fn new(what: &'static str, limit: usize, limit_per_caller: usize) -> Self {
        Self(Arc::new(Inner {
            what,
            limit,
            limit_per_caller,
            inside: Mutex::default(),
        }))
    }

    /// How many are inside.
    pub(crate) fn occupied(&self) -> usize {
        self.inside().all
    }

    /// A place, if there is one.
    pub(crate) fn enter(&self, principal: &Principal) -> Result<Permit, Failure> {
        let mut inside = self.inside();
        if inside.all >= self.0.limit {
            return Err(self.overloaded());
        }
        match inside.by_caller.entry(principal.clone()) {
            Entry::Occupied(count) if *count.get() >= self.0.limit_per_caller => {
                return Err(self.crowded());
            }
            Entry::Occupied(mut count) => *count.get_mut() += 1,
            Entry::Vacant(_) if self.0.limit_per_caller == 0 => return Err(self.crowded()),
            Entry::Vacant(place) => drop(place.insert(1)),
        }
        inside.all += 1;
        Ok(Permit {
            room: self.clone(),
            principal: principal.clone(),
        })
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overloaded(&self) -> Failure {
        let Inner { what, limit, .. } = &*self.0;
        Failure::new(codes::ERR_OVERLOADED)
            .with_message(format!(
                "there is room for {limit} {what} at a time, and all of it is taken"
            ))
            .with_detail("limit", *limit)
            .with_detail("of", *what)
            .with_retry_after_ms(WAIT_MS)
    }

    fn crowded(&self) -> Failure {
        let (what, limit) = (self.0.what, self.0.limit_per_caller);
        Failure::new(codes::ERR_RATE_LIMITED)
            .with_message(format!(
                "a caller may have {limit} {what} at a time, and has them"
            ))
            .with_detail("limit", limit)
            .with_detail("of", what)
            .with_retry_after_ms(WAIT_MS)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut inside = self.room.inside();
        inside.all -= 1;
        if let Entry::Occupied(mut count) = inside.by_caller.entry(self.principal.clone()) {
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
    fn a_room_holds_as_many_as_it_may_and_takes_the_next_when_one_leaves() {
        let room = Room::new("calls", 3, 2);
        let first = room.enter(&caller("ann")).unwrap();
        let _second = room.enter(&caller("ann")).unwrap();
        let crowded = room.enter(&caller("ann")).unwrap_err();
        assert_eq!(crowded.code().as_str(), "ERR_RATE_LIMITED");
        let _third = room.enter(&caller("bob")).unwrap();
        let full = room.enter(&caller("cid")).unwrap_err();
        assert_eq!(full.code().as_str(), "ERR_OVERLOADED");
        assert_eq!(full.recovery().retry_after_ms, Some(WAIT_MS));
        drop(first);
        room.enter(&caller("ann")).unwrap();
        assert_eq!(room.occupied(), 2);
    }

    #[test]
    fn callers_who_left_are_forgotten() {
        let room = Room::new("calls", 9, 9);
        for number in 0..1000 {
            room.enter(&caller(&number.to_string())).unwrap();
        }
        assert!(room.inside().by_caller.is_empty());
    }
}
