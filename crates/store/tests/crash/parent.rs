//! The process that kills: starts children on one directory, ends them at random moments, and hands
//! what they said to the ledger.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::child::GO;
use crate::ledger::Ledger;
use crate::line::Line;
use crate::operations::{effects, effects_path};
use crate::orders::{Defect, Orders, Work};
use crate::plan::Random;

/// The longest a child lives after its load has begun, or after its first new answer.
const LIFE_US: u64 = 60_000;

/// The longest a child lives that is killed while it opens the store.
const OPENING_US: u64 = 40_000;

/// After so many kills everything asked for so far has to find its outcome.
const SETTLED_EVERY: u64 = 20;

/// How many of all acknowledged calls are asked for again at each start, besides the newest.
const SAMPLE: u64 = 64;

/// How long a child that is not killed may take; far longer than it needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A series of kills on one directory.
pub(crate) struct Campaign {
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    pub(crate) kills: u64,
    pub(crate) defect: Defect,
}

impl Campaign {
    /// Kills as often as it should, or until something is found to be wrong.
    pub(crate) fn run(&self) -> Ledger {
        fs::create_dir_all(&self.directory).unwrap();
        let mut ledger = Ledger::new(self.seed);
        let mut random = Random::new(self.seed);
        for kill in 1..=self.kills {
            self.live_and_die(&mut ledger, &mut random);
            ledger.kills = kill;
            if kill % SETTLED_EVERY == 0 {
                let asked = ledger.unsettled();
                self.settle(&mut ledger, asked);
            }
            if !ledger.violations.is_empty() {
                return ledger;
            }
        }
        let all = ledger.all();
        self.settle(&mut ledger, all);
        ledger
    }

    /// One child, from its start to its death.
    fn live_and_die(&self, ledger: &mut Ledger, random: &mut Random) {
        let again = ledger.to_ask_again(SAMPLE, random);
        let mut running = self.start(ledger, Work::Load, &again);
        let first = ledger.kills == 0;
        let life_us = match random.below(8) {
            // The first meets a file that is just begun.
            moment if first || moment == 0 => random.below(OPENING_US),
            1..=3 => {
                running.wait_for(|line| *line == Line::Began);
                random.below(LIFE_US)
            }
            _ => {
                running.wait_for(|line| matches!(line, Line::Answered(it) if !it.replayed));
                random.below(LIFE_US)
            }
        };
        sleep(Duration::from_micros(life_us));
        running.child.kill().unwrap();
        let status = self.hear_out(ledger, running);
        // One that a signal ended has no code.
        if status.code().is_some() {
            ledger.blame(format!("a child under load ended by itself: {status}"));
        }
    }

    /// One child that lives until every one of these has an outcome.
    fn settle(&self, ledger: &mut Ledger, numbers: Vec<u64>) {
        let mut running = self.start(ledger, Work::Settle, &numbers);
        running.wait_for(|line| *line == Line::Done);
        let status = self.hear_out(ledger, running);
        if !status.success() {
            ledger.blame(format!("a child that nobody killed ended badly: {status}"));
        }
        ledger.settled(numbers);
    }

    fn start(&self, ledger: &Ledger, work: Work, again: &[u64]) -> Running {
        let orders = Orders {
            directory: self.directory.clone(),
            seed: self.seed,
            first: ledger.next_number(),
            work,
            defect: self.defect,
        };
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args(orders.arguments());
        Running::start(command, again)
    }

    /// Everything a child said and did, once it has ended.
    fn hear_out(&self, ledger: &mut Ledger, running: Running) -> ExitStatus {
        let (lines, status) = running.end();
        for line in lines {
            ledger.hear(line);
        }
        let text = fs::read_to_string(effects_path(&self.directory)).unwrap_or_default();
        ledger.see(effects(&text));
        ledger.end_life();
        status
    }
}

/// A child that was started.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Receiver<Line>,
    heard: Vec<Line>,
}

impl Running {
    /// Starts it and gives it its numbers.
    pub(crate) fn start(mut command: Command, again: &[u64]) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || read_lines(output, &sender));
        let numbers: String = again.iter().map(|number| format!("{number}\n")).collect();
        let input = child.stdin.as_mut().unwrap();
        // A child that is gone already says nothing, and that is what is looked at.
        _ = input.write_all(format!("{numbers}{GO}\n").as_bytes());
        Self {
            child,
            lines,
            heard: Vec::new(),
        }
    }

    /// Waits until the child has said something like this, or nothing more comes.
    pub(crate) fn wait_for(&mut self, awaited: impl Fn(&Line) -> bool) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let came = awaited(&line);
                    self.heard.push(line);
                    if came {
                        return;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("a child said nothing for {PATIENCE:?}");
                }
            }
        }
    }

    /// Lets it end, and gives everything it said.
    pub(crate) fn end(mut self) -> (Vec<Line>, ExitStatus) {
        drop(self.child.stdin.take());
        self.heard.extend(self.lines);
        (self.heard, self.child.wait().unwrap())
    }
}

/// Hands on every whole line: what a killed child did not finish to say was not said.
fn read_lines(mut output: impl BufRead, sender: &Sender<Line>) {
    let mut text = Vec::new();
    while output
        .read_until(b'\n', &mut text)
        .is_ok_and(|read| read > 0)
    {
        let whole = text
            .strip_suffix(b"\n")
            .and_then(|it| str::from_utf8(it).ok());
        if let Some(line) = whole.and_then(Line::read)
            && sender.send(line).is_err()
        {
            return;
        }
        text.clear();
    }
}
