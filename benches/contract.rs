//! The speed goals for failures: rendering, parsing, redaction and retry delays, each as a ratio to a baseline
//! measured in the same run.
//!
//! `goal.rs` does the measuring.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod goal;

use std::hint::black_box;
use std::process::ExitCode;

use goal::{BATCH, Cost, Goal, Watch, timed};
use panpan_contract::retry::{RetryPolicy, delay_ms};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Upstream, Violation, codes};
use panpan_redact as redact;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn main() -> ExitCode {
    goal::run(|| {
        let failure = typical();
        let dialects = Dialect::ALL.into_iter();
        dialects
            .flat_map(|dialect| [rendering(dialect, &failure), parsing(dialect, &failure)])
            .chain([suspicious(&failure), delaying(), hostile()])
            .collect()
    })
}

/// Redact and write, against one pattern scan and one serialisation of the same bytes.
fn rendering(dialect: Dialect, failure: &Failure) -> Goal {
    against_scan(
        format!("redact and render {dialect}"),
        1.5,
        dialect,
        failure,
    )
}

/// The same for a failure that mentions secrets but contains none, so that every rule runs.
fn suspicious(failure: &Failure) -> Goal {
    let failure = (failure.clone())
        .with_message("the API key of api.example.com has expired; update it, or send a new token");
    against_scan(
        "redact and render a mention of secrets".to_owned(),
        5.0,
        Dialect::Call,
        &failure,
    )
}

fn against_scan(name: String, limit: f64, dialect: Dialect, failure: &Failure) -> Goal {
    let failure = failure.clone();
    let bytes = dialect.write_failure(&failure.clone().redacted(), Envelope::default());
    let value: Value = serde_json::from_slice(&bytes).expect("it was just written");
    Goal::Ratio {
        name,
        limit,
        work: Box::new(move || {
            let failures: Vec<Failure> = std::iter::repeat_n(failure.clone(), BATCH).collect();
            timed(failures, |failure| {
                dialect.write_failure(&failure.redacted(), Envelope::default())
            })
        }),
        baseline: Box::new(move || {
            timed(0..BATCH, |_| {
                (
                    redact::scan(black_box(&bytes)),
                    serde_json::to_vec(black_box(&value)),
                )
            })
        }),
    }
}

/// Parse a failure, against parsing the bytes to a plain value.
fn parsing(dialect: Dialect, failure: &Failure) -> Goal {
    let bytes = dialect.write_failure(&failure.clone().redacted(), Envelope::default());
    let same = bytes.clone();
    Goal::Ratio {
        name: format!("parse {dialect}"),
        limit: 3.0,
        work: Box::new(move || timed(0..BATCH, |_| dialect.parse(black_box(&bytes)))),
        baseline: Box::new(move || {
            timed(0..BATCH, |_| {
                serde_json::from_slice::<Value>(black_box(&same))
            })
        }),
    }
}

/// Compute a retry delay, against one digest of as many bytes.
fn delaying() -> Goal {
    let policy = RetryPolicy::DEFAULT;
    Goal::Ratio {
        name: "retry delay".to_owned(),
        limit: 3.0,
        work: Box::new(move || {
            timed(0..BATCH, |index| {
                delay_ms(&policy, index as u32 % 8, black_box(42))
            })
        }),
        baseline: Box::new(|| timed(0..BATCH, |_| Sha256::digest(black_box(b"42:3")))),
    }
}

/// Redact hostile text, against twice the time for half the text: redaction must take linear time.
fn hostile() -> Goal {
    const SEEDS: [&str; 8] = ["a", "{", "eyJ", "4111 ", "://", "password=", "\\\"", "%22"];
    fn cost(bytes: usize, times: usize) -> Cost {
        let texts = SEEDS.map(|seed| seed.repeat(bytes / seed.len()));
        let watch = Watch::start();
        for text in (0..times).flat_map(|_| &texts) {
            black_box(redact::Redactor::new().text(text));
        }
        watch.stop(1)
    }
    Goal::Ratio {
        name: "redact hostile text".to_owned(),
        limit: 1.5,
        work: Box::new(|| cost(64 * 1024, 1)),
        baseline: Box::new(|| cost(32 * 1024, 2)),
    }
}

/// A failure with ten parameters, about one kilobyte.
fn typical() -> Failure {
    let parameters = json!({
        "owner": "octo-org", "repository": "hello-world", "page": 3, "per_page": 100, "state": "open",
        "labels": ["bug", "help wanted"], "since": "2026-01-31T12:00:00Z", "sort": "updated", "direction": "desc",
        "query": "is:issue is:open label:bug sort:updated-desc",
    });
    Failure::new(codes::ERR_HTTP_429_RATE_LIMITED)
        .with_message("api.example.com allows 5000 requests an hour; 5000 were made")
        .with_source("github")
        .with_operation("issues/list")
        .with_parameters(parameters.as_object().cloned().expect("it is an object"))
        .with_detail("limit", 5000)
        .with_detail("remaining", 0)
        .with_detail("resource", "core")
        .with_violation(
            Violation::value("/per_page", "is larger than recommended")
                .expected("at most 50")
                .actual(100),
        )
        .with_upstream(
            Upstream::status(429)
                .provider("github")
                .excerpt("API rate limit exceeded for installation"),
        )
        .with_retry_after_ms(60_000)
        .stamped(
            uuid::Uuid::from_u128(7),
            "2026-01-31T12:00:00Z".parse().expect("it is a time"),
        )
}
