//! The whole runtime on a simulated afternoon: several gateways, one store, and everything that can go
//! wrong between any two steps, in virtual time and out of one seed.
//!
//! The same seed gives the same run, byte for byte. To see a run again or to make it larger:
//!
//! ```text
//! PANPAN_SIMULATION_SEED=7 PANPAN_SIMULATION_CALLS=100000 \
//!     cargo test -p panpan-store --test simulation -- --nocapture whatever_goes_wrong
//! ```
//!
//! A failing run prints its seed and what it broke; `PANPAN_SIMULATION_JOURNAL=FILE` keeps its journal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod callers;
mod checks;
mod defects;
#[path = "../shared/delegate.rs"]
mod delegate;
mod environment;
mod faults;
mod journal;
mod keys;
mod operations;
mod process;
mod properties;
mod random;
mod store;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use panpan_runtime::ports::Clock as _;
use panpan_runtime::testing::TestClock;
use panpan_store::MemoryStore;

use callers::Piece;
use checks::Checks;
use defects::Defect;
use environment::{Environment, KEEP_MS};
use faults::{Fault, Faults};
use journal::Journal;
use properties::{Property, Violation};
use random::Random;
use store::Observed;

/// Pieces of work in a run, unless the environment says otherwise.
const CALLS: u64 = 10_000;
/// The seed, unless the environment says otherwise.
const SEED: u64 = 20_260_728;
/// How often every kind of fault has to strike in a run of [`CALLS`].
const STRIKES: u64 = 50;
/// How many callers there are at a time.
const CALLERS: usize = 24;
/// How long it takes until everything that was under way has ended.
const SETTLE_MS: u64 = 120_000;
/// Every so many-th piece of work is asked for again when its outcome has expired.
const EXPIRED_EVERY: usize = 10;

/// What a run leaves behind.
struct Report {
    journal: String,
    violations: Vec<Violation>,
    faults: Vec<(Fault, u64)>,
}

/// A run with this seed, so many pieces of work, and perhaps a defect.
fn run(seed: u64, calls: u64, defect: Option<Defect>) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(simulate(seed, calls, defect))
}

async fn simulate(seed: u64, calls: u64, defect: Option<Defect>) -> Report {
    let clock = TestClock::start();
    let journal = Arc::new(Journal::new(clock));
    let checks = Arc::new(Checks::new(journal.clone()));
    let memory = Arc::new(MemoryStore::new(Arc::new(clock)));
    let medium = defects::planted(memory, defect, clock);
    let medium = Arc::new(Observed(medium, checks.clone()));
    let faults = Faults::new(Arc::new(Random::new(seed)));
    let environment = Environment::new(clock, faults, checks.clone(), medium, defect);
    let striking = tokio::spawn(environment.clone().strike());
    let pieces = work(&environment, calls).await;
    environment.faults.end();
    striking.await.unwrap();
    clock.sleep(SETTLE_MS).await;
    confirm(&environment, &pieces).await;
    environment.stop();
    Report {
        journal: journal.take(),
        violations: checks.violations(),
        faults: environment.faults.counts(),
    }
}

/// All callers do their pieces of work.
async fn work(environment: &Arc<Environment>, calls: u64) -> Vec<Piece> {
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let (environment, next) = (environment.clone(), next.clone());
        callers.push(tokio::spawn(async move {
            let mut pieces = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return pieces;
                }
                let piece = Piece::draw(&environment, number);
                piece.pursue(&environment).await;
                pieces.push(piece);
            }
        }));
    }
    let mut pieces = Vec::new();
    for caller in callers {
        pieces.extend(caller.await.unwrap());
    }
    pieces.retain(Piece::is_keyed);
    pieces
}

/// With all faults over, every key has an outcome, and a new one when its time is over.
async fn confirm(environment: &Arc<Environment>, pieces: &[Piece]) {
    for piece in pieces {
        piece.confirm(environment).await;
    }
    environment.clock.sleep(KEEP_MS + 1).await;
    for piece in pieces.iter().step_by(EXPIRED_EVERY) {
        if let Some(answer) = piece.confirm(environment).await
            && answer.replayed
        {
            environment
                .checks
                .violated(Property::OutcomeKept, "an outcome outlived its time");
        }
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().unwrap())
}

fn seed() -> u64 {
    from_environment("PANPAN_SIMULATION_SEED", SEED)
}

#[test]
fn whatever_goes_wrong_no_promise_is_broken() {
    let (seed, calls) = (seed(), from_environment("PANPAN_SIMULATION_CALLS", CALLS));
    let report = run(seed, calls, None);
    if let Ok(file) = std::env::var("PANPAN_SIMULATION_JOURNAL") {
        std::fs::write(file, &report.journal).unwrap();
    }
    println!(
        "seed {seed}, {calls} pieces of work\n{}",
        faults::table(&report.faults)
    );
    println!("{} lines of journal", report.journal.lines().count());
    assert!(
        report.violations.is_empty(),
        "seed {seed}: {:#?}",
        report.violations
    );
    if calls >= CALLS {
        let rare: Vec<_> = report
            .faults
            .iter()
            .filter(|(_, count)| *count < STRIKES)
            .collect();
        assert!(rare.is_empty(), "seed {seed}: too rare: {rare:?}");
    }
}

#[test]
fn a_seed_is_a_run_byte_for_byte() {
    let seed = seed();
    let journal = run(seed, CALLS / 10, None).journal;
    assert!(
        journal == run(seed, CALLS / 10, None).journal,
        "seed {seed}"
    );
    assert!(
        journal != run(seed + 1, CALLS / 10, None).journal,
        "seed {seed}"
    );
}

/// A planted defect breaks these properties.
#[track_caller]
fn is_caught(defect: Defect, broken: &[Property]) {
    let seed = seed();
    let violations = run(seed, CALLS / 5, Some(defect)).violations;
    let found: BTreeSet<_> = violations
        .iter()
        .map(|violation| violation.property)
        .collect();
    let caught = broken.iter().all(|property| found.contains(property));
    assert!(
        caught,
        "seed {seed}: {defect:?} broke {found:?}: {violations:#?}"
    );
}

#[test]
fn a_store_that_does_not_look_at_epochs_is_caught() {
    is_caught(Defect::NoEpochCheck, &[Property::OneLease]);
}

#[test]
fn a_store_that_reads_before_it_writes_is_caught() {
    is_caught(
        Defect::ReadThenWrite,
        &[Property::OneLease, Property::OneEffect],
    );
}

#[test]
fn a_store_that_passes_keys_on_after_an_effect_is_caught() {
    is_caught(Defect::DeniesEffects, &[Property::OneOutcome]);
}

#[test]
fn a_store_that_answers_before_it_writes_is_caught() {
    is_caught(Defect::ReplyBeforeRecord, &[Property::OutcomeKept]);
}
