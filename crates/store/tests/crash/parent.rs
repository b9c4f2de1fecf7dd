//! The process that kills: starts children on one directory, kills them at random moments, and passes
//! their messages to the ledger.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::child::GO;
use crate::ledger::Ledger;
use crate::message::Message;
use crate::operations::{effects, effects_path};
use crate::options::{ChildOptions, Defect, Task};
use crate::plan::Random;

/// The longest time from the start of the load, or from the first new answer, to the kill.
const LOAD_US: u64 = 60_000;

/// The longest time to the kill of a child that opens the store.
const OPENING_US: u64 = 40_000;

/// After this many kills, every call so far must get its outcome.
const SETTLE_INTERVAL: u64 = 20;

/// How many acknowledged calls are repeated at each start, besides the newest.
const SAMPLE: u64 = 64;

/// The timeout of a child that is not killed; much longer than it needs.
const CHILD_TIMEOUT: Duration = Duration::from_secs(120);

/// A series of kills on one directory.
pub(crate) struct Campaign {
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    pub(crate) kills: u64,
    pub(crate) defect: Defect,
    /// The PostgreSQL database; without it, the store is a file.
    pub(crate) database: Option<String>,
}

impl Campaign {
    /// Kills children until the number is reached or a violation is found.
    pub(crate) fn run(&self) -> Ledger {
        fs::create_dir_all(&self.directory).unwrap();
        let mut ledger = Ledger::new(self.seed);
        let mut random = Random::new(self.seed);
        for kill in 1..=self.kills {
            self.run_and_kill(&mut ledger, &mut random);
            ledger.kills = kill;
            if kill % SETTLE_INTERVAL == 0 {
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

    /// Starts one child and kills it.
    fn run_and_kill(&self, ledger: &mut Ledger, random: &mut Random) {
        let repeated = ledger.to_repeat(SAMPLE, random);
        let mut running = self.start(ledger, Task::Load, &repeated);
        let first = ledger.kills == 0;
        let delay_us = match random.below(8) {
            // The first child finds no file.
            moment if first || moment == 0 => random.below(OPENING_US),
            1..=3 => {
                running.wait_for(|message| *message == Message::Started);
                random.below(LOAD_US)
            }
            _ => {
                running
                    .wait_for(|message| matches!(message, Message::Answered(it) if !it.replayed));
                random.below(LOAD_US)
            }
        };
        sleep(Duration::from_micros(delay_us));
        running.child.kill().unwrap();
        let status = self.collect(ledger, running);
        // A process that was ended by a signal has no exit code.
        if status.code().is_some() {
            ledger.add_violation(format!(
                "a child under load ended before it was killed: {status}"
            ));
        }
    }

    /// Runs one child until each of these calls has an outcome.
    fn settle(&self, ledger: &mut Ledger, numbers: Vec<u64>) {
        let mut running = self.start(ledger, Task::Settle, &numbers);
        running.wait_for(|message| *message == Message::Done);
        let status = self.collect(ledger, running);
        if !status.success() {
            ledger.add_violation(format!("a child that was not killed failed: {status}"));
        }
        ledger.settled(numbers);
    }

    fn start(&self, ledger: &Ledger, task: Task, repeated: &[u64]) -> Running {
        let options = ChildOptions {
            directory: self.directory.clone(),
            seed: self.seed,
            first: ledger.next_number(),
            task,
            defect: self.defect,
            database: self.database.clone(),
        };
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args(options.arguments());
        Running::start(command, repeated)
    }

    /// Collects the messages and effects of a child that has ended.
    fn collect(&self, ledger: &mut Ledger, running: Running) -> ExitStatus {
        let (messages, status) = running.end();
        for message in messages {
            ledger.receive(message);
        }
        let text = fs::read_to_string(effects_path(&self.directory)).unwrap_or_default();
        ledger.add_effects(effects(&text));
        ledger.end_run();
        status
    }
}

/// A running child.
pub(crate) struct Running {
    pub(crate) child: Child,
    messages: Receiver<Message>,
    received: Vec<Message>,
}

impl Running {
    /// Starts the child and sends the numbers of the calls to repeat.
    pub(crate) fn start(mut command: Command, repeated: &[u64]) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (sender, messages) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || read_lines(output, &sender));
        let numbers: String = repeated
            .iter()
            .map(|number| format!("{number}\n"))
            .collect();
        let input = child.stdin.as_mut().unwrap();
        // The child may have been killed already.
        _ = input.write_all(format!("{numbers}{GO}\n").as_bytes());
        Self {
            child,
            messages,
            received: Vec::new(),
        }
    }

    /// Waits for a message that matches, or for the end of the output.
    pub(crate) fn wait_for(&mut self, awaited: impl Fn(&Message) -> bool) {
        loop {
            match self.messages.recv_timeout(CHILD_TIMEOUT) {
                Ok(message) => {
                    let matches = awaited(&message);
                    self.received.push(message);
                    if matches {
                        return;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("no message from a child for {CHILD_TIMEOUT:?}");
                }
            }
        }
    }

    /// Lets the child end, and returns all its messages.
    pub(crate) fn end(mut self) -> (Vec<Message>, ExitStatus) {
        drop(self.child.stdin.take());
        self.received.extend(self.messages);
        (self.received, self.child.wait().unwrap())
    }
}

/// Sends every complete message; an incomplete message of a killed child is ignored.
fn read_lines(mut output: impl BufRead, sender: &Sender<Message>) {
    let mut text = Vec::new();
    while output
        .read_until(b'\n', &mut text)
        .is_ok_and(|read| read > 0)
    {
        let whole = text
            .strip_suffix(b"\n")
            .and_then(|it| str::from_utf8(it).ok());
        if let Some(message) = whole.and_then(Message::read)
            && sender.send(message).is_err()
        {
            return;
        }
        text.clear();
    }
}
