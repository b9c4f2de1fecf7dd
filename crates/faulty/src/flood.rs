//! Oversized bodies and headers, written block by block.

use std::io;

use tokio::io::AsyncWriteExt;

use crate::fault::Part;
use crate::gzip;
use crate::perform::Wire;
use crate::respond::{Length, head};

/// The size of a block.
const BLOCK_BYTES: usize = 64 * 1024;

/// The content type of a flood.
const CONTENT_TYPE: (&str, &str) = ("Content-Type", "application/json");

/// The end of a response with an oversized head.
const SMALL_END: &[u8] = b"Content-Length: 2\r\n\r\n{}";

/// Writes a response with a part of this size.
pub(crate) async fn flood(
    wire: &mut impl Wire,
    status: u16,
    part: Part,
    bytes: u64,
) -> io::Result<()> {
    let line = format!("HTTP/1.1 {status} OK\r\n");
    match part {
        Part::Body => {
            let head = head(status, &[CONTENT_TYPE], Length::Known(bytes));
            wire.write_all(&head).await?;
            fill(wire, bytes).await
        }
        Part::Chunks => {
            let head = head(status, &[CONTENT_TYPE], Length::Chunked);
            wire.write_all(&head).await?;
            fill_chunks(wire, bytes).await
        }
        Part::Gzip => {
            let packed = gzip::bomb(bytes);
            let headers = [CONTENT_TYPE, ("Content-Encoding", "gzip")];
            let head = head(status, &headers, Length::Known(packed.len() as u64));
            wire.write_all(&head).await?;
            wire.write_all(&packed).await
        }
        Part::Header => {
            wire.write_all(format!("{line}X-Flood: ").as_bytes())
                .await?;
            fill(wire, bytes).await?;
            wire.write_all(b"\r\n").await?;
            wire.write_all(SMALL_END).await
        }
        Part::Headers => {
            wire.write_all(line.as_bytes()).await?;
            let header = b"X-Flood: and yet another one\r\n";
            for _ in 0..bytes / header.len() as u64 {
                wire.write_all(header).await?;
            }
            wire.write_all(SMALL_END).await
        }
        Part::Interim => {
            let interim = b"HTTP/1.1 102 Processing\r\n\r\n".repeat(BLOCK_BYTES / 32);
            for _ in 0..bytes / interim.len() as u64 {
                wire.write_all(&interim).await?;
            }
            Ok(())
        }
    }
}

/// Writes at least this many bytes in chunks, and the end of the chunks.
async fn fill_chunks(wire: &mut impl Wire, bytes: u64) -> io::Result<()> {
    for _ in 0..bytes.div_ceil(BLOCK_BYTES as u64) {
        let size = format!("{BLOCK_BYTES:x}\r\n");
        wire.write_all(size.as_bytes()).await?;
        fill(wire, BLOCK_BYTES as u64).await?;
        wire.write_all(b"\r\n").await?;
    }
    wire.write_all(b"0\r\n\r\n").await
}

/// Writes this many meaningless bytes.
async fn fill(wire: &mut impl Wire, bytes: u64) -> io::Result<()> {
    let block = vec![b'x'; BLOCK_BYTES];
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left)
            .unwrap_or(BLOCK_BYTES)
            .min(BLOCK_BYTES);
        wire.write_all(&block[..now]).await?;
        left -= now as u64;
    }
    Ok(())
}
