//! What a store says when its file is full, locked, damaged or away, and that it goes on by itself.

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
    Bench, Folder, HandClock, START_MS, at, count, keep, recording, sqlite, wish,
};

/// A store with its own type, and the same on a bench.
fn opened() -> (Arc<SqliteStore>, Bench) {
    let (clock, folder) = (HandClock::new(), Arc::new(Folder::new()));
    let store = SqliteStore::open(folder.file("store.db"), clock.clone()).unwrap();
    let store = Arc::new(store);
    let bench = Bench {
        store: store.clone(),
        clock,
        folder,
    };
    (store, bench)
}

fn locked(bench: &Bench) -> Connection {
    let other = Connection::open(bench.file()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    other
}

#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing() {
    let (store, bench) = opened();
    bench.finish(1, "before").await;
    let (lease, _) = bench.hold(2).await;
    store.limit_growth(Some(0)).await.unwrap();
    // More than there is in reserve.
    let large = "x".repeat(2 * usize::try_from(RESERVE_BYTES).unwrap());
    let completion = Completion {
        lease,
        attempts: 1,
        end: keep(&large),
        without_effect: false,
        recording: Some(Box::new(recording(8, START_MS, None))),
    };
    for _ in 0..3 {
        let completed = complete(&bench, &completion).await;
        assert_eq!(completed, Err(StoreError::Full));
    }
    assert_eq!(bench.output(1).await.as_deref(), Some("before"));
    assert!(matches!(bench.claim(2, 1).await, Claimed::InFlight { .. }));
    assert_eq!(bench.recent(9, false).await, [0; 0]);
    store.limit_growth(None).await.unwrap();
    assert_eq!(complete(&bench, &completion).await, Ok(()));
    assert_eq!(bench.output(2).await, Some(large));
    assert_eq!(bench.recent(9, false).await, [8]);
}

async fn complete(bench: &Bench, completion: &Completion) -> Result<(), StoreError> {
    bench.store.complete(completion.clone()).await.map(drop)
}

#[tokio::test]
async fn what_is_noted_while_the_disk_is_full_is_written_later() {
    let (store, bench) = opened();
    store.limit_growth(Some(0)).await.unwrap();
    let many = 1000;
    for call in 0..many {
        note(&bench, call);
    }
    assert_eq!(bench.store.flush().await, Err(StoreError::Full));
    bench.store.count(vec![count("a", None, 0, 9)]);
    assert_eq!(bench.store.flush().await, Err(StoreError::Full));
    store.limit_growth(None).await.unwrap();
    assert_eq!(bench.store.flush().await, Ok(()));
    assert_eq!(bench.recent(9999, false).await.len(), 1000);
    let counts = bench.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 9)]));
    assert_eq!(bench.store.dropped(), 0);
}

fn note(bench: &Bench, call: u128) {
    bench.store.note(recording(call, START_MS, None));
}

#[tokio::test]
async fn recordings_that_find_no_room_are_dropped_and_counted() {
    let bench = Bench::new(sqlite);
    let lock = locked(&bench);
    let more = 600;
    for call in 0..(NOTES_LIMIT as u128) + more {
        note(&bench, call);
    }
    // Up to one batch may be with the writer, which waits for the lock.
    let dropped = bench.store.dropped();
    assert!((600 - 512..=600).contains(&dropped), "{dropped}");
    drop(lock);
    bench.store.flush().await.unwrap();
    let written = bench.recent(usize::MAX, false).await.len() as u64;
    assert_eq!(written + dropped, NOTES_LIMIT as u64 + 600);
}

#[tokio::test]
async fn a_file_locked_by_another_is_said_and_goes_on() {
    let bench = Bench::new(sqlite);
    bench.finish(1, "1").await;
    let lock = locked(&bench);
    assert_eq!(bench.store.claim(wish(2, 1)).await, Err(StoreError::Locked));
    assert!(
        matches!(bench.claim(1, 1).await, Claimed::Replay(_)),
        "readers go on"
    );
    drop(lock);
    assert_eq!(bench.before(2).await, Before::Nothing);
}

