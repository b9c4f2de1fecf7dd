//! One JSON-RPC message per line, on the standard input and output of a child.
//!
//! Lines that are no message are passed over, as other clients do: programs greet, warn and count on
//! stdout. A line that is meant as an answer and cannot be read ends its request at once. A child that says nothing else, a line without end, or more questions than it reads answers
//! to ends the connection, and the reason is kept for whoever waits for an answer.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use super::child::{AFTER_ITS_END, AFTER_OUR_END, Child, Ends};
use super::ear::Ear;
use super::foreign;

/// The longest message a child may send, in bytes.
pub const LINE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// How many lines in a row may be no message.
pub const NONSENSE_LINES_LIMIT: usize = 1_000;

/// How many answers to what it asked a child may leave unread, beyond what fits into its pipe.
pub const UNREAD_ANSWERS_LIMIT: usize = 256;

/// Why a connection ended, told to whoever waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Why(Arc<Mutex<Option<String>>>);

impl Why {
    fn note(&self, reason: impl Into<String>) {
        let mut why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        why.get_or_insert_with(|| reason.into());
    }

    /// The reason, or that none is known.
    pub(super) fn told(&self) -> String {
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        why.clone()
            .unwrap_or_else(|| "the server closed it".to_owned())
    }
}

/// The way to a child and back.
#[derive(Debug)]
pub(super) struct Pipes {
    child: Child,
    input: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    nonsense: usize,
    /// Held by every answer until it is written.
    unread: Arc<()>,
    why: Why,
    ear: Ear,
    /// Let go last, when the child has been ended.
    _held: Arc<()>,
}

impl Pipes {
    /// Whoever has a weak end of what is held knows whether the child is still there.
    pub(super) fn new(child: Child, ends: Ends, why: Why, ear: Ear, held: Arc<()>) -> Self {
        Self {
            child,
            input: Arc::new(tokio::sync::Mutex::new(Some(ends.input))),
            output: BufReader::new(ends.output),
            line: Vec::new(),
            nonsense: 0,
            unread: Arc::default(),
            why,
            ear,
            _held: held,
        }
    }

    /// Reads on until a line is whole; whoever stops waiting in between loses nothing.
    async fn whole_line(&mut self) -> Option<()> {
        loop {
            let available = match self.output.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => {
                    self.note_end().await;
                    return None;
                }
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            if self.line.len() + taken > LINE_BYTES_LIMIT {
                let reason = format!("a message has more than {LINE_BYTES_LIMIT} bytes");
                self.why.note(reason);
                return None;
            }
            self.line.extend_from_slice(&available[..taken]);
            self.output.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }

    async fn note_end(&mut self) {
        self.why.note(match self.child.ended(AFTER_ITS_END).await {
            Some(status) => format!("the process ended ({status})"),
            None => "the process closed its output".to_owned(),
        });
    }

    async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.unread() > UNREAD_ANSWERS_LIMIT {
                self.why.note(format!(
                    "it asks and does not read what it is answered: more than {UNREAD_ANSWERS_LIMIT} answers wait"
                ));
                return None;
            }
            self.whole_line().await?;
            if let Some(message) = self.message() {
                return Some(message);
            }
            if self.nonsense > NONSENSE_LINES_LIMIT {
                let count = self.nonsense;
                self.why
                    .note(format!("{count} lines in a row were no message of MCP"));
                return None;
            }
        }
    }

    fn unread(&self) -> usize {
        // One is held here.
        Arc::strong_count(&self.unread) - 1
    }

    fn message(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let unreadable = || {
            let only = self.ear.underway.only_sent();
            let request = foreign::unreadable_answer(text, only)?;
            Some(foreign::instead_of_answer(request))
        };
        let mut message = foreign::message(text).or_else(unreadable);
        match &mut message {
            Some(message) => {
                self.nonsense = 0;
                self.ear.overhear(message, None);
                self.ear.underway.follow(message);
            }
            None if text.is_empty() => {}
            None => self.nonsense += 1,
        }
        message
    }
}

/// Writes a message to the end, as a line of its own.
async fn write(
    input: &tokio::sync::Mutex<Option<ChildStdin>>,
    message: &TxJsonRpcMessage<RoleClient>,
) -> Result<(), io::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut input = input.lock().await;
    let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    input.write_all(&line).await?;
    input.flush().await
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.ear.underway.sent(&message);
        let input = self.input.clone();
        let is_answer = matches!(
            message,
            TxJsonRpcMessage::<RoleClient>::Response(_) | TxJsonRpcMessage::<RoleClient>::Error(_)
        );
        let unread = is_answer.then(|| self.unread.clone());
        let over = self.ear.over();
        async move {
            let _unread = unread;
            tokio::select! {
                biased;
                written = write(&input, &message) => written,
                // Nobody reads there any more, and the pipe may be full.
                () = over => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let received = self.next().await;
        if received.is_none() {
            self.ear.end();
        }
        received
    }

    /// A server is told to end by the end of its input; what is left of it ends with the child.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        self.child.ended(AFTER_OUR_END).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::watch;

    use super::super::audience::Hearers;
    use super::*;
    use crate::mcp::children::Children;
    use crate::mcp::settings::McpCommand;

    #[tokio::test]
    async fn a_child_that_ended_is_heard_no_more() {
        let ear = Ear::new(watch::Sender::default(), Hearers::default());
        let command = McpCommand::new("true");
        let (child, ends) = Child::start("test", &command, &Children::default()).unwrap();
        let mut pipes = Pipes::new(child, ends, Why::default(), ear.clone(), Arc::default());
        assert_eq!(ear.over().now_or_never(), None);
        assert!(pipes.receive().await.is_none());
        assert_eq!(ear.over().now_or_never(), Some(()));
    }
}
