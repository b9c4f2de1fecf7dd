//! Proves what kills cannot show: an outcome is on the disk before its answer is sent. Reads a trace of the
//! system calls of a child.

mod proof;
mod read;

use std::env::current_exe;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, process};

use crate::message::{Answered, Message};
use crate::options::{ChildOptions, Defect, Task};
use crate::parent::Running;
use proof::Proof;

pub(crate) use proof::a_sync_counts_only_between_write_and_answer;
pub(crate) use read::a_trace_with_split_calls_is_parsed;

/// How many calls are traced.
const CALLS: u64 = 200;

/// The relevant system calls; whole pages are shown, so that outcomes can be found in them.
const STRACE_OPTIONS: [&str; 6] = [
    "-fqqy",
    "-s",
    "16384",
    "-e",
    "trace=write,pwrite64,fsync,fdatasync",
    "-o",
];

pub(crate) fn every_answer_waits_for_the_sync_of_its_outcome() {
    let (proof, answered) = traced("sound", Defect::None);
    assert!(
        proof.folder_synced,
        "a power failure can lose the folder of the store"
    );
    assert_eq!(proof.unproven, Vec::<String>::new());
    assert_eq!(proof.proven, answered, "the trace misses answers");
    assert!(answered > 0, "nothing was answered");
}

pub(crate) fn a_store_that_does_not_sync_is_detected() {
    let (proof, answered) = traced("does-not-sync", Defect::DoesNotSync);
    assert_eq!((proof.proven, proof.unproven.len()), (0, answered));
}

pub(crate) fn a_store_that_acknowledges_before_it_writes_is_detected() {
    let (proof, _) = traced("acknowledges-early", Defect::AcknowledgesEarly);
    assert!(!proof.unproven.is_empty());
}

/// Runs a child under trace. Returns the proof, and the number of recorded answers.
fn traced(name: &str, defect: Defect) -> (Proof, usize) {
    check_tracing();
    let directory = format!("trace-{name}-{}", process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(directory);
    fs::create_dir_all(&directory).unwrap();
    let trace = directory.join("trace");
    let messages = run(&directory, &trace, defect);
    let kept =
        |message: &&Message| matches!(message, Message::Answered(Answered { kept: true, .. }));
    let answered = messages.iter().filter(kept).count();
    // Bytes beyond ASCII are escaped.
    let calls = read::read(&fs::read_to_string(&trace).unwrap());
    let parent_folder = fs::canonicalize(&directory).unwrap();
    let proof = Proof::of(&calls, parent_folder.to_str().unwrap());
    println!(
        "crash: {name}: {CALLS} calls traced, {} answers after their sync, {} before",
        proof.proven,
        proof.unproven.len()
    );
    fs::remove_dir_all(directory).unwrap();
    (proof, answered)
}

fn run(directory: &Path, trace: &Path, defect: Defect) -> Vec<Message> {
    let options = ChildOptions {
        directory: directory.to_owned(),
        seed: 1,
        first: 0,
        task: Task::Calls(CALLS),
        defect,
        database: None,
    };
    let mut command = Command::new("strace");
    command.args(STRACE_OPTIONS).arg(trace).arg("--");
    command
        .arg(current_exe().unwrap())
        .args(options.arguments());
    let mut running = Running::start(command, &[]);
    running.wait_for(|message| *message == Message::Done);
    let (messages, status) = running.end();
    assert!(status.success(), "the traced child failed: {status}");
    messages
}

/// Panics with the reason if tracing is not possible, because a skipped proof proves nothing.
fn check_tracing() {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output();
    let probe = match probe {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("strace is not installed; ./scripts/setup installs it")
        }
        probe => probe.expect("strace can be started"),
    };
    let stderr = String::from_utf8_lossy(&probe.stderr);
    assert!(
        probe.status.success(),
        "strace must be allowed to use ptrace (in a container: --cap-add=SYS_PTRACE): {stderr}"
    );
}
