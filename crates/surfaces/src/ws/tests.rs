//! A real client on a real socket, against a server that has nothing but this route.

mod calls;
mod client;
mod endings;
mod identity;
mod messages;
mod pressure;
mod server;
