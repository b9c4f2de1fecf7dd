//! Messages on stdio: one per line.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// The size of the buffer that is kept between lines.
const KEPT_BYTES: usize = 64 * 1024;

/// Reads lines up to a limit.
#[derive(Debug)]
pub struct LineReader<R> {
    input: BufReader<R>,
    bytes_limit: usize,
    line: Vec<u8>,
    is_complete: bool,
    skipped_bytes: usize,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Complete,
    /// Text without the end of a line, at the end of the input.
    Rest,
    /// Part of a line over the limit, which is skipped.
    TooLong {
        /// The bytes of the line so far.
        bytes: usize,
        /// Whether this was the last part.
        has_ended: bool,
    },
    /// The end of the input.
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most this many bytes, with their ends.
    pub fn new(input: R, bytes_limit: usize) -> Self {
        Self {
            input: BufReader::new(input),
            bytes_limit,
            line: Vec::new(),
            is_complete: false,
            skipped_bytes: 0,
        }
    }

    /// Reads on. Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Line> {
        if std::mem::take(&mut self.is_complete) {
            self.line.clear();
            self.line.shrink_to(KEPT_BYTES);
        }
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                self.is_complete = !self.line.is_empty();
                return Ok(if self.is_complete {
                    Line::Rest
                } else {
                    Line::End
                });
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_too_long = self.skipped_bytes > 0 || self.line.len() + taken > self.bytes_limit;
            if !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if is_too_long {
                return Ok(self.skip(taken, end.is_some()));
            }
            if end.is_some() {
                self.is_complete = true;
                return Ok(Line::Complete);
            }
        }
    }

    /// The text that was read last, without white space around it and without a byte order mark.
    pub fn text(&self) -> &[u8] {
        let text = self.line.trim_ascii();
        text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
    }

    fn skip(&mut self, taken: usize, has_ended: bool) -> Line {
        self.skipped_bytes += std::mem::take(&mut self.line).len() + taken;
        let bytes = self.skipped_bytes;
        if has_ended {
            self.skipped_bytes = 0;
        }
        Line::TooLong { bytes, has_ended }
    }
}

/// Writes a message as one line.
pub async fn write_line(
    output: &mut (impl AsyncWrite + Unpin),
    mut message: Vec<u8>,
) -> io::Result<()> {
    message.push(b'\n');
    output.write_all(&message).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_over_the_limit_are_skipped() {
        let mut reader = LineReader::new(&b"abc\nabcde\n \n\xef\xbb\xbfa\nabcdefgh\nrest"[..], 5);
        let mut read = Vec::new();
        loop {
            let line = reader.next().await.unwrap();
            let text = match line {
                Line::Complete | Line::Rest => String::from_utf8_lossy(reader.text()).into_owned(),
                _ => String::new(),
            };
            read.push((line, text));
            if line == Line::End {
                break;
            }
        }
        let too_long = |bytes| {
            let has_ended = true;
            (Line::TooLong { bytes, has_ended }, String::new())
        };
        let expected = [
            (Line::Complete, "abc".to_owned()),
            too_long(6),
            (Line::Complete, String::new()),
            (Line::Complete, "a".to_owned()),
            too_long(9),
            (Line::Rest, "rest".to_owned()),
            (Line::End, String::new()),
        ];
        assert_eq!(read, expected);
    }
}
