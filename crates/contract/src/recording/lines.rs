//! Recordings as JSON Lines: one recording to a line, each with the version of its format first.
//!
//! Reading is bounded and goes on behind a line that is wrong. Where the lines come from and go to
//! is the caller's business.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RecordedOutcome, Recording, Step};
use crate::retry::Terms;
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, DOCUMENT_DEPTH_LIMIT, ReadError};
use panpan_redact::Redactor;

/// The version of the format that is written, and the only one that is read.
pub const RECORDING_VERSION: u64 = 1;
/// The longest line that is written or read, in bytes, without what ends it.
pub const LINE_BYTES_LIMIT: usize = DOCUMENT_BYTES_LIMIT;
/// How much is said about a member that does not fit.
const PROBLEM_CHARACTERS_LIMIT: usize = 300;
const VERSION_MEMBER: &str = "panpan_recording";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const LINE_ENDS: [u8; 2] = *b"\r\n";

/// Writes recordings, one to a line; see [`write_line`].
pub fn write_lines<'a>(
    recordings: impl IntoIterator<Item = &'a Recording>,
    mut to: impl Write,
) -> io::Result<()> {
    let mut recordings = recordings.into_iter();
    recordings.try_for_each(|recording| write_line(recording, &mut to))
}

/// Writes one recording as a line. One that is longer than [`LINE_BYTES_LIMIT`] could not be read
/// back: nothing of it is written, and the error is of the kind [`io::ErrorKind::InvalidData`].
pub fn write_line(recording: &Recording, mut to: impl Write) -> io::Result<()> {
    let line = Line {
        panpan_recording: RECORDING_VERSION,
        recording,
    };
    let mut text = serde_json::to_vec(&line)?;
    if text.len() > LINE_BYTES_LIMIT {
        let (id, bytes) = (recording.id, text.len());
        let problem =
            format!("recording {id} takes {bytes} bytes; a line has at most {LINE_BYTES_LIMIT}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    text.push(b'\n');
    to.write_all(&text)
}

#[derive(Serialize)]
struct Line<'a> {
    panpan_recording: u64,
    #[serde(flatten)]
    recording: &'a Recording,
}

/// Reads recordings, one from each line that is not blank, redacting them anew.
///
/// A line that is wrong gives an error, and the next one is read all the same. Members that a
/// later panpan may have added are passed over; a later version of the format is refused.
pub fn read_lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines {
        reader,
        line: 0,
        ended: false,
    }
}

/// The recordings of a file, as they are read.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    line: u64,
    ended: bool,
}

/// A line that holds no recording.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LineError {
    /// Which line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: LineProblem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineProblem {
    /// The bytes could not be had; nothing is read after this.
    #[error("could not be read: {0}")]
    Unreadable(io::Error),
    /// It has more bytes than are read.
    #[error("is longer than {LINE_BYTES_LIMIT} bytes")]
    TooLong,
    /// It is nested deeper than is read.
    #[error("is nested more than {DOCUMENT_DEPTH_LIMIT} levels deep (column {column})")]
    TooDeep {
        /// Where, counted from 1.
        column: usize,
    },
    /// It is not JSON.
    #[error("not valid JSON: {problem} (column {column})")]
    Syntax {
        /// What the parser met.
        problem: String,
        /// Where, counted from 1.
        column: usize,
    },
    /// It is JSON, but not a recording.
    #[error("not a recording: `{VERSION_MEMBER}` is no version of the format")]
    NotARecording,
    /// It is a recording of another version.
    #[error("has version {0} of the format; this panpan reads version {RECORDING_VERSION}")]
    Version(u64),
    /// It is a recording with a member that does not fit.
    #[error("at {}: {problem}", read::display_pointer(pointer))]
    Member {
        /// Where, as an RFC 6901 pointer into the line.
        pointer: String,
        /// What is wrong there.
        problem: String,
    },
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Recording, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.line += 1;
            let read = match self.next_line() {
                Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(bytes) => recording(&bytes),
                Err(problem) => Err(problem),
            };
            let line = self.line;
            return Some(read.map_err(|problem| LineError { line, problem }));
        }
        None
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end; empty behind the last.
    fn next_line(&mut self) -> Result<Vec<u8>, LineProblem> {
        self.take_line().unwrap_or_else(|error| {
            self.ended = true;
            Err(LineProblem::Unreadable(error))
        })
    }

    fn take_line(&mut self) -> io::Result<Result<Vec<u8>, LineProblem>> {
        let most = BYTE_ORDER_MARK.len() + LINE_BYTES_LIMIT + LINE_ENDS.len();
        let mut bytes = Vec::new();
        let mut some = Read::take(&mut self.reader, most as u64);
        self.ended = some.read_until(b'\n', &mut bytes)? == 0;
        let is_cut = bytes.len() == most && !bytes.ends_with(b"\n");
        if is_cut {
            self.reader.skip_until(b'\n')?;
        }
        let line = content(&bytes, self.line == 1);
        if is_cut || line.len() > LINE_BYTES_LIMIT {
            return Ok(Err(LineProblem::TooLong));
        }
        Ok(Ok(line.to_vec()))
    }
}

