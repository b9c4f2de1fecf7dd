//! Runs the service until it is stopped, and says where everything is.
//!
//! `cargo run -p panpan-faulty --example faulty -- 127.0.0.1:7099`

#![allow(clippy::print_stdout, reason = "a program people run")]

use std::error::Error;

use panpan_faulty::{Place, Service, faults};

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
            service.url(row.place()),
            row.path()
        );
    }
    println!("described at {}/openapi.json", service.url(Place::Plain));
    std::future::pending().await
}
