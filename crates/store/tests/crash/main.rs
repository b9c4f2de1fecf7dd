//! Kills processes and checks that acknowledged outcomes survive, and that no effect is repeated. What
//! survives a power failure is in `trace`; `flow` kills the workers of flows.
//!
//! This program starts itself as a child, kills the child at random moments under load, and calls the next
//! child on the same directory, or on the same PostgreSQL database. `PANPAN_CRASH_POINTS` sets the number of kills. `PANPAN_CRASH_SEED` repeats
//! the same plan and moments; how they interleave depends on the machine. Arguments that are not options
//! select tests by a part of their name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![allow(
    clippy::print_stdout,
    reason = "the figures are the result of a longer run"
)]

mod call;
mod child;
#[path = "../shared/delegate.rs"]
mod delegate;
mod flow;
mod ledger;
mod message;
mod observed_store;
mod operations;
mod options;
mod parent;
mod plan;
mod trace;

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};
use std::{env, fs};

use ledger::Ledger;
use options::{CHILD, ChildOptions, Defect};
use panpan_testkit::PostgresServer;
use parent::Campaign;

/// How often a child is killed by default.
const KILLS: u64 = 200;

/// How often a child on PostgreSQL is killed by default.
const POSTGRES_KILLS: u64 = 50;

/// How often a child is killed while it creates the file.
const CREATIONS: u64 = 20;

/// The most kills until a planted defect must be detected.
const KILLS_FOR_DEFECT: u64 = 40;

/// A table of functions with their names.
macro_rules! by_name {
    ($($test:path),* $(,)?) => { &[$((stringify!($test), $test)),*] };
}

/// The tests.
const TESTS: &[(&str, fn())] = by_name![
    message::every_message_can_be_parsed,
    options::options_can_be_parsed,
    a_file_killed_during_creation_opens_again,
    acknowledged_outcomes_survive_every_kill,
    acknowledged_outcomes_survive_every_kill_on_postgres,
    an_early_acknowledgement_is_detected_on_postgres,
    an_early_acknowledgement_is_detected,
    a_second_run_is_detected,
    flow::every_task_ends_by_the_rules_although_its_worker_is_killed,
    flow::every_task_ends_by_the_rules_although_workers_on_postgres_are_killed,
    flow::a_wake_up_in_a_second_transaction_is_detected,
    flow::a_wake_up_in_a_second_transaction_is_detected_on_postgres,
    flow::a_task_that_takes_effect_twice_is_detected,
    trace::a_trace_with_split_calls_is_parsed,
    trace::a_sync_counts_only_between_write_and_answer,
    trace::every_answer_waits_for_the_sync_of_its_outcome,
    trace::a_store_that_does_not_sync_is_detected,
    trace::a_store_that_acknowledges_before_it_writes_is_detected,
];

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == CHILD) {
        let options = ChildOptions::read(arguments).expect("valid options from the parent");
        child::run(&options);
        return ExitCode::SUCCESS;
    }
    let names: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part));
    let mut failed = false;
    for (name, test) in TESTS.iter().filter(|(name, _)| chosen(name)) {
        let holds = catch_unwind(test).is_ok();
        println!("crash: {name} ... {}", if holds { "ok" } else { "FAILED" });
        failed |= !holds;
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn a_file_killed_during_creation_opens_again() {
    let seed = seed();
    for creation in 0..CREATIONS {
        let ledger = campaign(
            "creation",
            seed.wrapping_add(creation),
            1,
            Defect::None,
            None,
        );
        assert_eq!(ledger.violations, Vec::<String>::new(), "seed {seed}");
    }
}

fn acknowledged_outcomes_survive_every_kill() {
    let kills = number("PANPAN_CRASH_POINTS").unwrap_or(KILLS);
    check_sound(&run("sound", kills, Defect::None, None), kills);
}

fn acknowledged_outcomes_survive_every_kill_on_postgres() {
    let kills = number("PANPAN_CRASH_POINTS").unwrap_or(POSTGRES_KILLS);
    let ledger = run("sound-postgres", kills, Defect::None, Some(new_database()));
    check_sound(&ledger, kills);
}

fn check_sound(ledger: &Ledger, kills: u64) {
    let shown = ledger
        .violations
        .iter()
        .take(10)
        .cloned()
        .collect::<Vec<_>>();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert_eq!(ledger.kills, kills);
    assert!(ledger.confirmed > 0, "no call was repeated");
}

fn an_early_acknowledgement_is_detected() {
    check_early("acknowledges-early", None);
}

fn an_early_acknowledgement_is_detected_on_postgres() {
    check_early("acknowledges-early-postgres", Some(new_database()));
}

fn check_early(name: &str, database: Option<String>) {
    let ledger = run(name, KILLS_FOR_DEFECT, Defect::AcknowledgesEarly, database);
    assert!(
        !ledger.violations.is_empty(),
        "lost outcomes were not noticed"
    );
}

/// A database of the server that this process starts; the server survives the kills.
fn new_database() -> String {
    PostgresServer::shared().new_database()
}

fn a_second_run_is_detected() {
    let ledger = run("runs-twice", KILLS_FOR_DEFECT, Defect::RunsTwice, None);
    let twice =
        |violation: &String| violation.contains("took effect") && violation.ends_with("times");
    assert!(
        ledger.violations.iter().any(twice),
        "{:?}",
        ledger.violations
    );
}

/// Runs a series of kills and prints a summary.
fn run(name: &str, kills: u64, defect: Defect, database: Option<String>) -> Ledger {
    let seed = seed();
    println!("crash: {name}: seed {seed}");
    let start = Instant::now();
    let ledger = campaign(name, seed, kills, defect, database);
    let (violations, took) = (ledger.violations.len(), start.elapsed().as_secs_f64());
    let summary = ledger.summary();
    println!("crash: {name}: {summary}, {violations} violations, {took:.1} s");
    ledger
}

/// Runs a series of kills in a new directory, which is kept if the result is unexpected.
fn campaign(name: &str, seed: u64, kills: u64, defect: Defect, database: Option<String>) -> Ledger {
    let directory = format!("crash-{name}-{}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(directory);
    let campaign = Campaign {
        directory: directory.clone(),
        seed,
        kills,
        defect,
        database,
    };
    let ledger = campaign.run();
    if ledger.violations.is_empty() == (defect == Defect::None) {
        fs::remove_dir_all(directory).unwrap();
    }
    ledger
}

/// The seed from the environment, or a new seed each second.
fn seed() -> u64 {
    number("PANPAN_CRASH_SEED").unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    })
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}
