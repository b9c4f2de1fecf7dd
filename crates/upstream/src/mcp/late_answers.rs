//! Drops the answer to `server/discover` that arrives after the older handshake has begun.
//!
//! rmcp waits ten seconds for that answer and then falls back to `initialize` on the same
//! connection. A server that starts slowly answers both, and rmcp would take the first answer for a
//! violation of the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// A transport without late answers.
#[derive(Debug)]
pub(super) struct WithoutLateAnswers<T> {
    transport: T,
    /// The `server/discover` that has no answer yet.
    discover: Option<RequestId>,
    /// The same after `initialize` was sent.
    abandoned: Option<RequestId>,
    accepted_late: AcceptedLate,
}

/// Whether the server has accepted the abandoned `server/discover`, so that it may not know
/// `initialize`. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct AcceptedLate(Arc<AtomicBool>);

impl AcceptedLate {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T> WithoutLateAnswers<T> {
    pub(super) fn new(transport: T, accepted_late: AcceptedLate) -> Self {
        Self {
            transport,
            discover: None,
            abandoned: None,
            accepted_late,
        }
    }

    fn sends(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        let TxJsonRpcMessage::<RoleClient>::Request(message) = message else {
            return;
        };
        match message.request {
            ClientRequest::DiscoverRequest(_) => self.discover = Some(message.id.clone()),
            ClientRequest::InitializeRequest(_) => self.abandoned = self.discover.take(),
            _ => {}
        }
    }

    /// Whether a message is to be passed on.
    fn admits(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let (id, is_success) = match message {
            ServerJsonRpcMessage::Response(response) => (Some(&response.id), true),
            ServerJsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            _ => return true,
        };
        if id.is_some() && id == self.discover.as_ref() {
            self.discover = None;
        }
        if id.is_none() || id != self.abandoned.as_ref() {
            return true;
        }
        self.abandoned = None;
        self.accepted_late.0.store(is_success, Ordering::Relaxed);
        false
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for WithoutLateAnswers<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.sends(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.transport.receive().await?;
            if self.admits(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use panpan_mcp::STATELESS;
    use rmcp::model::ClientJsonRpcMessage;
    use rmcp::service::ClientLifecycleMode;
    use serde_json::{Value, json};
    use tokio::sync::{mpsc, watch};
    use tokio::time::Instant;

    use super::*;
    use crate::mcp::client_handler::ConnectionHandler;
    use crate::mcp::listeners::ConnectionListeners;
    use crate::mcp::live_connection::LiveConnection;
    use crate::mcp::stdio::EndReason;

    fn sent(id: i64, method: &str, params: Value) -> ClientJsonRpcMessage {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        serde_json::from_value(message).unwrap()
    }

    fn received(id: i64, outcome: &str) -> ServerJsonRpcMessage {
        let content = match outcome {
            "error" => json!({"code": -32601, "message": "Method not found"}),
            _ => json!({}),
        };
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, outcome: content})).unwrap()
    }

    #[test]
    fn only_the_answer_to_an_abandoned_discovery_is_dropped() {
        let discover = || {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            sent(0, "server/discover", json!({"_meta": meta}))
        };
        let initialize = || {
            let client = json!({"name": "a", "version": "1"});
            let params =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
            sent(1, "initialize", params)
        };
        for (answered_in_time, outcome, accepted_late) in [
            (false, "error", false),
            (false, "result", true),
            (true, "error", false),
        ] {
            let accepted = AcceptedLate::default();
            let mut filter = WithoutLateAnswers::new((), accepted.clone());
            filter.sends(&discover());
            if answered_in_time {
                assert!(filter.admits(&received(0, outcome)));
            }
            filter.sends(&initialize());
            assert_eq!(filter.admits(&received(0, outcome)), answered_in_time);
            assert!(filter.admits(&received(1, "result")));
            // Nothing is dropped twice.
            assert!(filter.admits(&received(0, outcome)));
            assert_eq!(
                accepted.get(),
                accepted_late,
                "{answered_in_time} {outcome}"
            );
        }
    }

    /// A server that reads nothing for a while and then answers everything, in order.
    struct SlowServer {
        ready: Instant,
        requests: mpsc::UnboundedReceiver<Value>,
        sender: mpsc::UnboundedSender<Value>,
    }

    impl SlowServer {
        fn starting_for(start: Duration) -> Self {
            let (sender, requests) = mpsc::unbounded_channel();
            Self {
                ready: Instant::now() + start,
                requests,
                sender,
            }
        }
    }

    impl Transport<RoleClient> for SlowServer {
        type Error = std::io::Error;

        fn send(
            &mut self,
            message: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
            let sent = self.sender.send(serde_json::to_value(message).unwrap());
            async move { sent.map_err(std::io::Error::other) }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            tokio::time::sleep_until(self.ready).await;
            loop {
                let request = self.requests.recv().await?;
                let Some(id) = request.get("id") else {
                    continue;
                };
                let outcome = match request["method"].as_str() {
                    Some("initialize") => json!({"result": {
                        "protocolVersion": "2025-11-25", "capabilities": {},
                        "serverInfo": {"name": "slow", "version": "1"},
                    }}),
                    _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
                };
                let mut answer = json!({"jsonrpc": "2.0", "id": id});
                answer.as_object_mut()?.extend(outcome.as_object()?.clone());
                return serde_json::from_value(answer).ok();
            }
        }

        async fn close(&mut self) -> Result<(), std::io::Error> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_starts_slowly_is_waited_for() {
        for seconds in [0, 9, 12, 50] {
            let server = SlowServer::starting_for(Duration::from_secs(seconds));
            let transport = WithoutLateAnswers::new(server, AcceptedLate::default());
            let handler =
                ConnectionHandler::new(watch::Sender::default(), ConnectionListeners::default());
            let mode = ClientLifecycleMode::Auto {
                preferred_versions: vec![STATELESS],
                legacy_version: None,
            };
            let live =
                LiveConnection::handshake(transport, handler, mode, EndReason::default()).await;
            assert!(live.is_ok(), "{seconds} {:?}", live.err());
        }
    }
}
