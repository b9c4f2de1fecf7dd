//! Encodes an outcome as four columns and decodes it.

use std::sync::Arc;

use panpan_runtime::ports::KeptOutcome;
use rusqlite::Row;

use super::errors::QueryError;

const OUTPUT: i64 = 1;
const LARGE_OUTPUT: i64 = 2;
const FAILURE: i64 = 3;

/// The columns of an outcome; all null when there is no outcome.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) kind: Option<i64>,
    pub(super) digest: Option<[u8; 32]>,
    /// A `u64`, stored as the `i64` with the same bits.
    pub(super) bytes: Option<i64>,
    pub(super) text: Option<Arc<str>>,
}

impl Columns {
    pub(super) fn of(outcome: &KeptOutcome) -> Self {
        match outcome {
            KeptOutcome::Output(text) => Self::text(OUTPUT, text),
            KeptOutcome::Failure(text) => Self::text(FAILURE, text),
            KeptOutcome::LargeOutput { digest, bytes } => Self {
                kind: Some(LARGE_OUTPUT),
                digest: Some(*digest),
                bytes: Some(bytes.cast_signed()),
                text: None,
            },
        }
    }

    fn text(kind: i64, text: &Arc<str>) -> Self {
        Self {
            kind: Some(kind),
            text: Some(Arc::clone(text)),
            ..Self::default()
        }
    }

    /// Reads the four columns that start at `first`.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            kind: row.get(first)?,
            digest: row.get(first + 1)?,
            bytes: row.get(first + 2)?,
            text: row.get(first + 3)?,
        })
    }

    pub(super) fn outcome(self) -> Result<KeptOutcome, QueryError> {
        match self {
            Self {
                kind: Some(OUTPUT),
                text: Some(text),
                ..
            } => Ok(KeptOutcome::Output(text)),
            Self {
                kind: Some(FAILURE),
                text: Some(text),
                ..
            } => Ok(KeptOutcome::Failure(text)),
            Self {
                kind: Some(LARGE_OUTPUT),
                digest: Some(digest),
                bytes: Some(bytes),
                ..
            } => Ok(KeptOutcome::LargeOutput {
                digest,
                bytes: bytes.cast_unsigned(),
            }),
            _ => Err(QueryError::Unreadable),
        }
    }
}
