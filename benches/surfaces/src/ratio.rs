//! The cost of a request at a panpan server, as a multiple of its cost at a bare server.
//!
//! Both are started many times, because the cost differs by up to a tenth from one start to the next, and get
//! requests in turn; the ratio is that of the medians. `--plant-slowdown` sends panpan three requests for every one
//! that is counted, to show that a slowdown is detected.

use std::time::Duration;

use anyhow::Context as _;

use crate::NAME_WIDTH;
use crate::load::Load;
use crate::process::Process;
use crate::request::Kind;
use crate::serve::Role;

const STARTS: usize = 27;
const ROUNDS_PER_START: usize = 3;
const REQUESTS_PER_ROUND: usize = 3000;

/// Two servers that get the same requests.
pub(crate) struct Ratio {
    pub(crate) name: &'static str,
    pub(crate) limit: f64,
    pub(crate) kind: Kind,
    pub(crate) work: Role,
    pub(crate) baseline: Role,
}

impl Ratio {
    /// Measures the ratio; returns whether it is within its limit.
    pub(crate) fn measure(&self, planted: bool) -> anyhow::Result<bool> {
        let repeats = if planted { 3 } else { 1 };
        let (mut work, mut baseline) = (Cost::default(), Cost::default());
        for _ in 0..STARTS {
            let mut working = Asked::begin(&self.work, self.kind)?;
            let mut bare = Asked::begin(&self.baseline, self.kind)?;
            for _ in 0..ROUNDS_PER_START {
                working.round(repeats, &mut work)?;
                bare.round(1, &mut baseline)?;
            }
        }
        let (cpu, baseline_cpu) = (work.cpu(), baseline.cpu());
        let ratio = cpu.as_secs_f64() / baseline_cpu.as_secs_f64();
        println!(
            "{:<NAME_WIDTH$} {cpu:>9.1?} {:>9.0} {baseline_cpu:>9.1?} {:>9.0} {ratio:>9.2} {:>9.2}",
            self.name,
            work.per_second(),
            baseline.per_second(),
            self.limit
        );
        Ok(ratio <= self.limit)
    }
}

/// The cost of a request in each round.
#[derive(Default)]
struct Cost {
    cpu: Vec<Duration>,
    time: Vec<Duration>,
}

impl Cost {
    fn cpu(&self) -> Duration {
        median(&self.cpu)
    }

    fn per_second(&self) -> f64 {
        median(&self.time).as_secs_f64().recip()
    }
}

/// A server and its load generator.
struct Asked {
    process: Process,
    load: Load,
}

impl Asked {
    /// Starts a server and runs a warm-up round that is not counted.
    fn begin(role: &Role, kind: Kind) -> anyhow::Result<Self> {
        let process = Process::start(role)?;
        let load = Load::connect(process.address, kind)
            .with_context(|| format!("cannot connect to {role:?}"))?;
        let mut asked = Self { process, load };
        asked.load.ask(REQUESTS_PER_ROUND)?;
        Ok(asked)
    }

    fn round(&mut self, repeats: usize, cost: &mut Cost) -> anyhow::Result<()> {
        let before = self.process.cpu()?;
        let time = self.load.ask(REQUESTS_PER_ROUND * repeats)?;
        let cpu = self.process.cpu()? - before;
        cost.cpu.push(cpu / REQUESTS_PER_ROUND as u32);
        cost.time.push(time / REQUESTS_PER_ROUND as u32);
        Ok(())
    }
}

/// The median.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
