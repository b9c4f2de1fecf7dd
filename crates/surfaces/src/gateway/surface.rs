//! The origins of calls, as labels.

/// The protocol of a call, or that it is the call of a task, as a label in metrics and logs.
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
    /// The call of a task.
    Task,
}

impl Surface {
    /// All origins, in the order of their discriminants.
    pub(crate) const ALL: [Self; 5] = [
        Self::Http,
        Self::JsonRpc,
        Self::WebSocket,
        Self::Mcp,
        Self::Task,
    ];

    /// The name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::JsonRpc => "jsonrpc",
            Self::WebSocket => "websocket",
            Self::Mcp => "mcp",
            Self::Task => "task",
        }
    }
}
