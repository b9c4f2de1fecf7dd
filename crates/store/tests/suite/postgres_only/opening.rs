//! Opening a database: migrations, and every way in which it fails.

use std::thread;

use panpan_runtime::ports::{Claimed, Outcomes as _};
use panpan_store::{PostgresAddress, PostgresOpenError, PostgresStore};
use panpan_testkit::PostgresServer;

use super::{name, new_database, sql};
use crate::support::claim_request;

/// The error of opening this address, which must not show the password.
fn refusal(address: &str) -> PostgresOpenError {
    let address: PostgresAddress = address.parse().unwrap();
    let error = PostgresStore::open(&address).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    error
}

#[test]
fn stores_that_are_opened_at_the_same_time_migrate_once() {
    for _ in 0..4 {
        let address = new_database();
        thread::scope(|threads| {
            let open = || PostgresStore::open(&address).unwrap();
            let stores: Vec<_> = (0..8).map(|_| threads.spawn(open)).collect();
            stores.into_iter().for_each(|it| drop(it.join().unwrap()));
        });
        assert_eq!(
            sql(&address, "SELECT version FROM panpan.store_version"),
            "2"
        );
    }
}

#[tokio::test]
async fn everything_survives_opening_the_database_again() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    let claimed = store.claim(claim_request(1, 1)).await.unwrap();
    assert!(matches!(claimed, Claimed::Held { .. }));
    drop(store);
    let store = PostgresStore::open(&address).unwrap();
    let claimed = store.claim(claim_request(1, 2)).await.unwrap();
    assert_eq!(claimed, Claimed::Reused);
}

#[test]
fn a_newer_version_is_refused() {
    let address = new_database();
    drop(PostgresStore::open(&address).unwrap());
    sql(&address, "UPDATE panpan.store_version SET version = 99");
    match PostgresStore::open(&address).unwrap_err() {
        PostgresOpenError::NewerVersion { found, known, .. } => assert_eq!((found, known), (99, 2)),
        other => panic!("{other}"),
    }
}

#[test]
fn the_schema_of_another_program_is_refused_and_unchanged() {
    let address = new_database();
    sql(
        &address,
        "CREATE SCHEMA panpan; CREATE TABLE panpan.keys (a integer)",
    );
    let refused = PostgresStore::open(&address).unwrap_err();
    assert!(matches!(
        refused,
        PostgresOpenError::OtherApplication { .. }
    ));
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'panpan'";
    assert_eq!(sql(&address, tables), "1");
}

#[test]
fn the_search_path_of_the_user_does_not_matter() {
    let address = new_database();
    let database = name(&address);
    let set = format!("ALTER DATABASE {database} SET search_path = nowhere");
    sql(&address, &set);
    drop(PostgresStore::open(&address).unwrap());
    drop(PostgresStore::open(&address).unwrap());
}

#[test]
fn a_server_that_does_not_listen_is_unreachable() {
    let refused = refusal("postgres://app:hunter2@127.0.0.1:1/main");
    assert!(
        matches!(refused, PostgresOpenError::Unreachable { .. }),
        "{refused}"
    );
    assert!(
        refused
            .to_string()
            .contains("postgres://app@127.0.0.1:1/main")
    );
}

#[test]
fn a_database_that_does_not_exist_is_named() {
    let server = PostgresServer::shared();
    let refused = refusal(&server.address("panpan", "hunter2", "missing"));
    assert!(
        matches!(refused, PostgresOpenError::UnknownDatabase { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("/missing"));
}

#[test]
fn a_wrong_password_and_missing_permissions_are_reported() {
    let (server, address) = (PostgresServer::shared(), new_database());
    let database = name(&address);
    server.sql("postgres", "CREATE ROLE guarded LOGIN PASSWORD 'hunter2'");
    let refused = refusal(&server.address("guarded", "not-hunter2", &database));
    assert!(
        matches!(refused, PostgresOpenError::NotAuthenticated { .. }),
        "{refused}"
    );
    // The user may connect, but not create a schema.
    let right = server.address("guarded", "hunter2", &database);
    let refused = refusal(&right);
    assert!(
        matches!(refused, PostgresOpenError::NotPermitted { .. }),
        "{refused}"
    );
    // An administrator may create the schema for it.
    server.sql(&database, "CREATE SCHEMA panpan AUTHORIZATION guarded");
    drop(PostgresStore::open(&right.parse().unwrap()).unwrap());
}

#[test]
fn a_read_only_database_is_refused() {
    let address = new_database();
    let database = name(&address);
    let set = format!("ALTER DATABASE {database} SET default_transaction_read_only = on");
    sql(&address, &set);
    let refused = PostgresStore::open(&address).unwrap_err();
    assert!(
        matches!(refused, PostgresOpenError::ReadOnly { .. }),
        "{refused}"
    );
}
