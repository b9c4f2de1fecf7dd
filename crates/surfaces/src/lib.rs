//! The protocols callers speak: each decodes a request, hands it to the dispatcher, encodes the answer.
//!
//! So far MCP on stdio. Nothing here decides anything about a call: that is the runtime's, and how a
//! failure is written is the contract's.

pub mod mcp;
