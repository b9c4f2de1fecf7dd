//! What is kept of a keyed call, and for how long.

use jiff::Timestamp;
use panpan_runtime::ports::{
    Before, Change, Claimed, Completed, Completion, End, Expect, Kept, KeptOutcome, Lease, Reopened,
};
use serde_json::json;
use uuid::Uuid;

use crate::support::{Bench, KEEP_MS, LEASE_MS, START_MS, at, keep, recording, scope};

async fn keep_outcome(bench: &Bench, key: u8, outcome: KeptOutcome, keep_ms: u64) -> Completed {
    let (lease, _) = bench.hold(key).await;
    bench.end(lease, 1, End::Keep { outcome, keep_ms }).await
}

/// Writes the outcome and reads it back both ways.
async fn check(bench: &Bench, key: u8, outcome: KeptOutcome) {
    let expires_at = bench.now() + jiff::SignedDuration::from_millis(KEEP_MS.cast_signed());
    let completed = keep_outcome(bench, key, outcome.clone(), KEEP_MS).await;
    let recorded = Completed::Recorded {
        expires_at: Some(expires_at),
    };
    assert_eq!(completed, recorded);
    let kept = Kept {
        call: Uuid::from_u128(u128::from(key)),
        outcome,
        expires_at,
        generation: 1,
    };
    assert_eq!(bench.claim(key, 1).await, Claimed::Replay(kept.clone()));
    assert_eq!(bench.kept(key).await, Some(kept));
}

pub(crate) async fn an_outcome_is_replayed_as_it_was_written(bench: Bench) {
    let digest = std::array::from_fn(|index| u8::try_from(index).unwrap());
    for (key, outcome) in [
        (1, KeptOutcome::Output(r#"{ "b":1, "a" : 2.50 }"#.into())),
        (2, KeptOutcome::Failure(r#"{"code":"NOT_FOUND"}"#.into())),
        (3, KeptOutcome::LargeOutput { digest, bytes: 0 }),
        (
            4,
            KeptOutcome::LargeOutput {
                digest,
                bytes: u64::MAX,
            },
        ),
        (5, KeptOutcome::Output("".into())),
        (6, KeptOutcome::Failure("".into())),
    ] {
        check(&bench, key, outcome).await;
    }
}

pub(crate) async fn odd_text_comes_back_as_it_went_in(bench: Bench) {
    let odd = [
        "\0",
        "a\0b\0",
        "'; DROP TABLE keys; --",
        "\"\\\r\n\t\u{7f}",
        "\u{1f99c}\u{feff}\u{10ffff}",
        "e\u{301} \u{e9}",
    ];
    for (key, text) in (1..).zip(odd) {
        check(&bench, key, KeptOutcome::Output(text.into())).await;
    }
}

pub(crate) async fn some_megabytes_come_back_as_they_went_in(bench: Bench) {
    for (key, length) in [(1, 4095), (2, 70_000), (3, 5_000_000)] {
        let text: String = ('a'..='z').cycle().take(length).collect();
        check(&bench, key, KeptOutcome::Output(text.into())).await;
    }
}

pub(crate) async fn an_outcome_is_there_until_it_expires(bench: Bench) {
    bench.finish(1, "1").await;
    bench.clock.pass(KEEP_MS - 1);
    assert_eq!(bench.output(1).await.as_deref(), Some("1"));
    assert!(matches!(bench.claim(1, 1).await, Claimed::Replay(_)));
    bench.clock.pass(1);
    assert_eq!(bench.output(1).await, None);
    assert_eq!(bench.before(1).await, Before::Nothing);
}

pub(crate) async fn an_expired_outcome_is_absent_everywhere(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.end(lease, 1, keep("1")).await;
    bench.clock.pass(KEEP_MS);
    assert_eq!(bench.kept(1).await, None);
    assert_eq!(bench.reopen(1).await, Reopened::NothingKept);
    assert_eq!(bench.earlier(1).await, [""; 0]);
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(bench.end(lease, 1, keep("2")).await, superseded);
    assert_eq!(bench.before(1).await, Before::Nothing);
    assert_eq!(bench.store.earlier(scope(1)).await.unwrap(), []);
}

pub(crate) async fn the_longest_keeping_ends_with_time_itself(bench: Bench) {
    let outcome = KeptOutcome::Output("1".into());
    for (key, keep_ms, expires_at) in [
        (1, u64::MAX, Timestamp::MAX),
        (2, i64::MAX.cast_unsigned(), Timestamp::MAX),
        (3, 0, at(START_MS)),
    ] {
        let completed = keep_outcome(&bench, key, outcome.clone(), keep_ms).await;
        let Completed::Recorded {
            expires_at: Some(found),
        } = completed
        else {
            panic!("not recorded: {completed:?}");
        };
        assert_eq!(found.as_millisecond(), expires_at.as_millisecond());
    }
    assert!(matches!(bench.claim(1, 1).await, Claimed::Replay(_)));
    assert_eq!(bench.before(3).await, Before::Nothing);
    let stranger = Lease {
        scope: scope(9),
        epoch: u64::MAX,
    };
    let completion = Completion {
        lease: stranger,
        attempts: 1,
        end: keep("1"),
        without_effect: false,
        recording: None,
    };
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(bench.store.complete(completion).await, Ok(superseded));
    assert_eq!(bench.store.extend(stranger, LEASE_MS).await, Ok(false));
}

pub(crate) async fn no_debug_form_shows_what_is_stored(bench: Bench) {
    const PRIVATE: &str = "hunter22";
    for _ in 0..2 {
        bench.finish(1, PRIVATE).await;
        bench.reopen(1).await;
    }
    bench.finish(1, PRIVATE).await;
    let mut recording = recording(7, START_MS, None);
    recording.input = Some(json!({"said": PRIVATE}));
    bench.note([recording.clone()]).await;
    let change = Change {
        collection: "files".to_owned(),
        id: "a".to_owned(),
        expect: Expect::Anything,
        body: Some(json!(PRIVATE)),
    };
    let changes = vec![change.clone()];
    bench.store.apply(changes).await.unwrap();
    let kept = bench.kept(1).await.unwrap();
    for shown in [
        format!("{bench:?} {:?}", bench.claim(1, 1).await),
        format!("{kept:?} {recording:?} {change:?}"),
        format!("{:#?}", keep(PRIVATE)),
    ] {
        assert!(!shown.contains(PRIVATE), "{shown}");
    }
}
