//! Limits the log lines per second about one topic, so that failing callers cannot flood the log.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many lines about one topic are written within a second.
const LINES_A_SECOND: u64 = 20;

/// The number of counters; topics with equal hashes share one.
const COUNTERS: usize = 64;

/// How many bits of a counter are the number of lines; the others are the second.
const COUNT_BITS: u32 = 24;

/// Decides which log lines are written, and counts the suppressed ones.
#[derive(Debug)]
pub struct LogThrottle {
    began: Instant,
    hasher: RandomState,
    counters: [Counter; COUNTERS],
}

#[derive(Debug, Default)]
struct Counter {
    /// A second, and its number of lines.
    written: AtomicU64,
    suppressed: AtomicU64,
}

impl Default for LogThrottle {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            hasher: RandomState::new(),
            counters: std::array::from_fn(|_| Counter::default()),
        }
    }
}

impl LogThrottle {
    /// Whether to write a line about this topic; if so, how many lines were suppressed since the last one.
    pub fn admit(&self, topic: &str) -> Option<u64> {
        self.admit_in(topic, self.began.elapsed().as_secs())
    }

    fn admit_in(&self, topic: &str, second: u64) -> Option<u64> {
        let hash = self.hasher.hash_one(topic);
        let counter = &self.counters[(hash % COUNTERS as u64) as usize];
        let counted = |before: u64| {
            let is_same = before >> COUNT_BITS == second;
            let lines = if is_same {
                before & ((1 << COUNT_BITS) - 1)
            } else {
                0
            };
            (lines < LINES_A_SECOND).then_some((second << COUNT_BITS) | (lines + 1))
        };
        let updated = counter
            .written
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        if updated.is_err() {
            counter.suppressed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(counter.suppressed.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_over_the_limit_are_suppressed_and_counted() {
        let throttle = LogThrottle::default();
        for second in 0..3 {
            let written: Vec<u64> = (0..1000)
                .filter_map(|_| throttle.admit_in("FORBIDDEN", second))
                .collect();
            let suppressed = if second == 0 {
                0
            } else {
                1000 - LINES_A_SECOND
            };
            assert_eq!(written.len() as u64, LINES_A_SECOND);
            assert_eq!((written[0], written[1]), (suppressed, 0));
        }
    }

    #[test]
    fn rare_lines_are_always_written() {
        let throttle = LogThrottle::default();
        for second in 0..100 {
            for _ in 0..50 {
                throttle.admit_in("FORBIDDEN", second);
            }
            let others = ["TIMEOUT", "HTTP_503", "INVALID_INPUT"];
            let written = others
                .iter()
                .filter(|it| throttle.admit_in(it, second).is_some());
            // One of them may share the counter with the frequent topic.
            assert!(written.count() >= 2);
        }
    }
}
