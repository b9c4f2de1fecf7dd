//! What a sweep deletes, and its limit.

use panpan_failure::codes;
use panpan_runtime::ports::{Before, Claim, Claimed, Completion, Scope, Swept};
use panpan_store::SWEEP_LIMIT;
use uuid::Uuid;

use crate::support::{
    DAY_MS, Fixture, KEEP_MS, START_MS, at, claim_request, count, keep, recording, scope,
};

const LIMIT: u64 = SWEEP_LIMIT as u64;

fn keys(keys: u64) -> Swept {
    Swept {
        keys,
        ..Swept::default()
    }
}

pub(crate) async fn an_empty_store_has_nothing_to_sweep(fixture: Fixture) {
    assert_eq!(fixture.sweep().await, Swept::default());
}

pub(crate) async fn expired_keys_are_swept(fixture: Fixture) {
    fixture.finish(1, "1").await;
    fixture.release(2, 1).await;
    fixture.finish(3, "3").await;
    fixture.reopen(3).await;
    fixture.clock.advance(KEEP_MS);
    assert_eq!(fixture.sweep().await, keys(1));
    fixture.clock.advance(DAY_MS - KEEP_MS);
    assert_eq!(fixture.sweep().await, keys(2));
    assert_eq!(fixture.sweep().await, keys(0));
    for key in [1, 2, 3] {
        assert_eq!(fixture.before(key).await, Before::Nothing);
    }
}

pub(crate) async fn keys_in_use_are_not_swept(fixture: Fixture) {
    fixture.abandon(2).await;
    fixture.hold(1).await;
    fixture.release(3, 1).await;
    fixture.finish(4, "4").await;
    fixture.clock.advance(KEEP_MS - 1);
    assert_eq!(fixture.sweep().await, keys(0));
    assert!(matches!(fixture.before(1).await, Before::Abandoned { .. }));
    assert!(matches!(fixture.before(2).await, Before::Abandoned { .. }));
    assert!(matches!(fixture.before(3).await, Before::Released { .. }));
    assert_eq!(fixture.output(4).await.as_deref(), Some("4"));
}

/// Finishes this many keys concurrently, each in its own task.
async fn finish_many(fixture: &Fixture, many: u64) {
    let mut tasks = tokio::task::JoinSet::new();
    for key in 0..many {
        let fixture = fixture.clone();
        tasks.spawn(async move { finish_one(&fixture, key).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

async fn finish_one(fixture: &Fixture, key: u64) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    let claim = Claim {
        scope: Scope(bytes),
        ..claim_request(0, 1)
    };
    let Ok(Claimed::Held { lease, .. }) = fixture.store.claim(claim).await else {
        panic!("key {key} is not held");
    };
    let completion = Completion {
        lease,
        attempts: 1,
        end: keep("1"),
        without_effect: false,
        recording: None,
    };
    fixture.store.complete(completion).await.unwrap();
}

pub(crate) async fn a_sweep_is_bounded_and_the_next_continues(fixture: Fixture) {
    finish_many(&fixture, LIMIT + 1).await;
    fixture.clock.advance(KEEP_MS);
    for expected in [LIMIT, 1, 0] {
        assert_eq!(fixture.sweep().await, keys(expected));
    }
}

pub(crate) async fn old_recordings_and_counts_are_swept(fixture: Fixture) {
    let hour_ms = 60 * 60 * 1000;
    let times = [0, hour_ms - 1, hour_ms, hour_ms + 1];
    fixture
        .note(
            (1..)
                .zip(times)
                .map(|(call, at_ms)| recording(call, at_ms, None)),
        )
        .await;
    fixture
        .count(
            [0, 1, 2]
                .map(|hour| count("a", None, hour * hour_ms, 1))
                .to_vec(),
        )
        .await;
    let swept = fixture.store.sweep(at(hour_ms)).await.unwrap();
    let expected = Swept {
        keys: 0,
        recordings: 2,
        counts: 1,
    };
    assert_eq!(swept, expected);
    assert_eq!(fixture.recent(9, false).await, [4, 3]);
    assert_eq!(fixture.store.find(Uuid::from_u128(1)).await, Ok(None));
    assert_eq!(fixture.store.counts(at(0)).await.unwrap().len(), 2);
}

pub(crate) async fn sweeping_recordings_and_counts_is_bounded(fixture: Fixture) {
    let failed = Some(codes::ERR_TIMEOUT);
    let many = LIMIT + 1;
    fixture
        .note((0..many).map(|call| recording(call.into(), START_MS - 1, failed)))
        .await;
    fixture
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
        assert_eq!(fixture.sweep().await, swept);
    }
}

pub(crate) async fn earlier_outcomes_are_swept_with_their_key(fixture: Fixture) {
    fixture.finish(1, "one").await;
    fixture.reopen(1).await;
    fixture.clock.advance(DAY_MS);
    assert_eq!(fixture.sweep().await, keys(1));
    fixture.finish(1, "two").await;
    assert_eq!(fixture.store.earlier(scope(1)).await, Ok(vec![]));
    fixture.reopen(1).await;
    assert_eq!(fixture.earlier(1).await, ["two"]);
}
