//! The process that kills workers, and then reads what they left.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use panpan_flow::TaskId;
use panpan_flow::ports::Tasks;

use super::check::Checked;
use super::child::stores;
use super::plan::{FlowPlan, TaskPlan};
use super::read;
use crate::child::runtime;
use crate::message::Message;
use crate::operations::{effects, effects_path};
use crate::options::{ChildOptions, Defect, FlowShare, Task};
use crate::parent::Running;
use crate::plan::Random;
use crate::seed;

/// The longest time from the start of a worker to its kill.
const RUN_US: u64 = 250_000;

/// The longest time to the kill of a worker that opens the store.
const OPENING_US: u64 = 40_000;

/// A series of kills, during which flows are created.
pub(super) struct FlowCampaign {
    name: &'static str,
    directory: PathBuf,
    seed: u64,
    flows: u64,
    kills: u64,
    defect: Defect,
    workers: u64,
    database: Option<String>,
}

impl FlowCampaign {
    /// One worker on a file.
    pub(super) fn new(name: &'static str, flows: u64, kills: u64, defect: Defect) -> Self {
        let directory = format!("crash-{name}-{}", std::process::id());
        Self {
            name,
            directory: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(directory),
            seed: seed(),
            flows,
            kills,
            defect,
            workers: 1,
            database: None,
        }
    }

    /// Several workers on a database.
    pub(super) fn on_database(self, workers: u64, database: String) -> Self {
        Self {
            workers,
            database: Some(database),
            ..self
        }
    }

    /// Every task has to end by the rules.
    pub(super) fn check_sound(&self) {
        let checked = self.run();
        let shown: Vec<String> = checked.violations.iter().take(10).cloned().collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
        assert!(checked.taken_over > 0, "no task was taken over");
        assert!(checked.pending > 0, "no task was blocked");
        fs::remove_dir_all(&self.directory).unwrap();
    }

    /// A violation with one of these texts has to be found.
    pub(super) fn check_violation(&self, texts: &[&str]) {
        let checked = self.run();
        let is_one = |found: &String| texts.iter().any(|text| found.contains(text));
        let is_found = checked.violations.iter().any(is_one);
        assert!(is_found, "none of {texts:?} in {:?}", checked.violations);
        fs::remove_dir_all(&self.directory).unwrap();
    }

    fn run(&self) -> Checked {
        println!("crash: {}: seed {}", self.name, self.seed);
        let start = Instant::now();
        fs::create_dir_all(&self.directory).unwrap();
        let early = self.kill_workers();
        let mut checked = self.check();
        checked.violations.extend(early);
        let took = start.elapsed().as_secs_f64();
        println!(
            "crash: {}: {} kills, {}, {took:.1} s",
            self.name,
            self.kills,
            checked.summary()
        );
        checked
    }

    /// Kills workers at random moments, then lets them run until all flows rest. Returns how workers ended that were
    /// not killed.
    fn kill_workers(&self) -> Vec<String> {
        let mut random = Random::new(self.seed);
        let mut violations = Vec::new();
        let mut workers: Vec<Option<Running>> = (0..self.workers).map(|_| None).collect();
        for kill in 1..=self.kills {
            let number = random.below(self.workers);
            let worker = &mut workers[usize::try_from(number).unwrap()];
            // In the end, all flows are being created or run.
            let flows = self.flows * kill / self.kills;
            violations.extend(self.restart(worker, number, flows));
            let delay_us = match random.below(8) {
                0 => random.below(OPENING_US),
                _ => {
                    let worker = worker.as_mut().expect("it was started");
                    worker.wait_for(|message| *message == Message::Started);
                    random.below(RUN_US)
                }
            };
            sleep(Duration::from_micros(delay_us));
        }
        for (number, worker) in (0..).zip(&mut workers) {
            violations.extend(self.restart(worker, number, self.flows));
        }
        for mut worker in workers.into_iter().flatten() {
            worker.wait_for(|message| *message == Message::Done);
            let (_, status) = worker.end();
            let failed = format!("a worker that was not killed failed: {status}");
            violations.extend((!status.success()).then_some(failed));
        }
        violations
    }

    /// Kills a worker, if there is one, and starts the next; the violation is that it had ended before.
    fn restart(&self, worker: &mut Option<Running>, number: u64, flows: u64) -> Option<String> {
        let violation = worker.take().and_then(kill);
        *worker = Some(self.start(number, flows));
        violation
    }

    fn start(&self, worker: u64, flows: u64) -> Running {
        let share = FlowShare {
            flows,
            workers: self.workers,
            worker,
        };
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(self.options(Task::Flows(share)).arguments());
        Running::start(command, &[])
    }

    fn options(&self, task: Task) -> ChildOptions {
        ChildOptions {
            directory: self.directory.clone(),
            seed: self.seed,
            first: 0,
            task,
            defect: self.defect,
            database: self.database.clone(),
        }
    }

    /// Reads all flows and compares them with the rules.
    fn check(&self) -> Checked {
        let (_, tasks): (_, Arc<dyn Tasks>) = stores(&self.options(Task::Settle));
        let text = fs::read_to_string(effects_path(&self.directory)).unwrap();
        let mut checked = Checked::new(effects(&text));
        runtime().block_on(async {
            for number in 0..self.flows {
                let plan = FlowPlan::of(self.seed, number);
                let ids: Vec<TaskId> = plan.tasks.iter().map(TaskPlan::id).collect();
                let stored = read::flow(&*tasks, ids).await;
                checked.add(&plan, &stored);
            }
        });
        checked
    }
}

fn kill(mut worker: Running) -> Option<String> {
    worker.child.kill().unwrap();
    let (_, status) = worker.end();
    // A process that was ended by a signal has no exit code.
    let ended = format!("a worker ended before it was killed: {status}");
    status.code().map(|_| ended)
}
