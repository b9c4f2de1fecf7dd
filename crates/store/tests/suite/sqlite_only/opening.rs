//! Which files are opened, which are refused, and what is there after opening again.

use std::fs;
use std::path::Path;

use panpan_failure::codes;
use panpan_runtime::ports::{Applied, Change, Claimed, Expect};
use panpan_store::{OpenError, SqliteStore};
use rusqlite::Connection;
use serde_json::json;
use uuid::Uuid;

use crate::support::{Bench, Folder, HandClock, START_MS, at, count, recording, released, sqlite};

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, HandClock::new())
}

/// Opening is refused with this, and the sentence names the file and what to do.
fn check(path: &Path, is_expected: fn(&OpenError) -> bool, advice: &str) {
    let refused = open(path).unwrap_err();
    let sentence = refused.to_string();
    assert!(is_expected(&refused), "{refused:?}");
    assert!(sentence.contains(advice), "{sentence}");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(sentence.contains(name), "{sentence}");
}

/// Leaves one of everything in the store.
async fn fill(bench: &Bench) {
    bench.finish(1, "one").await;
    bench.reopen(1).await;
    bench.finish(1, "two").await;
    bench.release(2, 3).await;
    bench.hold(3).await;
    let failed = Some(codes::ERR_TIMEOUT);
    bench.note([recording(7, START_MS, failed)]).await;
    bench.count(vec![count("a", None, 0, 5)]).await;
    let change = Change {
        collection: "files".to_owned(),
        id: "a".to_owned(),
        expect: Expect::Absent,
        body: Some(json!({"b": 1})),
    };
    let applied = bench.store.apply(vec![change]).await;
    assert_eq!(applied, Ok(Applied::All(vec![Some(1)])));
}

/// Finds what [`fill`] left.
async fn check_filled(bench: &Bench) {
    assert_eq!(bench.output(1).await.as_deref(), Some("two"));
    assert_eq!(bench.earlier(1).await, ["one"]);
    assert_eq!(bench.before(2).await, released(3));
    assert!(matches!(bench.claim(3, 1).await, Claimed::InFlight { .. }));
    let call = Uuid::from_u128(7);
    assert!(bench.store.find(call).await.unwrap().is_some());
    let counts = bench.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 5)]));
    let document = bench.store.get("files", "a").await.unwrap().unwrap();
    assert_eq!((document.version, document.body), (1, json!({"b": 1})));
}

#[tokio::test]
async fn everything_is_there_when_the_file_is_opened_again() {
    let Bench {
        store,
        clock,
        folder,
    } = {
        let bench = Bench::new(sqlite);
        fill(&bench).await;
        bench
    };
    drop(store);
    let path = folder.file("store.db");
    assert!(!folder.file("store.db-wal").exists(), "the log is left");
    let store = sqlite(&path, clock.clone());
    let bench = Bench {
        store,
        clock,
        folder,
    };
    check_filled(&bench).await;
}

#[tokio::test]
async fn what_was_noted_is_written_before_the_store_is_gone() {
    let bench = Bench::new(sqlite);
    let other = bench.beside(sqlite);
    for call in 0..1500 {
        other.store.note(recording(call, START_MS, None));
    }
    other.store.count(vec![count("a", None, 0, 9)]);
    drop(other);
    assert_eq!(bench.recent(9999, false).await.len(), 1500);
    let counts = bench.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 9)]));
}

#[tokio::test]
async fn a_log_left_by_a_process_that_was_killed_is_recovered() {
    let bench = Bench::new(sqlite);
    fill(&bench).await;
    // As a killed process leaves it: the log is not written into the file, and nobody holds it.
    for name in ["store.db", "store.db-wal", "store.db-reserve"] {
        let copy = bench.folder.file(&name.replace("store", "copy"));
        fs::copy(bench.folder.file(name), copy).unwrap();
    }
    assert!(
        fs::metadata(bench.folder.file("copy.db-wal"))
            .unwrap()
            .len()
            > 0
    );
    let copy = Bench {
        store: sqlite(&bench.folder.file("copy.db"), bench.clock.clone()),
        ..bench.clone()
    };
    check_filled(&copy).await;
}

#[test]
fn missing_folders_are_made() {
    let folder = Folder::new();
    let path = folder.file("some/where/deep/store.db");
    drop(open(&path).unwrap());
    assert!(path.is_file());
}

#[cfg(unix)]
#[test]
fn a_new_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| {
        let permissions = fs::metadata(folder.file(name)).unwrap().permissions();
        permissions.mode() & 0o777
    };
    let store = open(&folder.file("store.db")).unwrap();
    assert_eq!(mode("store.db"), 0o600);
    assert_eq!(mode("store.db-wal"), 0o600);
    // The thread that writes makes the reserve, and has ended then.
    drop(store);
    assert_eq!(mode("store.db-reserve"), 0o600);
}

#[test]
fn an_empty_file_is_begun() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    fs::write(&path, "").unwrap();
    drop(open(&path).unwrap());
    drop(open(&path).unwrap());
}

#[test]
fn a_folder_is_refused() {
    let folder = Folder::new();
    let path = folder.file("a-folder");
    fs::create_dir(&path).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::IsFolder { .. }),
        "a file in it",
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let folder = Folder::new();
    fs::write(folder.file("a-file"), "").unwrap();
    let path = folder.file("a-file/store.db");
    check(
        &path,
        |error| matches!(error, OpenError::Folder { .. }),
        "another place",
    );
}

/// A place where even the administrator cannot make files.
#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_to_is_refused() {
    let path = Path::new("/proc/store.db");
    check(
        path,
        |error| matches!(error, OpenError::NotWritable { .. }),
        "permissions",
    );
}

#[test]
fn what_is_not_a_database_is_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.file("letter.txt");
    let letter = "Dear Ada, ".repeat(1000);
    fs::write(&path, &letter).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::NotADatabase { .. }),
        "another file",
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.file("theirs.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE a (b)").unwrap();
    drop(theirs);
    let before = fs::read(&path).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::OtherApplication { .. }),
        "another file",
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_version_is_refused() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    drop(open(&path).unwrap());
    let file = Connection::open(&path).unwrap();
    file.pragma_update(None, "user_version", 1000).unwrap();
    drop(file);
    let is_newer = |error: &OpenError| matches!(error, OpenError::NewerVersion { found: 1000, .. });
    check(&path, is_newer, "newer program");
}

#[test]
fn a_file_locked_by_another_is_refused() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::Locked { .. }),
        "end that process",
    );
    drop(other);
    drop(open(&path).unwrap());
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    drop(open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    // The first page behind the header of the file: the list of what the file holds.
    bytes[100..1000].fill(0xff);
    fs::write(&path, bytes).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::Damaged { .. }),
        "backup",
    );
}
