//! The service as a client sees it that knows nothing but sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod client;
mod life;
mod places;
mod work;
