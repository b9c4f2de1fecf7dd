//! Codes for errors of reading and transforming JSON.

use super::rows;
use crate::read::ReadError;

rows! {
    /// An error of reading or transforming JSON.
    JsonFailure {
        /// The text is not JSON.
        Invalid => ERR_JSON_INVALID,
        /// The path expression is invalid.
        PathInvalid => ERR_JSON_PATH_INVALID,
        /// The document does not match the schema.
        SchemaMismatch => ERR_JSON_SCHEMA_MISMATCH,
        /// The transformation does not apply to this data.
        TransformFailed => ERR_JSON_TRANSFORM_FAILED,
        /// The document is nested too deeply.
        DepthExceeded => ERR_JSON_DEPTH_EXCEEDED,
        /// The document is too large.
        SizeExceeded => ERR_JSON_SIZE_EXCEEDED,
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
