//! What no kill can show: that an outcome is on the disk before its answer leaves. The system's own
//! record of a child's calls is read and held against that.

mod proof;
mod read;

use std::env::current_exe;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, process};

use crate::line::{Answered, Line};
use crate::orders::{Defect, Orders, Work};
use crate::parent::Running;
use proof::Proof;

pub(crate) use proof::a_sync_counts_only_between_write_and_answer;
pub(crate) use read::a_trace_is_read_whole_however_it_is_cut;

/// How many calls are traced.
const CALLS: u64 = 200;

/// The calls that matter; whole pages are shown, so that outcomes are found in them.
const OPTIONS: [&str; 6] = [
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
        "a power cut can take the folder of the store"
    );
    assert_eq!(proof.unproven, Vec::<String>::new());
    assert_eq!(proof.proven, answered, "the trace misses answers");
    assert!(answered > 0, "nothing was answered");
}

pub(crate) fn a_store_that_does_not_sync_is_found_out() {
    let (proof, answered) = traced("does-not-sync", Defect::DoesNotSync);
    assert_eq!((proof.proven, proof.unproven.len()), (0, answered));
}

pub(crate) fn a_store_that_answers_before_it_writes_is_found_out() {
    let (proof, _) = traced("answers-before-it-writes", Defect::AnswersEarly);
    assert!(!proof.unproven.is_empty());
}

/// Runs a child under trace: what its trace proves, and how many last words it gave.
fn traced(name: &str, defect: Defect) -> (Proof, usize) {
    check_tracing();
    let directory = format!("trace-{name}-{}", process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(directory);
    fs::create_dir_all(&directory).unwrap();
    let trace = directory.join("trace");
    let lines = run(&directory, &trace, defect);
    let kept = |line: &&Line| matches!(line, Line::Answered(Answered { kept: true, .. }));
    let answered = lines.iter().filter(kept).count();
    // Bytes beyond ASCII are written as numbers.
    let calls = read::read(&fs::read_to_string(&trace).unwrap());
    let made_in = fs::canonicalize(&directory).unwrap();
    let proof = Proof::of(&calls, made_in.to_str().unwrap());
    println!(
        "crash: {name}: {CALLS} calls traced, {} answers after their sync, {} not",
        proof.proven,
        proof.unproven.len()
    );
    fs::remove_dir_all(directory).unwrap();
    (proof, answered)
}

fn run(directory: &Path, trace: &Path, defect: Defect) -> Vec<Line> {
    let orders = Orders {
        directory: directory.to_owned(),
        seed: 1,
        first: 0,
        work: Work::Some(CALLS),
        defect,
    };
    let mut command = Command::new("strace");
    command.args(OPTIONS).arg(trace).arg("--");
    command.arg(current_exe().unwrap()).args(orders.arguments());
    let mut running = Running::start(command, &[]);
    running.wait_for(|line| *line == Line::Done);
    let (lines, status) = running.end();
    assert!(status.success(), "the traced child ended badly: {status}");
    lines
}

/// Says plainly why nothing can be traced here: a proof that is left out proves nothing.
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
    let said = String::from_utf8_lossy(&probe.stderr);
    assert!(
        probe.status.success(),
        "strace may not trace here, allow it ptrace (in a container: --cap-add=SYS_PTRACE): {said}"
    );
}
