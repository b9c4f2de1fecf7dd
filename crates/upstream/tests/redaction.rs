//! The redaction corpus behind the gateway: how many secrets are hidden, and whether innocents stay intact.
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
async fn secrets_are_hidden_and_innocents_stay_intact() {
    let score = Score::of(Part::Learned, false).await;
    assert!(score.recall() >= 0.87, "{} hidden", score.hidden());
    let changed: Vec<_> = (score.wrong().iter())
        .filter(|it| it.starts_with("changed"))
        .collect();
    assert!(score.is_innocent(), "{changed:#?}");
    assert!(score.is_strict(), "{} seen although strict", score.strict());
}

/// The benchmark has the goals for the held-out part; this pins the level that was reached.
#[tokio::test]
async fn rules_work_on_responses_they_were_not_written_for() {
    let score = Score::of(Part::HeldOut, false).await;
    assert!(score.recall() >= 0.85, "{} hidden", score.hidden());
    assert!(score.is_strict(), "{} seen although strict", score.strict());
}

#[tokio::test]
async fn a_gateway_without_redaction_is_detected() {
    let score = Score::of(Part::Learned, true).await;
    assert!(score.recall() < 0.05, "{}", score.hidden());
}
