//! Measures speed goals as ratios to a baseline.
//!
//! Goal and baseline are run in turn, many times; the ratio is that of the medians. `--plant-slowdown`
//! does the measured work three times over, to show that a slowdown would be noticed.

use std::process::ExitCode;
use std::time::Duration;

const ROUNDS: usize = 41;

/// How many times the work is done between two looks at the clock.
pub(crate) const BATCH: usize = 256;

/// One goal: the work, its baseline, and how many times the baseline it may cost.
pub(crate) struct Goal {
    pub(crate) name: String,
    pub(crate) limit: f64,
    pub(crate) work: Box<dyn FnMut() -> Duration>,
    pub(crate) baseline: Box<dyn FnMut() -> Duration>,
}

/// Measures the goals and says whether all were met.
///
/// `cargo test --all-targets` runs benchmarks too, to see that they build; only `cargo bench` measures.
pub(crate) fn run(goals: impl FnOnce() -> Vec<Goal>) -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let repeats = if asked("--plant-slowdown") { 3 } else { 1 };
    println!(
        "{:<44} {:>10} {:>10} {:>7} {:>7}",
        "goal", "work", "baseline", "ratio", "limit"
    );
    let mut goals = goals();
    let missed = goals
        .iter_mut()
        .filter_map(|goal| (!goal.is_met(repeats)).then_some(()));
    match missed.count() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Goal {
    fn is_met(&mut self, repeats: u32) -> bool {
        let (mut work, mut baseline) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            work.push((0..repeats).map(|_| (self.work)()).sum::<Duration>());
            baseline.push((self.baseline)());
        }
        let (work, baseline) = (median(work), median(baseline));
        let ratio = work.as_secs_f64() / baseline.as_secs_f64();
        println!(
            "{:<44} {:>10.2?} {:>10.2?} {ratio:>7.2} {:>7.2}",
            self.name, work, baseline, self.limit
        );
        ratio <= self.limit
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
