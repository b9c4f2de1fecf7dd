//! Counts the calls and failures of a sliding window.
//!
//! Counted in slices, so that memory does not grow with the number of calls; the oldest slice is dropped as a
//! whole.

use std::collections::VecDeque;

use jiff::Timestamp;

/// The number of slices of a window.
const SLICES: i64 = 10;

/// A sliding window of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    slice_ms: i64,
    /// Ordered by time; none is empty.
    slices: VecDeque<Slice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    number: i64,
    calls: Calls,
}

/// The number of calls that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) all: u32,
    pub(super) failed: u32,
}

impl Window {
    /// An empty window of this length.
    pub(super) fn new(window_ms: u64) -> Self {
        let window_ms = i64::try_from(window_ms).unwrap_or(i64::MAX);
        Self {
            slice_ms: (window_ms / SLICES).max(1),
            slices: VecDeque::new(),
        }
    }

    /// Counts a call that ended now, and returns the totals of the window.
    pub(super) fn count(&mut self, failed: bool, now: Timestamp) -> Calls {
        let number = now.as_millisecond().div_euclid(self.slice_ms);
        // Calls may be counted out of order. If the clock was set back by more than a window, slices in the
        // future are dropped.
        let newest = self.slices.back().map_or(number, |last| last.number);
        let number = if newest - number < SLICES {
            number.max(newest)
        } else {
            number
        };
        let is_current = |slice: &Slice| (number - SLICES + 1..=number).contains(&slice.number);
        self.slices.retain(is_current);
        if self.slices.back().is_none_or(|last| last.number != number) {
            let calls = Calls::default();
            self.slices.push_back(Slice { number, calls });
        }
        if let Some(Slice { calls, .. }) = self.slices.back_mut() {
            calls.all = calls.all.saturating_add(1);
            calls.failed = calls.failed.saturating_add(u32::from(failed));
        }
        self.slices
            .iter()
            .fold(Calls::default(), |sum, slice| Calls {
                all: sum.all.saturating_add(slice.calls.all),
                failed: sum.failed.saturating_add(slice.calls.failed),
            })
    }
}

impl Calls {
    /// Whether at least this share of them failed.
    pub(super) fn failed_at_least(self, percent: u32) -> bool {
        u64::from(self.failed) * 100 >= u64::from(self.all) * u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn old_calls_drop_out_of_the_window() {
        let mut window = Window::new(30_000);
        for (now, failed, all, of_them) in [
            (0, true, 1, 1),
            (2_999, false, 2, 1),
            (29_999, true, 3, 2),
            // The first slice was dropped with both its calls.
            (30_000, true, 2, 2),
            // Ended earlier, but counted late.
            (26_000, false, 3, 2),
            (90_000, false, 1, 0),
        ] {
            let calls = window.count(failed, at(now));
            assert_eq!((calls.all, calls.failed), (all, of_them), "{now}");
        }
    }

    #[test]
    fn slices_in_the_future_are_dropped_when_the_clock_is_set_back() {
        let mut window = Window::new(30_000);
        window.count(true, at(86_400_000));
        let calls = window.count(true, at(0));
        assert_eq!((calls.all, calls.failed), (1, 1));
    }

    #[test]
    fn the_failed_share_includes_its_limit() {
        for (all, failed, reached) in [(20, 16, true), (20, 15, false), (1, 1, true), (5, 4, true)]
        {
            let calls = Calls { all, failed };
            assert_eq!(calls.failed_at_least(80), reached, "{failed} of {all}");
        }
    }
}
