//! The retry budget: the retries of all calls to an upstream are limited to a share of the calls.
//!
//! A maximum per call multiplies under load: when an upstream fails, the retries of all callers keep it
//! down. A budget shared by all calls prevents that.

use jiff::Timestamp;

use crate::time::milliseconds_between;

/// The settings of a retry budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetSettings {
    /// Retries per thousand calls.
    pub per_thousand_calls: u64,
    /// Retries per second that are always allowed, so that an upstream with few calls can be retried.
    pub per_second: u64,
    /// The most retries that can be saved up.
    pub saved_max: u64,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self {
            per_thousand_calls: 200,
            per_second: 10,
            saved_max: 100,
        }
    }
}

/// The remaining retries, in thousandths, so that sums stay exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    settings: BudgetSettings,
    saved_thousandths: u64,
    last: Option<Timestamp>,
}

const ONE_RETRY: u64 = 1000;

impl Budget {
    /// A budget that starts with the retries of one second.
    pub fn new(settings: BudgetSettings) -> Self {
        let mut budget = Self {
            settings,
            saved_thousandths: 0,
            last: None,
        };
        budget.save(settings.per_second.saturating_mul(ONE_RETRY));
        budget
    }

    /// Counts a call, which earns a share of a retry.
    pub fn called(&mut self, now: Timestamp) {
        self.earn(now);
        self.save(self.settings.per_thousand_calls);
    }

    /// Takes one retry, if one is left.
    pub fn take(&mut self, now: Timestamp) -> bool {
        self.earn(now);
        let left = self.saved_thousandths.checked_sub(ONE_RETRY);
        self.saved_thousandths = left.unwrap_or(self.saved_thousandths);
        left.is_some()
    }

    /// Adds the retries earned since the last call; nothing if the clock went backwards.
    fn earn(&mut self, now: Timestamp) {
        let last = self.last.unwrap_or(now);
        let milliseconds = milliseconds_between(last, now);
        self.save(milliseconds.saturating_mul(self.settings.per_second));
        self.last = Some(last.max(now));
    }

    fn save(&mut self, thousandths: u64) {
        let most = self.settings.saved_max.saturating_mul(ONE_RETRY);
        self.saved_thousandths = self.saved_thousandths.saturating_add(thousandths).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    fn taken(budget: &mut Budget, now: Timestamp, wanted: usize) -> usize {
        (0..wanted).filter(|_| budget.take(now)).count()
    }

    #[test]
    fn calls_earn_their_share_of_retries() {
        let settings = BudgetSettings {
            per_second: 0,
            ..BudgetSettings::default()
        };
        let mut budget = Budget::new(settings);
        assert_eq!(taken(&mut budget, at(0), 5), 0);
        (0..50).for_each(|_| budget.called(at(0)));
        assert_eq!(taken(&mut budget, at(0), 50), 10);
    }

    #[test]
    fn an_upstream_with_few_calls_can_be_retried() {
        let mut budget = Budget::new(BudgetSettings::default());
        assert_eq!(taken(&mut budget, at(0), 50), 10);
        assert_eq!(taken(&mut budget, at(500), 50), 5);
    }

    #[test]
    fn savings_are_limited_and_a_clock_set_back_earns_nothing() {
        let mut budget = Budget::new(BudgetSettings::default());
        assert_eq!(taken(&mut budget, at(0), 500), 10);
        assert_eq!(taken(&mut budget, at(3_600_000), 500), 100);
        assert_eq!(taken(&mut budget, at(0), 500), 0);
        assert_eq!(taken(&mut budget, at(3_600_000), 500), 0);
    }
}
