//! Recordings as JSON Lines: one recording per line, each starting with the version of the format.
//!
//! Reading is bounded and continues after an invalid line. The caller opens the files.

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
/// The longest line, in bytes, without its line end.
pub const LINE_BYTES_LIMIT: usize = DOCUMENT_BYTES_LIMIT;
/// The longest message about an invalid member.
const PROBLEM_CHARACTERS_LIMIT: usize = 300;
const VERSION_MEMBER: &str = "panpan_recording";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const LINE_ENDS: [u8; 2] = *b"\r\n";

/// Writes recordings, one per line; see [`write_line`].
pub fn write_lines<'a>(
    recordings: impl IntoIterator<Item = &'a Recording>,
    mut to: impl Write,
) -> io::Result<()> {
    let mut recordings = recordings.into_iter();
    recordings.try_for_each(|recording| write_line(recording, &mut to))
}

/// Writes one recording as a line. A recording longer than [`LINE_BYTES_LIMIT`] could not be read
/// back: it is not written, and the error is [`io::ErrorKind::InvalidData`].
pub fn write_line(recording: &Recording, mut to: impl Write) -> io::Result<()> {
    let line = Line {
        panpan_recording: RECORDING_VERSION,
        recording,
    };
    let mut text = serde_json::to_vec(&line)?;
    if text.len() > LINE_BYTES_LIMIT {
        let (id, bytes) = (recording.id, text.len());
        let problem =
            format!("recording {id} has {bytes} bytes, the limit of a line is {LINE_BYTES_LIMIT}");
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

/// Reads recordings, one from each line that is not blank, and redacts them again.
///
/// An invalid line gives an error, and reading continues with the next one. Unknown members, which
/// a later panpan may have added, are ignored; a later version of the format is rejected.
pub fn read_lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines {
        reader,
        line: 0,
        ended: false,
    }
}

/// An iterator over the recordings of a file.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    line: u64,
    ended: bool,
}

/// A line that is not a valid recording.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LineError {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The problem.
    pub problem: LineProblem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineProblem {
    /// The reader failed; reading stops.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It exceeds the length limit.
    #[error("longer than {LINE_BYTES_LIMIT} bytes")]
    TooLong,
    /// It exceeds the nesting limit.
    #[error("nested more than {DOCUMENT_DEPTH_LIMIT} levels deep (column {column})")]
    TooDeep {
        /// The column, counted from 1.
        column: usize,
    },
    /// It is not JSON.
    #[error("not valid JSON: {problem} (column {column})")]
    Syntax {
        /// The message of the parser.
        problem: String,
        /// The column, counted from 1.
        column: usize,
    },
    /// It is JSON, but not a recording.
    #[error("not a recording: `{VERSION_MEMBER}` is missing or not a version number")]
    NotARecording,
    /// It has another version.
    #[error("unsupported format version {0}; this panpan reads version {RECORDING_VERSION}")]
    Version(u64),
    /// A member is invalid.
    #[error("at {}: {problem}", read::display_pointer(pointer))]
    Member {
        /// The location, as an RFC 6901 pointer into the line.
        pointer: String,
        /// The problem at this location.
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
    /// The next line without its end; empty after the last.
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
    let document = read::document_within(bytes, LINE_BYTES_LIMIT).map_err(json_error)?;
    match document.get(VERSION_MEMBER).and_then(Value::as_u64) {
        Some(RECORDING_VERSION) => {}
        Some(version) => return Err(LineProblem::Version(version)),
        None => return Err(LineProblem::NotARecording),
    }
    Recording::deserialize(&document).map_err(|error| member_error(&document, &error))
}

fn json_error(error: ReadError) -> LineProblem {
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

/// The message may quote the value, which may be secret or very long.
fn member_error(document: &Value, error: &serde_json::Error) -> LineProblem {
    let (pointer, error) =
        locate_member_error(document).unwrap_or_else(|| (String::new(), error.to_string()));
    let problem = Redactor::new().text(&error).into_owned();
    LineProblem::Member {
        pointer,
        problem: problem.chars().take(PROBLEM_CHARACTERS_LIMIT).collect(),
    }
}

/// The parser reports no location, so the parts are parsed one by one.
fn locate_member_error(document: &Value) -> Option<(String, String)> {
    let steps = document.get("steps").and_then(Value::as_array);
    let step = |(index, step)| Some((format!("/steps/{index}"), parse_error::<Step>(step)?));
    let in_steps = steps.into_iter().flatten().enumerate().find_map(step);
    in_steps.or_else(|| {
        PARTS.iter().find_map(|(name, parse_error)| {
            let problem = parse_error(document.get(name)?)?;
            Some((format!("/{name}"), problem))
        })
    })
}

/// The error of parsing a part, if any.
type ParseError = fn(&Value) -> Option<String>;

const PARTS: [(&str, ParseError); 8] = [
    ("id", parse_error::<uuid::Uuid>),
    ("at", parse_error::<jiff::Timestamp>),
    ("operation", parse_error::<String>),
    ("caller", parse_error::<Option<String>>),
    ("retry_seed", parse_error::<i64>),
    ("terms", parse_error::<Terms>),
    ("steps", parse_error::<Vec<Step>>),
    ("outcome", parse_error::<RecordedOutcome>),
];

fn parse_error<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests;
