//! From answers to bytes. Outputs are written from where they stand.

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, codes};
use serde_json::value::RawValue;

use super::Answered;

/// How much room an answer gets at first, in bytes: about what was asked, within these.
const ROOM: std::ops::RangeInclusive<usize> = 256..=16 * 1024;

/// How an answer without an id ends. One with an id is written so first, since the dialects know ids
/// as values, and a value does not tell `1.0` from `1.00`.
const WITHOUT_ID: &[u8] = b"null}";

/// One answer.
pub(super) fn alone(answered: &Answered<'_>, body_bytes: usize) -> Vec<u8> {
    let mut bytes = with_room_for(body_bytes);
    write(answered, &mut bytes);
    bytes
}

/// The answers to a batch, in the order of the requests.
#[derive(Debug)]
pub(super) struct List(Vec<u8>);

impl List {
    pub(super) fn new(body_bytes: usize) -> Self {
        Self(with_room_for(body_bytes))
    }

    pub(super) fn add(&mut self, answered: &Answered<'_>) {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
        write(answered, &mut self.0);
    }

    /// The bytes; `None` when nothing was answered.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(b']');
        Some(self.0)
    }
}

fn with_room_for(body_bytes: usize) -> Vec<u8> {
    Vec::with_capacity(body_bytes.clamp(*ROOM.start(), *ROOM.end()))
}

fn write(answered: &Answered<'_>, bytes: &mut Vec<u8>) {
    let (start, envelope) = (bytes.len(), Envelope::default());
    let written = match &answered.answer.outcome {
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
        let failure = Failure::new(codes::INTERNAL).caused_by(&error);
        let failure = failure.with_message("the recorded output cannot be read");
        bytes.extend(Dialect::JsonRpc.write_failure(&failure.redacted(), envelope));
    }
    if let Some(id) = answered.id {
        repeat(id, bytes);
    }
}

fn repeat(id: &RawValue, bytes: &mut Vec<u8>) {
    debug_assert!(bytes.ends_with(WITHOUT_ID), "the id stands last");
    bytes.truncate(bytes.len() - WITHOUT_ID.len());
    bytes.extend_from_slice(id.get().as_bytes());
    bytes.push(b'}');
}
