//! The protocols, as labels.

/// The protocol of a call, as a label in metrics and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// `/call`, `/batch`, `/subscribe`, `/operations`.
    Http,
    /// JSON-RPC 2.0.
    JsonRpc,
    /// Event envelopes on a WebSocket.
    WebSocket,
    /// The Model Context Protocol.
    Mcp,
}

impl Surface {
    /// All protocols, in the order of their discriminants.
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::JsonRpc, Self::WebSocket, Self::Mcp];

    /// The name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::JsonRpc => "jsonrpc",
            Self::WebSocket => "websocket",
            Self::Mcp => "mcp",
        }
    }
}
