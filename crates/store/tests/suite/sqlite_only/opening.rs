//! Opening files: which are accepted, which are refused, and that data survives.

use std::fs;
use std::path::Path;

use panpan_failure::codes;
use panpan_runtime::ports::{Applied, Change, Claimed, ExpectedState};
use panpan_store::{OpenError, SqliteStore};
use rusqlite::Connection;
use serde_json::json;
use uuid::Uuid;

use crate::support::{
    Fixture, Folder, ManualClock, START_MS, at, count, recording, released, sqlite,
};

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, ManualClock::new())
}

/// Opening must fail with this error, whose message names the file and the advice.
fn check(path: &Path, is_expected: fn(&OpenError) -> bool, advice: &str) {
    let refused = open(path).unwrap_err();
    let message = refused.to_string();
    assert!(is_expected(&refused), "{refused:?}");
    assert!(message.contains(advice), "{message}");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(message.contains(name), "{message}");
}

/// Writes one of everything into the store.
async fn fill(fixture: &Fixture) {
    fixture.finish(1, "one").await;
    fixture.reopen(1).await;
    fixture.finish(1, "two").await;
    fixture.release(2, 3).await;
    fixture.hold(3).await;
    let failed = Some(codes::ERR_TIMEOUT);
    fixture.note([recording(7, START_MS, failed)]).await;
    fixture.count(vec![count("a", None, 0, 5)]).await;
    let change = Change {
        collection: "files".to_owned(),
        id: "a".to_owned(),
        expect: ExpectedState::Absent,
        body: Some(json!({"b": 1})),
    };
    let applied = fixture.store.apply(vec![change]).await;
    assert_eq!(applied, Ok(Applied::All(vec![Some(1)])));
}

/// Checks for the data that [`fill`] wrote.
async fn check_filled(fixture: &Fixture) {
    assert_eq!(fixture.output(1).await.as_deref(), Some("two"));
    assert_eq!(fixture.earlier(1).await, ["one"]);
    assert_eq!(fixture.before(2).await, released(3));
    assert!(matches!(
        fixture.claim(3, 1).await,
        Claimed::InFlight { .. }
    ));
    let call = Uuid::from_u128(7);
    assert!(fixture.store.find(call).await.unwrap().is_some());
    let counts = fixture.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 5)]));
    let document = fixture.store.get("files", "a").await.unwrap().unwrap();
    assert_eq!((document.version, document.body), (1, json!({"b": 1})));
}

#[tokio::test]
async fn everything_survives_reopening_the_file() {
    let Fixture {
        store,
        clock,
        folder,
    } = {
        let fixture = Fixture::new(sqlite);
        fill(&fixture).await;
        fixture
    };
    drop(store);
    let path = folder.path("store.db");
    assert!(!folder.path("store.db-wal").exists(), "the log is left");
    let store = sqlite(&path, clock.clone());
    let fixture = Fixture {
        store,
        clock,
        folder,
    };
    check_filled(&fixture).await;
}

#[tokio::test]
async fn dropping_the_store_writes_pending_recordings_and_counts() {
    let fixture = Fixture::new(sqlite);
    let other = fixture.another(sqlite);
    for call in 0..1500 {
        other.store.note(recording(call, START_MS, None));
    }
    other.store.count(vec![count("a", None, 0, 9)]);
    drop(other);
    assert_eq!(fixture.recent(9999, false).await.len(), 1500);
    let counts = fixture.store.counts(at(0)).await;
    assert_eq!(counts, Ok(vec![count("a", None, 0, 9)]));
}

#[tokio::test]
async fn the_log_of_a_killed_process_is_recovered() {
    let fixture = Fixture::new(sqlite);
    fill(&fixture).await;
    // The state that a killed process leaves: the log is not checkpointed, and no process has it open.
    for name in ["store.db", "store.db-wal", "store.db-reserve"] {
        let copy = fixture.folder.path(&name.replace("store", "copy"));
        fs::copy(fixture.folder.path(name), copy).unwrap();
    }
    assert!(
        fs::metadata(fixture.folder.path("copy.db-wal"))
            .unwrap()
            .len()
            > 0
    );
    let copy = Fixture {
        store: sqlite(&fixture.folder.path("copy.db"), fixture.clock.clone()),
        ..fixture.clone()
    };
    check_filled(&copy).await;
}

#[test]
fn missing_folders_are_created() {
    let folder = Folder::new();
    let path = folder.path("some/where/deep/store.db");
    drop(open(&path).unwrap());
    assert!(path.is_file());
}

#[cfg(unix)]
#[test]
fn a_new_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| {
        let permissions = fs::metadata(folder.path(name)).unwrap().permissions();
        permissions.mode() & 0o777
    };
    let store = open(&folder.path("store.db")).unwrap();
    assert_eq!(mode("store.db"), 0o600);
    assert_eq!(mode("store.db-wal"), 0o600);
    // The writer thread creates the reserve file, and has ended after the drop.
    drop(store);
    assert_eq!(mode("store.db-reserve"), 0o600);
}

#[test]
fn an_empty_file_is_initialised() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    fs::write(&path, "").unwrap();
    drop(open(&path).unwrap());
    drop(open(&path).unwrap());
}

#[test]
fn a_folder_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a-folder");
    fs::create_dir(&path).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::IsFolder { .. }),
        "a file in it",
    );
}

#[test]
fn a_folder_that_cannot_be_created_is_refused() {
    let folder = Folder::new();
    fs::write(folder.path("a-file"), "").unwrap();
    let path = folder.path("a-file/store.db");
    check(
        &path,
        |error| matches!(error, OpenError::Folder { .. }),
        "another path",
    );
}

/// A path where even root cannot create files.
#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_writable_is_refused() {
    let path = Path::new("/proc/store.db");
    check(
        path,
        |error| matches!(error, OpenError::NotWritable { .. }),
        "permissions",
    );
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_unchanged() {
    let folder = Folder::new();
    let path = folder.path("text.txt");
    let text = "Dear Ada, ".repeat(1000);
    fs::write(&path, &text).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::NotADatabase { .. }),
        "another file",
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn the_database_of_another_program_is_refused_and_unchanged() {
    let folder = Folder::new();
    let path = folder.path("theirs.db");
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
    let path = folder.path("store.db");
    drop(open(&path).unwrap());
    let file = Connection::open(&path).unwrap();
    file.pragma_update(None, "user_version", 1000).unwrap();
    drop(file);
    let is_newer = |error: &OpenError| matches!(error, OpenError::NewerVersion { found: 1000, .. });
    check(&path, is_newer, "newer version");
}

#[test]
fn a_file_locked_by_another_process_is_refused() {
    let folder = Folder::new();
    let path = folder.path("store.db");
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
    let path = folder.path("store.db");
    drop(open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    // The first page after the file header contains the schema.
    bytes[100..1000].fill(0xff);
    fs::write(&path, bytes).unwrap();
    check(
        &path,
        |error| matches!(error, OpenError::Damaged { .. }),
        "backup",
    );
}
