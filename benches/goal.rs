//! Measures speed goals: ratios to a baseline, and figures with a limit.
//!
//! Work and baseline run in turn, many times; the ratio is that of the medians. `--plant-slowdown`
//! does the measured work three times, to show that a slowdown is detected.

#![allow(dead_code, reason = "not every benchmark has goals of every kind")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The minimum number of rounds; quick work runs for at least [`MEASURED_FOR`], so that a short slowdown of the
/// machine does not matter.
const ROUNDS: usize = 81;
const MEASURED_FOR: Duration = Duration::from_secs(2);

/// How often the work is done between two readings of the clock.
pub(crate) const BATCH: usize = 256;

/// Ticks of processor time per second; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time is counted in ticks; with fewer than this it is not printed.
const TICKS_TOLD: f64 = 20.0;

/// A goal with a limit.
pub(crate) enum Goal {
    /// The cost of the work as a multiple of its baseline.
    Ratio {
        name: String,
        limit: f64,
        work: Box<dyn FnMut() -> Cost>,
        baseline: Box<dyn FnMut() -> Cost>,
    },
    /// Like a ratio, of work that takes long: it runs only a few times.
    Long {
        name: String,
        limit: f64,
        rounds: usize,
        work: Box<dyn FnMut() -> Cost>,
        baseline: Box<dyn FnMut() -> Cost>,
    },
    /// A single number, measured once; no slowdown is planted in it.
    Figure {
        name: String,
        limit: f64,
        measure: Box<dyn FnOnce() -> f64>,
    },
    /// A single number that grows with the work, which the planted slowdown does several times.
    Growth {
        name: String,
        limit: f64,
        measure: Box<dyn FnOnce(usize) -> f64>,
    },
    /// A goal whose baseline is not there; it is neither met nor missed.
    NotMeasured { name: String, reason: String },
}

/// How often the planted slowdown does the work.
const PLANTED_REPEATS: usize = 3;

/// Measures the goals and succeeds if all are met.
///
/// `cargo test --all-targets` also runs benchmarks, to check that they build; only `cargo bench` measures.
pub(crate) fn run(goals: impl FnOnce() -> Vec<Goal>) -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let planted = asked("--plant-slowdown");
    print_header();
    let missed = goals()
        .into_iter()
        .filter_map(|goal| (!goal.meets(planted)).then_some(()));
    match missed.count() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Like [`run`], but the slowdown counts as detected only if every goal shows it. Names among the arguments select goals
/// by a part of their name.
pub(crate) fn run_each(goals: impl FnOnce() -> Vec<Goal>) -> ExitCode {
    let (flags, named): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|it| it.starts_with("--"));
    let asked = |flag: &str| flags.iter().any(|it| it == flag);
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let planted = asked("--plant-slowdown");
    let is_chosen = |goal: &Goal| {
        let name = goal.name();
        named.is_empty() || named.iter().any(|part| name.contains(part.as_str()))
    };
    print_header();
    let measured = goals().into_iter().filter(is_chosen);
    let measured = measured.filter(|goal| goal.is_measured(planted));
    let met: Vec<bool> = measured.map(|goal| goal.meets(planted)).collect();
    let succeeds = match planted {
        true => met.contains(&true),
        false => !met.contains(&false),
    };
    match succeeds {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn print_header() {
    println!(
        "{:<44} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7}",
        "goal", "work", "its cpu", "baseline", "its cpu", "ratio", "limit"
    );
}

impl Goal {
    fn name(&self) -> &str {
        match self {
            Goal::Ratio { name, .. }
            | Goal::Long { name, .. }
            | Goal::Figure { name, .. }
            | Goal::Growth { name, .. }
            | Goal::NotMeasured { name, .. } => name,
        }
    }

    /// Whether it can be measured, with a slowdown if one is planted; prints why not.
    fn is_measured(&self, planted: bool) -> bool {
        match self {
            Goal::NotMeasured { name, reason } => {
                println!("{name:<44} not measured: {reason}");
                false
            }
            Goal::Figure { .. } => !planted,
            Goal::Ratio { .. } | Goal::Long { .. } | Goal::Growth { .. } => true,
        }
    }

    /// Whether it was met.
    fn meets(self, planted: bool) -> bool {
        let repeats = if planted { PLANTED_REPEATS } else { 1 };
        match self {
            Goal::Ratio {
                name,
                limit,
                work,
                baseline,
            } => {
                let enough = |rounds, time| rounds >= ROUNDS && time >= MEASURED_FOR;
                let costs = in_turn(repeats, enough, work, baseline);
                is_within(&name, limit, &costs)
            }
            Goal::Long {
                name,
                limit,
                rounds: wanted,
                work,
                baseline,
            } => {
                let costs = in_turn(repeats, |rounds, _| rounds >= wanted, work, baseline);
                is_within(&name, limit, &costs)
            }
            Goal::Growth {
                name,
                limit,
                measure,
            } => {
                let figure = measure(repeats);
                println!("{name:<44} {figure:>51.2} {limit:>7.2}");
                figure <= limit
            }
            Goal::NotMeasured { .. } => true,
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

fn is_within(name: &str, limit: f64, (work, baseline): &(Typical, Typical)) -> bool {
    let ratio = work.time.as_secs_f64() / baseline.time.as_secs_f64();
    println!("{name:<44} {work} {baseline} {ratio:>7.2} {limit:>7.2}");
    ratio <= limit
}

/// The typical cost of the work, repeated this often, and of its baseline. Ends when the number of rounds and the time
/// are enough.
fn in_turn(
    repeats: usize,
    enough: impl Fn(usize, Duration) -> bool,
    mut work: impl FnMut() -> Cost,
    mut baseline: impl FnMut() -> Cost,
) -> (Typical, Typical) {
    let (mut of_work, mut of_baseline) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while !enough(of_work.len(), started.elapsed()) {
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

/// The average cost of one run out of many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    time: Duration,
    ticks: f64,
    times: usize,
}

impl Cost {
    /// The cost of one run that something else measured.
    pub(crate) fn of(time: Duration) -> Self {
        Self {
            time,
            ticks: 0.0,
            times: 1,
        }
    }

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

    /// The cost of each of these runs.
    pub(crate) fn stop(&self, times: usize) -> Cost {
        let time = self.begun.elapsed() / times as u32;
        Cost {
            time,
            ticks: ticks() - self.ticks,
            times,
        }
    }
}

/// The cost of one item in a batch.
pub(crate) fn timed<I: IntoIterator, T>(items: I, work: impl Fn(I::Item) -> T) -> Cost {
    let items = items.into_iter();
    let watch = Watch::start();
    for item in items {
        black_box(work(item));
    }
    watch.stop(BATCH)
}

/// The processor time of this process and its system calls; 0 if the system does not report it.
fn ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program name is in parentheses and may contain spaces.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum()
}
