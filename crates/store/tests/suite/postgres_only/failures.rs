//! Connections that are lost, and a database that stops.

use std::time::Duration;

use panpan_runtime::ports::{Claimed, Outcomes as _, StoreError};
use panpan_store::PostgresStore;
use panpan_testkit::PostgresServer;
use tokio::time::sleep;
use uuid::Uuid;

use super::{new_database, sql};
use crate::support::{START_MS, claim_request, recording};

/// Claims keys until one is granted; every other result must be one of these errors.
async fn until_granted(store: &PostgresStore, expected: &[StoreError]) -> Vec<StoreError> {
    let mut errors = Vec::new();
    for key in 1..=250 {
        match store.claim(claim_request(key, 1)).await {
            Ok(Claimed::Held { .. }) => return errors,
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(expected.contains(&error), "{error:?}");
                errors.push(error);
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("the store did not recover: {errors:?}");
}

#[tokio::test]
async fn a_stopped_server_is_reported_and_used_again_when_it_is_back() {
    let server = PostgresServer::start(&[]);
    let address = server.new_database().parse().unwrap();
    let store = PostgresStore::open(&address).unwrap();
    assert_eq!(until_granted(&store, &[]).await, []);
    server.stop();
    for key in 200..210 {
        let refused = store.claim(claim_request(key, 1)).await;
        assert_eq!(refused, Err(StoreError::Unreachable));
    }
    store.note(recording(7, START_MS, None));
    assert_eq!(store.flush().await, Err(StoreError::Unreachable));
    let shown = format!("{store:?}");
    assert!(!shown.contains(server.password()), "{shown}");
    server.start_again();
    // The first keys are those that were claimed before the stop.
    let claimed = loop {
        let claimed = store.claim(claim_request(220, 1)).await;
        if claimed != Err(StoreError::Unreachable) {
            break claimed.unwrap();
        }
        sleep(Duration::from_millis(20)).await;
    };
    assert!(matches!(claimed, Claimed::Held { .. }));
    // The recording was kept meanwhile.
    while store.find(Uuid::from_u128(7)).await.unwrap().is_none() {
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(store.dropped(), 0);
}

#[tokio::test]
async fn a_terminated_connection_is_replaced() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for key in 0..5 {
        let claimed = store.claim(claim_request(100 + key, 1)).await;
        assert!(
            matches!(
                claimed,
                Ok(Claimed::Held { .. }) | Err(StoreError::Unreachable)
            ),
            "{claimed:?}"
        );
        assert_ne!(sql(&address, terminate), "0");
    }
    until_granted(&store, &[StoreError::Unreachable]).await;
}

#[tokio::test]
async fn a_connection_that_is_terminated_while_it_waits_fails_its_caller_only() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    let name = address.to_string().rsplit('/').next().unwrap().to_owned();
    store.claim(claim_request(1, 1)).await.unwrap();
    // Another session holds the row for a while.
    let holder = std::thread::spawn(move || {
        let hold = "BEGIN; SELECT 1 FROM panpan.keys FOR UPDATE; SELECT pg_sleep(3); COMMIT";
        PostgresServer::shared().sql(&name, hold)
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' \
        AND pid <> pg_backend_pid()";
    while sql(&address, waiting) == "0" {
        sleep(Duration::from_millis(5)).await;
    }
    let blocked = store.claim(claim_request(1, 1));
    let terminate = async {
        let waiting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while sql(&address, waiting) == "0" {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let (blocked, ()) = tokio::join!(blocked, terminate);
    assert_eq!(blocked, Err(StoreError::Unreachable));
    let other = store.claim(claim_request(2, 1)).await;
    assert!(matches!(other, Ok(Claimed::Held { .. })));
    holder.join().unwrap();
}

#[tokio::test]
async fn tables_that_were_dropped_are_reported_and_not_created_again() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    sql(&address, "DROP SCHEMA panpan CASCADE");
    for _ in 0..2 {
        let refused = store.claim(claim_request(1, 1)).await;
        assert_eq!(refused, Err(StoreError::Unreachable));
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'panpan'";
    assert_eq!(sql(&address, schemas), "0");
}

#[tokio::test]
async fn a_damaged_row_fails_only_the_calls_that_read_it() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    for key in 1..=3 {
        store.claim(claim_request(key, 1)).await.unwrap();
    }
    sql(
        &address,
        "UPDATE panpan.keys SET generation = -1 WHERE scope = decode(repeat('02', 32), 'hex')",
    );
    let claims = [1, 2, 3].map(|key| store.claim(claim_request(key, 1)));
    let [first, second, third] = claims;
    let (first, second, third) = tokio::join!(first, second, third);
    assert!(matches!(first, Ok(Claimed::InFlight { .. })));
    assert_eq!(second, Err(StoreError::Damaged));
    assert!(matches!(third, Ok(Claimed::InFlight { .. })));
}

#[tokio::test]
async fn dropping_a_store_writes_pending_recordings() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    store.note(recording(7, START_MS, None));
    drop(store);
    assert_eq!(sql(&address, "SELECT count(*) FROM panpan.recordings"), "1");
}
