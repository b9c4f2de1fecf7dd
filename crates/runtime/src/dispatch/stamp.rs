//! Who speaks, what was tried, which occurrence this is, and when.
//!
//! Fills in only what the failure does not say itself.

use std::sync::Arc;

use panpan_contract::operation::NAME_LENGTH_LIMIT;
use serde_json::{Map, Value};

use super::raised::{Raised, Speaker};
use crate::ports::{Clock, Ids};

/// The source of failures that are the gateway's own.
pub const GATEWAY: &str = "gateway";

/// The largest input shown as a failure's parameters, in bytes of JSON; a larger one is left out.
pub const PARAMETERS_BYTES_LIMIT: usize = 16 * 1024;

/// What the caller asked for, kept aside until it is known whether the call failed.
pub(super) struct Tried {
    operation: String,
    input: Arc<Value>,
}

impl Tried {
    pub(super) fn new(operation: &str, input: Arc<Value>) -> Self {
        Self {
            operation: asked_name(operation),
            input,
        }
    }

    fn parameters(&self) -> Option<Map<String, Value>> {
        let members = self.input.as_object()?;
        let bytes = serde_json::to_vec(members).ok()?.len();
        (bytes <= PARAMETERS_BYTES_LIMIT).then(|| members.clone())
    }
}

/// A name as the caller wrote it, no longer than a name can be.
pub(super) fn asked_name(name: &str) -> String {
    name.chars().take(NAME_LENGTH_LIMIT).collect()
}

/// A failure that says where it comes from.
pub(super) struct Stamped {
    pub(super) raised: Raised,
    _made_here: (),
}

pub(super) fn stamp(
    mut raised: Raised,
    tried: &Tried,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Stamped {
    let mut failure = raised.failure.stamped(ids.new_id(), clock.now());
    let operation = match &raised.operation {
        Some(operation) => operation.name().as_str(),
        None => &tried.operation,
    };
    if failure.source().is_none() {
        failure = failure.with_source(match raised.speaker {
            Speaker::Gateway => GATEWAY,
            Speaker::Handler => operation,
        });
    }
    if failure.operation().is_none() {
        failure = failure.with_operation(operation);
    }
    if let (None, Some(parameters)) = (failure.parameters(), tried.parameters()) {
        failure = failure.with_parameters(parameters);
    }
    raised.failure = failure;
    Stamped {
        raised,
        _made_here: (),
    }
}
