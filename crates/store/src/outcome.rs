//! Encodes an outcome as four columns and decodes it.

use std::sync::Arc;

use panpan_runtime::ports::KeptOutcome;

const OUTPUT: i64 = 1;
const LARGE_OUTPUT: i64 = 2;
const FAILURE: i64 = 3;

/// The columns of an outcome; all null when there is no outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) kind: Option<i64>,
    pub(crate) digest: Option<[u8; 32]>,
    /// A `u64`, stored as the `i64` with the same bits.
    pub(crate) bytes: Option<i64>,
    pub(crate) text: Option<Arc<str>>,
}

impl Columns {
    pub(crate) fn of(outcome: &KeptOutcome) -> Self {
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

    /// The outcome; `None` if the columns are not those of one.
    pub(crate) fn outcome(self) -> Option<KeptOutcome> {
        match self {
            Self {
                kind: Some(OUTPUT),
                text: Some(text),
                ..
            } => Some(KeptOutcome::Output(text)),
            Self {
                kind: Some(FAILURE),
                text: Some(text),
                ..
            } => Some(KeptOutcome::Failure(text)),
            Self {
                kind: Some(LARGE_OUTPUT),
                digest: Some(digest),
                bytes: Some(bytes),
                ..
            } => Some(KeptOutcome::LargeOutput {
                digest,
                bytes: bytes.cast_unsigned(),
            }),
            _ => None,
        }
    }
}
