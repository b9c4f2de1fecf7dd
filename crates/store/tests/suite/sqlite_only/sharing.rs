//! Several stores on one file, in one process and in several.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use panpan_runtime::ports::{Before, Claimed, Completion, Outcomes};
use panpan_store::SqliteStore;

use crate::support::{
    Fixture, Folder, LEASE_MS, ManualClock, claim_request, keep, released, sqlite,
};

#[tokio::test]
async fn a_second_store_sees_the_leases_and_outcomes_of_the_first() {
    let first = Fixture::new(sqlite);
    let second = first.another(sqlite);
    let (lease, _) = first.hold(1).await;
    assert!(matches!(second.claim(1, 1).await, Claimed::InFlight { .. }));
    assert_eq!(second.claim(1, 2).await, Claimed::Reused);
    first.end(lease, 1, keep("1")).await;
    assert_eq!(second.output(1).await.as_deref(), Some("1"));
    second.reopen(1).await;
    assert_eq!(first.before(1).await, released(0));
}

#[tokio::test]
async fn a_second_store_takes_over_an_expired_lease() {
    let first = Fixture::new(sqlite);
    let second = first.another(sqlite);
    let (lease, _) = first.hold(1).await;
    first.clock.advance(LEASE_MS);
    let (newer, before) = second.hold(1).await;
    assert!(matches!(before, Before::Abandoned { .. }));
    assert!(newer.epoch > lease.epoch);
    assert_eq!(first.store.extend(lease, LEASE_MS).await, Ok(false));
}

#[test]
fn several_stores_can_create_one_file_at_the_same_time() {
    for _ in 0..10 {
        let folder = Folder::new();
        let clock = ManualClock::new();
        thread::scope(|threads| {
            for _ in 0..6 {
                threads
                    .spawn(|| SqliteStore::open(folder.path("store.db"), clock.clone()).unwrap());
            }
        });
    }
}

/// Set in child processes only: the file that the child opens.
const CHILD: &str = "PANPAN_STORE_TEST_FILE";
const CHILD_TEST: &str = "sqlite_only::sharing::child_process";
const KEYS: u8 = 100;

/// In a child process: claims every key, completes each key it gets, reports it, and waits to be killed.
#[tokio::test]
async fn child_process() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let store = SqliteStore::open(path, ManualClock::new()).unwrap();
    let me = std::process::id().to_string();
    for key in 0..KEYS {
        if let Claimed::Held { lease, .. } = store.claim(claim_request(key, 1)).await.unwrap() {
            let completion = Completion {
                lease,
                attempts: 1,
                end: keep(&me),
                without_effect: false,
                recording: None,
            };
            store.complete(completion).await.unwrap();
            println!("\nheld {key}");
        }
    }
    println!("\ndone");
    thread::park();
}

fn child(folder: &Folder) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD_TEST, "--nocapture", "--test-threads=1"])
        .env(CHILD, folder.path("store.db"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The keys that a child reported. It is killed when it is done or has reported `limit` keys; later reports
/// count too.
fn held_by(mut child: Child, limit: usize) -> (u32, Vec<u8>) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut held = Vec::new();
    for line in lines.map_while(Result::ok) {
        if let Some(key) = line.strip_prefix("held ") {
            held.push(key.parse::<u8>().unwrap());
        }
        if line == "done" || held.len() == limit {
            child.kill().unwrap();
        }
    }
    let id = child.id();
    child.wait().unwrap();
    (id, held)
}

#[tokio::test]
async fn only_one_of_many_processes_gets_a_key_and_no_outcome_is_lost() {
    let folder = Arc::new(Folder::new());
    let children: Vec<Child> = (0..4).map(|_| child(&folder)).collect();
    // The first child is killed while it works.
    let limits = [5, usize::MAX, usize::MAX, usize::MAX];
    let reports: Vec<_> = thread::scope(|threads| {
        let reports: Vec<_> = children
            .into_iter()
            .zip(limits)
            .map(|(child, limit)| threads.spawn(move || held_by(child, limit)))
            .collect();
        reports.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let clock = ManualClock::new();
    let fixture = Fixture {
        store: sqlite(&folder.path("store.db"), clock.clone()),
        clock,
        folder,
    };
    let mut all: Vec<u8> = Vec::new();
    for (process, held) in reports {
        for key in held {
            assert_eq!(fixture.output(key).await, Some(process.to_string()));
            assert!(!all.contains(&key), "key {key} was held twice");
            all.push(key);
        }
    }
    assert!(all.len() + 2 >= usize::from(KEYS) - 1, "only {all:?}");
    let again = fixture.store.claim(claim_request(all[0], 1)).await.unwrap();
    assert!(matches!(again, Claimed::Replay(_)));
}
