//! Finished keys that an operator reopens.

use panpan_failure::{Failure, codes};
use panpan_runtime::ports::{KeptOutcome, Outcomes as _, Reopened, Reopening};

use crate::support::{
    Fixture, KEEP_MS, ScriptedHandler, Step, Storage, mutation, result_of, scope,
};

async fn reopen(fixture: &Fixture, reason: &str) -> Reopened {
    let reopening = Reopening {
        scope: scope("k"),
        by: "ada".to_owned(),
        reason: reason.to_owned(),
    };
    fixture.store.reopen(reopening).await.unwrap()
}

pub(crate) async fn a_reopened_key_runs_again_as_a_new_generation(storage: Storage) {
    let broke = Failure::new(codes::INSUFFICIENT_FUNDS);
    let handler = ScriptedHandler::of([Step::Fail(broke)]);
    let fixture = storage.fixture(mutation(handler.clone()));
    assert_eq!(reopen(&fixture, "early").await, Reopened::NothingKept);
    let first = fixture.call("k").await;
    assert_eq!(result_of(&first), "INSUFFICIENT_FUNDS");
    let second_generation = Reopened::Free { generation: 2 };
    assert_eq!(reopen(&fixture, "money came").await, second_generation);
    let second = fixture.call("k").await;
    assert_eq!(
        (result_of(&second).as_str(), second.replayed),
        (r#"{"run":2}"#, false)
    );
    let third = fixture.call("k").await;
    assert_eq!((third.outcome, third.replayed), (second.outcome, true));
    assert_eq!(handler.attempts(), [1, 1]);
    // The upstream must not take the new call for a repeat.
    let downstream_keys: Vec<_> = handler
        .run_log()
        .into_iter()
        .map(|run| run.downstream_key)
        .collect();
    assert_ne!(downstream_keys[0], downstream_keys[1]);
}

pub(crate) async fn a_reopened_key_records_who_reopened_it_and_its_earlier_outcome(
    storage: Storage,
) {
    let fixture = storage.fixture(mutation(ScriptedHandler::unscripted()));
    let first = fixture.call("k").await;
    fixture.clock.advance(5);
    reopen(&fixture, "placed twice").await;
    fixture.clock.advance(5);
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
    let output = KeptOutcome::Output(r#"{"run":1}"#.into());
    assert_eq!(earlier.kept.outcome, output);
    let kept = fixture.store.kept(scope("k")).await.unwrap().unwrap();
    assert_eq!(kept.generation, 2);
    assert_eq!(
        kept.expires_at.as_millisecond(),
        fixture.now_ms() + KEEP_MS.cast_signed()
    );
}

pub(crate) async fn an_unknown_outcome_can_be_reopened(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.crash("k").await;
    assert_eq!(result_of(&fixture.call("k").await), "ERR_OUTCOME_UNKNOWN");
    reopen(&fixture, "it did not happen").await;
    assert_eq!(result_of(&fixture.call("k").await), r#"{"run":1}"#);
}
