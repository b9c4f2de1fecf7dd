//! A WebSocket client on a real socket, against a server with this one route.

mod calls;
mod client;
mod endings;
mod identity;
mod messages;
mod pressure;
mod server;