fn content(bytes: &[u8], is_first: bool) -> &[u8] {
    let bytes = match bytes.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if is_first => rest,
        _ => bytes,
    };
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn recording(bytes: &[u8]) -> Result<Recording, LineProblem> {
    let document = read::document_within(bytes, LINE_BYTES_LIMIT).map_err(not_json)?;
    match document.get(VERSION_MEMBER).and_then(Value::as_u64) {
        Some(RECORDING_VERSION) => {}
        Some(version) => return Err(LineProblem::Version(version)),
        None => return Err(LineProblem::NotARecording),
    }
    Recording::deserialize(&document).map_err(|error| misfit(&document, &error))
}

fn not_json(error: ReadError) -> LineProblem {
    match error {
        ReadError::TooLarge { .. } => LineProblem::TooLong,
        ReadError::TooDeep { column, .. } => LineProblem::TooDeep { column },
        ReadError::Syntax {
            problem, column, ..
        } => LineProblem::Syntax { problem, column },
        other => LineProblem::Syntax {
            problem: other.to_string(),
            column: 1,
        },
    }
}

/// What does not fit may be quoted, and it may be a secret or very long.
fn misfit(document: &Value, error: &serde_json::Error) -> LineProblem {
    let (pointer, error) =
        place_of_misfit(document).unwrap_or_else(|| (String::new(), error.to_string()));
    let problem = Redactor::new().text(&error).into_owned();
    LineProblem::Member {
        pointer,
        problem: problem.chars().take(PROBLEM_CHARACTERS_LIMIT).collect(),
    }
}

/// The parser tells what it met but not where: the parts are tried one by one.
fn place_of_misfit(document: &Value) -> Option<(String, String)> {
    let steps = document.get("steps").and_then(Value::as_array);
    let step = |(index, step)| Some((format!("/steps/{index}"), misread::<Step>(step)?));
    let in_steps = steps.into_iter().flatten().enumerate().find_map(step);
    in_steps.or_else(|| {
        PARTS.iter().find_map(|(name, misread)| {
            let problem = misread(document.get(name)?)?;
            Some((format!("/{name}"), problem))
        })
    })
}

/// Why a part cannot be read, if it cannot.
type Misread = fn(&Value) -> Option<String>;

const PARTS: [(&str, Misread); 8] = [
    ("id", misread::<uuid::Uuid>),
    ("at", misread::<jiff::Timestamp>),
    ("operation", misread::<String>),
    ("caller", misread::<Option<String>>),
    ("retry_seed", misread::<i64>),
    ("terms", misread::<Terms>),
    ("steps", misread::<Vec<Step>>),
    ("outcome", misread::<RecordedOutcome>),
];

fn misread<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests;
