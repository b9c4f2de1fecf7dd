//! How many of the secrets that services say stay hidden, and how many innocent answers stay whole.
//!
//! Both parts of the corpus are measured: the one that rules are written against, and the one that is held out.
//! With `redaction = "strict"` nothing of either may be seen. `--list` names the cases of the first part that
//! are wrong; of the held-out part only figures are printed. `--plant-blindness` leaves the answers as they
//! are, to show that this would be noticed.

#![allow(clippy::print_stdout, reason = "the figures are what it is run for")]

mod behind;
mod corpus;
mod score;

use std::process::ExitCode;

use score::{Part, Score};

/// The part of the held-out secrets that has to stay hidden.
const HIDDEN_GOAL: f64 = 0.85;

fn main() -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    // `cargo test --all-targets` runs benchmarks too, to see that they build.
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let is_blind = asked("--plant-blindness");
    let measure = |part: Part| runtime.block_on(Score::of(part, is_blind));
    let (learned, held_out) = (measure(Part::Learned), measure(Part::HeldOut));
    println!(
        "{:<32} {:>20} {:>20}",
        "hidden, of the secrets of", "written against", "held out"
    );
    for kind in learned.kinds() {
        println!(
            "{kind:<32} {:>20} {:>20}",
            learned.of_kind(&kind),
            held_out.of_kind(&kind)
        );
    }
    println!(
        "{:<32} {:>20} {:>20}",
        "all",
        learned.hidden(),
        held_out.hidden()
    );
    println!(
        "{:<32} {:>20} {:>20}",
        "innocents that were changed",
        learned.changed(),
        held_out.changed()
    );
    println!(
        "{:<32} {:>20} {:>20}",
        "precision",
        learned.precision(),
        held_out.precision()
    );
    println!(
        "{:<32} {:>20} {:>20}",
        "seen with redaction = \"strict\"",
        learned.strict(),
        held_out.strict()
    );
    if asked("--list") {
        learned.wrong().iter().for_each(|line| println!("{line}"));
    }
    let is_met = held_out.recall() >= HIDDEN_GOAL
        && [&learned, &held_out]
            .iter()
            .all(|it| it.is_innocent() && it.is_strict());
    match is_met {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
