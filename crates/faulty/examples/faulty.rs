//! Runs the service until it is stopped, and prints its addresses.
//!
//! `cargo run -p panpan-faulty --example faulty -- 127.0.0.1:7099`

#![allow(clippy::print_stdout, reason = "a program people run")]

use std::error::Error;

use panpan_faulty::{Endpoint, Service, faults};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = match std::env::args().nth(1) {
        Some(address) => Service::start_at(address.parse()?).await?,
        None => Service::start().await?,
    };
    for row in faults() {
        println!(
            "{:4} {}{}",
            row.method(),
            service.url(row.endpoint()),
            row.path()
        );
    }
    println!(
        "OpenAPI document: {}/openapi.json",
        service.url(Endpoint::Plain)
    );
    std::future::pending().await
}
