//! Many idle WebSockets.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const WEBSOCKETS: usize = 10_000;

/// How many are opened concurrently: few enough for the accept queue of the listener.
const AT_A_TIME: usize = 100;

/// Raises the limit of open files to the maximum that the system allows.
pub(crate) fn allow_many_files() -> anyhow::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    Ok(())
}

/// Opens all WebSockets.
pub(crate) async fn websockets(address: SocketAddr) -> anyhow::Result<Vec<TcpStream>> {
    allow_many_files()?;
    let mut open = Vec::with_capacity(WEBSOCKETS);
    while open.len() < WEBSOCKETS {
        let opening = (0..AT_A_TIME).map(|_| tokio::spawn(websocket(address)));
        for opening in opening.collect::<Vec<_>>() {
            let opened = opening.await?;
            open.push(opened.with_context(|| format!("after {} WebSockets", open.len()))?);
        }
    }
    Ok(open)
}

async fn websocket(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read_buf(&mut answer).await?;
        ensure!(read > 0, "the server closed the connection");
    }
    let switched = answer.starts_with(b"HTTP/1.1 101");
    ensure!(switched, "{}", String::from_utf8_lossy(&answer));
    Ok(stream)
}
