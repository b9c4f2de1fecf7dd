//! How many calls there were lately, and how many of them failed.
//!
//! Counted in slices of the window, so that a busy operation needs no more memory than a quiet one; the
//! oldest slice leaves as a whole.

use std::collections::VecDeque;

use jiff::Timestamp;

/// Into how many slices a window is cut.
const SLICES: i64 = 10;

/// Calls of a window that moves with time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    slice_ms: i64,
    /// In the order of time, none of them empty.
    slices: VecDeque<Slice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    number: i64,
    calls: Calls,
}

/// How many calls ended.
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

    /// Counts a call that ended now, and gives all calls of the window.
    pub(super) fn count(&mut self, failed: bool, now: Timestamp) -> Calls {
        let number = now.as_millisecond().div_euclid(self.slice_ms);
        // Calls are not counted in the order in which they ended. A clock that was set back by more
        // than a window makes the newest slices lie in the future: they tell nothing.
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
    fn calls_leave_the_window_as_time_passes() {
        let mut window = Window::new(30_000);
        for (now, failed, all, of_them) in [
            (0, true, 1, 1),
            (2_999, false, 2, 1),
            (29_999, true, 3, 2),
            // The first slice has left, with both its calls.
            (30_000, true, 2, 2),
            // One that ended a little earlier and is counted late.
            (26_000, false, 3, 2),
            (90_000, false, 1, 0),
        ] {
            let calls = window.count(failed, at(now));
            assert_eq!((calls.all, calls.failed), (all, of_them), "{now}");
        }
    }

    #[test]
    fn a_clock_set_back_forgets_what_lies_in_the_future() {
        let mut window = Window::new(30_000);
        window.count(true, at(86_400_000));
        let calls = window.count(true, at(0));
        assert_eq!((calls.all, calls.failed), (1, 1));
    }

    #[test]
    fn the_share_has_two_sides() {
        for (all, failed, reached) in [(20, 16, true), (20, 15, false), (1, 1, true), (5, 4, true)]
        {
            let calls = Calls { all, failed };
            assert_eq!(calls.failed_at_least(80), reached, "{failed} of {all}");
        }
    }
}
