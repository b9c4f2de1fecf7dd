//! The service as seen by a client that uses raw sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod endpoints;
mod lifecycle;
mod responses;
mod working;
