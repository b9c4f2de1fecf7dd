//! The stdio transport to a child process: one JSON-RPC message per line.
//!
//! Lines that are not messages are skipped, as other clients do: programs print greetings and
//! warnings to stdout. A malformed response fails its request at once. Too many skipped lines in a
//! row, a line that is too long, or too many unread responses to its own requests end the
//! connection, with a reason for the pending requests.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use panpan_mcp::lines::{Line, LineReader, write_line};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::process::{ChildStdin, ChildStdout};

use super::child::{Child, ChildPipes, EXIT_STATUS_WAIT, SHUTDOWN_WAIT};
use super::client_handler::ConnectionHandler;
use super::incoming;

/// The longest message of a child, in bytes.
pub const LINE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// The number of consecutive lines that may be skipped.
pub const SKIPPED_LINES_LIMIT: usize = 1_000;

/// The number of responses that a child may leave unread, beyond those that fit into its pipe.
pub const UNREAD_RESPONSES_LIMIT: usize = 256;

/// Why a connection ended. Clones share the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct EndReason(Arc<Mutex<Option<String>>>);

impl EndReason {
    fn record(&self, reason: impl Into<String>) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.get_or_insert_with(|| reason.into());
    }

    /// The reason, or a default.
    pub(super) fn text(&self) -> String {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded
            .clone()
            .unwrap_or_else(|| "closed by the server".to_owned())
    }
}

/// The pipes to a child process, as a transport for rmcp.
#[derive(Debug)]
pub(super) struct StdioTransport {
    child: Child,
    input: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    output: LineReader<ChildStdout>,
    skipped_lines: usize,
    /// Cloned by every response until it is written.
    unread_responses: Arc<()>,
    end: EndReason,
    handler: ConnectionHandler,
    /// Dropped last, when the child has been killed.
    _alive: Arc<()>,
}

impl StdioTransport {
    /// The weak counterpart of `alive` tells whether the child still exists.
    pub(super) fn new(
        child: Child,
        pipes: ChildPipes,
        end: EndReason,
        handler: ConnectionHandler,
        alive: Arc<()>,
    ) -> Self {
        Self {
            child,
            input: Arc::new(tokio::sync::Mutex::new(Some(pipes.input))),
            output: LineReader::new(pipes.output, LINE_BYTES_LIMIT),
            skipped_lines: 0,
            unread_responses: Arc::default(),
            end,
            handler,
            _alive: alive,
        }
    }

    /// Reads on until a line is complete. Cancel-safe.
    async fn read_line(&mut self) -> Option<()> {
        match self.output.next().await {
            Ok(Line::Complete) => return Some(()),
            Ok(Line::TooLong { .. }) => {
                let reason = format!("a message exceeds {LINE_BYTES_LIMIT} bytes");
                self.end.record(reason);
            }
            Ok(Line::Rest | Line::End) | Err(_) => self.record_exit().await,
        }
        None
    }

    async fn record_exit(&mut self) {
        self.end
            .record(match self.child.exit_status(EXIT_STATUS_WAIT).await {
                Some(status) => format!("the process exited ({status})"),
                None => "the process closed its stdout".to_owned(),
            });
    }

    async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.unread_responses() > UNREAD_RESPONSES_LIMIT {
                self.end.record(format!(
                    "it sends requests and does not read the responses: more than {UNREAD_RESPONSES_LIMIT} are pending"
                ));
                return None;
            }
            self.read_line().await?;
            if let Some(message) = self.parse_line() {
                return Some(message);
            }
            if self.skipped_lines > SKIPPED_LINES_LIMIT {
                let count = self.skipped_lines;
                self.end
                    .record(format!("{count} consecutive lines were not MCP messages"));
                return None;
            }
        }
    }

    fn unread_responses(&self) -> usize {
        // One reference is held here.
        Arc::strong_count(&self.unread_responses) - 1
    }

    fn parse_line(&mut self) -> Option<ServerJsonRpcMessage> {
        let text = self.output.text();
        let unreadable = || {
            let only = self.handler.in_flight.only_request_id();
            let request = incoming::unreadable_response(text, only)?;
            Some(incoming::replacement(request))
        };
        let mut message = incoming::parse(text).or_else(unreadable);
        match &mut message {
            Some(message) => {
                self.skipped_lines = 0;
                self.handler.observe(message, None);
                self.handler.in_flight.observe(message);
            }
            None if text.is_empty() => {}
            None => self.skipped_lines += 1,
        }
        message
    }
}

/// Writes a message as one line.
async fn write(
    input: &tokio::sync::Mutex<Option<ChildStdin>>,
    message: &TxJsonRpcMessage<RoleClient>,
) -> Result<(), io::Error> {
    let message = serde_json::to_vec(message)?;
    let mut input = input.lock().await;
    let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write_line(input, message).await
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.handler.in_flight.record_sent(&message);
        let input = self.input.clone();
        let is_response = matches!(
            message,
            TxJsonRpcMessage::<RoleClient>::Response(_) | TxJsonRpcMessage::<RoleClient>::Error(_)
        );
        let unread = is_response.then(|| self.unread_responses.clone());
        let closed = self.handler.closed.clone();
        async move {
            let _unread = unread;
            tokio::select! {
                biased;
                written = write(&input, &message) => written,
                // Nothing reads the pipe any more, and it may be full.
                () = closed.cancelled() => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let received = self.next().await;
        if received.is_none() {
            self.handler.closed.cancel();
        }
        received
    }

    /// The end of its input tells a server to exit; otherwise it is killed when the child is
    /// dropped.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        self.child.exit_status(SHUTDOWN_WAIT).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::mcp::children::Children;
    use crate::mcp::listeners::ConnectionListeners;
    use crate::mcp::settings::McpCommand;

    #[tokio::test]
    async fn the_end_of_a_child_closes_the_connection() {
        let handler =
            ConnectionHandler::new(watch::Sender::default(), ConnectionListeners::default());
        let command = McpCommand::new("true");
        let (child, pipes) = Child::start("test", &command, &Children::default()).unwrap();
        let mut transport = StdioTransport::new(
            child,
            pipes,
            EndReason::default(),
            handler.clone(),
            Arc::default(),
        );
        assert!(!handler.closed.is_cancelled());
        assert!(transport.receive().await.is_none());
        assert!(handler.closed.is_cancelled());
    }
}
