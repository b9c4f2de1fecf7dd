//! How many lines of a log a second are about the same, so that callers who fail on purpose cannot fill it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many lines about the same are written within a second.
const LINES_A_SECOND: u64 = 20;

/// How many different things are counted apart; those that share a place are counted together.
const PLACES: usize = 64;

/// How many of the bits of a place are a number of lines; the others are the second they belong to.
const COUNT_BITS: u32 = 24;

/// Counts the lines that are written about things, and those that are not.
#[derive(Debug)]
pub struct Lines {
    began: Instant,
    hasher: RandomState,
    places: [Place; PLACES],
}

#[derive(Debug, Default)]
struct Place {
    /// A second, and how many lines it had.
    written: AtomicU64,
    left_out: AtomicU64,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            hasher: RandomState::new(),
            places: std::array::from_fn(|_| Place::default()),
        }
    }
}

impl Lines {
    /// Whether the next line about this is written; then with how many that were left out before it.
    pub fn next(&self, about: &str) -> Option<u64> {
        self.next_in(about, self.began.elapsed().as_secs())
    }

    fn next_in(&self, about: &str, second: u64) -> Option<u64> {
        let hash = self.hasher.hash_one(about);
        let place = &self.places[(hash % PLACES as u64) as usize];
        let counted = |before: u64| {
            let is_same = before >> COUNT_BITS == second;
            let lines = if is_same {
                before & ((1 << COUNT_BITS) - 1)
            } else {
                0
            };
            (lines < LINES_A_SECOND).then_some((second << COUNT_BITS) | (lines + 1))
        };
        let updated = place
            .written
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        if updated.is_err() {
            place.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(place.left_out.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_some_lines_a_second_are_written_and_the_others_counted() {
        let lines = Lines::default();
        for second in 0..3 {
            let written: Vec<u64> = (0..1000)
                .filter_map(|_| lines.next_in("FORBIDDEN", second))
                .collect();
            let left_out = if second == 0 {
                0
            } else {
                1000 - LINES_A_SECOND
            };
            assert_eq!(written.len() as u64, LINES_A_SECOND);
            assert_eq!((written[0], written[1]), (left_out, 0));
        }
    }

    #[test]
    fn what_fails_seldom_is_always_written() {
        let lines = Lines::default();
        for second in 0..100 {
            for _ in 0..50 {
                lines.next_in("FORBIDDEN", second);
            }
            let others = ["TIMEOUT", "HTTP_503", "INVALID_INPUT"];
            let written = others
                .iter()
                .filter(|it| lines.next_in(it, second).is_some());
            // One of them may share the place of the flood.
            assert!(written.count() >= 2);
        }
    }
}
