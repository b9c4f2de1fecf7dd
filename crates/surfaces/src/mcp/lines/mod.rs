//! Messages as lines on two pipes. What the library's own reader would drop without a word is answered:
//! text that is not JSON, nested too deeply or too long, names that stand twice, and JSON that is no message.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, OnceLock};

use panpan_failure::read::DOCUMENT_BYTES_LIMIT;
use panpan_runtime::CancellationToken;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::message::{Read, message, too_long};

/// The lines of one client.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    passed_over: usize,
    output: Output<W>,
    /// An answer of our own that is being written; nothing more is read before it is.
    refusing: Option<JoinHandle<()>>,
}

/// Where answers are written, each line as a whole.
struct Output<W> {
    pipe: Arc<Mutex<W>>,
    broken: Broken,
}

/// Why the pipes can no longer be used, once they cannot. Clones are the same pipes.
#[derive(Clone, Debug, Default)]
pub(super) struct Broken {
    why: Arc<OnceLock<io::Error>>,
    now: CancellationToken,
}

impl Broken {
    fn by(&self, error: &io::Error) {
        let _ = self.why.set(same(error));
        self.now.cancel();
    }

    /// What broke them, if that is more than a client that has left.
    pub(super) fn why(&self) -> Option<io::Error> {
        let why = self.why.get()?;
        // A client that stops reading has left.
        (why.kind() != io::ErrorKind::BrokenPipe).then(|| same(why))
    }
}

fn same(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

impl<R: AsyncRead, W> Lines<R, W> {
    /// The lines of two pipes, and word of what breaks them.
    pub(super) fn new(input: R, output: W) -> (Self, Broken) {
        let broken = Broken::default();
        let lines = Self {
            input: BufReader::new(input),
            line: Vec::new(),
            passed_over: 0,
            output: Output {
                pipe: Arc::new(Mutex::new(output)),
                broken: broken.clone(),
            },
            refusing: None,
        };
        (lines, broken)
    }
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self {
            pipe: self.pipe.clone(),
            broken: self.broken.clone(),
        }
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let mut pipe = self.pipe.lock().await;
        let written = match pipe.write_all(&line).await {
            Ok(()) => pipe.flush().await,
            broken => broken,
        };
        written.inspect_err(|error| self.broken.by(error))
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
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
        async move { output.write(serde_json::to_vec(&message)?).await }
    }

    /// May be dropped anywhere and called again.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                // It tells the pipes themselves when it fails.
                let _ = refusing.await;
                self.refusing = None;
            }
            let reading = next_line(&mut self.input, &mut self.line, &mut self.passed_over);
            let read = self.output.broken.now.run_until_cancelled(reading).await?;
            let read = match read {
                Ok(Line::End) => return None,
                Ok(Line::Whole) => message(&self.line),
                Ok(Line::TooLong(bytes)) => too_long(bytes),
                Err(error) => {
                    self.output.broken.by(&error);
                    return None;
                }
            };
            self.line.clear();
            match read {
                Read::Message(message) => return Some(*message),
                Read::Ignored => {}
                Read::Refused(refusal) => {
                    let output = self.output.clone();
                    self.refusing = Some(tokio::spawn(async move {
                        let _ = output.write(refusal).await;
                    }));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        if let Some(refusing) = self.refusing.take() {
            let _ = refusing.await;
        }
        Ok(())
    }
}

enum Line {
    Whole,
    /// So many bytes, which were passed over.
    TooLong(usize),
    End,
}

/// Reads on to the end of a line. It may be stopped anywhere and called again: all it knows is in
/// its arguments.
async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    passed_over: &mut usize,
) -> io::Result<Line> {
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(if line.is_empty() {
                Line::End
            } else {
                Line::Whole
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        if line.len() + taken > DOCUMENT_BYTES_LIMIT {
            *passed_over += line.len() + taken;
            line.clear();
        } else if *passed_over > 0 {
            *passed_over += taken;
        } else {
            line.extend_from_slice(&available[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(match std::mem::take(passed_over) {
                0 => Line::Whole,
                bytes => Line::TooLong(bytes),
            });
        }
    }
}
