//! What a request costs a server of panpan, as a multiple of what it costs a bare one.
//!
//! Both are started many times, since one start costs up to a tenth more or less than the next, and
//! asked in turn; the ratio is that of the medians. `--plant-slowdown` asks panpan
//! three times for every request that is counted, to show that a slowdown would be noticed.

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

/// Two servers that are asked for the same.
pub(crate) struct Ratio {
    pub(crate) name: &'static str,
    pub(crate) limit: f64,
    pub(crate) kind: Kind,
    pub(crate) work: Role,
    pub(crate) baseline: Role,
}

impl Ratio {
    /// Whether it is within its limit.
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

/// What a request cost in each round.
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

/// A server and those who ask it.
struct Asked {
    process: Process,
    load: Load,
}

impl Asked {
    /// Starts a server and asks it for a round that is not counted.
    fn begin(role: &Role, kind: Kind) -> anyhow::Result<Self> {
        let process = Process::start(role)?;
        let load = Load::connect(process.address, kind)
            .with_context(|| format!("{role:?} cannot be asked"))?;
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

/// The one in the middle.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
