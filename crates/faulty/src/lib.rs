//! A service that fails its callers in every way a service can, and what a caller of panpan should see
//! of each: one table, [`faults`], of which both are made.
//!
//! For tests and demonstrations. Listens on loopback, reads bytes and writes bytes: a framework would
//! not let it do what it is for. What a gateway makes of the faults is tested where the gateway is.
//!
//! ```
//! # async fn show() -> Result<(), panpan_faulty::StartError> {
//! let service = panpan_faulty::Service::start().await?;
//! for row in panpan_faulty::faults() {
//!     let address = format!("{}{}", service.url(row.place()), row.path());
//!     println!("{} {address}: {:?}", row.method(), row.expect);
//! }
//! # Ok(()) }
//! ```

mod document;
mod door;
mod events;
mod fault;
mod flood;
mod gzip;
mod home;
mod orders;
mod perform;
mod request;
mod respond;
mod secrets;
mod seen;
mod service;
mod table;
mod template;
mod tls;

pub use door::CONNECTIONS_LIMIT;
pub use events::EVENTS_LIMIT;
pub use fault::{Body, Fault, Made, Part, Place, Then};
pub use orders::KEYS_LIMIT;
pub use perform::HANG_LIMIT;
pub use request::{BODY_BYTES_LIMIT, HEAD_BYTES_LIMIT};
pub use secrets::{CREDENTIAL, SECRETS, Secret, leaked_in};
pub use seen::Seen;
pub use service::{Service, StartError};
pub use table::{Access, Expect, Expected, MOMENT_SLACK_MS, Row, faults};
