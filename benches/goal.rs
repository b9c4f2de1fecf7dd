//! Measures speed goals: ratios to a baseline, and figures with a limit.
//!
//! Work and baseline are run in turn, many times; the ratio is that of the medians. `--plant-slowdown`
//! does the measured work three times over, to show that a slowdown would be noticed.

#![allow(dead_code, reason = "not every benchmark has goals of every kind")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Rounds at least; what is quick goes on for [`MEASURED_FOR`], so that a machine that is slower for a
/// moment does not decide.
const ROUNDS: usize = 41;
const MEASURED_FOR: Duration = Duration::from_secs(2);

/// How many times the work is done between two looks at the clock.
pub(crate) const BATCH: usize = 256;

/// How many ticks of its processor time the system counts in a second; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time is counted in ticks; of fewer than this nothing is said.
const TICKS_TOLD: f64 = 20.0;

/// Something that has to stay within a limit.
pub(crate) enum Goal {
    /// What the work costs, as a multiple of its baseline.
    Ratio {
        name: String,
        limit: f64,
        work: Box<dyn FnMut() -> Cost>,
        baseline: Box<dyn FnMut() -> Cost>,
    },
    /// A number by itself, measured once; no slowdown is planted in it.
    Figure {
        name: String,
        limit: f64,
        measure: Box<dyn FnOnce() -> f64>,
    },
}

/// Measures the goals and says whether all were met.
///
/// `cargo test --all-targets` runs benchmarks too, to see that they build; only `cargo bench` measures.
pub(crate) fn run(goals: impl FnOnce() -> Vec<Goal>) -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let planted = asked("--plant-slowdown");
    println!(
        "{:<44} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7}",
        "goal", "work", "its cpu", "baseline", "its cpu", "ratio", "limit"
    );
    let missed = goals()
        .into_iter()
        .filter_map(|goal| (!goal.meets(planted)).then_some(()));
    match missed.count() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Goal {
    /// Whether it was met.
    fn meets(self, planted: bool) -> bool {
        match self {
            Goal::Ratio {
                name,
                limit,
                work,
                baseline,
            } => {
                let repeats = if planted { 3 } else { 1 };
                let (work, baseline) = in_turn(repeats, work, baseline);
                let ratio = work.time.as_secs_f64() / baseline.time.as_secs_f64();
                println!("{name:<44} {work} {baseline} {ratio:>7.2} {limit:>7.2}");
                ratio <= limit
            }
            Goal::Figure { .. } if planted => true,
            Goal::Figure {
                name,
                limit,
                measure,
            } => {
                let figure = measure();
                println!("{name:<44} {figure:>51.2} {limit:>7.2}");
                figure <= limit
            }
        }
    }
}

/// The typical cost of the work done so many times over, and of its baseline.
fn in_turn(
    repeats: usize,
    mut work: impl FnMut() -> Cost,
    mut baseline: impl FnMut() -> Cost,
) -> (Typical, Typical) {
    let (mut of_work, mut of_baseline) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while of_work.len() < ROUNDS || started.elapsed() < MEASURED_FOR {
        of_work.push(
            (0..repeats)
                .map(|_| work())
                .reduce(Cost::and)
                .unwrap_or_default(),
        );
        of_baseline.push(baseline());
    }
    (Typical::of(&of_work), Typical::of(&of_baseline))
}

/// What doing something once cost, found over many times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    time: Duration,
    ticks: f64,
    times: usize,
}

impl Cost {
    fn and(self, other: Self) -> Self {
        Self {
            time: self.time + other.time,
            ticks: self.ticks + other.ticks,
            times: self.times,
        }
    }
}

/// The cost of many rounds: the median of the time, and the mean of the processor time, whose ticks
/// are too coarse for one round.
struct Typical {
    time: Duration,
    cpu: Option<Duration>,
}

impl Typical {
    fn of(rounds: &[Cost]) -> Self {
        let mut times: Vec<Duration> = rounds.iter().map(|cost| cost.time).collect();
        times.sort();
        let ticks: f64 = rounds.iter().map(|cost| cost.ticks).sum();
        let done: usize = rounds.iter().map(|cost| cost.times).sum();
        let cpu = Duration::from_secs_f64(ticks / TICKS_PER_SECOND / done as f64);
        Self {
            time: times[times.len() / 2],
            cpu: (ticks >= TICKS_TOLD).then_some(cpu),
        }
    }
}

impl std::fmt::Display for Typical {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cpu {
            Some(cpu) => write!(formatter, "{:>10.2?} {cpu:>10.2?}", self.time),
            None => write!(formatter, "{:>10.2?} {:>10}", self.time, "-"),
        }
    }
}

/// Time and processor time since a moment.
pub(crate) struct Watch {
    ticks: f64,
    begun: Instant,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self {
            ticks: ticks(),
            begun: Instant::now(),
        }
    }

    /// What each of so many times cost.
    pub(crate) fn stop(&self, times: usize) -> Cost {
        let time = self.begun.elapsed() / times as u32;
        Cost {
            time,
            ticks: ticks() - self.ticks,
            times,
        }
    }
}

/// What one item costs, over a batch.
pub(crate) fn timed<I: IntoIterator, T>(items: I, work: impl Fn(I::Item) -> T) -> Cost {
    let items = items.into_iter();
    let watch = Watch::start();
    for item in items {
        black_box(work(item));
    }
    watch.stop(BATCH)
}

/// The processor time of this process and its system calls; 0 where the system does not tell.
fn ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in parentheses and may hold spaces.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum()
}
