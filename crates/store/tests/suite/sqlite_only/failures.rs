//! Errors when the file is full, locked, damaged or missing, and recovery from them.

use std::fs;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{Before, Claimed, Clock, Completion, Outcomes, StoreError};
use panpan_store::{NOTES_LIMIT, RESERVE_BYTES, SqliteStore};
use rusqlite::Connection;

use crate::support::{
    Fixture, Folder, ManualClock, START_MS, at, claim_request, count, keep, recording, sqlite,
};

/// A store with its concrete type, and a fixture around it.
fn opened() -> (Arc<SqliteStore>, Fixture) {
    let (clock, folder) = (ManualClock::new(), Arc::new(Folder::new()));
    let store = SqliteStore::open(folder.path("store.db"), clock.clone()).unwrap();
    let store = Arc::new(store);
    let fixture = Fixture {
        store: store.clone(),
        clock,
        folder,
    };
    (store, fixture)
}

fn locked(fixture: &Fixture) -> Connection {
    let other = Connection::open(fixture.file()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    other
}

#[tokio::test]
async fn a_full_disk_is_reported_and_loses_nothing() {
    let (store, fixture) = opened();
    fixture.finish(1, "before").await;
    let (lease, _) = fixture.hold(2).await;
    store.limit_growth(Some(0)).await.unwrap();
    // Larger than the reserve.
    let large = "x".repeat(2 * usize::try_from(RESERVE_BYTES).unwrap());
    let completion = Completion {
        lease,
        attempts: 1,
        end: keep(&large),
        without_effect: false,
        recording: Some(Box::new(recording(8, START_MS, None))),
    };
    for _ in 0..3 {
        let completed = complete(&fixture, &completion).await;
        assert_eq!(completed, Err(StoreError::Full));
    }
    assert_eq!(fixture.output(1).await.as_deref(), Some("before"));
    assert!(matches!(
        fixture.claim(2, 1).await,
        Claimed::InFlight { .. }
    ));
    assert_eq!(fixture.recent(9, false).await, [0; 0]);
    store.limit_growth(None).await.unwrap();
    assert_eq!(complete(&fixture, &completion).await, Ok(()));
    assert_eq!(fixture.output(2).await, Some(large));
    assert_eq!(fixture.recent(9, false).await, [8]);
}

async fn complete(fixture: &Fixture, completion: &Completion) -> Result<(), StoreError> {
    fixture.store.complete(completion.clone()).await.map(drop)
}

#[tokio::test]
async fn recordings_made_while_the_disk_is_full_are_written_later() {
    let (store, fixture) = opened();
    store.limit_growth(Some(0)).await.unwrap();
    let many = 1000;
    for call in 0..many {
        note(&fixture, call);
    }
    assert_eq!(fixture.store.flush().await, Err(StoreError::Full));
    fixture.store.count(vec![count("a", None, 0, 9)]);
    assert_eq!(fixture.store.flush().await, Err(StoreError::Full));
    store.limit_growth(None).await.unwrap();
    assert_eq!(fixture.store.flush().await, Ok(()));
    assert_eq!(fixture.recent(9999, false).await.len(), 1000);
    let counts = fixture.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 9)]));
    assert_eq!(fixture.store.dropped(), 0);
}

fn note(fixture: &Fixture, call: u128) {
    fixture.store.note(recording(call, START_MS, None));
}

#[tokio::test]
async fn recordings_beyond_the_queue_limit_are_dropped_and_counted() {
    let fixture = Fixture::new(sqlite);
    let lock = locked(&fixture);
    let more = 600;
    for call in 0..(NOTES_LIMIT as u128) + more {
        note(&fixture, call);
    }
    // The writer, which waits for the lock, may have taken one batch.
    let dropped = fixture.store.dropped();
    assert!((600 - 512..=600).contains(&dropped), "{dropped}");
    drop(lock);
    fixture.store.flush().await.unwrap();
    let written = fixture.recent(usize::MAX, false).await.len() as u64;
    assert_eq!(written + dropped, NOTES_LIMIT as u64 + 600);
}

#[tokio::test]
async fn a_lock_of_another_process_is_reported_and_the_store_recovers() {
    let fixture = Fixture::new(sqlite);
    fixture.finish(1, "1").await;
    let lock = locked(&fixture);
    assert_eq!(
        fixture.store.claim(claim_request(2, 1)).await,
        Err(StoreError::Locked)
    );
    assert!(
        matches!(fixture.claim(1, 1).await, Claimed::Replay(_)),
        "readers go on"
    );
    drop(lock);
    assert_eq!(fixture.before(2).await, Before::Nothing);
}

