//! How large the file becomes, what gives way when it may not grow, and what is written all the same.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use panpan_failure::codes;
use panpan_runtime::ports::{
    Applied, Change, Claimed, Completed, Completion, Documents as _, Expect, Lease, Outcomes,
    StoreError,
};
use panpan_store::{RESERVE_BYTES, SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore};
use rusqlite::Connection;

use crate::support::{Bench, Folder, HandClock, START_MS, keep, recording, wish};

/// A store whose file may become as small as a store can be, and the same on a bench.
fn small() -> (Arc<SqliteStore>, Bench) {
    let (clock, folder) = (HandClock::new(), Arc::new(Folder::new()));
    let options = SqliteOptions {
        size_bytes: SMALLEST_SIZE_BYTES,
        ..SqliteOptions::default()
    };
    let path = folder.file("store.db");
    let store = SqliteStore::open_with(path, clock.clone(), options).unwrap();
    let store = Arc::new(store);
    let bench = Bench {
        store: store.clone(),
        clock,
        folder,
    };
    (store, bench)
}

/// Recordings of calls from the first to the last, a kilobyte each.
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

/// A change as that of a token is: of a document of its own.
async fn revoke(store: &SqliteStore, id: &str) -> Result<Applied, StoreError> {
    let change = Change {
        collection: "tokens".to_owned(),
        id: id.to_owned(),
        expect: Expect::Anything,
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
async fn recordings_take_their_part_of_the_file_and_the_oldest_go_first() {
    let (store, bench) = small();
    let limit = store.state().recordings_limit_bytes.unwrap();
    assert_eq!(limit, SMALLEST_SIZE_BYTES / 4);
    let mut largest = 0;
    for batch in 0..40 {
        note(&store, batch * 500..(batch + 1) * 500);
        store.flush().await.unwrap();
        largest = largest.max(fs::metadata(bench.file()).unwrap().len());
    }
    // Twice as much was noted as the whole file may hold.
    assert!(largest <= SMALLEST_SIZE_BYTES / 2, "{largest} bytes");
    let state = store.state();
    assert!(state.recordings_bytes <= limit + limit / 4, "{state:?}");
    assert!(!state.is_full);
    let kept = bench.recent(usize::MAX, false).await;
    assert!(kept.len() > 1000, "{}", kept.len());
    let newest = (0..20_000).rev().take(kept.len());
    assert_eq!(kept, newest.collect::<Vec<u128>>());
    assert_eq!(store.dropped(), 0);
}

#[tokio::test]
async fn what_recordings_take_is_known_whatever_becomes_of_them() {
    let (store, bench) = small();
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
    let other = Connection::open(bench.file()).unwrap();
    let both = "SELECT (SELECT recordings FROM sizes),
        (SELECT sum(octet_length(recording) + 256) FROM recordings)";
    let (known, taken): (i64, i64) = other
        .query_row(both, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(taken > 20_000);
    assert_eq!(known, taken);
}

#[tokio::test]
async fn outcomes_and_tokens_are_written_when_there_is_no_other_room_and_no_key_is_taken() {
    let (store, bench) = small();
    bench.finish(1, "before").await;
    let (lease, _) = bench.hold(2).await;
    store.limit_growth(Some(0)).await.unwrap();
    let large = "x".repeat(100_000);
    let completed = store.complete(completion(lease, &large)).await;
    assert!(
        matches!(completed, Ok(Completed::Recorded { .. })),
        "{completed:?}"
    );
    assert!(store.state().is_full);
    assert!(matches!(revoke(&store, "ann").await, Ok(Applied::All(_))));
    // Who has a key is answered, and who wants one is told why not.
    assert_eq!(store.claim(wish(3, 1)).await, Err(StoreError::Full));
    assert!(matches!(bench.claim(1, 1).await, Claimed::Replay(_)));
    assert!(matches!(bench.claim(2, 1).await, Claimed::Replay(_)));
    assert_eq!(bench.claim(2, 7).await, Claimed::Reused);
    // What is only noted takes none of it.
    note(&store, 0..100);
    assert_eq!(store.flush().await, Err(StoreError::Full));
    assert_eq!(bench.recent(9, false).await, [0; 0]);
    store.limit_growth(None).await.unwrap();
    until_not_full(&store).await;
    store.flush().await.unwrap();
    assert_eq!(bench.recent(usize::MAX, false).await.len(), 100);
    assert_eq!(bench.output(2).await, Some(large));
    bench.finish(3, "after").await;
}

#[tokio::test]
async fn recordings_give_way_to_outcomes() {
    let (store, bench) = small();
    note(&store, 0..2000);
    store.flush().await.unwrap();
    note(&store, 2000..3500);
    store.flush().await.unwrap();
    store.limit_growth(Some(0)).await.unwrap();
    let large = "x".repeat(500_000);
    for key in 1..=4 {
        bench.finish(key, &large).await;
        until_not_full(&store).await;
    }
    for key in 1..=4 {
        assert_eq!(bench.output(key).await.as_deref(), Some(&*large));
    }
    let kept = bench.recent(usize::MAX, false).await;
    assert_eq!(kept.first(), Some(&3499));
    assert!((100..3300).contains(&kept.len()), "{}", kept.len());
}

#[tokio::test]
async fn the_reserve_is_a_file_that_goes_when_there_is_no_room_and_comes_back() {
    let (store, bench) = small();
    let (lease, _) = bench.hold(1).await;
    let reserve = || fs::metadata(bench.folder.file("store.db-reserve")).map(|it| it.len());
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
