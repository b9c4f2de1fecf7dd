//! A service that fails in every way a service can. One table, [`faults`], has each fault and the failure that
//! a caller of panpan should see.
//!
//! For tests and demonstrations. It listens on loopback and works on raw sockets, because an HTTP framework
//! would prevent most faults. How a gateway handles the faults is tested with the gateway.
//!
//! ```
//! # async fn show() -> Result<(), panpan_faulty::StartError> {
//! let service = panpan_faulty::Service::start().await?;
//! for row in panpan_faulty::faults() {
//!     let address = format!("{}{}", service.url(row.endpoint()), row.path());
//!     println!("{} {address}: {:?}", row.method(), row.expect);
//! }
//! # Ok(()) }
//! ```

mod document;
mod events;
mod fault;
mod flood;
mod gzip;
mod listener;
mod observed;
mod orders;
mod perform;
mod request;
mod respond;
mod secrets;
mod service;
mod state;
mod table;
mod template;
mod tls;

pub use events::EVENTS_LIMIT;
pub use fault::{Body, Endpoint, Fault, Generated, Part, Then};
pub use listener::CONNECTIONS_LIMIT;
pub use observed::ObservedFailure;
pub use orders::KEYS_LIMIT;
pub use perform::HANG_LIMIT;
pub use request::{BODY_BYTES_LIMIT, HEAD_BYTES_LIMIT};
pub use secrets::{CREDENTIAL, SECRETS, Secret, leaked_in};
pub use service::{Service, StartError};
pub use table::{Access, Expect, Expected, MOMENT_SLACK_MS, Row, faults};
