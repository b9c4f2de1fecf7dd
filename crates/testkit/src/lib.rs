//! What the tests of several crates share: folders, processes, clients, servers and dispatchers.
//!
//! A crate's unit tests may use everything here except what has types of that crate: they would differ.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod dispatcher;
mod documented;
mod folder;
pub mod http;
mod in_process;
#[cfg(unix)]
mod postgres;
mod process;
mod scripted;
mod socket;

use std::time::Duration;

pub use dispatcher::{TestDispatcher, dispatcher};
pub use documented::{Answered, Documented};
pub use folder::Folder;
pub use in_process::{InProcessServer, ServeSettings};
#[cfg(unix)]
pub use postgres::PostgresServer;
pub use process::{Server, panpan, program, run, signal, stderr, stdout, until};
pub use scripted::{Then, http_response, refusing_url, serve, server, server_in_thread, service};
pub use socket::Socket;

/// How long a test waits before it fails.
pub const TIMEOUT: Duration = Duration::from_secs(120);
