//! Behaviour that only a PostgreSQL database has: opening, sharing, TLS and connections that are lost.

mod failures;
mod opening;
mod sharing;
mod space;
mod tls;

use std::sync::Arc;

use panpan_store::{PostgresAddress, PostgresOptions, PostgresStore};
use panpan_testkit::PostgresServer;

use crate::shared::ManualClock;

/// The address of a new database.
fn new_database() -> PostgresAddress {
    PostgresServer::shared().new_database().parse().unwrap()
}

/// The name of the database in an address.
fn name(address: &PostgresAddress) -> String {
    let text = address.to_string();
    text.rsplit('/').next().unwrap().to_owned()
}

/// Runs SQL in a database of the shared server.
fn sql(address: &PostgresAddress, sql: &str) -> String {
    PostgresServer::shared().sql(&name(address), sql)
}

/// Opens a store with this clock.
fn open(address: &PostgresAddress, clock: &Arc<ManualClock>) -> PostgresStore {
    let options = PostgresOptions {
        clock: Some(clock.clone()),
        ..PostgresOptions::default()
    };
    PostgresStore::open_with(address, options).unwrap()
}
