//! What a sweep deletes, and how much at once.

use panpan_failure::codes;
use panpan_runtime::ports::{Before, Claim, Claimed, Completion, Scope, Swept};
use panpan_store::SWEEP_LIMIT;
use uuid::Uuid;

use crate::support::{Bench, DAY_MS, KEEP_MS, START_MS, at, count, keep, recording, scope, wish};

const LIMIT: u64 = SWEEP_LIMIT as u64;

fn keys(keys: u64) -> Swept {
    Swept {
        keys,
        ..Swept::default()
    }
}

pub(crate) async fn an_empty_store_has_nothing_to_sweep(bench: Bench) {
    assert_eq!(bench.sweep().await, Swept::default());
}

pub(crate) async fn what_nobody_can_ask_for_is_swept(bench: Bench) {
    bench.finish(1, "1").await;
    bench.release(2, 1).await;
    bench.finish(3, "3").await;
    bench.reopen(3).await;
    bench.clock.pass(KEEP_MS);
    assert_eq!(bench.sweep().await, keys(1));
    bench.clock.pass(DAY_MS - KEEP_MS);
    assert_eq!(bench.sweep().await, keys(2));
    assert_eq!(bench.sweep().await, keys(0));
    for key in [1, 2, 3] {
        assert_eq!(bench.before(key).await, Before::Nothing);
    }
}

pub(crate) async fn what_somebody_can_ask_for_is_not_swept(bench: Bench) {
    bench.abandon(2).await;
    bench.hold(1).await;
    bench.release(3, 1).await;
    bench.finish(4, "4").await;
    bench.clock.pass(KEEP_MS - 1);
    assert_eq!(bench.sweep().await, keys(0));
    assert!(matches!(bench.before(1).await, Before::Abandoned { .. }));
    assert!(matches!(bench.before(2).await, Before::Abandoned { .. }));
    assert!(matches!(bench.before(3).await, Before::Released { .. }));
    assert_eq!(bench.output(4).await.as_deref(), Some("4"));
}

/// Finishes so many keys at once, each its own task.
async fn finish_many(bench: &Bench, many: u64) {
    let mut tasks = tokio::task::JoinSet::new();
    for key in 0..many {
        let bench = bench.clone();
        tasks.spawn(async move { finish_one(&bench, key).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

async fn finish_one(bench: &Bench, key: u64) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    let claim = Claim {
        scope: Scope(bytes),
        ..wish(0, 1)
    };
    let Ok(Claimed::Held { lease, .. }) = bench.store.claim(claim).await else {
        panic!("key {key} is not held");
    };
    let completion = Completion {
        lease,
        attempts: 1,
        end: keep("1"),
        without_effect: false,
        recording: None,
    };
    bench.store.complete(completion).await.unwrap();
}

pub(crate) async fn a_sweep_is_bounded_and_the_next_goes_on(bench: Bench) {
    finish_many(&bench, LIMIT + 1).await;
    bench.clock.pass(KEEP_MS);
    for expected in [LIMIT, 1, 0] {
        assert_eq!(bench.sweep().await, keys(expected));
    }
}

pub(crate) async fn recordings_and_counts_from_before_are_swept(bench: Bench) {
    let hour_ms = 60 * 60 * 1000;
    let times = [0, hour_ms - 1, hour_ms, hour_ms + 1];
    bench
        .note(
            (1..)
                .zip(times)
                .map(|(call, at_ms)| recording(call, at_ms, None)),
        )
        .await;
    bench
        .count(
            [0, 1, 2]
                .map(|hour| count("a", None, hour * hour_ms, 1))
                .to_vec(),
        )
        .await;
    let swept = bench.store.sweep(at(hour_ms)).await.unwrap();
    let expected = Swept {
        keys: 0,
        recordings: 2,
        counts: 1,
    };
    assert_eq!(swept, expected);
    assert_eq!(bench.recent(9, false).await, [4, 3]);
    assert_eq!(bench.store.find(Uuid::from_u128(1)).await, Ok(None));
    assert_eq!(bench.store.counts(at(0)).await.unwrap().len(), 2);
}

pub(crate) async fn sweeping_recordings_and_counts_is_bounded(bench: Bench) {
    let failed = Some(codes::ERR_TIMEOUT);
    let many = LIMIT + 1;
    bench
        .note((0..many).map(|call| recording(call.into(), START_MS - 1, failed)))
        .await;
    bench
        .count(
            (0..many)
                .map(|one| count(&one.to_string(), None, 0, 1))
                .collect(),
        )
        .await;
    for expected in [LIMIT, 1, 0] {
        let swept = Swept {
            keys: 0,
            recordings: expected,
            counts: expected,
        };
        assert_eq!(bench.sweep().await, swept);
    }
}

pub(crate) async fn earlier_outcomes_are_swept_with_their_key(bench: Bench) {
    bench.finish(1, "one").await;
    bench.reopen(1).await;
    bench.clock.pass(DAY_MS);
    assert_eq!(bench.sweep().await, keys(1));
    bench.finish(1, "two").await;
    assert_eq!(bench.store.earlier(scope(1)).await, Ok(vec![]));
    bench.reopen(1).await;
    assert_eq!(bench.earlier(1).await, ["two"]);
}
