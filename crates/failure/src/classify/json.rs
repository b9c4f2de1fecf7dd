//! Codes for errors of reading and transforming JSON.

use panpan_catalogue::{Entry, codes};

use crate::kind::Kind;
use crate::read::ReadError;

/// An error of reading or transforming JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonFailure {
    /// The text is not JSON.
    Invalid,
    /// The path expression is invalid.
    PathInvalid,
    /// The document does not match the schema.
    SchemaMismatch,
    /// The transformation does not apply to this data.
    TransformFailed,
    /// The document is nested too deeply.
    DepthExceeded,
    /// The document is too large.
    SizeExceeded,
}

impl JsonFailure {
    /// All values.
    pub const ALL: [JsonFailure; 6] = [
        JsonFailure::Invalid,
        JsonFailure::PathInvalid,
        JsonFailure::SchemaMismatch,
        JsonFailure::TransformFailed,
        JsonFailure::DepthExceeded,
        JsonFailure::SizeExceeded,
    ];

    /// The catalogue row.
    pub const fn entry(self) -> &'static Entry {
        match self {
            JsonFailure::Invalid => codes::ERR_JSON_INVALID,
            JsonFailure::PathInvalid => codes::ERR_JSON_PATH_INVALID,
            JsonFailure::SchemaMismatch => codes::ERR_JSON_SCHEMA_MISMATCH,
            JsonFailure::TransformFailed => codes::ERR_JSON_TRANSFORM_FAILED,
            JsonFailure::DepthExceeded => codes::ERR_JSON_DEPTH_EXCEEDED,
            JsonFailure::SizeExceeded => codes::ERR_JSON_SIZE_EXCEEDED,
        }
    }
}

impl From<JsonFailure> for Kind {
    fn from(failure: JsonFailure) -> Self {
        failure.entry().into()
    }
}

impl From<&ReadError> for JsonFailure {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::TooLarge { .. } => JsonFailure::SizeExceeded,
            ReadError::TooDeep { .. } => JsonFailure::DepthExceeded,
            ReadError::Syntax { .. } => JsonFailure::Invalid,
            ReadError::Shape { .. }
            | ReadError::WideNumber { .. }
            | ReadError::Unrecognised { .. } => JsonFailure::SchemaMismatch,
        }
    }
}
