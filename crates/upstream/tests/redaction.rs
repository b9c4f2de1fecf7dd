//! The corpus of answers with and without secrets, behind the gateway: what is hidden, and what stays whole.
//! `./scripts/bench redaction` prints the figures.

#![allow(dead_code, reason = "the benchmark prints more")]

#[path = "../../../benches/redaction/behind.rs"]
mod behind;
#[path = "../../../benches/redaction/corpus.rs"]
mod corpus;
#[path = "../../../benches/redaction/score.rs"]
mod score;

use score::{Part, Score};

#[tokio::test]
async fn secrets_stay_hidden_and_innocents_whole() {
    let score = Score::of(Part::Learned, false).await;
    assert!(score.recall() >= 0.87, "{} hidden", score.hidden());
    let changed: Vec<_> = (score.wrong().iter())
        .filter(|it| it.starts_with("changed"))
        .collect();
    assert!(score.is_innocent(), "{changed:#?}");
    assert!(score.is_strict(), "{} seen although strict", score.strict());
}

/// The goals for what no rule was written against are those of the benchmark; here is what was reached.
#[tokio::test]
async fn rules_hold_for_answers_they_were_not_written_against() {
    let score = Score::of(Part::HeldOut, false).await;
    assert!(score.recall() >= 0.85, "{} hidden", score.hidden());
    assert!(score.is_strict(), "{} seen although strict", score.strict());
}

#[tokio::test]
async fn a_gateway_that_hides_nothing_is_noticed() {
    let score = Score::of(Part::Learned, true).await;
    assert!(score.recall() < 0.05, "{}", score.hidden());
}
