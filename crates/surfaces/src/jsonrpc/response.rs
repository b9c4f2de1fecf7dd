//! Serializes responses. Outputs are written without an intermediate copy.

use panpan_failure::Redacted;
use panpan_failure::dialect::{Dialect, Envelope};
use serde_json::value::RawValue;

use super::Response;
use crate::json::unwritable;

/// Initial capacity of a response, in bytes: the size of the request, within this range.
const CAPACITY: std::ops::RangeInclusive<usize> = 256..=16 * 1024;

/// The end of a response without an id. Responses are written with it first, then the id is replaced: the
/// dialects take ids as values, and a value cannot tell `1.0` from `1.00`.
const WITHOUT_ID: &[u8] = b"null}";

/// A single response.
pub(super) fn single(response: &Response<'_>, body_bytes: usize) -> Vec<u8> {
    let mut bytes = with_capacity_for(body_bytes);
    write(response, &mut bytes);
    bytes
}

/// The responses to a batch, in the order of the requests.
#[derive(Debug)]
pub(super) struct Batch(Vec<u8>);

impl Batch {
    pub(super) fn new(body_bytes: usize) -> Self {
        Self(with_capacity_for(body_bytes))
    }

    pub(super) fn add(&mut self, response: &Response<'_>) {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
        write(response, &mut self.0);
    }

    /// The bytes; `None` if there are no responses.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(b']');
        Some(self.0)
    }
}

fn with_capacity_for(body_bytes: usize) -> Vec<u8> {
    Vec::with_capacity(body_bytes.clamp(*CAPACITY.start(), *CAPACITY.end()))
}

/// The response with a failure to the request with this id.
pub(crate) fn failed(failure: &Redacted, id: &RawValue) -> Vec<u8> {
    let mut bytes = Dialect::JsonRpc.write_failure(failure, Envelope::default());
    replace_id(id, &mut bytes);
    bytes
}

fn write(response: &Response<'_>, bytes: &mut Vec<u8>) {
    let (start, envelope) = (bytes.len(), Envelope::default());
    let written = match &response.answer.outcome {
        Ok(output) => {
            let view = Dialect::JsonRpc.success(output, envelope);
            serde_json::to_writer(&mut *bytes, &view)
        }
        Err(failure) => {
            let view = Dialect::JsonRpc.failure(failure, envelope);
            serde_json::to_writer(&mut *bytes, &view)
        }
    };
    if let Err(error) = written {
        bytes.truncate(start);
        bytes.extend(Dialect::JsonRpc.write_failure(&unwritable(&error), envelope));
    }
    if let Some(id) = response.id {
        replace_id(id, bytes);
    }
}

fn replace_id(id: &RawValue, bytes: &mut Vec<u8>) {
    debug_assert!(bytes.ends_with(WITHOUT_ID), "the id is the last member");
    bytes.truncate(bytes.len() - WITHOUT_ID.len());
    bytes.extend_from_slice(id.get().as_bytes());
    bytes.push(b'}');
}
