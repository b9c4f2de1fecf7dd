//! A failure of one part does not affect other parts.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use panpan_failure::codes;
use panpan_runtime::ports::{Claimed, Outcomes as _, StoreError};
use panpan_store::SqliteStore;
use rusqlite::Connection;

use crate::support::{
    Fixture, Folder, ManualClock, START_MS, claim_request, count, recording, sqlite,
};

#[tokio::test]
async fn recordings_do_not_take_the_space_of_keys() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.path("store.db"), ManualClock::new()).unwrap();
    store.limit_growth(Some(60 * 4096)).await.unwrap();
    for call in 0..64 {
        let mut note = recording(call, START_MS, Some(codes::ERR_TIMEOUT));
        note.operation = "x".repeat(15_000);
        store.note(note);
    }
    let claimed = store.claim(claim_request(1, 1)).await;
    assert!(matches!(claimed, Ok(Claimed::Held { .. })), "{claimed:?}");
}

#[tokio::test]
async fn a_damaged_row_fails_only_calls_that_read_it() {
    let fixture = Fixture::new(sqlite);
    fixture.finish(1, "1").await;
    let other = Connection::open(fixture.file()).unwrap();
    let changed = other.execute("UPDATE keys SET outcome_kind = 9", []);
    assert_eq!(changed.unwrap(), 1);
    let claims = (1..20).map(|key| {
        let store = fixture.store.clone();
        tokio::spawn(async move { (key, store.claim(claim_request(key, 1)).await) })
    });
    for claim in claims.collect::<Vec<_>>() {
        let (key, claimed) = claim.await.unwrap();
        match key {
            1 => assert_eq!(claimed, Err(StoreError::Damaged)),
            _ => assert!(matches!(claimed, Ok(Claimed::Held { .. })), "{claimed:?}"),
        }
    }
}

/// Writes unusual values into every column of a row, as far as the table accepts them.
#[tokio::test]
async fn a_damaged_row_never_causes_a_panic() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        usual(panic);
    }));
    let fixture = Fixture::new(sqlite);
    fixture.finish(1, "1").await;
    let other = Connection::open(fixture.file()).unwrap();
    other
        .execute("CREATE TABLE whole AS SELECT * FROM keys", [])
        .unwrap();
    let columns: Vec<String> = {
        let mut listed = other
            .prepare("SELECT name FROM pragma_table_info('keys')")
            .unwrap();
        let names = listed.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let mut changed = 0;
    for column in &columns {
        for value in [
            "NULL",
            "-1",
            "9223372036854775807",
            "''",
            "'{'",
            "x'00ff'",
            "9e99",
            "'[[1]]'",
        ] {
            let is_taken = other.execute(&format!("UPDATE keys SET {column} = {value}"), []);
            if is_taken.is_ok_and(|rows| rows > 0) {
                changed += 1;
                let _ = fixture.store.claim(claim_request(1, 1)).await;
                let _ = fixture.store.claim(claim_request(1, 2)).await;
            }
            other.execute("DELETE FROM keys", []).unwrap();
            other
                .execute("INSERT INTO keys SELECT * FROM whole", [])
                .unwrap();
        }
    }
    assert!(changed > columns.len(), "{changed}");
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

#[test]
fn a_store_whose_file_is_missing_can_be_dropped() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.path("store.db"), ManualClock::new()).unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        fs::remove_file(folder.path(name)).unwrap();
    }
    store.count(vec![count("a/b", None, 0, 1)]);
    store.note(recording(1, START_MS, None));
    let (ends, ended) = mpsc::channel();
    std::thread::spawn(move || {
        drop(store);
        ends.send(()).unwrap();
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(()));
}
