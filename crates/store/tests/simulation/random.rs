//! The only source of randomness: splitmix64, so that a seed determines a whole run.

use std::sync::{Mutex, PoisonError};

use panpan_runtime::ports::Ids;
use uuid::Uuid;

/// A rate of this value always happens.
pub(crate) const RATE_SCALE: u64 = 10_000;

/// Pseudorandom numbers that depend on the seed and on the order of the calls.
#[derive(Debug)]
pub(crate) struct Random(Mutex<u64>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from this range, including both ends.
    pub(crate) fn between(&self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// Whether an event with this rate happens, out of [`RATE_SCALE`].
    pub(crate) fn happens(&self, rate: u64) -> bool {
        self.next() % RATE_SCALE < rate
    }

    pub(crate) fn pick<T: Copy>(&self, among: &[T]) -> T {
        let count = u64::try_from(among.len()).unwrap();
        among[usize::try_from(self.next() % count).unwrap()]
    }

    /// One of these, with a probability in proportion to its weight.
    pub(crate) fn weighted<T: Copy>(&self, among: &[(u64, T)]) -> T {
        let total: u64 = among.iter().map(|(weight, _)| weight).sum();
        let mut left = self.next() % total;
        for (weight, choice) in among {
            match left.checked_sub(*weight) {
                Some(wait) => left = wait,
                None => return *choice,
            }
        }
        unreachable!("the weights add up to their total")
    }
}

impl Ids for Random {
    fn new_id(&self) -> Uuid {
        Uuid::from_u64_pair(self.next(), self.next())
    }

    fn new_seed(&self) -> i64 {
        (self.next() >> 11).cast_signed()
    }
}
