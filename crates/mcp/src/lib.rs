//! The Model Context Protocol as both of its sides need it: the client in `upstream` and the server in `surfaces`.
//!
//! Each thing that panpan carries from one side to the other is mapped here, in both directions: input requests,
//! capabilities, what a result has beside its output, and lines on stdio. Opens no connections.

#![allow(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are those of 2025-11-25, which most servers and clients speak"
)]

pub mod extras;
pub mod input;
pub mod library;
pub mod lines;
pub mod names;
pub mod notifications;
pub mod output;

use rmcp::model::ProtocolVersion;

/// The first version without sessions.
pub const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
