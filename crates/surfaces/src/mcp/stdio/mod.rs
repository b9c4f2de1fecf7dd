//! The stdio transport: one message per line.
//!
//! Answers what the reader of rmcp would drop silently: text that is not JSON, that is nested too
//! deeply or too long, duplicate members, and JSON that is not a message.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, OnceLock};

use panpan_failure::read::DOCUMENT_BYTES_LIMIT;
use panpan_mcp::lines::{Line, LineReader, write_line};
use panpan_runtime::CancellationToken;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::message::{Parsed, parse_message, too_long};
use super::tasks::{declare_for_session, pass_unread};

/// The stdin and stdout of one client.
pub(super) struct StdioTransport<R, W> {
    input: LineReader<R>,
    output: Output<W>,
    /// A message that was read before anything serves the client.
    first: Option<ClientJsonRpcMessage>,
    /// An error response that is being written; nothing is read until it is done.
    responding: Option<JoinHandle<()>>,
}

/// The writing side; each line is written as a whole.
struct Output<W> {
    pipe: Arc<Mutex<W>>,
    end: EndReason,
}

/// Why stdio can no longer be used. Clones share the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct EndReason {
    error: Arc<OnceLock<io::Error>>,
    ended: CancellationToken,
}

impl EndReason {
    fn record(&self, error: &io::Error) {
        let _ = self.error.set(copy(error));
        self.ended.cancel();
    }

    /// The error, unless the client has simply disconnected.
    pub(super) fn error(&self) -> Option<io::Error> {
        let error = self.error.get()?;
        // A client that stops reading has disconnected.
        (error.kind() != io::ErrorKind::BrokenPipe).then(|| copy(error))
    }
}

fn copy(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

impl<R: AsyncRead + Unpin, W> StdioTransport<R, W> {
    /// The transport, and the reason of its end.
    pub(super) fn new(input: R, output: W) -> (Self, EndReason) {
        let end = EndReason::default();
        let transport = Self {
            input: LineReader::new(input, DOCUMENT_BYTES_LIMIT),
            output: Output {
                pipe: Arc::new(Mutex::new(output)),
                end: end.clone(),
            },
            first: None,
            responding: None,
        };
        (transport, end)
    }
}

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The first message, which stays to be received. Cancel-safe.
    pub(super) async fn peek(&mut self) -> Option<&ClientJsonRpcMessage> {
        if self.first.is_none() {
            self.first = self.receive().await;
        }
        self.first.as_ref()
    }
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self {
            pipe: self.pipe.clone(),
            end: self.end.clone(),
        }
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn write(&self, message: Vec<u8>) -> io::Result<()> {
        let written = write_line(&mut *self.pipe.lock().await, message).await;
        written.inspect_err(|error| self.end.record(error))
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        // Clients without a token are one caller, also in other processes with the same store.
        let message = declare_for_session(message, false);
        async move { output.write(serde_json::to_vec(&message)?).await }
    }

    /// Cancel-safe.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if let Some(responding) = &mut self.responding {
                // `write` records its own errors.
                let _ = responding.await;
                self.responding = None;
            }
            let ended = &self.output.end.ended;
            let read = ended.run_until_cancelled(self.input.next()).await?;
            let parsed = match read.inspect_err(|error| self.output.end.record(error)) {
                Ok(Line::End) | Err(_) => return None,
                Ok(Line::Complete | Line::Rest) => parse_message(self.input.text()),
                Ok(Line::TooLong { bytes, has_ended }) => match has_ended {
                    true => too_long(bytes),
                    false => Parsed::Ignored,
                },
            };
            match parsed {
                Parsed::Message(message) => return Some(pass_unread(*message)),
                Parsed::Ignored => {}
                Parsed::Invalid(response) => {
                    let output = self.output.clone();
                    self.responding = Some(tokio::spawn(async move {
                        let _ = output.write(response).await;
                    }));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        if let Some(responding) = self.responding.take() {
            let _ = responding.await;
        }
        Ok(())
    }
}
