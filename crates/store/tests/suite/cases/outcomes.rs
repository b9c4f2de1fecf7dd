//! Stored outcomes and their expiry.

use jiff::Timestamp;
use panpan_runtime::ports::{
    Before, Change, Claimed, Completed, Completion, End, ExpectedState, Kept, KeptOutcome, Lease,
    Reopened,
};
use serde_json::json;
use uuid::Uuid;

use crate::support::{Fixture, KEEP_MS, LEASE_MS, START_MS, at, keep, recording, scope};

async fn keep_outcome(fixture: &Fixture, key: u8, outcome: KeptOutcome, keep_ms: u64) -> Completed {
    let (lease, _) = fixture.hold(key).await;
    fixture.end(lease, 1, End::Keep { outcome, keep_ms }).await
}

/// Writes the outcome and reads it back with `claim` and with `kept`.
async fn check(fixture: &Fixture, key: u8, outcome: KeptOutcome) {
    let expires_at = fixture.now() + jiff::SignedDuration::from_millis(KEEP_MS.cast_signed());
    let completed = keep_outcome(fixture, key, outcome.clone(), KEEP_MS).await;
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
    assert_eq!(fixture.claim(key, 1).await, Claimed::Replay(kept.clone()));
    assert_eq!(fixture.kept(key).await, Some(kept));
}

pub(crate) async fn an_outcome_is_replayed_unchanged(fixture: Fixture) {
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
        check(&fixture, key, outcome).await;
    }
}

pub(crate) async fn unusual_text_is_stored_unchanged(fixture: Fixture) {
    let odd = [
        "\0",
        "a\0b\0",
        "'; DROP TABLE keys; --",
        "\"\\\r\n\t\u{7f}",
        "\u{1f99c}\u{feff}\u{10ffff}",
        "e\u{301} \u{e9}",
    ];
    for (key, text) in (1..).zip(odd) {
        check(&fixture, key, KeptOutcome::Output(text.into())).await;
    }
}

pub(crate) async fn large_text_is_stored_unchanged(fixture: Fixture) {
    for (key, length) in [(1, 4095), (2, 70_000), (3, 5_000_000)] {
        let text: String = ('a'..='z').cycle().take(length).collect();
        check(&fixture, key, KeptOutcome::Output(text.into())).await;
    }
}

pub(crate) async fn an_outcome_is_kept_until_it_expires(fixture: Fixture) {
    fixture.finish(1, "1").await;
    fixture.clock.advance(KEEP_MS - 1);
    assert_eq!(fixture.output(1).await.as_deref(), Some("1"));
    assert!(matches!(fixture.claim(1, 1).await, Claimed::Replay(_)));
    fixture.clock.advance(1);
    assert_eq!(fixture.output(1).await, None);
    assert_eq!(fixture.before(1).await, Before::Nothing);
}

pub(crate) async fn an_expired_outcome_is_absent_everywhere(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.end(lease, 1, keep("1")).await;
    fixture.clock.advance(KEEP_MS);
    assert_eq!(fixture.kept(1).await, None);
    assert_eq!(fixture.reopen(1).await, Reopened::NothingKept);
    assert_eq!(fixture.earlier(1).await, [""; 0]);
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(fixture.end(lease, 1, keep("2")).await, superseded);
    assert_eq!(fixture.before(1).await, Before::Nothing);
    assert_eq!(fixture.store.earlier(scope(1)).await.unwrap(), []);
}

pub(crate) async fn retention_is_clamped_to_the_last_timestamp(fixture: Fixture) {
    let outcome = KeptOutcome::Output("1".into());
    for (key, keep_ms, expires_at) in [
        (1, u64::MAX, Timestamp::MAX),
        (2, i64::MAX.cast_unsigned(), Timestamp::MAX),
        (3, 0, at(START_MS)),
    ] {
        let completed = keep_outcome(&fixture, key, outcome.clone(), keep_ms).await;
        let Completed::Recorded {
            expires_at: Some(found),
        } = completed
        else {
            panic!("not recorded: {completed:?}");
        };
        assert_eq!(found.as_millisecond(), expires_at.as_millisecond());
    }
    assert!(matches!(fixture.claim(1, 1).await, Claimed::Replay(_)));
    assert_eq!(fixture.before(3).await, Before::Nothing);
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
    assert_eq!(fixture.store.complete(completion).await, Ok(superseded));
    assert_eq!(fixture.store.extend(stranger, LEASE_MS).await, Ok(false));
}

pub(crate) async fn debug_output_shows_no_stored_data(fixture: Fixture) {
    const PRIVATE: &str = "hunter22";
    for _ in 0..2 {
        fixture.finish(1, PRIVATE).await;
        fixture.reopen(1).await;
    }
    fixture.finish(1, PRIVATE).await;
    let mut recording = recording(7, START_MS, None);
    recording.input = Some(json!({"said": PRIVATE}));
    fixture.note([recording.clone()]).await;
    let change = Change {
        collection: "files".to_owned(),
        id: "a".to_owned(),
        expect: ExpectedState::Anything,
        body: Some(json!(PRIVATE)),
    };
    let changes = vec![change.clone()];
    fixture.store.apply(changes).await.unwrap();
    let kept = fixture.kept(1).await.unwrap();
    for shown in [
        format!("{fixture:?} {:?}", fixture.claim(1, 1).await),
        format!("{kept:?} {recording:?} {change:?}"),
        format!("{:#?}", keep(PRIVATE)),
    ] {
        assert!(!shown.contains(PRIVATE), "{shown}");
    }
}
