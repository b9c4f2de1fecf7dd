//! The load generator: a few connections that each send the same request repeatedly.
//!
//! It supports only the parts of HTTP that these servers use, so that it costs as little as possible.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::request::Kind;

const CONNECTIONS: usize = 16;

/// The timeout of one round.
const PATIENCE: Duration = Duration::from_secs(30);

/// The end of a chunked response body; it cannot occur within JSON.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Connections to a server, each with its request.
pub(crate) struct Load {
    runtime: Runtime,
    kind: Kind,
    clients: Vec<(Connection, Vec<u8>)>,
}

impl Load {
    /// Opens the connections and prepares them for the first request.
    pub(crate) fn connect(address: SocketAddr, kind: Kind) -> anyhow::Result<Self> {
        let runtime = runtime()?;
        let clients = runtime.block_on(async {
            let mut clients = Vec::new();
            for _ in 0..CONNECTIONS {
                let mut connection = Connection::open(address).await?;
                let request = kind.prepare(&mut connection, address).await?;
                clients.push((connection, request));
            }
            anyhow::Ok(clients)
        })?;
        Ok(Self {
            runtime,
            kind,
            clients,
        })
    }

    /// Sends this many requests over all connections, checks every status and one complete response per
    /// connection, and returns how long it took.
    pub(crate) fn ask(&mut self, requests: usize) -> anyhow::Result<Duration> {
        let share = requests.div_ceil(CONNECTIONS);
        let (kind, clients) = (self.kind, std::mem::take(&mut self.clients));
        let asked = self.runtime.block_on(async {
            let begun = Instant::now();
            let mut tasks = JoinSet::new();
            for (mut connection, request) in clients {
                tasks.spawn(async move {
                    for _ in 0..share {
                        connection.exchange(&request).await?;
                    }
                    kind.check(connection.body())?;
                    anyhow::Ok((connection, request))
                });
            }
            let asked = tokio::time::timeout(PATIENCE, tasks.join_all()).await;
            (asked, begun.elapsed())
        });
        let (clients, took) = asked;
        let clients = clients.context("the server stopped answering")?;
        self.clients = clients.into_iter().collect::<anyhow::Result<_>>()?;
        Ok(took)
    }
}

/// The runtime of the load generator.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

/// A connection for sequential requests.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The last response.
    answer: Vec<u8>,
    body_start: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            answer: Vec::with_capacity(4096),
            body_start: 0,
        })
    }

    /// Sends a request and reads its response, which has to be a success.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        self.body_start = loop {
            self.read().await?;
            if let Some(end) = find(&self.answer, b"\r\n\r\n") {
                break end + 4;
            }
        };
        ensure!(
            self.answer.starts_with(b"HTTP/1.1 2"),
            "the server refused the request: {}",
            String::from_utf8_lossy(&self.answer)
        );
        match self.header("content-length") {
            Some(length) => {
                let end = self.body_start + length.parse::<usize>()?;
                while self.answer.len() < end {
                    self.read().await?;
                }
                ensure!(
                    self.answer.len() == end,
                    "the response is longer than its content-length"
                );
            }
            None if self.header("transfer-encoding").is_some() => {
                while !self.answer.ends_with(LAST_CHUNK) {
                    self.read().await?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// The raw body of the last response.
    pub(crate) fn body(&self) -> &[u8] {
        &self.answer[self.body_start..]
    }

    /// A header of the last response. All servers here write header names in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.answer[..self.body_start]).ok()?;
        head.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(':')?;
            Some(value.trim())
        })
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        let read = self.stream.read_buf(&mut self.answer).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
