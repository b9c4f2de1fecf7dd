//! What a person may run again, and what is left of before.

use panpan_runtime::ports::{Claimed, Earlier, End, KeptOutcome, Reopened};

use crate::support::{Bench, DAY_MS, KEEP_MS, LEASE_MS, released, scope};

pub(crate) async fn only_a_finished_key_is_reopened(bench: Bench) {
    bench.abandon(2).await;
    bench.hold(1).await;
    bench.release(3, 1).await;
    bench.finish(4, "1").await;
    let remaining_ms = LEASE_MS;
    for (key, expected) in [
        (0, Reopened::NothingKept),
        (1, Reopened::InFlight { remaining_ms }),
        (2, Reopened::NothingKept),
        (3, Reopened::NothingKept),
        (4, Reopened::Free { generation: 2 }),
        (4, Reopened::NothingKept),
    ] {
        assert_eq!(bench.reopen(key).await, expected, "key {key}");
    }
    assert!(matches!(bench.claim(1, 1).await, Claimed::InFlight { .. }));
}

pub(crate) async fn a_reopened_key_is_free_for_the_same_input(bench: Bench) {
    bench.finish(1, "1").await;
    bench.reopen(1).await;
    assert_eq!(bench.output(1).await, None);
    assert_eq!(bench.claim(1, 2).await, Claimed::Reused);
    assert_eq!(bench.before(1).await, released(0));
    assert!(matches!(bench.claim(1, 1).await, Claimed::InFlight { .. }));
}

pub(crate) async fn generations_and_earlier_outcomes_add_up(bench: Bench) {
    for (generation, output) in (1..).zip(["one", "two", "three"]) {
        bench.finish(1, output).await;
        let kept = bench.kept(1).await.unwrap();
        assert_eq!(kept.generation, generation);
        let generation = generation + 1;
        assert_eq!(bench.reopen(1).await, Reopened::Free { generation });
    }
    assert_eq!(bench.earlier(1).await, ["one", "two", "three"]);
    bench.finish(1, "four").await;
    assert_eq!(bench.earlier(1).await, ["one", "two", "three"]);
    assert_eq!(bench.earlier(2).await, [""; 0]);
}

pub(crate) async fn an_earlier_outcome_says_who_reopened_it_and_why(bench: Bench) {
    bench.finish(1, "1").await;
    let kept = bench.kept(1).await.unwrap();
    bench.clock.pass(5);
    bench.reopen(1).await;
    let earlier = Earlier {
        kept,
        at: bench.now(),
        by: "ada".to_owned(),
        reason: "paid twice".to_owned(),
    };
    assert_eq!(bench.store.earlier(scope(1)).await, Ok(vec![earlier]));
}

pub(crate) async fn a_reopened_outcome_is_not_forgotten_before_its_time(bench: Bench) {
    for (key, keep_ms, remembered_ms) in [(1, KEEP_MS, DAY_MS), (2, 9 * DAY_MS, 9 * DAY_MS)] {
        let (lease, _) = bench.hold(key).await;
        let outcome = KeptOutcome::Output("1".into());
        bench.end(lease, 1, End::Keep { outcome, keep_ms }).await;
        bench.reopen(key).await;
        bench.clock.pass(remembered_ms - 1);
        assert_eq!(bench.sweep().await.keys, 0);
        assert_eq!(bench.earlier(key).await, ["1"]);
        bench.clock.pass(1);
        assert_eq!(bench.earlier(key).await, [""; 0]);
        assert_eq!(bench.sweep().await.keys, 1);
    }
}

pub(crate) async fn a_forgotten_key_begins_again_at_the_first_generation(bench: Bench) {
    for output in ["one", "two", "three"] {
        bench.finish(1, output).await;
        bench.reopen(1).await;
    }
    bench.clock.pass(DAY_MS);
    assert_eq!(bench.earlier(1).await, [""; 0]);
    for (generation, output, earlier) in [(1, "uno", &[][..]), (2, "due", &["uno"])] {
        bench.finish(1, output).await;
        assert_eq!(bench.kept(1).await.unwrap().generation, generation);
        assert_eq!(bench.earlier(1).await, earlier);
        bench.reopen(1).await;
    }
    assert_eq!(bench.earlier(1).await, ["uno", "due"]);
}