#[tokio::test]
async fn a_lock_that_is_soon_gone_is_waited_for() {
    let bench = Bench::new(sqlite);
    let lock = locked(&bench);
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(lock);
    });
    assert_eq!(bench.before(1).await, Before::Nothing);
    holder.join().unwrap();
}

/// A closed file with many keys, and its store opened again after `damage` was done to it.
async fn damaged(damage: fn(&mut [u8])) -> (Bench, Vec<u8>) {
    let (clock, folder) = (HandClock::new(), Arc::new(Folder::new()));
    let path = folder.file("store.db");
    let filled = Bench {
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
    damage(&mut bad);
    fs::write(&path, bad).unwrap();
    let store = sqlite(&path, clock.clone());
    let bench = Bench {
        store,
        clock,
        folder,
    };
    (bench, good)
}

/// Overwrites everything behind the list of what the file holds.
fn overwrite(bytes: &mut [u8]) {
    bytes[2 * 4096..].fill(0xa5);
}

#[tokio::test]
async fn a_damaged_file_is_said_and_a_good_one_in_its_place_goes_on() {
    let (bench, good) = damaged(overwrite).await;
    for key in [1, 99] {
        let claimed = bench.store.claim(wish(key, 1)).await;
        assert_eq!(claimed, Err(StoreError::Damaged), "key {key}");
    }
    let kept = bench.store.kept(wish(1, 1).scope).await;
    assert_eq!(kept, Err(StoreError::Damaged));
    fs::write(bench.file(), good).unwrap();
    assert!(matches!(bench.claim(1, 1).await, Claimed::Replay(_)));
    assert_eq!(bench.before(99).await, Before::Nothing);
}

#[tokio::test]
async fn a_damaged_file_that_was_moved_away_is_begun_anew() {
    let (bench, _) = damaged(overwrite).await;
    let claimed = bench.store.claim(wish(1, 1)).await;
    assert_eq!(claimed, Err(StoreError::Damaged));
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(bench.folder.file(name));
    }
    assert_eq!(bench.before(1).await, Before::Nothing);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_went_away_is_not_begun_anew() {
    let bench = Bench::new(sqlite);
    bench.finish(1, "1").await;
    let away = bench.folder.file("away.db");
    let log = |file: &std::path::Path| file.with_extension("db-wal");
    fs::rename(bench.file(), &away).unwrap();
    fs::rename(log(&bench.file()), log(&away)).unwrap();
    for _ in 0..3 {
        let claimed = bench.store.claim(wish(2, 1)).await;
        assert_eq!(claimed, Err(StoreError::Unreachable));
    }
    assert!(!bench.file().exists());
    fs::rename(&away, bench.file()).unwrap();
    if log(&away).exists() {
        fs::rename(log(&away), log(&bench.file())).unwrap();
    }
    assert_eq!(bench.before(2).await, Before::Nothing);
    assert_eq!(bench.output(1).await.as_deref(), Some("1"));
}

#[cfg(unix)]
#[tokio::test]
async fn another_file_in_its_place_is_noticed() {
    let bench = Bench::new(sqlite);
    bench.finish(1, "old").await;
    let other = Bench::new(sqlite);
    other.finish(1, "new").await;
    other.finish(2, "new").await;
    let path = other.file();
    drop(other.store);
    for name in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(bench.folder.file(name)).unwrap();
    }
    fs::rename(path, bench.file()).unwrap();
    assert!(matches!(bench.claim(2, 1).await, Claimed::Replay(_)));
    assert_eq!(bench.output(1).await.as_deref(), Some("new"));
}

/// A clock that panics once when it is told to.
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
    let store = SqliteStore::open(folder.file("store.db"), clock.clone()).unwrap();
    let Ok(Claimed::Held { lease, .. }) = store.claim(wish(1, 1)).await else {
        panic!("the key is not held");
    };
    clock.0.store(true, Ordering::SeqCst);
    let extended = store.extend(lease, 1).await;
    assert_eq!(extended, Err(StoreError::Unreachable));
    assert_eq!(store.extend(lease, 1).await, Ok(true));
}
