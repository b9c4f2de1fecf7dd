//! What survives a process that is killed: outcomes, and the word that an effect may have happened.
//! What survives the machine's end is in `trace`.
//!
//! This program starts itself as a child, kills it at random moments under load, and asks the next
//! child on the same directory. `PANPAN_CRASH_POINTS` says how often, `PANPAN_CRASH_SEED` repeats the
//! same plan and moments; which of them meet in the child is up to the machine. Arguments that are not
//! options choose facts by a part of their name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![allow(
    clippy::print_stdout,
    reason = "figures are what a longer run is made for"
)]

mod call;
mod child;
#[path = "../shared/delegate.rs"]
mod delegate;
mod ledger;
mod line;
mod operations;
mod orders;
mod parent;
mod plan;
mod trace;
mod watched;

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};
use std::{env, fs};

use ledger::Ledger;
use orders::{CHILD, Defect, Orders};
use parent::Campaign;

/// How often a child is killed unless somebody says otherwise.
const KILLS: u64 = 200;

/// How often a child is killed while it begins the file.
const BEGINNINGS: u64 = 20;

/// How many kills a planted defect may survive.
const KILLS_FOR_DEFECT: u64 = 40;

/// A table of functions with their names.
macro_rules! by_name {
    ($($fact:path),* $(,)?) => { &[$((stringify!($fact), $fact)),*] };
}

/// What holds.
const FACTS: &[(&str, fn())] = by_name![
    line::every_line_survives_its_way,
    orders::orders_survive_their_way,
    a_file_that_was_just_begun_opens_again,
    acknowledged_outcomes_survive_every_kill,
    an_answer_before_its_record_is_found_out,
    a_silent_second_run_is_found_out,
    trace::a_trace_is_read_whole_however_it_is_cut,
    trace::a_sync_counts_only_between_write_and_answer,
    trace::every_answer_waits_for_the_sync_of_its_outcome,
    trace::a_store_that_does_not_sync_is_found_out,
    trace::a_store_that_answers_before_it_writes_is_found_out,
];

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == CHILD) {
        let orders = Orders::read(arguments).expect("a parent gives whole orders");
        child::run(&orders);
        return ExitCode::SUCCESS;
    }
    let names: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part));
    let mut failed = false;
    for (name, fact) in FACTS.iter().filter(|(name, _)| chosen(name)) {
        let holds = catch_unwind(fact).is_ok();
        println!("crash: {name} ... {}", if holds { "ok" } else { "FAILED" });
        failed |= !holds;
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn a_file_that_was_just_begun_opens_again() {
    let seed = seed();
    for beginning in 0..BEGINNINGS {
        let ledger = campaign("beginning", seed.wrapping_add(beginning), 1, Defect::None);
        assert_eq!(ledger.violations, Vec::<String>::new(), "seed {seed}");
    }
}

fn acknowledged_outcomes_survive_every_kill() {
    let kills = number("PANPAN_CRASH_POINTS").unwrap_or(KILLS);
    let ledger = run("sound", kills, Defect::None);
    let shown = ledger
        .violations
        .iter()
        .take(10)
        .cloned()
        .collect::<Vec<_>>();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert_eq!(ledger.kills, kills);
    assert!(ledger.confirmed > 0, "nothing was asked for twice");
}

fn an_answer_before_its_record_is_found_out() {
    let ledger = run("answers-early", KILLS_FOR_DEFECT, Defect::AnswersEarly);
    assert!(
        !ledger.violations.is_empty(),
        "lost outcomes were not noticed"
    );
}

fn a_silent_second_run_is_found_out() {
    let ledger = run("runs-twice", KILLS_FOR_DEFECT, Defect::RunsTwice);
    let twice = |wrong: &String| wrong.contains("took effect") && wrong.ends_with("times");
    assert!(
        ledger.violations.iter().any(twice),
        "{:?}",
        ledger.violations
    );
}

/// A series of kills that says what it did.
fn run(name: &str, kills: u64, defect: Defect) -> Ledger {
    let seed = seed();
    println!("crash: {name}: seed {seed}");
    let begun = Instant::now();
    let ledger = campaign(name, seed, kills, defect);
    let (wrong, took) = (ledger.violations.len(), begun.elapsed().as_secs_f64());
    let summary = ledger.summary();
    println!("crash: {name}: {summary}, {wrong} violations, {took:.1} s");
    ledger
}

/// A series of kills in a directory of its own, which stays when something unexpected was found.
fn campaign(name: &str, seed: u64, kills: u64, defect: Defect) -> Ledger {
    let directory = format!("crash-{name}-{}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(directory);
    let campaign = Campaign {
        directory: directory.clone(),
        seed,
        kills,
        defect,
    };
    let ledger = campaign.run();
    if ledger.violations.is_empty() == (defect == Defect::None) {
        fs::remove_dir_all(directory).unwrap();
    }
    ledger
}

/// The seed somebody asked for, or another each second.
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
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
    )
}
