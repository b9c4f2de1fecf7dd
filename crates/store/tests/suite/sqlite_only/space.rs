//! The size limit of the file: what is deleted when it is reached, and what is still written.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use panpan_failure::codes;
use panpan_runtime::ports::{
    Applied, Change, Claimed, Completed, Completion, Documents as _, ExpectedState, Lease,
    Outcomes, StoreError,
};
use panpan_store::{RESERVE_BYTES, SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore};
use rusqlite::Connection;

use crate::support::{Fixture, Folder, ManualClock, START_MS, claim_request, keep, recording};

/// A store with the smallest size limit, and a fixture around it.
fn small() -> (Arc<SqliteStore>, Fixture) {
    let (clock, folder) = (ManualClock::new(), Arc::new(Folder::new()));
    let options = SqliteOptions {
        size_bytes: SMALLEST_SIZE_BYTES,
        ..SqliteOptions::default()
    };
    let path = folder.path("store.db");
    let store = SqliteStore::open_with(path, clock.clone(), options).unwrap();
    let store = Arc::new(store);
    let fixture = Fixture {
        store: store.clone(),
        clock,
        folder,
    };
    (store, fixture)
}

/// Writes recordings of these calls, one kilobyte each.
fn note(store: &SqliteStore, calls: std::ops::Range<u128>) {
    for call in calls {
        let at_ms = START_MS + i64::try_from(call).unwrap();
        let mut note = recording(call, at_ms, Some(codes::ERR_TIMEOUT));
        note.input = Some("x".repeat(1024).into());
        store.note(note);
    }
}

fn completion(lease: Lease, output: &str) -> Completion {
    Completion {
        lease,
        attempts: 1,
        end: keep(output),
        without_effect: false,
        recording: None,
    }
}

/// Changes a document as revoking a token does.
async fn revoke(store: &SqliteStore, id: &str) -> Result<Applied, StoreError> {
    let change = Change {
        collection: "tokens".to_owned(),
        id: id.to_owned(),
        expect: ExpectedState::Anything,
        body: Some(serde_json::json!({"revoked": true})),
    };
    store.apply(vec![change]).await
}

async fn until_not_full(store: &SqliteStore) {
    for _ in 0..200 {
        if !store.state().is_full {
            return;
        }
        let _ = store.flush().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("still full: {:?}", store.state());
}

#[tokio::test]
async fn recordings_are_limited_to_a_quarter_of_the_file_and_the_oldest_are_deleted_first() {
    let (store, fixture) = small();
    let limit = store.state().recordings_limit_bytes.unwrap();
    assert_eq!(limit, SMALLEST_SIZE_BYTES / 4);
    let mut largest = 0;
    for batch in 0..40 {
        note(&store, batch * 500..(batch + 1) * 500);
        store.flush().await.unwrap();
        largest = largest.max(fs::metadata(fixture.file()).unwrap().len());
    }
    // Twice as much was recorded as fits into the file.
    assert!(largest <= SMALLEST_SIZE_BYTES / 2, "{largest} bytes");
    let state = store.state();
    assert!(state.recordings_bytes <= limit + limit / 4, "{state:?}");
    assert!(!state.is_full);
    let kept = fixture.recent(usize::MAX, false).await;
    assert!(kept.len() > 1000, "{}", kept.len());
    let newest = (0..20_000).rev().take(kept.len());
    assert_eq!(kept, newest.collect::<Vec<u128>>());
    assert_eq!(store.dropped(), 0);
}

#[tokio::test]
async fn the_size_of_recordings_is_tracked_through_every_change() {
    let (store, fixture) = small();
    note(&store, 0..50);
    note(&store, 20..70);
    let mut shorter = recording(30, START_MS, None);
    shorter.input = None;
    store.note(shorter);
    store.flush().await.unwrap();
    store
        .sweep(crate::support::at(START_MS + 40))
        .await
        .unwrap();
    let other = Connection::open(fixture.file()).unwrap();
    let both = "SELECT (SELECT recordings FROM sizes),
        (SELECT sum(octet_length(recording) + 256) FROM recordings)";
    let (known, taken): (i64, i64) = other
        .query_row(both, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(taken > 20_000);
    assert_eq!(known, taken);
}

#[tokio::test]
async fn a_full_store_writes_outcomes_and_tokens_but_grants_no_keys() {
    let (store, fixture) = small();
    fixture.finish(1, "before").await;
    let (lease, _) = fixture.hold(2).await;
    store.limit_growth(Some(0)).await.unwrap();
    let large = "x".repeat(100_000);
    let completed = store.complete(completion(lease, &large)).await;
    assert!(
        matches!(completed, Ok(Completed::Recorded { .. })),
        "{completed:?}"
    );
    assert!(store.state().is_full);
    assert!(matches!(revoke(&store, "ann").await, Ok(Applied::All(_))));
    // Known keys are answered, and new keys are refused.
    assert_eq!(
        store.claim(claim_request(3, 1)).await,
        Err(StoreError::Full)
    );
    assert!(matches!(fixture.claim(1, 1).await, Claimed::Replay(_)));
    assert!(matches!(fixture.claim(2, 1).await, Claimed::Replay(_)));
    assert_eq!(fixture.claim(2, 7).await, Claimed::Reused);
    // Recordings must not use the reserve.
    note(&store, 0..100);
    assert_eq!(store.flush().await, Err(StoreError::Full));
    assert_eq!(fixture.recent(9, false).await, [0; 0]);
    store.limit_growth(None).await.unwrap();
    until_not_full(&store).await;
    store.flush().await.unwrap();
    assert_eq!(fixture.recent(usize::MAX, false).await.len(), 100);
    assert_eq!(fixture.output(2).await, Some(large));
    fixture.finish(3, "after").await;
}

#[tokio::test]
async fn recordings_are_deleted_to_make_space_for_outcomes() {
    let (store, fixture) = small();
    note(&store, 0..2000);
    store.flush().await.unwrap();
    note(&store, 2000..3500);
    store.flush().await.unwrap();
    store.limit_growth(Some(0)).await.unwrap();
    let large = "x".repeat(500_000);
    for key in 1..=4 {
        fixture.finish(key, &large).await;
        until_not_full(&store).await;
    }
    for key in 1..=4 {
        assert_eq!(fixture.output(key).await.as_deref(), Some(&*large));
    }
    let kept = fixture.recent(usize::MAX, false).await;
    assert_eq!(kept.first(), Some(&3499));
    assert!((100..3300).contains(&kept.len()), "{}", kept.len());
}

#[tokio::test]
async fn the_reserve_file_is_released_when_full_and_restored_later() {
    let (store, fixture) = small();
    let (lease, _) = fixture.hold(1).await;
    let reserve = || fs::metadata(fixture.folder.path("store.db-reserve")).map(|it| it.len());
    assert_eq!(reserve().unwrap(), RESERVE_BYTES);
    store.limit_growth(Some(0)).await.unwrap();
    let large = "x".repeat(usize::try_from(RESERVE_BYTES).unwrap() / 2);
    store.complete(completion(lease, &large)).await.unwrap();
    assert!(store.state().is_full);
    reserve().unwrap_err();
    store.limit_growth(None).await.unwrap();
    until_not_full(&store).await;
    assert_eq!(reserve().unwrap(), RESERVE_BYTES);
}
