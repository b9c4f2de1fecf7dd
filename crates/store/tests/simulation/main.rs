//! Simulates the runtime with several gateways and one store, and injects faults between any two steps, in
//! virtual time and from one seed.
//!
//! The same seed gives the same run, byte for byte. To repeat a run, or to make it larger:
//!
//! ```text
//! PANPAN_SIMULATION_SEED=7 PANPAN_SIMULATION_CALLS=100000 \
//!     cargo test -p panpan-store --test simulation -- --nocapture no_property
//! ```
//!
//! A failing run prints its seed and the violations; `PANPAN_SIMULATION_JOURNAL=FILE` writes its journal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod checks;
mod clients;
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

use checks::Checks;
use clients::WorkItem;
use defects::Defect;
use environment::{Environment, KEEP_MS};
use faults::{Fault, Faults};
use journal::Journal;
use properties::{Property, Violation};
use random::Random;
use store::ObservedStore;

/// Work items in a run, unless the environment sets another number.
const CALLS: u64 = 10_000;
/// The seed, unless the environment sets another one.
const SEED: u64 = 20_260_728;
/// How often every fault must occur in a run of [`CALLS`].
const OCCURRENCES_MIN: u64 = 50;
/// The number of concurrent clients.
const CALLERS: usize = 24;
/// How long all pending work takes to end.
const SETTLE_MS: u64 = 120_000;
/// Every n-th work item is called again after its outcome expired.
const RECHECK_INTERVAL: usize = 10;

/// The result of a run.
struct Report {
    journal: String,
    violations: Vec<Violation>,
    faults: Vec<(Fault, u64)>,
}

/// Runs a simulation with this seed, this many work items, and optionally a planted defect.
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
    let shared_store = defects::with_defect(memory, defect, clock);
    let shared_store = Arc::new(ObservedStore(shared_store, checks.clone()));
    let faults = Faults::new(Arc::new(Random::new(seed)));
    let environment = Environment::new(clock, faults, checks.clone(), shared_store, defect);
    let injecting = tokio::spawn(environment.clone().inject_faults());
    let items = run_items(&environment, calls).await;
    environment.faults.end();
    injecting.await.unwrap();
    clock.sleep(SETTLE_MS).await;
    confirm(&environment, &items).await;
    environment.stop();
    Report {
        journal: journal.take(),
        violations: checks.violations(),
        faults: environment.faults.counts(),
    }
}

/// Runs all work items, on concurrent clients.
async fn run_items(environment: &Arc<Environment>, calls: u64) -> Vec<WorkItem> {
    let next = Arc::new(AtomicU64::new(0));
    let mut clients = Vec::new();
    for _ in 0..CALLERS {
        let (environment, next) = (environment.clone(), next.clone());
        clients.push(tokio::spawn(async move {
            let mut items = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return items;
                }
                let item = WorkItem::draw(&environment, number);
                item.run(&environment).await;
                items.push(item);
            }
        }));
    }
    let mut items = Vec::new();
    for caller in clients {
        items.extend(caller.await.unwrap());
    }
    items.retain(WorkItem::is_keyed);
    items
}

/// After all faults are over, every key has an outcome, and a new one after the first expired.
async fn confirm(environment: &Arc<Environment>, items: &[WorkItem]) {
    for item in items {
        item.confirm(environment).await;
    }
    environment.clock.sleep(KEEP_MS + 1).await;
    for item in items.iter().step_by(RECHECK_INTERVAL) {
        if let Some(answer) = item.confirm(environment).await
            && answer.replayed
        {
            environment.checks.violated(
                Property::OutcomeKept,
                "an outcome was replayed after it expired",
            );
        }
    }
}

fn env_number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().unwrap())
}

fn seed() -> u64 {
    env_number("PANPAN_SIMULATION_SEED", SEED)
}

#[test]
fn no_property_is_violated_under_faults() {
    let (seed, calls) = (seed(), env_number("PANPAN_SIMULATION_CALLS", CALLS));
    let report = run(seed, calls, None);
    if let Ok(file) = std::env::var("PANPAN_SIMULATION_JOURNAL") {
        std::fs::write(file, &report.journal).unwrap();
    }
    println!(
        "seed {seed}, {calls} work items\n{}",
        faults::table(&report.faults)
    );
    println!("{} journal lines", report.journal.lines().count());
    assert!(
        report.violations.is_empty(),
        "seed {seed}: {:#?}",
        report.violations
    );
    if calls >= CALLS {
        let rare: Vec<_> = report
            .faults
            .iter()
            .filter(|(_, count)| *count < OCCURRENCES_MIN)
            .collect();
        assert!(rare.is_empty(), "seed {seed}: too rare: {rare:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_journal() {
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

/// Checks that a planted defect violates these properties.
#[track_caller]
fn check_detected(defect: Defect, violated: &[Property]) {
    let seed = seed();
    let violations = run(seed, CALLS / 5, Some(defect)).violations;
    let found: BTreeSet<_> = violations
        .iter()
        .map(|violation| violation.property)
        .collect();
    let detected = violated.iter().all(|property| found.contains(property));
    assert!(
        detected,
        "seed {seed}: {defect:?} violated {found:?}: {violations:#?}"
    );
}

#[test]
fn a_store_without_epoch_checks_is_detected() {
    check_detected(Defect::NoEpochCheck, &[Property::OneLease]);
}

#[test]
fn a_store_that_claims_in_two_steps_is_detected() {
    check_detected(
        Defect::ReadThenWrite,
        &[Property::OneLease, Property::OneEffect],
    );
}

#[test]
fn a_store_that_grants_a_key_again_after_an_effect_is_detected() {
    check_detected(Defect::DeniesEffects, &[Property::OneOutcome]);
}

#[test]
fn a_store_that_replies_before_it_writes_is_detected() {
    check_detected(Defect::ReplyBeforeRecord, &[Property::OutcomeKept]);
}
