//! Reopening finished keys.

use panpan_runtime::ports::{Claimed, Earlier, End, KeptOutcome, Reopened};

use crate::support::{DAY_MS, Fixture, KEEP_MS, LEASE_MS, released, scope};

pub(crate) async fn only_a_finished_key_is_reopened(fixture: Fixture) {
    fixture.abandon(2).await;
    fixture.hold(1).await;
    fixture.release(3, 1).await;
    fixture.finish(4, "1").await;
    let remaining_ms = LEASE_MS;
    for (key, expected) in [
        (0, Reopened::NothingKept),
        (1, Reopened::InFlight { remaining_ms }),
        (2, Reopened::NothingKept),
        (3, Reopened::NothingKept),
        (4, Reopened::Free { generation: 2 }),
        (4, Reopened::NothingKept),
    ] {
        assert_eq!(fixture.reopen(key).await, expected, "key {key}");
    }
    assert!(matches!(
        fixture.claim(1, 1).await,
        Claimed::InFlight { .. }
    ));
}

pub(crate) async fn a_reopened_key_can_be_claimed_for_the_same_input(fixture: Fixture) {
    fixture.finish(1, "1").await;
    fixture.reopen(1).await;
    assert_eq!(fixture.output(1).await, None);
    assert_eq!(fixture.claim(1, 2).await, Claimed::Reused);
    assert_eq!(fixture.before(1).await, released(0));
    assert!(matches!(
        fixture.claim(1, 1).await,
        Claimed::InFlight { .. }
    ));
}

pub(crate) async fn generations_and_earlier_outcomes_accumulate(fixture: Fixture) {
    for (generation, output) in (1..).zip(["one", "two", "three"]) {
        fixture.finish(1, output).await;
        let kept = fixture.kept(1).await.unwrap();
        assert_eq!(kept.generation, generation);
        let generation = generation + 1;
        assert_eq!(fixture.reopen(1).await, Reopened::Free { generation });
    }
    assert_eq!(fixture.earlier(1).await, ["one", "two", "three"]);
    fixture.finish(1, "four").await;
    assert_eq!(fixture.earlier(1).await, ["one", "two", "three"]);
    assert_eq!(fixture.earlier(2).await, [""; 0]);
}

pub(crate) async fn an_earlier_outcome_records_who_reopened_it_and_why(fixture: Fixture) {
    fixture.finish(1, "1").await;
    let kept = fixture.kept(1).await.unwrap();
    fixture.clock.advance(5);
    fixture.reopen(1).await;
    let earlier = Earlier {
        kept,
        at: fixture.now(),
        by: "ada".to_owned(),
        reason: "paid twice".to_owned(),
    };
    assert_eq!(fixture.store.earlier(scope(1)).await, Ok(vec![earlier]));
}

pub(crate) async fn a_reopened_outcome_is_kept_until_it_expires(fixture: Fixture) {
    for (key, keep_ms, remembered_ms) in [(1, KEEP_MS, DAY_MS), (2, 9 * DAY_MS, 9 * DAY_MS)] {
        let (lease, _) = fixture.hold(key).await;
        let outcome = KeptOutcome::Output("1".into());
        fixture.end(lease, 1, End::Keep { outcome, keep_ms }).await;
        fixture.reopen(key).await;
        fixture.clock.advance(remembered_ms - 1);
        assert_eq!(fixture.sweep().await.keys, 0);
        assert_eq!(fixture.earlier(key).await, ["1"]);
        fixture.clock.advance(1);
        assert_eq!(fixture.earlier(key).await, [""; 0]);
        assert_eq!(fixture.sweep().await.keys, 1);
    }
}

pub(crate) async fn an_expired_key_restarts_at_the_first_generation(fixture: Fixture) {
    for output in ["one", "two", "three"] {
        fixture.finish(1, output).await;
        fixture.reopen(1).await;
    }
    fixture.clock.advance(DAY_MS);
    assert_eq!(fixture.earlier(1).await, [""; 0]);
    for (generation, output, earlier) in [(1, "uno", &[][..]), (2, "due", &["uno"])] {
        fixture.finish(1, output).await;
        assert_eq!(fixture.kept(1).await.unwrap().generation, generation);
        assert_eq!(fixture.earlier(1).await, earlier);
        fixture.reopen(1).await;
    }
    assert_eq!(fixture.earlier(1).await, ["uno", "due"]);
}
