//! Counts the secrets in responses of services that stay hidden, and the innocent responses that stay unchanged.
//!
//! Measures both parts of the corpus: the one that rules are written against, and the held-out one. With
//! `redaction = "strict"` no secret of either may be visible. `--list` lists the mistakes in the first part; for the
//! held-out part only figures are printed. `--plant-blindness` skips redaction, to show that this is detected.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod behind;
mod corpus;
mod score;

use std::process::ExitCode;

use score::{Part, Score};

/// The fraction of the held-out secrets that has to stay hidden.
const HIDDEN_GOAL: f64 = 0.85;

fn main() -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    // `cargo test --all-targets` also runs benchmarks, to check that they build.
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let is_blind = asked("--plant-blindness");
    let measure = |part: Part| runtime.block_on(Score::of(part, is_blind));
    let (learned, held_out) = (measure(Part::Learned), measure(Part::HeldOut));
    println!(
        "{:<32} {:>20} {:>20}",
        "hidden secrets, by kind", "written against", "held out"
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
        "changed innocents",
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
        "visible with redaction = \"strict\"",
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
