//! Several stores over one file, in one process and in several.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use panpan_runtime::ports::{Before, Claimed, Completion, Outcomes};
use panpan_store::SqliteStore;

use crate::support::{Bench, Folder, HandClock, LEASE_MS, keep, released, sqlite, wish};

#[tokio::test]
async fn a_second_store_sees_what_the_first_holds_and_finished() {
    let first = Bench::new(sqlite);
    let second = first.beside(sqlite);
    let (lease, _) = first.hold(1).await;
    assert!(matches!(second.claim(1, 1).await, Claimed::InFlight { .. }));
    assert_eq!(second.claim(1, 2).await, Claimed::Reused);
    first.end(lease, 1, keep("1")).await;
    assert_eq!(second.output(1).await.as_deref(), Some("1"));
    second.reopen(1).await;
    assert_eq!(first.before(1).await, released(0));
}

#[tokio::test]
async fn a_lease_of_one_store_is_taken_over_by_another() {
    let first = Bench::new(sqlite);
    let second = first.beside(sqlite);
    let (lease, _) = first.hold(1).await;
    first.clock.pass(LEASE_MS);
    let (newer, before) = second.hold(1).await;
    assert!(matches!(before, Before::Abandoned { .. }));
    assert!(newer.epoch > lease.epoch);
    assert_eq!(first.store.extend(lease, LEASE_MS).await, Ok(false));
}

#[test]
fn stores_that_begin_one_file_together_all_open_it() {
    for _ in 0..10 {
        let folder = Folder::new();
        let clock = HandClock::new();
        thread::scope(|threads| {
            for _ in 0..6 {
                threads
                    .spawn(|| SqliteStore::open(folder.file("store.db"), clock.clone()).unwrap());
            }
        });
    }
}

/// The name under which the next test runs as a process of its own, which opens the file named here.
const CHILD: &str = "PANPAN_STORE_TEST_FILE";
const CHILD_TEST: &str = "sqlite_only::sharing::a_process_of_its_own";
const KEYS: u8 = 100;

/// Only as a child: claims every key, finishes each it holds, says so, and waits to be killed.
#[tokio::test]
async fn a_process_of_its_own() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let store = SqliteStore::open(path, HandClock::new()).unwrap();
    let me = std::process::id().to_string();
    for key in 0..KEYS {
        if let Claimed::Held { lease, .. } = store.claim(wish(key, 1)).await.unwrap() {
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
        .env(CHILD, folder.file("store.db"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The keys a child says it held. It is killed once it is done or held so many; what it had said by then counts
/// too.
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
async fn of_many_processes_one_holds_a_key_and_nothing_said_is_lost() {
    let folder = Arc::new(Folder::new());
    let children: Vec<Child> = (0..4).map(|_| child(&folder)).collect();
    // The first is killed in the middle of its work.
    let limits = [5, usize::MAX, usize::MAX, usize::MAX];
    let said: Vec<_> = thread::scope(|threads| {
        let said: Vec<_> = children
            .into_iter()
            .zip(limits)
            .map(|(child, limit)| threads.spawn(move || held_by(child, limit)))
            .collect();
        said.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let clock = HandClock::new();
    let bench = Bench {
        store: sqlite(&folder.file("store.db"), clock.clone()),
        clock,
        folder,
    };
    let mut all: Vec<u8> = Vec::new();
    for (process, held) in said {
        for key in held {
            assert_eq!(bench.output(key).await, Some(process.to_string()));
            assert!(!all.contains(&key), "key {key} was held twice");
            all.push(key);
        }
    }
    assert!(all.len() + 2 >= usize::from(KEYS) - 1, "only {all:?}");
    let again = bench.store.claim(wish(all[0], 1)).await.unwrap();
    assert!(matches!(again, Claimed::Replay(_)));
}
