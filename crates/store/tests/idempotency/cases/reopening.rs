//! A finished piece of work that a person has run again (behaviour 17).

use panpan_failure::{Failure, codes};
use panpan_runtime::ports::{KeptOutcome, Outcomes as _, Reopened, Reopening};

use crate::support::{Act, Bench, Fixture, KEEP_MS, Work, harmful, scope, told};

async fn reopen(fixture: &Fixture, reason: &str) -> Reopened {
    let reopening = Reopening {
        scope: scope("k"),
        by: "ada".to_owned(),
        reason: reason.to_owned(),
    };
    fixture.store.reopen(reopening).await.unwrap()
}

pub(crate) async fn a_reopened_key_runs_once_more_as_a_new_generation(bench: Bench) {
    let broke = Failure::new(codes::INSUFFICIENT_FUNDS);
    let work = Work::of([Act::Fail(broke)]);
    let fixture = bench.fixture(harmful(work.clone()));
    assert_eq!(reopen(&fixture, "early").await, Reopened::NothingKept);
    let first = fixture.call("k").await;
    assert_eq!(told(&first), "INSUFFICIENT_FUNDS");
    let second_generation = Reopened::Free { generation: 2 };
    assert_eq!(reopen(&fixture, "money came").await, second_generation);
    let second = fixture.call("k").await;
    assert_eq!(
        (told(&second).as_str(), second.replayed),
        (r#"{"run":2}"#, false)
    );
    let third = fixture.call("k").await;
    assert_eq!((third.outcome, third.replayed), (second.outcome, true));
    assert_eq!(work.attempts(), [1, 1]);
    // Whoever does the work must not take it for a repeat.
    let handed_on: Vec<_> = work
        .seen()
        .into_iter()
        .map(|run| run.downstream_key)
        .collect();
    assert_ne!(handed_on[0], handed_on[1]);
}

pub(crate) async fn who_reopened_a_key_and_what_it_gave_before_can_be_read(bench: Bench) {
    let fixture = bench.fixture(harmful(Work::plain()));
    let first = fixture.call("k").await;
    fixture.clock.pass(5);
    reopen(&fixture, "placed twice").await;
    fixture.clock.pass(5);
    fixture.call("k").await;
    let earlier = fixture.store.earlier(scope("k")).await.unwrap();
    let [earlier] = &earlier[..] else {
        panic!("{earlier:?}");
    };
    assert_eq!(
        (earlier.by.as_str(), earlier.reason.as_str()),
        ("ada", "placed twice")
    );
    assert_eq!(earlier.at.as_millisecond(), fixture.now_ms() - 5);
    assert_eq!(
        (earlier.kept.call, earlier.kept.generation),
        (first.call, 1)
    );
    let text = KeptOutcome::Output(r#"{"run":1}"#.into());
    assert_eq!(earlier.kept.outcome, text);
    let kept = fixture.store.kept(scope("k")).await.unwrap().unwrap();
    assert_eq!(kept.generation, 2);
    assert_eq!(
        kept.expires_at.as_millisecond(),
        fixture.now_ms() + KEEP_MS.cast_signed()
    );
}

pub(crate) async fn an_unknown_outcome_can_be_reopened_by_whoever_looked(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.crash("k").await;
    assert_eq!(told(&fixture.call("k").await), "ERR_OUTCOME_UNKNOWN");
    reopen(&fixture, "it did not happen").await;
    assert_eq!(told(&fixture.call("k").await), r#"{"run":1}"#);
}