#[tokio::test]
async fn the_writer_waits_for_a_short_lock() {
    let fixture = Fixture::new(sqlite);
    let lock = locked(&fixture);
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(lock);
    });
    assert_eq!(fixture.before(1).await, Before::Nothing);
    holder.join().unwrap();
}

/// Creates a file with many keys, overwrites everything but the schema in the closed file, and opens it again. Also
/// returns the good bytes.
async fn damaged() -> (Fixture, Vec<u8>) {
    let (clock, folder) = (ManualClock::new(), Arc::new(Folder::new()));
    let (path, empty) = (folder.path("store.db"), folder.path("empty.db"));
    drop(sqlite(&empty, clock.clone()));
    let schema_bytes = fs::read(&empty).unwrap().len();
    let filled = Fixture {
        store: sqlite(&path, clock.clone()),
        clock: clock.clone(),
        folder: folder.clone(),
    };
    for key in 0..50 {
        filled.finish(key, &"x".repeat(2000)).await;
    }
    drop(filled);
    let good = fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad[schema_bytes..].fill(0xa5);
    fs::write(&path, bad).unwrap();
    let store = sqlite(&path, clock.clone());
    let fixture = Fixture {
        store,
        clock,
        folder,
    };
    (fixture, good)
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_a_restored_file_is_used() {
    let (fixture, good) = damaged().await;
    for key in [1, 99] {
        let claimed = fixture.store.claim(claim_request(key, 1)).await;
        assert_eq!(claimed, Err(StoreError::Damaged), "key {key}");
    }
    let kept = fixture.store.kept(claim_request(1, 1).scope).await;
    assert_eq!(kept, Err(StoreError::Damaged));
    fs::write(fixture.file(), good).unwrap();
    assert!(matches!(fixture.claim(1, 1).await, Claimed::Replay(_)));
    assert_eq!(fixture.before(99).await, Before::Nothing);
}

#[tokio::test]
async fn a_damaged_file_that_was_removed_is_created_again() {
    let (fixture, _) = damaged().await;
    let claimed = fixture.store.claim(claim_request(1, 1)).await;
    assert_eq!(claimed, Err(StoreError::Damaged));
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(fixture.folder.path(name));
    }
    assert_eq!(fixture.before(1).await, Before::Nothing);
}

#[cfg(unix)]
#[tokio::test]
async fn a_missing_file_is_not_created_again() {
    let fixture = Fixture::new(sqlite);
    fixture.finish(1, "1").await;
    let away = fixture.folder.path("away.db");
    let log = |file: &std::path::Path| file.with_extension("db-wal");
    fs::rename(fixture.file(), &away).unwrap();
    fs::rename(log(&fixture.file()), log(&away)).unwrap();
    for _ in 0..3 {
        let claimed = fixture.store.claim(claim_request(2, 1)).await;
        assert_eq!(claimed, Err(StoreError::Unreachable));
    }
    assert!(!fixture.file().exists());
    fs::rename(&away, fixture.file()).unwrap();
    if log(&away).exists() {
        fs::rename(log(&away), log(&fixture.file())).unwrap();
    }
    assert_eq!(fixture.before(2).await, Before::Nothing);
    assert_eq!(fixture.output(1).await.as_deref(), Some("1"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_replaced_file_is_noticed() {
    let fixture = Fixture::new(sqlite);
    fixture.finish(1, "old").await;
    let other = Fixture::new(sqlite);
    other.finish(1, "new").await;
    other.finish(2, "new").await;
    let path = other.file();
    drop(other.store);
    for name in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(fixture.folder.path(name)).unwrap();
    }
    fs::rename(path, fixture.file()).unwrap();
    assert!(matches!(fixture.claim(2, 1).await, Claimed::Replay(_)));
    assert_eq!(fixture.output(1).await.as_deref(), Some("new"));
}

/// A clock that panics once when its flag is set.
#[derive(Debug)]
struct BrokenClock(AtomicBool);

impl Clock for BrokenClock {
    fn now(&self) -> Timestamp {
        assert!(
            !self.0.swap(false, Ordering::SeqCst),
            "this clock is broken"
        );
        at(START_MS)
    }

    fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}

#[tokio::test]
async fn a_panic_does_not_end_the_writer() {
    let folder = Folder::new();
    let clock = Arc::new(BrokenClock(AtomicBool::new(false)));
    let store = SqliteStore::open(folder.path("store.db"), clock.clone()).unwrap();
    let Ok(Claimed::Held { lease, .. }) = store.claim(claim_request(1, 1)).await else {
        panic!("the key is not held");
    };
    clock.0.store(true, Ordering::SeqCst);
    let extended = store.extend(lease, 1).await;
    assert_eq!(extended, Err(StoreError::Unreachable));
    assert_eq!(store.extend(lease, 1).await, Ok(true));
}
