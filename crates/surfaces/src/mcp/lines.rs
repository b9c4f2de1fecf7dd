//! The lines in front of the MCP library. What it would drop without a word is answered here: text
//! that is not JSON, nested too deeply or too long. Everything else passes as it is.

use std::io;

use panpan_contract::dialect::{Dialect, Envelope};
use panpan_contract::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use panpan_contract::{Failure, codes};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
    duplex,
};
use tokio::select;

/// How much may wait between the lines and the library.
const BUFFER_BYTES: usize = 64 * 1024;

/// Puts the guard between a client's pipes and the library: gives the end the library reads and
/// writes, and the work that carries lines, which ends when the client leaves.
pub(super) fn guarded(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> (DuplexStream, impl Future<Output = io::Result<()>>) {
    let (library, inner) = duplex(BUFFER_BYTES);
    (library, carry(BufReader::new(input), output, inner))
}

/// One task writes all answers, so that no two lines mix.
async fn carry(
    mut input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    inner: DuplexStream,
) -> io::Result<()> {
    let (answers, mut requests) = tokio::io::split(inner);
    let mut answers = BufReader::new(answers);
    let (mut line, mut passed_over, mut answer) = (Vec::new(), 0, Vec::new());
    let mut open = true;
    loop {
        select! {
            read = next_line(&mut input, &mut line, &mut passed_over), if open => match read? {
                Line::End => {
                    open = false;
                    requests.shutdown().await?;
                }
                Line::Whole => {
                    match refused(&line) {
                        Some(refusal) => write_line(&mut output, &refusal).await?,
                        None => requests.write_all(&line).await?,
                    }
                    line.clear();
                }
                Line::TooLong(bytes) => {
                    let error = ReadError::TooLarge { bytes, limit: DOCUMENT_BYTES_LIMIT };
                    write_line(&mut output, &refusal(error, None)).await?;
                    line.clear();
                }
            },
            read = answers.read_until(b'\n', &mut answer) => {
                if read? == 0 {
                    return Ok(());
                }
                output.write_all(&answer).await?;
                output.flush().await?;
                answer.clear();
            }
        }
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

/// The answer to a line the library could not read.
fn refused(line: &[u8]) -> Option<Vec<u8>> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let error = read::document(line).err()?;
    Some(refusal(error, request_id(line)))
}

/// The id can be read even where the rest is too deep: everything else is skipped, not built.
fn request_id(line: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Request {
        id: Option<Value>,
    }
    let request: Request = serde_json::from_slice(line).ok()?;
    request.id.filter(|id| id.is_string() || id.is_number())
}

fn refusal(error: ReadError, request_id: Option<Value>) -> Vec<u8> {
    let failure = Failure::new(codes::PARSE_ERROR)
        .with_message(error.to_string())
        .redacted();
    let envelope = Envelope {
        request_id: request_id.as_ref(),
        ..Envelope::default()
    };
    Dialect::JsonRpc.write_failure(&failure, envelope)
}

async fn write_line(output: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    output.write_all(line).await?;
    output.write_all(b"\n").await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    /// What the client sees and what the library sees of some input.
    async fn carried(input: &[u8]) -> (Vec<Value>, Vec<u8>) {
        let mut output = Vec::new();
        let (library, work) = guarded(input, &mut output);
        let reader = async move {
            let mut library = library;
            let mut seen = Vec::new();
            library.read_to_end(&mut seen).await.map(|_| seen)
        };
        let (worked, seen) = tokio::join!(work, reader);
        worked.unwrap();
        let answers = output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        (
            answers
                .map(|line| serde_json::from_slice(line).unwrap())
                .collect(),
            seen.unwrap(),
        )
    }

    #[tokio::test]
    async fn lines_that_are_json_pass_as_they_are() {
        let lines = b"{\"jsonrpc\":\"2.0\",\"id\":1}\n\n  \n[1, 2]\n{\"last\": true}";
        let (answers, seen) = carried(lines).await;
        assert_eq!((answers, seen.as_slice()), (vec![], &lines[..]));
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_answered_with_its_id_where_it_has_one() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":7,"params":{}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for (line, id, said) in [
            ("hello garbage", Value::Null, "not valid JSON"),
            (
                r#"{"id": 3, "params": {"a": 1e999}}"#,
                json!(3),
                "number out of range",
            ),
            (
                r#"{"id": "x", "a": "\ud800"}"#,
                json!("x"),
                "not valid JSON",
            ),
            (deep.as_str(), json!(7), "nested more than 127 levels deep"),
            ("{\"id\": 4", Value::Null, "EOF"),
        ] {
            let (answers, seen) = carried(format!("{line}\n").as_bytes()).await;
            assert!(seen.is_empty(), "{line}");
            let error = &answers[0]["error"];
            assert_eq!(
                (&error["code"], &answers[0]["id"]),
                (&json!(-32700), &id),
                "{line}"
            );
            assert!(error["message"].as_str().unwrap().contains(said), "{error}");
        }
    }

    #[tokio::test]
    async fn the_length_of_a_line_is_limited_on_both_sides() {
        let line =
            |bytes: usize| [b"\"".to_vec(), vec![b'a'; bytes - 3], b"\"\n".to_vec()].concat();
        let (answers, seen) = carried(&line(DOCUMENT_BYTES_LIMIT)).await;
        assert_eq!((answers.len(), seen.len()), (0, DOCUMENT_BYTES_LIMIT));
        let (answers, seen) = carried(&line(DOCUMENT_BYTES_LIMIT + 1)).await;
        assert_eq!((answers.len(), seen.len()), (1, 0));
    }
}
